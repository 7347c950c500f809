#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include <Eigen/Core>

#include "costate/core/error.hpp"
#include "costate/integrate/implicit_problem.hpp"
#include "costate/integrate/problem.hpp"
#include "costate/ode/pieces.hpp"
#include "costate/ode/signal.hpp"

/// @file
/// Controls: parameters that are functions of time, given on a grid, with a derivative for each
/// node.
///
/// @code
///   // y' = f(t, y, q), where the last entry of q is the control
///   const auto steered = costate::controlled(
///       f, costate::Signal({0, 0.5, 1}, costate::Interpolation::linear));
///   auto result = costate::value_and_gradient(
///       steered, method, objective,
///       {.t0 = 0, .t1 = 1, .y0 = y0, .p = steered.parameters(p, u)});
///   steered.nodes(result.dp);     // one column a node
///   steered.constants(result.dp); // ∂J/∂p
/// @endcode
///
/// Steps are placed on the nodes, where a signal is not smooth. An integrand does not see the
/// control: make the integral a component of the state.

namespace costate {

/// A problem whose last parameters are signals. `State` is the problem's; `Parameters` are the
/// problem's without the signals, then the values of the signals, node by node.
template <Problem F>
class Controlled {
 public:
  using State = typename F::State;
  using Inner = typename F::Parameters;
  using Scalar = typename Inner::Scalar;
  using Parameters = Eigen::Matrix<Scalar, Eigen::Dynamic, 1>;
  using Nodes = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;

  Controlled(F f, Signal signal)
      : f_(std::make_shared<const F>(std::move(f))),
        signal_(std::make_shared<const Signal>(std::move(signal))) {
    if (Inner::SizeAtCompileTime != Eigen::Dynamic && Inner::SizeAtCompileTime < channels()) {
      throw InvalidArgument(
          "controlled: the problem has fewer parameters than the signal has "
          "channels");
    }
  }

  [[nodiscard]] const Signal& signal() const { return *signal_; }

  /// The parameters of a run.
  /// @param constants  the problem's parameters that are not signals
  /// @param nodes      a column for each node, a row for each channel; or, with one channel, a
  ///                   vector with an entry for each node
  template <class C, class N>
  [[nodiscard]] Parameters parameters(const Eigen::MatrixBase<C>& constants,
                                      const Eigen::MatrixBase<N>& nodes) const {
    if (nodes.size() != channels() * node_count() ||
        (nodes.rows() != channels() && channels() != 1)) {
      throw InvalidArgument("controlled: the signal has " + std::to_string(channels()) +
                            " channels and " + std::to_string(node_count()) + " nodes, not " +
                            std::to_string(nodes.rows()) + " by " + std::to_string(nodes.cols()) +
                            " values");
    }
    Parameters out(constants.size() + nodes.size());
    for (Eigen::Index i = 0; i < constants.size(); ++i) {
      out[i] = static_cast<Scalar>(constants.derived()[i]);
    }
    out.tail(nodes.size()) = nodes.template cast<Scalar>().reshaped();
    return out;
  }
  /// Of parameters or their gradient: the part that are no signals.
  [[nodiscard]] Parameters constants(const Parameters& p) const {
    return p.head(p.size() - channels() * node_count());
  }
  /// Of parameters or their gradient: a column for each node, a row for each channel.
  [[nodiscard]] Nodes nodes(const Parameters& p) const {
    return p.tail(channels() * node_count()).reshaped(channels(), node_count());
  }

  void rhs(double t, const State& y, const Parameters& p, State& dydt) const {
    find(t, p);
    f_->rhs(t, y, q_, dydt);
  }
  void vjp(double t, const State& y, const Parameters& p, const State& w, State& y_bar,
           Parameters& p_bar) const {
    const SignalWeights at = find(t, p);
    q_bar_.setZero(q_.size());
    f_->vjp(t, y, q_, w, y_bar, q_bar_);
    scatter(at, p_bar);
  }
  void jvp(double t, const State& y, const Parameters& p, const State& dy, const Parameters& dp,
           State& out) const requires TangentProblem<F> {
    const SignalWeights at = find(t, p);
    values(at, dp, q_bar_);
    f_->jvp(t, y, q_, dy, q_bar_, out);
  }
  void jvp_vjp(double t, const State& y, const Parameters& p, const State& dy, const Parameters& dp,
               const State& w, State& y_bar,
               Parameters& p_bar) const requires SecondOrderProblem<F> {
    const SignalWeights at = find(t, p);
    Inner dq = q_;
    values(at, dp, dq);
    q_bar_.setZero(q_.size());
    f_->jvp_vjp(t, y, q_, dy, dq, w, y_bar, q_bar_);
    scatter(at, p_bar);
  }
  // Times may move (times.hpp) if the signal jumps at them and is constant between.
  void time_derivative(double t, const State& y, const Parameters& p, State& out) const requires
      requires(const F& f, const Inner& q) {
    f.time_derivative(t, y, q, out);
  }
  {
    require_constant();
    find(t, p);
    f_->time_derivative(t, y, q_, out);
  }
  void time_derivative(double, const State&, const Parameters&,
                       State& out) const requires requires {
    requires F::autonomous;
  }
  {
    require_constant();
    out.setZero();
  }
  template <class J>
  void jacobian(double t, const State& y, const Parameters& p, J& j) const requires HasJacobian<F> {
    find(t, p);
    f_->jacobian(t, y, q_, j);
  }
  [[nodiscard]] const auto& mass() const requires HasMass<F> { return f_->mass(); }

  [[nodiscard]] std::span<const double> breaks() const { return signal_->times(); }
  void enter(const Interval& s) { interval_ = signal_->interval(s.t + 0.5 * s.h); }

 private:
  static constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();

  [[nodiscard]] Eigen::Index channels() const {
    return static_cast<Eigen::Index>(signal_->channels());
  }
  [[nodiscard]] Eigen::Index node_count() const {
    return static_cast<Eigen::Index>(signal_->nodes());
  }

  void require_constant() const {
    if (signal_->interpolation() != Interpolation::constant) {
      throw InvalidArgument("controlled: times may move under piecewise constant signals only");
    }
  }
  // The inner parameters at time t, into q_.
  SignalWeights find(double t, const Parameters& p) const {
    const SignalWeights at =
        signal_->weights(t, interval_ == nowhere ? signal_->interval(t) : interval_);
    values(at, p, q_);
    return at;
  }
  void values(const SignalWeights& at, const Parameters& p, Inner& q) const {
    const Eigen::Index fixed = p.size() - channels() * node_count();
    q.setZero(fixed + channels());
    // Entry by entry: GCC 12 warns of packets that it never reads.
    for (Eigen::Index i = 0; i < fixed; ++i) q[i] = p[i];
    for (std::size_t a = 0; a < at.count; ++a) {
      const Eigen::Index node = fixed + static_cast<Eigen::Index>(at.node[a]) * channels();
      for (Eigen::Index c = 0; c < channels(); ++c) {
        q[fixed + c] += static_cast<Scalar>(at.weight[a]) * p[node + c];
      }
    }
  }

  // Adds q_bar_ to the parameters that it comes from.
  void scatter(const SignalWeights& at, Parameters& p_bar) const {
    const Eigen::Index fixed = q_.size() - channels();
    for (Eigen::Index i = 0; i < fixed; ++i) p_bar[i] += q_bar_[i];
    for (std::size_t a = 0; a < at.count; ++a) {
      const Eigen::Index node = fixed + static_cast<Eigen::Index>(at.node[a]) * channels();
      for (Eigen::Index c = 0; c < channels(); ++c) {
        p_bar[node + c] += static_cast<Scalar>(at.weight[a]) * q_bar_[fixed + c];
      }
    }
  }

  std::shared_ptr<const F> f_;
  std::shared_ptr<const Signal> signal_;
  std::size_t interval_ = nowhere;
  // Work space: a kernel evaluates a copy of its own.
  mutable Inner q_;
  mutable Inner q_bar_;
};

/// A controlled problem that brings the Jacobian of the problem in it.
template <HasJacobian F>
class ControlledWithJacobian : public Controlled<F> {
 public:
  using Controlled<F>::Controlled;
  using Jacobian = typename F::Jacobian;
};

/// `f` with its last parameters given by a signal.
template <Problem F>
auto controlled(F f, Signal signal) {
  if constexpr (HasJacobian<F>) {
    return ControlledWithJacobian<F>(std::move(f), std::move(signal));
  } else {
    return Controlled<F>(std::move(f), std::move(signal));
  }
}

}  // namespace costate
