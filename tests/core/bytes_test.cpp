#include "costate/core/bytes.hpp"

#include "costate/core/error.hpp"
#include "support/catch.hpp"

using namespace costate;

TEST_CASE("Sizes are written with binary literals", "[core][unit]") {
  CHECK(64_MiB == 67'108'864U);
  CHECK(1_TiB == 1024 * 1_GiB);
  CHECK(3_KiB == 3072_B);
}

TEST_CASE("Sizes are printed with three digits and binary units", "[core][unit]") {
  CHECK(format_bytes(0) == "0 B");
  CHECK(format_bytes(1023) == "1023 B");
  CHECK(format_bytes(1536) == "1.50 KiB");
  CHECK(format_bytes(64_MiB) == "64.0 MiB");
  CHECK(format_bytes(1023 * 1_MiB + 1023 * 1_KiB) == "1.00 GiB");
}

TEST_CASE("Sizes are read with binary and decimal units", "[core][unit]") {
  CHECK(parse_bytes("24") == 24U);
  CHECK(parse_bytes("24 B") == 24U);
  CHECK(parse_bytes("1.5MiB") == 1536_KiB);
  CHECK(parse_bytes("64 MB") == 64'000'000U);
  CHECK(parse_bytes("2G") == 2'000'000'000U);
  CHECK(parse_bytes("2Gi") == 2_GiB);
  CHECK(parse_bytes("3kB") == 3000U);
  for (const char* bad : {"", "MiB", "-1", "nan", "1 QiB", "1 MiBs", "1e30", "inf"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(parse_bytes(bad), InvalidArgument);
  }
}
