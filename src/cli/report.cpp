#include "report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

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

// The room as it was asked for: the schedule lists only what it can use.
Slot room(const Costs& costs, std::size_t tier) {
  return rooms(costs)[tier].slots;
}

// [[runs, steps], …] if they are known.
std::string runs_json(const Counts& counts) {
  const bool listed = !counts.runs.empty();
  std::string out = "{\"min\": " + (listed ? std::to_string(counts.runs.front().runs) : "null") +
                    ", \"mean\": " + number(counts.mean_runs()) +
                    ", \"max\": " + std::to_string(counts.max_runs) + ", \"steps\": ";
  if (!listed) return out + (counts.steps == 0 ? "[]}" : "null}");
  const char* separator = "[";
  for (const RunCount& each : counts.runs) {
    out += separator;
    out += "[" + std::to_string(each.runs) + ", " + std::to_string(each.steps) + "]";
    separator = ", ";
  }
  return out + "]}";
}

// How often steps are run: all of it if it is short, else what half and most of them stay within.
std::string runs_text(const Counts& counts) {
  const std::vector<RunCount>& runs = counts.runs;
  if (runs.empty()) return "at most " + count(counts.max_runs);
  std::string out;
  if (runs.size() <= 6) {
    for (const RunCount& each : runs) {
      out += (out.empty() ? "" : ", ") + std::to_string(each.steps) +
             (each.steps == 1 ? " step " : " steps ") + std::to_string(each.runs) + "x";
    }
    return out;
  }
  const auto within = [&](double share) {
    Step steps = 0;
    for (const RunCount& each : runs) {
      steps += each.steps;
      if (static_cast<double>(steps) >= share * static_cast<double>(counts.steps)) {
        return std::to_string(each.runs);
      }
    }
    return std::to_string(counts.max_runs);
  };
  return std::to_string(runs.front().runs) + " to " + std::to_string(counts.max_runs) +
         "; half of the steps at most " + within(0.5) + ", nine tenths at most " + within(0.9);
}

// The keys of a plan, without the braces.
std::string fields(const Plan& plan, const Costs& costs, const std::string& indent) {
  const Counts& counts = plan.counts;
  std::string out;
  const auto field = [&](const char* name, const std::string& value) {
    out += indent + "\"" + name + "\": " + value + ",\n";
  };
  field("schedule", quoted(plan.schedule.name()));
  field("steps", std::to_string(counts.steps));
  field("advances", std::to_string(counts.advances));
  field("forward_evaluations", std::to_string(counts.forward_evaluations()));
  field("max_runs", std::to_string(counts.max_runs));
  field("runs_per_step", runs_json(counts));
  if (counts.is_saturated()) field("saturated", "true");
  field("cost", number(plan.cost));
  field("fixed_cost", number(plan.fixed_cost));
  field("lower_bound", number(plan.lower_bound));
  field("planning_seconds", number(plan.planning_seconds));
  out += indent + "\"tiers\": [\n";
  for (std::size_t i = 0; i < counts.tiers.size(); ++i) {
    const TierCounts& tier = counts.tiers[i];
    const Slot slots = room(costs, i);
    out += indent + "  {\"name\": " + quoted(tier.name) +
           ", \"slots\": " + (slots == unbounded ? "null" : std::to_string(slots)) +
           ", \"peak\": " + std::to_string(tier.peak) +
           ", \"writes\": " + std::to_string(tier.writes) +
           ", \"reads\": " + std::to_string(tier.reads) +
           ", \"bytes\": " + std::to_string(plan.peak_bytes(i)) + "}";
    out += i + 1 < counts.tiers.size() ? ",\n" : "\n";
  }
  return out + indent + "]";
}

std::string slots_text(Slot slots) {
  return slots == unbounded ? "any number of" : std::to_string(slots);
}

}  // namespace

void for_each_action(const Plan& plan, const std::function<void(const Action&)>& visit) {
  Schedule schedule = plan.schedule;
  const Step n = plan.counts.steps;
  const Step last = std::max<Step>(0, n - 1);  // where an online schedule learns that it ends
  while (const auto action = schedule.next()) {
    const auto* advance = std::get_if<Advance>(&*action);
    if (advance != nullptr && schedule.steps() == unknown && advance->to > last) {
      if (advance->from < last) visit(Advance{advance->from, last});
      schedule.end_at(n, last);
      continue;
    }
    visit(*action);
    if (advance != nullptr && schedule.steps() == unknown && advance->to == last) {
      schedule.end_at(n, last);
    }
  }
}

std::string text(const Plan& plan, const Costs& costs, const std::string& why) {
  const Counts& counts = plan.counts;
  const double n = static_cast<double>(counts.steps);
  std::string out = plan.schedule.name() + ", " + std::to_string(counts.steps) + " steps\n";
  out += "  advances             " + count(counts.advances);
  if (counts.steps > 0 && counts.advances != saturated) {
    out += "   (" + short_number(static_cast<double>(counts.advances) / n) + " a step)";
  }
  out += "\n  forward evaluations  " + count(counts.forward_evaluations()) + "\n";
  out += "  runs of a step       " + runs_text(counts) + "\n";
  for (std::size_t i = 0; i < counts.tiers.size(); ++i) {
    const TierCounts& tier = counts.tiers[i];
    out += "  " + tier.name + ": " + std::to_string(tier.peak) + " of " +
           slots_text(room(costs, i)) + " slots used";
    if (costs.state_bytes > 0) {
      out += " (" + format_bytes(plan.peak_bytes(i)) + ")";
    }
    out += ", " + count(tier.writes) + " writes, " + count(tier.reads) + " reads\n";
  }
  out += "  cost                 " + short_number(plan.cost);
  if (counts.is_saturated()) {
    out += " and more";
  } else if (plan.lower_bound > 0) {
    out += plan.ratio() <= 1 ? std::string("   (the least possible)")
                             : "   (at most " + short_number(std::ceil(plan.ratio() * 1e5) / 1e5) +
                                   " times the least possible)";
  }
  out += "\n  fixed cost           " + short_number(plan.fixed_cost) + "\n";
  if (!why.empty()) out += "  why                  " + why + "\n";
  return out;
}

void print_json(const Plan& plan, const Costs& costs, bool actions, const std::string& why,
                std::FILE* out) {
  std::fprintf(out, "{\n%s", fields(plan, costs, "  ").c_str());
  if (!why.empty()) std::fprintf(out, ",\n  \"why\": %s", quoted(why).c_str());
  if (actions) {
    std::fputs(",\n  \"actions\": [", out);
    const char* separator = "\n";
    for_each_action(plan, [&](const Action& action) {
      std::fprintf(out, "%s    %s", separator, quoted(to_string(action)).c_str());
      separator = ",\n";
    });
    std::fputs("\n  ]", out);
  }
  std::fputs("\n}\n", out);
}

std::string comparison_text(const Choice& choice) {
  std::string out;
  char line[256];
  std::snprintf(line, sizeof line, "%-15s %14s %8s %14s %8s %12s %12s %9s\n", "schedule", "cost",
                "ratio", "advances", "runs", "writes", "reads", "seconds");
  out += line;
  const double least = choice.best().cost;
  for (const Plan& plan : choice.plans) {
    Step writes = 0;
    Step reads = 0;
    for (const TierCounts& tier : plan.counts.tiers) {
      writes = saturating_add(writes, tier.writes);
      reads = saturating_add(reads, tier.reads);
    }
    std::snprintf(line, sizeof line, "%-15s %14.8g %8.4g %14.8g %8.6g %12.8g %12.8g %9.2g\n",
                  plan.schedule.name().c_str(), plan.cost, least > 0 ? plan.cost / least : 1.0,
                  static_cast<double>(plan.counts.advances),
                  static_cast<double>(plan.counts.max_runs), static_cast<double>(writes),
                  static_cast<double>(reads), plan.planning_seconds);
    out += line;
  }
  out += "\n" + choice.why + "\n";
  for (const Unfit& unfit : choice.unfit) out += "not " + unfit.family + ": " + unfit.why + "\n";
  return out;
}

std::string comparison_json(const Choice& choice, const Costs& costs) {
  std::string out = "{\n  \"best\": " + quoted(choice.best().schedule.name()) +
                    ",\n  \"why\": " + quoted(choice.why) + ",\n  \"plans\": [\n";
  for (std::size_t i = 0; i < choice.plans.size(); ++i) {
    out += "    {\n" + fields(choice.plans[i], costs, "      ") + "\n    }";
    out += i + 1 < choice.plans.size() ? ",\n" : "\n";
  }
  out += "  ],\n  \"unfit\": [";
  for (std::size_t i = 0; i < choice.unfit.size(); ++i) {
    out += (i > 0 ? ",\n    " : "\n    ") + ("{\"schedule\": " + quoted(choice.unfit[i].family)) +
           ", \"why\": " + quoted(choice.unfit[i].why) + "}";
  }
  return out + (choice.unfit.empty() ? "]" : "\n  ]") + "\n}\n";
}

std::string frontier_text(const std::vector<FrontierPoint>& points,
                          const std::vector<FrontierPoint>& marks, Step n) {
  std::string out;
  char line[160];
  std::snprintf(line, sizeof line, "%12s %12s %16s %14s  %s\n", "slots", "bytes", "cost",
                "cost a step", "schedule");
  out += line;
  const auto row = [&](const FrontierPoint& point) {
    std::snprintf(line, sizeof line, "%12lld %12s %16.9g %14.6g  %s\n",
                  static_cast<long long>(point.slots),
                  point.bytes > 0 ? format_bytes(point.bytes).c_str() : "-", point.cost,
                  n > 0 ? point.cost / static_cast<double>(n) : 0.0, point.schedule.c_str());
    out += line;
  };
  for (const FrontierPoint& point : points) row(point);
  out += "for comparison:\n";
  for (const FrontierPoint& mark : marks) row(mark);
  return out;
}

std::string frontier_json(const std::vector<FrontierPoint>& points,
                          const std::vector<FrontierPoint>& marks, Step n) {
  std::string out = "{\n  \"steps\": " + std::to_string(n);
  const auto list = [&out](const char* name, const std::vector<FrontierPoint>& all) {
    out += std::string(",\n  \"") + name + "\": [";
    const char* separator = "\n";
    for (const FrontierPoint& point : all) {
      out += separator;
      out += "    {\"schedule\": " + quoted(point.schedule) +
             ", \"slots\": " + std::to_string(point.slots) +
             ", \"bytes\": " + std::to_string(point.bytes) + ", \"cost\": " + number(point.cost) +
             ", \"lower_bound\": " + number(point.lower_bound) + "}";
      separator = ",\n";
    }
    out += "\n  ]";
  };
  list("frontier", points);
  list("classical", marks);
  return out + "\n}\n";
}

}  // namespace costate::cli
