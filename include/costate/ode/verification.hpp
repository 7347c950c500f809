#pragma once

#include <string>
#include <utility>
#include <vector>

namespace costate {

/// One line of a verification.
struct Check {
  std::string name;
  bool ok = false;
  std::string detail;  ///< figures, or what went wrong
};

/// What `verify` found.
struct Verification {
  bool ok = true;  ///< all checks passed
  std::vector<Check> checks;

  void add(Check check) {
    ok = ok && check.ok;
    checks.push_back(std::move(check));
  }
};

/// A table for people, one check a line, with a last line that says what failed.
[[nodiscard]] std::string to_string(const Verification& verification);

/// A Taylor test along one direction: J at x + e d for falling e.
struct TaylorTest {
  double value;       ///< J(x)
  double derivative;  ///< what is being tested: gradient · d
  double noise;       ///< how far J changes by rounding alone
  std::vector<double> e;
  std::vector<double> values;  ///< J(x + e d); NaN where it could not be evaluated
};

/// Judges a Taylor test: |J(x + e d) - J(x) - e derivative| must fall like e² until it drowns in
/// the noise. A derivative that is wrong by a relative δ shows as a fall like e from e ~ δ on, so
/// the order is taken from the smallest remainders that are 30 times the noise.
[[nodiscard]] Check judge(const TaylorTest& test);

/// Judges a dot-product test: tangent · d and gradient · d must agree to `rounding`.
[[nodiscard]] Check judge_dot_products(double tangent, double adjoint, double rounding);

}  // namespace costate
