#include "costate/sweep/report.hpp"

#include <array>
#include <cstdio>

namespace costate {
namespace {

std::string seconds(double s) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g s", s);
  return text.data();
}

}  // namespace

TransferCosts measured_costs(const Report& report) {
  if (report.tiers.size() < 2 || report.advances == 0) return {};
  const TierUse& disk = report.tiers[1];
  const double step =
      (report.forward_seconds + report.replay_seconds) / static_cast<double>(report.advances);
  const Step transfers = disk.writes + disk.reads;
  if (!(step > 0) || !(disk.seconds > 0) || transfers == 0) return {};
  const double cost = disk.seconds / static_cast<double>(transfers) / step;
  return {.write = cost, .read = cost};
}

std::string to_string(const Report& report) {
  std::string out;
  out += "steps      " + std::to_string(report.steps) + ", schedule " + report.schedule + "\n";
  out += "advances   " + std::to_string(report.advances);
  if (report.predicted.steps != unknown) {
    out += " (predicted " + std::to_string(report.predicted.advances) + ")";
  }
  out += ", " + std::to_string(report.reverses) + " reverse steps";
  if (report.back_steps > 0) out += ", " + std::to_string(report.back_steps) + " steps back";
  out += "\n";
  if (!report.accuracy.empty()) out += "gradient   accurate to " + report.accuracy + "\n";
  out += "memory     " + format_bytes(report.memory_peak) + " at most, of " +
         format_bytes(report.memory_budget) + "\n";
  for (const TierUse& tier : report.tiers) {
    out += "tier       " + tier.name + ": " + format_bytes(tier.peak) + " at most, " +
           std::to_string(tier.writes) + " writes, " + std::to_string(tier.reads) + " reads";
    if (tier.packed > 0) {
      std::array<char, 64> text{};
      std::snprintf(text.data(), text.size(), ", compressed %.2f times", tier.ratio());
      out += text.data();
    }
    out += "\n";
  }
  out += "guard      " + std::to_string(report.guard_checks) + " replayed states compared\n";
  out += "time       " + seconds(report.total_seconds) + ": forward " +
         seconds(report.forward_seconds) + ", replay " + seconds(report.replay_seconds) +
         ", reverse " + seconds(report.reverse_seconds) + ", storage " +
         seconds(report.storage_seconds) + ", guard " + seconds(report.guard_seconds) +
         ", set-up " + seconds(report.setup_seconds) + "\n";
  return out;
}

}  // namespace costate
