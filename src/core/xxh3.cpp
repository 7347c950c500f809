#include "xxh3_functions.hpp"

namespace costate::detail {

const Xxh3 xxh3_baseline{whole, begin, add, value};

const Xxh3& xxh3() noexcept {
#ifdef COSTATE_AVX2
  static const bool avx2 = __builtin_cpu_supports("avx2") != 0;
  return avx2 ? xxh3_avx2 : xxh3_baseline;
#else
  return xxh3_baseline;
#endif
}

}  // namespace costate::detail
