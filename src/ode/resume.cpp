#include "costate/ode/resume.hpp"

#include <array>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "costate/core/hash.hpp"

namespace costate {
namespace {

std::string number(double x) {
  std::array<char, 32> text{};
  for (const int digits : {6, 15, 17}) {
    std::snprintf(text.data(), text.size(), "%.*g", digits, x);
    if (std::strtod(text.data(), nullptr) == x) break;
  }
  return text.data();
}

// Long lists are told apart by their hash.
std::string digest(std::span<const std::byte> bytes) {
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "%016llx",
                static_cast<unsigned long long>(hash_bytes(bytes)));
  return text.data();
}
std::string digest(std::span<const double> numbers) {
  return digest(std::as_bytes(numbers));
}

}  // namespace

std::string run_identity(const StepControl& control, const std::string& options, double t0,
                         double t1, std::span<const double> observed, std::span<const std::byte> y0,
                         std::span<const std::byte> p) {
  std::string out = control.method;
  const auto add = [&](const std::string& text) { out += ", " + text; };
  if (!options.empty()) add(options);
  if (control.h != 0) add("h = " + number(control.h));
  if (control.steps != 0) add(std::to_string(control.steps) + " steps");
  if (!control.grid.empty()) {
    add("a grid of " + std::to_string(control.grid.size()) + " times " + digest(control.grid));
  }
  if (control.adaptive()) {
    add("rtol = " + number(control.rtol) + ", atol = " + number(control.atol));
    const std::array<double, 9> rest = {
        control.first_step, control.max_step,   static_cast<double>(control.max_steps),
        control.safety,     control.min_factor, control.max_factor,
        control.pi,         control.pid,        static_cast<double>(control.error_order)};
    add("step control " + digest(rest));
  }
  add("t from " + number(t0) + " to " + number(t1));
  if (!observed.empty()) {
    add(std::to_string(observed.size()) + " observations " + digest(observed));
  }
  add("y0 of " + std::to_string(y0.size()) + " bytes " + digest(y0));
  add("p of " + std::to_string(p.size()) + " bytes " + digest(p));
  return out;
}

}  // namespace costate
