#pragma once

// The one place that knows which Catch2 is installed: 2.13 (Debian bookworm) or 3.x (backports).
// Tests use the names that both have: CHECK, REQUIRE, SECTION, GENERATE, CAPTURE, CHECK_THROWS_AS,
// CHECK_THROWS_WITH (whole message), Catch::Approx, TEMPLATE_TEST_CASE, range(), random(), take().
#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_approx.hpp>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_adapters.hpp>
#include <catch2/generators/catch_generators_random.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers.hpp>
namespace Catch {
using Generators::random;
using Generators::range;
using Generators::take;
}  // namespace Catch
#else
#include <catch2/catch.hpp>
namespace Catch {
using Detail::Approx;
using Generators::random;
using Generators::range;
using Generators::take;
}  // namespace Catch
#endif
