#include "costate/sundials/context.hpp"

#include <string>

namespace costate::sundials {

void check(int flag, const char* function) {
  if (flag >= 0) return;
  throw SundialsError(std::string(function) + " failed with code " + std::to_string(flag), flag);
}

Context::Context() {
#if SUNDIALS_VERSION_MAJOR >= 7
  check(SUNContext_Create(SUN_COMM_NULL, &context_), "SUNContext_Create");
#else
  check(SUNContext_Create(nullptr, &context_), "SUNContext_Create");
#endif
}

Context::~Context() {
  if (context_ != nullptr) SUNContext_Free(&context_);
}

}  // namespace costate::sundials
