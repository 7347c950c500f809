#include "costate/ode/verification.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>

namespace costate {

namespace {

std::string rough(double x) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1e", x);
  return text.data();
}

std::string fine(double x) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.10g", x);
  return text.data();
}

std::string order(double x) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f", x);
  return text.data();
}

}  // namespace

std::string to_string(const Verification& verification) {
  std::size_t width = 0;
  for (const Check& check : verification.checks) width = std::max(width, check.name.size());
  std::string out;
  std::size_t failed = 0;
  for (const Check& check : verification.checks) {
    out += check.ok ? "  ok    " : "  FAIL  ";
    out += check.name + std::string(width - check.name.size() + 2, ' ') + check.detail + "\n";
    failed += check.ok ? 0 : 1;
  }
  if (failed == 0)
    return out + "verified: all " + std::to_string(verification.checks.size()) + " checks passed\n";
  out += "NOT VERIFIED: " + std::to_string(failed) + " of " +
         std::to_string(verification.checks.size()) + " checks failed:";
  const char* separator = " ";
  for (const Check& check : verification.checks) {
    if (check.ok) continue;
    out += separator + check.name;
    separator = "; ";
  }
  return out + "\n";
}

Check judge_dot_products(double tangent, double adjoint, double rounding) {
  const double apart = std::abs(tangent - adjoint);
  return {.name = "dot-product test",
          .ok = apart <= rounding,
          .detail = "tangent " + fine(tangent) + ", adjoint " + fine(adjoint) + ", apart by " +
                    rough(apart) + "; rounding may be " + rough(rounding)};
}

Check judge(const TaylorTest& test) {
  const double floor = 30 * test.noise;
  double first_order = 0;   // of |J(x + e d) - J(x)|
  double second_order = 0;  // of the remainder
  double last_e = 0;
  double last_first = 0;
  double last_second = 0;
  double largest = 0;
  bool compared = false;
  for (std::size_t i = 0; i < test.e.size(); ++i) {
    if (!std::isfinite(test.values[i])) continue;
    const double first = std::abs(test.values[i] - test.value);
    const double second = std::abs(test.values[i] - test.value - test.e[i] * test.derivative);
    largest = std::max(largest, second);
    if (second <= floor) break;
    if (last_e > 0) {
      const double halvings = std::log2(last_e / test.e[i]);
      first_order = std::log2(last_first / first) / halvings;
      second_order = std::log2(last_second / second) / halvings;
      compared = true;
    }
    last_e = test.e[i];
    last_first = first;
    last_second = second;
  }
  Check check{.name = "Taylor test", .ok = false, .detail = ""};
  if (!std::isfinite(test.derivative)) {
    check.detail = "the derivative is not finite";
  } else if (last_e == 0 && largest > 0) {
    check.ok = true;
    check.detail =
        "remainder within rounding (" + rough(largest) + "): the objective is linear along d";
  } else if (last_e == 0) {
    check.ok = largest == 0 && !test.e.empty();
    check.detail = check.ok ? "no remainder at all" : "the objective could not be evaluated nearby";
  } else if (!compared) {
    check.ok = true;
    check.detail =
        "remainder " + rough(last_second) + " at e = " + rough(last_e) + ", then within rounding";
  } else {
    // Between order 1 (a wrong derivative) and order 2 (or more) the border is in the middle.
    check.ok = second_order > 1.5;
    check.detail = "remainder " + rough(last_second) + " at e = " + rough(last_e) + "; orders " +
                   order(first_order) + " without, " + order(second_order) + " with the gradient" +
                   (check.ok ? "" : " (should be 2)");
  }
  return check;
}

}  // namespace costate
