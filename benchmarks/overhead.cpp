// What the library costs beside the arithmetic.
//
//   (a) Lorenz-63, RK4, a million steps: costate's whole gradient against a hand-written loop that
//       carries out the same advances, copies and reverses with no library.
//   (b) Gray-Scott 512 x 512, RK4: the whole gradient against advances x one step + n x one reverse
//       step, measured in the same run.
//
// Exit status 1 if a bound is missed. Usage: overhead [rounds]

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "costate/costate.hpp"
#include "costate/schedule/revolve.hpp"
#include "support/gray_scott.hpp"
#include "support/lorenz.hpp"
#include "support/measure.hpp"

namespace {

using namespace costate::literals;
using costate::Command;
using costate::Step;

// ----- the hand-written loop -----
using Vector = std::array<double, 3>;

Vector slope(const Vector& y, const Vector& p) {
  return {p[0] * (y[1] - y[0]), y[0] * (p[1] - y[2]) - y[1], y[0] * y[1] - p[2] * y[2]};
}

Vector transposed(const Vector& y, const Vector& p, const Vector& w, Vector& g) {
  g[0] += (y[1] - y[0]) * w[0];
  g[1] += y[0] * w[1];
  g[2] -= y[2] * w[2];
  return {-p[0] * w[0] + (p[1] - y[2]) * w[1] + y[1] * w[2], p[0] * w[0] - w[1] + y[0] * w[2],
          -y[0] * w[1] - p[2] * w[2]};
}

Vector sum(const Vector& y, double h, const Vector& k) {
  return {y[0] + h * k[0], y[1] + h * k[1], y[2] + h * k[2]};
}

struct ByHand {
  Vector p{10, 28, 8.0 / 3};
  double h = 0;
  Vector x{}, x_bar{}, gradient{};
  double value = 0;
  std::vector<Vector> slots;

  void step() {
    const Vector k1 = slope(x, p);
    const Vector k2 = slope(sum(x, h / 2, k1), p);
    const Vector k3 = slope(sum(x, h / 2, k2), p);
    const Vector k4 = slope(sum(x, h, k3), p);
    for (std::size_t i = 0; i < 3; ++i) x[i] += h / 6 * (k1[i] + 2 * (k2[i] + k3[i]) + k4[i]);
  }
  void reverse() {
    const Vector y2 = sum(x, h / 2, slope(x, p));
    const Vector y3 = sum(x, h / 2, slope(y2, p));
    const Vector y4 = sum(x, h, slope(y3, p));
    const auto weighted = [this](double a, double b, const Vector& v) {
      return Vector{a * x_bar[0] + b * v[0], a * x_bar[1] + b * v[1], a * x_bar[2] + b * v[2]};
    };
    const Vector zero{};
    const Vector b4 = transposed(y4, p, weighted(h / 6, 0, zero), gradient);
    const Vector b3 = transposed(y3, p, weighted(h / 3, h, b4), gradient);
    const Vector b2 = transposed(y2, p, weighted(h / 3, h / 2, b3), gradient);
    const Vector b1 = transposed(x, p, weighted(h / 6, h / 2, b2), gradient);
    for (std::size_t i = 0; i < 3; ++i) x_bar[i] += b1[i] + b2[i] + b3[i] + b4[i];
  }

  void run(const std::vector<Command>& commands) {
    using Kind = Command::Kind;
    Vector before_turn{};
    bool turned = false;
    for (const Command& c : commands) {
      const auto slot = static_cast<std::size_t>(c.slot);
      switch (c.kind) {
        case Kind::advance:
          for (Step k = c.from; k < c.to; ++k) step();
          break;
        case Kind::save:
          slots[slot] = x;
          break;
        case Kind::load:
          x = slots[slot];
          break;
        case Kind::record:
          if (!turned) {
            before_turn = x;
            step();
          }
          break;
        case Kind::turn:
          value = 0.5 * (x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
          x_bar = x;
          x = before_turn;
          turned = true;
          break;
        case Kind::reverse:
          reverse();
          break;
        case Kind::keep:
          for (std::size_t i = 0; i < static_cast<std::size_t>(c.to - c.from); ++i) {
            slots[slot + i] = x;
            step();
          }
          break;
        case Kind::unwind:
          for (auto i = static_cast<std::size_t>(c.to - c.from); i-- > 0;) {
            x = slots[slot + i];
            reverse();
          }
          break;
        case Kind::drop:
        case Kind::end:
          break;
      }
    }
  }
};

auto half_square_norm() {
  return costate::terminal([](const auto& y, const auto&) { return 0.5 * y.squaredNorm(); },
                           [](const auto& y, const auto&, auto& y_bar, auto&) { y_bar += y; });
}

bool lorenz(int rounds, Step n, costate::Bytes memory) {
  const double t1 = 10;
  const Eigen::Vector3d y0(1, 1.2, 20);
  const Eigen::Vector3d p(10, 28, 8.0 / 3);
  double sink = 0;
  costate::Report report;
  costate::Workspace workspace;  // as in an optimiser: only the first gradient meets page faults
  const auto library = [&] {
    const auto result =
        costate::value_and_gradient(Lorenz{}, costate::RungeKutta4{.steps = n}, half_square_norm(),
                                    {.t0 = 0,
                                     .t1 = t1,
                                     .y0 = y0,
                                     .p = p,
                                     .budget = {.memory = memory, .workspace = &workspace}});
    sink = result.dp[0];
    report = result.report;
  };
  library();

  // The same commands, planned beforehand.
  const costate::Slot slots = report.tiers.front().slots;
  std::vector<Command> commands;
  for (auto schedule = costate::revolve(n, slots);;) {
    commands.push_back(schedule.next_command());
    if (commands.back().kind == Command::Kind::end) break;
  }
  double check = 0;
  ByHand loop;
  loop.h = t1 / static_cast<double>(n);
  loop.slots.resize(static_cast<std::size_t>(slots));
  const auto hand = [&] {
    loop.x = {y0[0], y0[1], y0[2]};
    loop.gradient = {};
    loop.run(commands);
    check = loop.gradient[0];
  };
  const auto pair = bench::compare(rounds, library, hand);
  std::printf(
      "Lorenz-63, %lld steps, %s of checkpoints, %.3f advances a step: %.1f ns a step, "
      "by hand %.1f ns\n",
      static_cast<long long>(n), costate::format_bytes(memory).c_str(),
      static_cast<double>(report.advances) / static_cast<double>(n),
      1e9 * pair.a / static_cast<double>(n), 1e9 * pair.b / static_cast<double>(n));
  if (!(std::abs(sink - check) < 1e-6 * std::abs(check))) {
    std::printf("the gradients differ: %.15g and %.15g\n", sink, check);
    return false;
  }
  return bench::report("(a) costate / hand-written loop", pair.ratio, 1.10);
}

bool gray_scott(int rounds, std::ptrdiff_t size, Step n, costate::Bytes memory) {
  const GrayScott model{.size = size};
  const std::ptrdiff_t points = size * size;
  Eigen::VectorXd y0(2 * points);
  for (std::ptrdiff_t i = 0; i < points; ++i) {
    const double x = static_cast<double>(i % size) / static_cast<double>(size) - 0.5;
    const double z = static_cast<double>(i / size) / static_cast<double>(size) - 0.5;
    const double blob = std::exp(-40 * (x * x + z * z));
    y0[i] = 1 - 0.7 * blob;
    y0[points + i] = 0.45 * blob;
  }
  auto objective = half_square_norm();
  const costate::RungeKutta4 method{.steps = n};
  const double t1 = 0.05 * static_cast<double>(n);
  using Stepper = costate::OdeStepper<GrayScott, costate::RungeKutta4, decltype(objective)>;
  costate::Workspace workspace;

  std::vector<double> ratios;
  costate::Report report;
  double step = 0;
  double reverse = 0;
  for (int round = 0; round <= rounds; ++round) {
    Stepper whole(model, method, objective, 0, t1, y0, Eigen::Vector2d(0.024, 0.06));
    const double total = bench::seconds_of([&] {
      report = costate::sweep(whole, {.budget = {.memory = memory, .workspace = &workspace}});
    });
    // A single step and a single reverse step, of a stepper that does nothing else.
    Stepper part(model, method, objective, 0, t1, y0, Eigen::Vector2d(0.024, 0.06));
    part.advance(0, n, costate::Pass::first);
    part.turn(n);
    step = bench::seconds_of([&] { part.advance(0, n, costate::Pass::replay); }) /
           static_cast<double>(n);
    reverse = bench::seconds_of([&] {
                for (Step k = n - 1; k >= 0; --k) part.reverse(k);
              }) /
              static_cast<double>(n);
    const double parts =
        static_cast<double>(report.advances) * step + static_cast<double>(n) * reverse;
    if (round > 0) ratios.push_back(total / parts);
  }
  std::printf(
      "Gray-Scott %td x %td, %lld steps, %s of checkpoints, %.3f advances a step: a step %.3f "
      "ms, a reverse step %.3f ms; guard %.2f %%, storage %.2f %% of the time\n",
      size, size, static_cast<long long>(n), costate::format_bytes(memory).c_str(),
      static_cast<double>(report.advances) / static_cast<double>(n), 1e3 * step, 1e3 * reverse,
      100 * report.guard_seconds / report.total_seconds,
      100 * report.storage_seconds / report.total_seconds);
  return bench::report("(b) whole gradient / (advances x step + n x reverse step)",
                       bench::median(ratios), 1.03);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 9;
  bool good = true;
  for (const costate::Bytes memory : {64_MiB, 64_KiB}) {
    good = lorenz(rounds, 1'000'000, memory) && good;
  }
  // For information: 131071 slots make every second state a checkpoint of its own, 32 slots make
  // many short replays; single commands then weigh as much as steps.
  lorenz(rounds, 1'000'000, 4_MiB);
  lorenz(rounds, 1'000'000, 1_KiB);
  good = gray_scott(rounds, 512, 200, 64_MiB) && good;
  return good ? 0 : 1;
}
