#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include <sundials/sundials_config.h>
#include <sundials/sundials_context.h>
#include <sundials/sundials_linearsolver.h>
#include <sundials/sundials_matrix.h>
#include <sundials/sundials_nvector.h>
#include <sundials/sundials_types.h>
#include <sundials/sundials_version.h>

#include "costate/core/error.hpp"

/// @file
/// What every use of SUNDIALS needs: a context, handles that release what they hold, and errors.
/// Builds against SUNDIALS 6.4 to 7.x.

namespace costate::sundials {

/// A SUNDIALS function failed. The message names the function and says what SUNDIALS said.
class SundialsError : public Error {
 public:
  SundialsError(const std::string& message, int flag) : Error(message), code(flag) {}
  int code;  ///< what the function returned
};

/// Releases the objects of SUNDIALS.
struct Release {
  void operator()(N_Vector v) const noexcept { N_VDestroy(v); }
  void operator()(SUNMatrix a) const noexcept { SUNMatDestroy(a); }
  void operator()(SUNLinearSolver s) const noexcept { SUNLinSolFree(s); }
};

/// Owns one. `remove_pointer_t`, because the names of the structures differ between versions.
template <class Pointer>
using Handle = std::unique_ptr<std::remove_pointer_t<Pointer>, Release>;
using Vector = Handle<N_Vector>;
using Matrix = Handle<SUNMatrix>;
using LinearSolver = Handle<SUNLinearSolver>;

/// A context of the library, which all other objects belong to and must not outlive. Serial.
class Context {
 public:
  /// @throws SundialsError
  Context();
  ~Context();
  Context(Context&& other) noexcept : context_(std::exchange(other.context_, nullptr)) {}
  Context& operator=(Context&& other) noexcept {
    std::swap(context_, other.context_);
    return *this;
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  operator SUNContext() const noexcept { return context_; }  // as a handle is used

 private:
  SUNContext context_ = nullptr;
};

/// @throws SundialsError if `flag` is negative
void check(int flag, const char* function);

/// @throws SundialsError if `pointer` is null
template <class Pointer>
Pointer checked(Pointer pointer, const char* function) {
  if (pointer == nullptr) throw SundialsError(std::string(function) + " gave nothing", -1);
  return pointer;
}

}  // namespace costate::sundials
