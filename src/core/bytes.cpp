#include "costate/core/bytes.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "costate/core/error.hpp"

namespace costate {

std::string format_bytes(Bytes n) {
  constexpr std::array<const char*, 7> units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(n);
  std::size_t unit = 0;
  while (value >= 1023.5 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  std::array<char, 32> text{};
  const int decimals = unit == 0 || value >= 99.95 ? 0 : (value >= 9.995 ? 1 : 2);
  std::snprintf(text.data(), text.size(), "%.*f %s", decimals, value, units.at(unit));
  return text.data();
}

Bytes parse_bytes(const std::string& text) {
  const auto bad = [&text]() -> InvalidArgument {
    return InvalidArgument("not a size in bytes: '" + text + "' (write 24, 64MiB, 1.5GB, ...)");
  };
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || !std::isfinite(value) || value < 0) throw bad();
  std::string unit(end);
  unit.erase(0, unit.find_first_not_of(' ') == std::string::npos ? unit.size()
                                                                 : unit.find_first_not_of(' '));
  double factor = 1;
  if (!unit.empty() && unit != "B") {
    const std::string prefixes = "KMGTPE";
    const auto power = unit[0] == 'k' ? 0 : prefixes.find(unit[0]);
    const std::string rest = unit.substr(1);
    if (power == std::string::npos) throw bad();
    if (rest == "iB" || rest == "i") {
      factor = std::pow(1024.0, static_cast<double>(power + 1));
    } else if (rest == "B" || rest.empty()) {
      factor = std::pow(1000.0, static_cast<double>(power + 1));
    } else {
      throw bad();
    }
  }
  const double bytes = std::floor(value * factor);
  if (bytes >= 18446744073709551615.0) throw bad();
  return static_cast<Bytes>(bytes);
}

}  // namespace costate
