#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "costate/core/bytes.hpp"
#include "costate/core/step.hpp"

/// @file
/// What can go wrong: one type per thing that a caller can act on. Each message names the step, the
/// path or the least budget; the same facts are in the fields.

namespace costate {

/// The root of all errors that costate throws on purpose.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An argument is outside its documented range.
class InvalidArgument : public Error {
 public:
  using Error::Error;
};

/// The object cannot do what is asked of it (a stepper without tapes, a tier without durability).
class Unsupported : public Error {
 public:
  using Error::Error;
};

/// The budget cannot hold the least that a gradient needs. Nothing has been run.
class BudgetError : public Error {
 public:
  BudgetError(const std::string& message, Bytes least_bytes) : Error(message), least(least_bytes) {}
  Bytes least;  ///< the least number of bytes of checkpoint memory with which the run can start
};

/// A schedule broke a rule: a slot exceeded, a load of what is not there, a step out of order.
class ScheduleError : public Error {
 public:
  ScheduleError(const std::string& message, Step at_step) : Error(message), step(at_step) {}
  Step step;
};

/// A replayed state differs from the one of the first pass, so the step is not a function of its
/// arguments and no gradient can be trusted. The first difference lies in the steps [first, step).
class ReplayError : public Error {
 public:
  ReplayError(const std::string& message, Step first_step, Step at_step)
      : Error(message), first(first_step), step(at_step) {}
  Step first;  ///< the last index that was known to be right (a restored checkpoint)
  Step step;   ///< the index of the state that differs
};

/// A checkpoint could not be written, read or trusted.
class StorageError : public Error {
 public:
  StorageError(const std::string& message, std::string file, Step at_step = unknown)
      : Error(message), path(std::move(file)), step(at_step) {}
  std::string path;
  Step step;  ///< the checkpoint's index, or `unknown`
};

/// The integration cannot go on from time `t`: the step size vanished, the number of steps is
/// exhausted, or a stage is not finite and cannot be made so by a smaller step.
class IntegrationError : public Error {
 public:
  IntegrationError(const std::string& message, Step at_step, double time)
      : Error(message), step(at_step), t(time) {}
  Step step;  ///< the last accepted index
  double t;   ///< its time
};

/// A transposed system of an implicit step could not be solved, so there is no gradient: its matrix
/// is singular, or the problem's `vjp` does not belong to its `rhs` and Jacobian.
class AdjointResidualError : public Error {
 public:
  AdjointResidualError(const std::string& message, Step at_step, double relative_residual)
      : Error(message), step(at_step), residual(relative_residual) {}
  Step step;        ///< the step that was being reversed
  double residual;  ///< relative to the terms that it is the sum of
};

/// The objective or the gradient is not finite.
class NonFiniteError : public Error {
 public:
  NonFiniteError(const std::string& message, Step at_step) : Error(message), step(at_step) {}
  Step step;
};

}  // namespace costate
