#pragma once

#include <string>

#include <sundials/sundials_context.h>
#include <sundials/sundials_version.h>

#include "costate/sundials/context.hpp"

namespace costate::sundials {

/// Keeps what SUNDIALS would print on stderr, for the message of an exception. Must stay where it
/// is.
class Messages {
 public:
  explicit Messages(SUNContext context) {
#if SUNDIALS_VERSION_MAJOR >= 7
    SUNContext_ClearErrHandlers(context);
    check(SUNContext_PushErrHandler(context, handle, this), "SUNContext_PushErrHandler");
#else
    static_cast<void>(context);
#endif
  }
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;

  /// What was said last, after ": "; empty if nothing was.
  [[nodiscard]] std::string last() const {
    return last_.empty() ? "" : ": " + last_;
  }
  void clear() {
    last_.clear();
  }

#if SUNDIALS_VERSION_MAJOR >= 7
  static void handle(int, const char* function, const char*, const char* message, SUNErrCode,
                     void* self, SUNContext) {
    static_cast<Messages*>(self)->keep(function, message);
  }
#else
  /// For `…SetErrHandlerFn` of each package.
  static void handle(int, const char*, const char* function, char* message, void* self) {
    static_cast<Messages*>(self)->keep(function, message);
  }
#endif

 private:
  void keep(const char* function, const char* message) {
    last_ = std::string(function == nullptr ? "" : function) + ": " +
            (message == nullptr ? "" : message);
  }
  std::string last_;
};

}  // namespace costate::sundials
