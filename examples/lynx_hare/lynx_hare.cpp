// Lotka-Volterra fitted to the pelts traded by the Hudson's Bay Company, 1900-1920.
//
//   Model      hare' = (a - b lynx) hare,   lynx' = (-g + d hare) lynx
//   Unknown    the four rates and the two initial values, as logarithms: all are positive
//   Objective  J = mean over years and species of (log y - log data)^2, the log-normal misfit
//
// Adaptive Dormand-Prince steps placed on the years; the gradient from costate, L-BFGS from NLopt.
// Usage: lynx_hare --data lynx_hare.csv [--output FOLDER]

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <nlopt.hpp>

#include "costate/costate.hpp"
#include "support/options.hpp"
#include "support/picture.hpp"

namespace {

using namespace costate::literals;
using Unknowns = Eigen::Matrix<double, 6, 1>;  // log of hare(0), lynx(0), a, b, g, d

struct LotkaVolterra {
  using State = Eigen::Vector2d;
  using Parameters = Eigen::Vector4d;  // a, b, g, d

  void rhs(double /*t*/, const State& y, const Parameters& p, State& dydt) const {
    dydt << (p[0] - p[1] * y[1]) * y[0], (-p[2] + p[3] * y[0]) * y[1];
  }
  void vjp(double /*t*/, const State& y, const Parameters& p, const State& w, State& y_bar,
           Parameters& p_bar) const {
    y_bar << (p[0] - p[1] * y[1]) * w[0] + p[3] * y[1] * w[1],
        -p[1] * y[0] * w[0] + (-p[2] + p[3] * y[0]) * w[1];
    p_bar += Parameters(y[0] * w[0], -y[0] * y[1] * w[0], -y[1] * w[1], y[0] * y[1] * w[1]);
  }
};

struct Pelts {
  std::vector<double> year;
  std::vector<double> hare;
  std::vector<double> lynx;
};

Pelts read(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  Pelts pelts;
  for (std::string line; std::getline(file, line);) {
    double year = 0;
    double lynx = 0;
    double hare = 0;
    if (std::sscanf(line.c_str(), "%lf,%lf,%lf", &year, &lynx, &hare) != 3) continue;
    pelts.year.push_back(year);
    pelts.lynx.push_back(lynx);
    pelts.hare.push_back(hare);
  }
  if (pelts.year.empty()) throw std::runtime_error("no pelts in " + path);
  return pelts;
}

void run(const std::string& data, const std::string& output) {
  const Pelts pelts = read(data);
  const std::vector<double>& years = pelts.year;
  const costate::Dopri5 method{.rtol = 1e-9, .atol = 1e-9};

  const double weight = 0.5 / static_cast<double>(years.size());
  const auto misfit = costate::observations(
      years,
      [&](std::size_t i, const Eigen::Vector2d& y, const Eigen::Vector4d&) {
        return weight * (std::pow(std::log(y[0] / pelts.hare[i]), 2) +
                         std::pow(std::log(y[1] / pelts.lynx[i]), 2));
      },
      [&](std::size_t i, const Eigen::Vector2d& y, const Eigen::Vector4d&, Eigen::Vector2d& y_bar,
          Eigen::Vector4d&) {
        y_bar += 2 * weight *
                 Eigen::Vector2d(std::log(y[0] / pelts.hare[i]) / y[0],
                                 std::log(y[1] / pelts.lynx[i]) / y[1]);
      });

  costate::Report report;
  int gradients = 0;
  const auto evaluate = [&](const Unknowns& x, Unknowns& gradient) {
    const Unknowns positive = x.array().exp();
    const auto result = costate::value_and_gradient(LotkaVolterra{}, method, misfit,
                                                    {.t0 = years.front(),
                                                     .t1 = years.back(),
                                                     .y0 = positive.head<2>(),
                                                     .p = positive.tail<4>(),
                                                     .budget = {.memory = 2_KiB}});
    gradient << result.dy0, result.dp;
    gradient.array() *= positive.array();
    report = result.report;
    ++gradients;
    return result.value;
  };

  Unknowns x;
  x << std::log(30), std::log(4), std::log(0.5), std::log(0.025), std::log(0.8), std::log(0.02);
  Unknowns gradient;
  const double before = evaluate(x, gradient);

  // Check of the gradient where the fit starts: central differences with the recorded steps would
  // be exact; with steps chosen anew they agree to the tolerance of the integration.
  double mismatch = 0;
  for (Eigen::Index i = 0; i < 6; ++i) {
    const double e = 1e-4;
    Unknowns other = x;
    Unknowns ignored;
    other[i] = x[i] + e;
    const double above = evaluate(other, ignored);
    other[i] = x[i] - e;
    const double below = evaluate(other, ignored);
    mismatch = std::max(mismatch, std::abs((above - below) / (2 * e) - gradient[i]));
  }
  mismatch /= gradient.norm();

  gradients = 0;
  nlopt::opt optimiser(nlopt::LD_LBFGS, 6);
  using Objective = decltype(evaluate);
  optimiser.set_min_objective(
      [](unsigned, const double* point, double* slope, void* self) {
        Unknowns g;
        const double value = (*static_cast<Objective*>(self))(Eigen::Map<const Unknowns>(point), g);
        if (slope != nullptr) std::copy_n(g.data(), 6, slope);
        return value;
      },
      const_cast<void*>(static_cast<const void*>(&evaluate)));
  std::vector<double> point(x.data(), x.data() + 6);
  // Within a factor of e of the guess: the first steps of L-BFGS are bold.
  std::vector<double> low = point;
  std::vector<double> high = point;
  for (double& bound : low) bound -= 1;
  for (double& bound : high) bound += 1;
  optimiser.set_lower_bounds(low);
  optimiser.set_upper_bounds(high);
  optimiser.set_ftol_rel(1e-10);
  optimiser.set_maxeval(300);
  double after = 0;
  try {
    optimiser.optimize(point, after);
  } catch (const nlopt::roundoff_limited&) {
    // As far as rounding lets it come: the best point is in `point`.
  }
  const int used = gradients;
  x = Eigen::Map<const Unknowns>(point.data());
  after = evaluate(x, gradient);
  const Unknowns fit = x.array().exp();

  // The fitted curve: 20 points a year.
  std::vector<double> times;
  for (double t = years.front(); t <= years.back(); t += 0.05) times.push_back(t);
  std::vector<double> hare(times.size());
  std::vector<double> lynx(times.size());
  const auto record = costate::observations(
      times,
      [&](std::size_t i, const Eigen::Vector2d& y, const Eigen::Vector4d&) {
        hare[i] = y[0];
        lynx[i] = y[1];
        return 0.0;
      },
      [](std::size_t, const Eigen::Vector2d&, const Eigen::Vector4d&, Eigen::Vector2d&,
         Eigen::Vector4d&) {});
  costate::value(
      LotkaVolterra{}, method, record,
      {.t0 = years.front(), .t1 = years.back(), .y0 = fit.head<2>(), .p = fit.tail<4>()});
  picture::write_svg(output + "/lynx_hare.svg",
                     "Hudson's Bay pelts and the fitted Lotka-Volterra model", "year",
                     "pelts, thousands",
                     {{"hare", "#2c7fb8", false, years, pelts.hare},
                      {"hare, fit", "#7fb8dd", true, times, hare},
                      {"lynx", "#c0392b", false, years, pelts.lynx},
                      {"lynx, fit", "#e0988f", true, times, lynx}});

  std::printf("fit        hare(1900) = %.3f, lynx(1900) = %.3f thousand\n", fit[0], fit[1]);
  std::printf("           a = %.4f, b = %.5f, g = %.4f, d = %.5f a year\n", fit[2], fit[3], fit[4],
              fit[5]);
  std::printf("value      misfit %.6f before, %.6f after %d gradients\n", before, after, used);
  std::printf("gradient   |dJ/d log x| = %.2e at the fit\n", gradient.norm());
  std::printf("check      at the start, against central differences: relative %.1e\n", mismatch);
  std::printf("%s", costate::to_string(report).c_str());
  // Differences: e^2 times a third derivative of the order of J, plus the tolerance over e.
  if (!(mismatch < 1e-4) || !(after < before)) throw std::runtime_error("the check failed");
}

}  // namespace

int main(int argc, char** argv) try {
  run(example::option(argc, argv, "--data", "lynx_hare.csv"),
      example::option(argc, argv, "--output", "."));
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "lynx_hare: %s\n", error.what());
  return 1;
}
