#include "costate/storage/pool.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <system_error>

#include <sys/mman.h>

#include "costate/core/bytes.hpp"
#include "costate/core/error.hpp"

namespace costate {

Pool::Pool(std::size_t bytes) : size_(bytes) {
  if (bytes == 0) return;
  // NORESERVE: what is promised to nobody need not be there until it is touched.
  void* const got = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got == MAP_FAILED) {
    throw StorageError("cannot reserve " + format_bytes(bytes) +
                           " of memory: " + std::generic_category().message(errno),
                       "memory");
  }
  data_ = static_cast<std::byte*>(got);
  if (bytes >= 4_MiB) madvise(data_, bytes, MADV_HUGEPAGE);  // a wish: failure changes nothing
}

Pool::~Pool() {
  if (data_ != nullptr) munmap(data_, size_);
}

void Pool::touch(std::size_t bytes) noexcept {
  constexpr std::size_t page = 4096;
  const std::size_t end = std::min(bytes, size_);
  for (std::size_t i = 0; i < end; i += page) {
    // A write that leaves the value; atomic, so that no compiler removes it.
    std::atomic_ref<std::byte>(data_[i]).store(data_[i], std::memory_order_relaxed);
  }
}

}  // namespace costate
