#include "work_precision.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "../tests/support/stiff_problems.hpp"
#include "cli/svg.hpp"
#include "costate/costate.hpp"
#include "costate/integrate/diagonally_implicit.hpp"
#include "costate/integrate/more_explicit_methods.hpp"
#include "costate/integrate/rosenbrock.hpp"
#include "support/brusselator.hpp"
#include "support/measure.hpp"

namespace {

struct Robertson : problems::Robertson {
  static constexpr bool autonomous = true;

  void jacobian_vjp(double, const State& y, const Parameters& p, const State& k, const State& w,
                    State& y_bar, Parameters& p_bar) const {
    const double a = w[0] - w[1];
    const double b = w[2] - w[1];
    y_bar[1] += a * p[1] * k[2] + 2 * b * p[2] * k[1];
    y_bar[2] += a * p[1] * k[1];
    p_bar += Parameters(-a * k[0], a * (y[2] * k[1] + y[1] * k[2]), 2 * b * y[1] * k[1]);
  }
};

// van der Pol's oscillator; p: its stiffness.
struct VanDerPol {
  using State = Eigen::Vector2d;
  using Parameters = Eigen::Matrix<double, 1, 1>;
  using Jacobian = Eigen::Matrix2d;
  static constexpr bool autonomous = true;

  void rhs(double, const State& y, const Parameters& p, State& out) const {
    out << y[1], p[0] * (1 - y[0] * y[0]) * y[1] - y[0];
  }
  void jacobian(double, const State& y, const Parameters& p, Jacobian& j) const {
    j << 0, 1, -2 * p[0] * y[0] * y[1] - 1, p[0] * (1 - y[0] * y[0]);
  }
  void vjp(double, const State& y, const Parameters& p, const State& w, State& y_bar,
           Parameters& p_bar) const {
    y_bar << (-2 * p[0] * y[0] * y[1] - 1) * w[1], w[0] + p[0] * (1 - y[0] * y[0]) * w[1];
    p_bar[0] += (1 - y[0] * y[0]) * y[1] * w[1];
  }
  void jacobian_vjp(double, const State& y, const Parameters& p, const State& k, const State& w,
                    State& y_bar, Parameters& p_bar) const {
    y_bar[0] += w[1] * -2 * p[0] * (y[1] * k[0] + y[0] * k[1]);
    y_bar[1] += w[1] * -2 * p[0] * y[0] * k[0];
    p_bar[0] += w[1] * (-2 * y[0] * y[1] * k[0] + (1 - y[0] * y[0]) * k[1]);
  }
};

// Counts what is asked of a problem, in right-hand sides: a product with the transposed Jacobian
// counts as 2, one with second derivatives as 4, a Jacobian as the differences it could be made of:
// its columns, or its colours if it is sparse. Linear algebra is not in it; time is.
template <class F>
struct Counted : F {
  double jacobian_columns;
  double* work;
  Counted(F f, double columns, double* to) : F(std::move(f)), jacobian_columns(columns), work(to) {}

  using State = typename F::State;
  using Parameters = typename F::Parameters;
  void rhs(double t, const State& y, const Parameters& p, State& out) const {
    *work += 1;
    F::rhs(t, y, p, out);
  }
  void jacobian(double t, const State& y, const Parameters& p, typename F::Jacobian& j) const {
    *work += jacobian_columns;
    F::jacobian(t, y, p, j);
  }
  void vjp(double t, const State& y, const Parameters& p, const State& w, State& y_bar,
           Parameters& p_bar) const {
    *work += 2;
    F::vjp(t, y, p, w, y_bar, p_bar);
  }
  void jacobian_vjp(double t, const State& y, const Parameters& p, const State& k, const State& w,
                    State& y_bar, Parameters& p_bar) const requires costate::RosenbrockProblem<F> {
    *work += 4;
    F::jacobian_vjp(t, y, p, k, w, y_bar, p_bar);
  }
};

struct Point {
  double error;  // the largest relative one of the derivatives by the parameters
  double work;   // right-hand sides
  double seconds;
};
struct Curve {
  std::string method;
  const char* colour;
  std::vector<Point> points;
};
struct Panel {
  std::string problem;
  std::vector<Curve> curves;
};

// One problem: y_i at the end, or half the square of y if i < 0.
template <class F>
class Comparison {
 public:
  Comparison(const char* name, F f, double columns, costate::RunOf<F> run, Eigen::Index entry,
             double atol_factor)
      : f_(f), columns_(columns), run_(std::move(run)), entry_(entry), atol_(atol_factor) {
    panel_.problem = name;
    // Room for 2000 states, touched once: no page faults in the times.
    run_.budget = {.memory = costate::memory_for(
                       2000, static_cast<std::size_t>(run_.y0.size()) * sizeof(double)),
                   .workspace = &workspace_};
    // An explicit method of order 8, far below the tolerances to come.
    reference_ = gradient(f_, costate::Dop853{.rtol = 1e-13, .atol = 1e-13 * atol_}).dp;
  }

  template <class Method>
  void adaptive(const char* name, const char* colour, double loosest, double tightest) {
    Curve curve{name, colour, {}};
    for (double tol = loosest; tol >= tightest * 0.99; tol /= 10) {
      char option[32];
      std::snprintf(option, sizeof option, "tol %.0e", tol);
      measure(curve, Method{.rtol = tol, .atol = tol * atol_}, option);
    }
    panel_.curves.push_back(std::move(curve));
  }
  template <class Method>
  void fixed(const char* name, const char* colour, std::vector<costate::Step> steps) {
    Curve curve{name, colour, {}};
    for (const costate::Step n : steps) {
      const std::string option = "steps " + std::to_string(n);
      measure(curve, Method{.steps = n}, option.c_str());
    }
    panel_.curves.push_back(std::move(curve));
  }
  [[nodiscard]] Panel panel() && { return std::move(panel_); }

 private:
  using Parameters = typename F::Parameters;
  using State = typename F::State;

  template <class G, class Method>
  auto gradient(const G& g, const Method& method) const {
    const auto objective = costate::terminal(
        [this](const State& y, const Parameters&) {
          return entry_ < 0 ? 0.5 * y.squaredNorm() : y[entry_];
        },
        [this](const State& y, const Parameters&, State& y_bar, Parameters&) {
          entry_ < 0 ? void(y_bar += y) : void(y_bar[entry_] += 1);
        });
    return costate::value_and_gradient(
        g, method, objective,
        {.t0 = run_.t0, .t1 = run_.t1, .y0 = run_.y0, .p = run_.p, .budget = run_.budget});
  }

  template <class Method>
  void measure(Curve& curve, const Method& method, const char* option) {
    double work = 0;
    const auto counted = gradient(Counted<F>(f_, columns_, &work), method);
    double seconds = std::numeric_limits<double>::infinity();
    for (int i = 0; i < 3; ++i) {
      seconds = std::min(seconds, bench::seconds_of([&] { gradient(f_, method); }));
    }
    const double error = ((counted.dp - reference_).array() / reference_.array()).abs().maxCoeff();
    curve.points.push_back({error, work, seconds});
    std::printf("(b) %-15s %-20s %-11s %6lld steps  error %8.1e  work %9.0f  %9.2f ms\n",
                panel_.problem.c_str(), curve.method.c_str(), option,
                static_cast<long long>(counted.report.reverses), error, work, seconds * 1e3);
  }

  F f_;
  double columns_;
  costate::RunOf<F> run_;
  Eigen::Index entry_;
  double atol_;
  costate::Workspace workspace_;
  Parameters reference_;
  Panel panel_;
};

// Errors above 1 are no gradient.
bool worth_drawing(const Point& p) {
  return p.error <= 1;
}

// One row of panels against work, one against time.
void draw(const std::vector<Panel>& panels, const char* file) {
  using costate::cli::LogAxis;
  constexpr double width = 300;
  constexpr double height = 230;
  constexpr double left = 76;
  constexpr double top = 56;
  constexpr double down = height + 62;
  constexpr double across = width + 86;
  costate::cli::Svg svg(left + across * static_cast<double>(panels.size()), top + 2 * down);
  for (std::size_t c = 0; c < panels.size(); ++c) {
    for (int r = 0; r < 2; ++r) {
      const double x0 = left + across * static_cast<double>(c);
      const double y0 = top + down * r;
      const auto cost = [r](const Point& p) { return r == 0 ? p.work : p.seconds; };
      double low = 1e300, high = 0, best = 1e300, worst = 0;
      for (const Curve& curve : panels[c].curves) {
        for (const Point& p : curve.points) {
          if (!worth_drawing(p)) continue;
          low = std::min(low, cost(p));
          high = std::max(high, cost(p));
          best = std::min(best, p.error);
          worst = std::max(worst, p.error);
        }
      }
      const auto decade = [](double v, double (*round)(double)) {
        return std::pow(10.0, round(std::log10(v)));
      };
      const LogAxis x{decade(low, std::floor), decade(high, std::ceil), x0, x0 + width};
      const LogAxis y{decade(best, std::floor), decade(worst, std::ceil), y0 + height, y0};
      const auto each_decade = [](const LogAxis& axis, const auto& visit) {
        for (double v = axis.low; v <= axis.high * 1.01; v *= 10) visit(v, axis.at(v));
      };
      each_decade(x, [&](double v, double at) {
        svg.line(at, y0, at, y0 + height, costate::cli::grey, 0.5);
        svg.label(at, y0 + height + 16, costate::cli::axis_label(v), "middle");
      });
      each_decade(y, [&](double v, double at) {
        svg.line(x0, at, x0 + width, at, costate::cli::grey, 0.5);
        svg.label(x0 - 6, at + 4, costate::cli::axis_label(v), "end");
      });
      svg.label(x0 + width / 2, y0 + height + 34,
                r == 0 ? "work, in right-hand sides" : "processor seconds", "middle");
      if (c == 0) svg.label_upwards(12, y0 + height / 2, "error of the gradient");
      if (r == 0) svg.label(x0, y0 - 10, panels[c].problem);
      for (const Curve& curve : panels[c].curves) {
        std::vector<std::pair<double, double>> line;
        for (const Point& p : curve.points) {
          if (worth_drawing(p)) line.emplace_back(x.at(cost(p)), y.at(p.error));
        }
        svg.polyline(line, curve.colour, 1.5);
        for (const auto& [px, py] : line) svg.dot(px, py, 2.5, curve.colour);
      }
    }
  }
  double x = left;
  std::vector<std::string> named;
  for (const Panel& panel : panels) {
    for (const Curve& curve : panel.curves) {
      if (std::find(named.begin(), named.end(), curve.method) != named.end()) continue;
      named.push_back(curve.method);
      svg.line(x, 14, x + 20, 14, curve.colour, 2);
      svg.label(x + 26, 18, curve.method);
      x += 170;
    }
  }
  std::ofstream(file) << svg.document();
}

// Of a small stiff problem.
template <class F>
Panel stiff_panel(Comparison<F>& problem) {
  using namespace costate;
  using namespace costate::cli;
  problem.template adaptive<Esdirk43>("ESDIRK 4(3)", blue, 1e-3, 1e-9);
  problem.template adaptive<Esdirk32>("ESDIRK 3(2)", green, 1e-3, 1e-7);
  problem.template adaptive<Sdirk43>("SDIRK 4(3)", orange, 1e-3, 1e-9);
  problem.template adaptive<Rodas43>("RODAS4", red, 1e-3, 1e-9);
  problem.template adaptive<DormandPrince54>("Dormand-Prince 5(4)", black, 1e-5, 1e-9);
  return std::move(problem).panel();
}

}  // namespace

// Errors are measured against the gradient of an explicit method of order 8 with a tolerance of
// 1e-13; the tolerance is relative, and the absolute one smaller by a factor for Robertson's
// problem, whose second species is 1e-5.
void work_precision(const char* svg) {
  using namespace costate;
  using namespace costate::cli;
  std::vector<Panel> panels;
  {
    Comparison<Robertson> problem(
        "Robertson", {}, 3, {.t0 = 0, .t1 = 40, .y0 = {1, 0, 0}, .p = {0.04, 1e4, 3e7}}, 0, 1e-6);
    panels.push_back(stiff_panel(problem));
  }
  {
    const Brusselator model{.size = 24};
    Comparison<Brusselator> problem("Brusselator 2D", model, 10,
                                    {.t0 = 0, .t1 = 1, .y0 = model.initial(), .p = {3.4, 1, 0.02}},
                                    -1, 1);
    problem.adaptive<Esdirk43>("ESDIRK 4(3)", blue, 1e-3, 1e-7);
    problem.adaptive<Esdirk32>("ESDIRK 3(2)", green, 1e-3, 1e-6);
    problem.fixed<CrankNicolson>("Crank-Nicolson", purple, {10, 20, 40, 80});
    problem.adaptive<DormandPrince54>("Dormand-Prince 5(4)", black, 1e-3, 1e-9);
    panels.push_back(std::move(problem).panel());
  }
  {
    Comparison<VanDerPol> problem(
        "van der Pol", {}, 2, {.t0 = 0, .t1 = 100, .y0 = {2, 0}, .p = VanDerPol::Parameters(100.0)},
        0, 1);
    panels.push_back(stiff_panel(problem));
  }
  if (svg != nullptr) draw(panels, svg);
}
