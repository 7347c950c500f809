// Compiled for AVX2 where the compiler can; see xxh3_functions.hpp for what may be used here.
#ifdef COSTATE_AVX2
#include "xxh3_functions.hpp"

namespace costate::detail {
const Xxh3 xxh3_avx2{whole, begin, add, value};
}  // namespace costate::detail
#endif
