#include "report.hpp"

#include <cmath>
#include <cstdio>

#include "costate/core/bytes.hpp"
#include "costate/schedule/binomial.hpp"

namespace costate::cli {
namespace {

// As many digits as it takes to read the same number back; whole numbers without a point.
std::string number(double x) {
  if (!std::isfinite(x)) return "null";
  char text[32];
  for (const int digits : {6, 15, 17}) {
    std::snprintf(text, sizeof text, "%.*g", digits, x);
    if (std::strtod(text, nullptr) == x) break;
  }
  return text;
}

std::string short_number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", x);
  return text;
}

std::string count(Step n) {
  return n == saturated ? "more than 9.2e18" : std::to_string(n);
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

bool is_saturated(const Counts& counts) {
  bool yes = counts.forward_evaluations() == saturated;
  for (const TierCounts& tier : counts.tiers) {
    yes = yes || tier.writes == saturated || tier.reads == saturated;
  }
  return yes;
}

// The room as it was asked for: the schedule lists only what it can use.
Slot room(const Costs& costs, std::size_t tier) {
  return rooms(costs)[tier].slots;
}

std::string slots_text(Slot slots) {
  return slots == unbounded ? "any number of" : std::to_string(slots);
}

}  // namespace

std::string text(const Plan& plan, const Costs& costs) {
  const Counts& counts = plan.counts;
  const double n = static_cast<double>(counts.steps);
  std::string out = plan.schedule.name() + ", " + std::to_string(counts.steps) + " steps\n";
  out += "  advances             " + count(counts.advances);
  if (counts.steps > 0 && counts.advances != saturated) {
    out += "   (" + short_number(static_cast<double>(counts.advances) / n) + " a step)";
  }
  out += "\n  forward evaluations  " + count(counts.forward_evaluations()) + "\n";
  out += "  most runs of a step  " + count(counts.max_runs) + "\n";
  for (std::size_t i = 0; i < counts.tiers.size(); ++i) {
    const TierCounts& tier = counts.tiers[i];
    out += "  " + tier.name + ": " + std::to_string(tier.peak) + " of " +
           slots_text(room(costs, i)) + " slots used";
    if (costs.state_bytes > 0) {
      out += " (" + format_bytes(static_cast<Bytes>(tier.peak) * costs.state_bytes) + ")";
    }
    out += ", " + count(tier.writes) + " writes, " + count(tier.reads) + " reads\n";
  }
  out += "  cost                 " + short_number(plan.cost);
  if (plan.lower_bound > 0) {
    out += plan.ratio() <= 1
               ? std::string("   (the least possible)")
               : "   (at most " + short_number(plan.ratio()) + " times the least possible)";
  }
  out += "\n  fixed cost           " + short_number(plan.fixed_cost) + "\n";
  return out;
}

std::string json(const Plan& plan, const Costs& costs, bool actions) {
  const Counts& counts = plan.counts;
  std::string out = "{\n";
  const auto field = [&out](const char* name, const std::string& value) {
    out += std::string("  \"") + name + "\": " + value + ",\n";
  };
  field("schedule", quoted(plan.schedule.name()));
  field("steps", std::to_string(counts.steps));
  field("advances", std::to_string(counts.advances));
  field("forward_evaluations", std::to_string(counts.forward_evaluations()));
  field("max_runs", std::to_string(counts.max_runs));
  if (is_saturated(counts)) field("saturated", "true");
  field("cost", number(plan.cost));
  field("fixed_cost", number(plan.fixed_cost));
  field("lower_bound", number(plan.lower_bound));
  field("planning_seconds", number(plan.planning_seconds));
  out += "  \"tiers\": [\n";
  for (std::size_t i = 0; i < counts.tiers.size(); ++i) {
    const TierCounts& tier = counts.tiers[i];
    const Slot slots = room(costs, i);
    out += "    {\"name\": " + quoted(tier.name) +
           ", \"slots\": " + (slots == unbounded ? "null" : std::to_string(slots)) +
           ", \"peak\": " + std::to_string(tier.peak) +
           ", \"writes\": " + std::to_string(tier.writes) +
           ", \"reads\": " + std::to_string(tier.reads) +
           ", \"bytes\": " + std::to_string(static_cast<Bytes>(tier.peak) * costs.state_bytes) +
           "}";
    out += i + 1 < counts.tiers.size() ? ",\n" : "\n";
  }
  out += "  ]";
  if (actions) {
    out += ",\n  \"actions\": [";
    const char* separator = "\n";
    for (Schedule schedule = plan.schedule; const auto action = schedule.next();) {
      out += separator + ("    " + quoted(to_string(*action)));
      separator = ",\n";
    }
    out += "\n  ]";
  }
  return out + "\n}\n";
}

}  // namespace costate::cli
