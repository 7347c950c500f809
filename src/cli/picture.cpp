#include "picture.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "costate/core/error.hpp"
#include "report.hpp"
#include "svg.hpp"

namespace costate::cli {
namespace {

constexpr std::array<const char*, 4> tier_colours = {blue, orange, purple, grey};
constexpr int most_actions = 20000;

struct Stroke {
  double x1, t1, x2, t2;
};

// What is drawn, in steps and units of cost.
struct Sketch {
  std::vector<Stroke> advances;
  std::vector<Stroke> records;  // whose tape is kept; otherwise part of the reverse step
  std::vector<Stroke> reverses;
  std::vector<std::pair<std::size_t, Stroke>> checkpoints;  // with their tier
  double end = 0;                                           // time
};

Sketch sketch(const Plan& plan, const Costs& costs) {
  const Schedule& schedule = plan.schedule;
  Sketch drawn;
  double time = 0;
  int actions = 0;
  std::map<Slot, std::pair<Step, double>> held;  // slot -> index, since when
  const auto weight = [&costs](Step k) {
    return costs.weights.empty() ? costs.step : costs.weights[static_cast<std::size_t>(k)];
  };
  Step recorded = unknown;  // a step whose tape is live, not yet drawn
  for_each_action(plan, [&](const Action& action) {
    if (++actions > most_actions) {
      throw InvalidArgument("a schedule of more than " + std::to_string(most_actions) +
                            " actions is too long to be drawn");
    }
    const auto* reverse = std::get_if<Reverse>(&action);
    if (recorded != unknown && reverse == nullptr && !std::holds_alternative<Turn>(action)) {
      const auto x = static_cast<double>(recorded);
      drawn.records.push_back({x, time, x + 1, time + costs.record});
      time += costs.record;
      recorded = unknown;
    }
    if (const auto* record = std::get_if<Record>(&action)) {
      recorded = record->step;
    } else if (const auto* advance = std::get_if<Advance>(&action)) {
      double spent = 0;
      for (Step k = advance->from; k < advance->to; ++k) spent += weight(k);
      drawn.advances.push_back({static_cast<double>(advance->from), time,
                                static_cast<double>(advance->to), time + spent});
      time += spent;
    } else if (const auto* save = std::get_if<Save>(&action)) {
      held[save->slot] = {save->at, time};
      time += costs.tiers[schedule.tier_of(save->slot)].write;
    } else if (const auto* load = std::get_if<Load>(&action)) {
      time += costs.tiers[schedule.tier_of(load->slot)].read;
    } else if (const auto* drop = std::get_if<Drop>(&action)) {
      const auto [at, since] = held.at(drop->slot);
      held.erase(drop->slot);
      const auto x = static_cast<double>(at);
      drawn.checkpoints.push_back({schedule.tier_of(drop->slot), {x, since, x, time}});
    } else if (reverse != nullptr) {
      const double spent = costs.reverse + (recorded == reverse->step ? costs.record : 0);
      recorded = unknown;
      const auto x = static_cast<double>(reverse->step);
      drawn.reverses.push_back({x + 1, time, x, time + spent});
      time += spent;
    }
  });
  drawn.end = time;
  return drawn;
}

std::string shortened(double x) {
  std::string text = std::to_string(x);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace

std::string draw_schedule(const Plan& plan, const Costs& costs) {
  const Sketch drawn = sketch(plan, costs);
  constexpr double left = 70;
  constexpr double top = 64;
  constexpr double width = 640;
  const double height = std::clamp(
      width * drawn.end / std::max<double>(1.0, 2.0 * static_cast<double>(plan.counts.steps)),
      200.0, 900.0);
  const double right = left + width;
  const double bottom = top + height;
  const auto n = static_cast<double>(std::max<Step>(1, plan.counts.steps));
  const auto x = [&](double step) { return left + width * step / n; };
  const auto y = [&](double time) { return top + height * time / std::max(drawn.end, 1e-300); };

  Svg svg(right + 24, bottom + 52);
  svg.label(left, 20,
            plan.schedule.name() + ": " + std::to_string(plan.counts.steps) + " steps, " +
                std::to_string(plan.counts.advances) + " advances");
  double legend = left;
  const auto entry = [&](const std::string& name, const char* colour) {
    svg.line(legend, 38, legend + 18, 38, colour, 2.5);
    svg.label(legend + 23, 42, name);
    legend += 38 + 7 * static_cast<double>(name.size());
  };
  entry("advance", black);
  entry("reverse", red);
  if (!drawn.records.empty()) entry("taped and kept", green);
  for (std::size_t i = 0; i < plan.counts.tiers.size(); ++i) {
    entry("kept: " + plan.counts.tiers[i].name, tier_colours[i % tier_colours.size()]);
  }

  svg.line(left, top, right, top, black, 1);
  svg.line(left, top, left, bottom, black, 1);
  for (const double tick : round_ticks(n, 10)) {
    svg.line(x(tick), top, x(tick), bottom, "#eeeeee", 0.8);
    svg.line(x(tick), bottom, x(tick), bottom + 4, black, 1);
    svg.label(x(tick), bottom + 17, shortened(tick), "middle");
  }
  svg.line(left, bottom, right, bottom, black, 1);
  svg.label((left + right) / 2, bottom + 36, "step", "middle");
  for (const double tick : round_ticks(drawn.end, 8)) {
    svg.line(left - 4, y(tick), left, y(tick), black, 1);
    svg.label(left - 8, y(tick) + 4, shortened(tick), "end");
  }
  svg.label_upwards(18, (top + bottom) / 2, "time in units of cost, downwards");

  for (const auto& [tier, stroke] : drawn.checkpoints) {
    const char* const colour = tier_colours[tier % tier_colours.size()];
    svg.line(x(stroke.x1), y(stroke.t1), x(stroke.x2), y(stroke.t2), colour, 1.4);
    svg.dot(x(stroke.x1), y(stroke.t1), 2, colour);
  }
  for (const Stroke& stroke : drawn.advances) {
    svg.line(x(stroke.x1), y(stroke.t1), x(stroke.x2), y(stroke.t2), black, 1.1);
  }
  for (const Stroke& stroke : drawn.records) {
    svg.line(x(stroke.x1), y(stroke.t1), x(stroke.x2), y(stroke.t2), green, 1.8);
  }
  for (const Stroke& stroke : drawn.reverses) {
    svg.line(x(stroke.x1), y(stroke.t1), x(stroke.x2), y(stroke.t2), red, 1.8);
  }
  return svg.document();
}

namespace {

// "4 MiB" for a power of two.
std::string whole_bytes(double bytes) {
  std::string text = format_bytes(static_cast<Bytes>(bytes));
  const std::size_t point = text.find('.');
  if (point != std::string::npos) text.erase(point, text.find(' ') - point);
  return text;
}

// ", with 8 slots on disk" for what the best schedule may use besides the memory.
std::string beside_memory(const Costs& costs) {
  const std::vector<TierSlots> tiers = rooms(costs);
  std::string text;
  for (std::size_t i = 1; i < tiers.size(); ++i) {
    text += i == 1 ? ", with " : " and ";
    text += tiers[i].slots == unbounded ? "unlimited" : std::to_string(tiers[i].slots);
    text += " slots on " + tiers[i].name;
  }
  return text;
}

}  // namespace

std::string draw_frontier(const std::vector<FrontierPoint>& points,
                          const std::vector<FrontierPoint>& marks, const Costs& costs, Step n) {
  if (n < 2) throw InvalidArgument("a frontier is drawn for at least two steps");
  constexpr double left = 80;
  constexpr double top = 50;
  constexpr double right = left + 560;
  constexpr double bottom = top + 380;
  const auto steps = static_cast<double>(n);
  const auto memory = [&costs](const FrontierPoint& point) {
    return static_cast<double>(costs.state_bytes > 0 ? point.bytes
                                                     : static_cast<Bytes>(point.slots));
  };
  double x_low = 1e300;
  double x_high = 0;
  double y_low = 1e300;
  double y_high = 0;
  for (const auto* list : {&points, &marks}) {
    for (const FrontierPoint& point : *list) {
      x_low = std::min(x_low, memory(point));
      x_high = std::max(x_high, memory(point));
      y_low = std::min(y_low, point.cost / steps);
      y_high = std::max(y_high, point.cost / steps);
    }
  }
  // Room around what is drawn, so that no mark lies on an axis and no name crosses one.
  const auto room = [](double low, double high, double share) {
    return std::max(1.2, std::pow(high / low, share));
  };
  const double x_room = room(x_low, x_high, 0.03);
  const double y_room = room(y_low, y_high, 0.09);
  const LogAxis across{x_low / x_room, x_high * x_room, left, right};
  const LogAxis up{y_low / y_room, y_high * y_room, bottom, top};

  Svg svg(right + 24, bottom + 56);
  svg.label(left, 18, std::to_string(n) + " steps: what they cost with so much memory");
  svg.line(left, 33, left + 22, 33, blue, 2);
  svg.label(left + 28, 37, "the best schedule" + beside_memory(costs));
  svg.dot(left + 330, 33, 4, red);
  svg.label(left + 340, 37, "classical schedules, in memory alone");
  for (const double tick : costs.state_bytes > 0 ? across.doublings() : across.ticks()) {
    svg.line(across.at(tick), top, across.at(tick), bottom, "#e6e6e6", 0.8);
    svg.label(across.at(tick), bottom + 18,
              costs.state_bytes > 0 ? whole_bytes(tick) : axis_label(tick), "middle");
  }
  for (const double tick : up.ticks()) {
    svg.line(left, up.at(tick), right, up.at(tick), "#e6e6e6", 0.8);
    svg.label(left - 8, up.at(tick) + 4, axis_label(tick), "end");
  }
  svg.line(left, bottom, right, bottom, black, 1);
  svg.line(left, top, right, top, black, 1);
  svg.line(left, top, left, bottom, black, 1);
  svg.line(right, top, right, bottom, black, 1);
  svg.label((left + right) / 2, bottom + 42,
            costs.state_bytes > 0 ? "memory" : "slots in memory, that of the first state included",
            "middle");
  svg.label_upwards(20, (top + bottom) / 2, "cost a step, in units of cost");

  std::vector<std::pair<double, double>> curve;
  for (const FrontierPoint& point : points) {
    curve.emplace_back(across.at(memory(point)), up.at(point.cost / steps));
  }
  svg.polyline(curve, blue, 2);
  for (const FrontierPoint& mark : marks) {
    const double x = across.at(memory(mark));
    const double y = up.at(mark.cost / steps);
    svg.dot(x, y, 4, red);
    const bool at_the_end = x > right - 90;
    svg.label(x + 8, at_the_end ? y + 18 : y - 8, mark.schedule, at_the_end ? "end" : "start");
  }
  return svg.document();
}

}  // namespace costate::cli
