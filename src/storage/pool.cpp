#include "costate/storage/pool.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <sys/mman.h>

#include "costate/core/bytes.hpp"
#include "costate/core/error.hpp"

namespace costate {

Bytes Workspace::held() const noexcept {
  Bytes sum = 0;
  for (const Block& block : idle_) sum += block.size;
  return sum;
}

void Workspace::release() noexcept {
  for (const Block& block : idle_) munmap(block.data, block.size);
  idle_.clear();
}

Pool::Pool(std::size_t bytes, Workspace* workspace, Contents contents)
    : size_(bytes), workspace_(workspace) {
  if (bytes == 0) return;
  if (workspace != nullptr) {
    auto& idle = workspace->idle_;
    idle.reserve(8);  // so that giving back cannot fail
    // The smallest block that is large enough, but not so large that it is wasted.
    auto best = idle.end();
    for (auto it = idle.begin(); it != idle.end(); ++it) {
      if (it->size < bytes || it->size / 2 > bytes) continue;
      if (best == idle.end() || it->size < best->size) best = it;
    }
    if (best != idle.end()) {
      block_ = *best;
      idle.erase(best);
      if (contents == Contents::zero) std::memset(block_.data, 0, bytes);
      return;
    }
  }
  // NORESERVE: what is promised to nobody need not be there until it is touched.
  void* const got = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got == MAP_FAILED) {
    throw StorageError("cannot reserve " + format_bytes(bytes) +
                           " of memory: " + std::generic_category().message(errno),
                       "memory");
  }
  block_ = {static_cast<std::byte*>(got), bytes};
  if (bytes >= 4_MiB) madvise(got, bytes, MADV_HUGEPAGE);  // a wish: failure changes nothing
}

Pool::~Pool() {
  if (block_.data == nullptr) return;
  if (workspace_ != nullptr) {
    auto& idle = workspace_->idle_;
    if (idle.size() < idle.capacity()) {
      idle.push_back(block_);
      return;
    }
    // Many sizes in turn: the oldest makes room.
    munmap(idle.front().data, idle.front().size);
    idle.front() = block_;
    std::rotate(idle.begin(), idle.begin() + 1, idle.end());
    return;
  }
  munmap(block_.data, block_.size);
}

void Pool::touch(std::size_t bytes) noexcept {
  constexpr std::size_t page = 4096;
  const std::size_t end = std::min(bytes, size_);
  for (std::size_t i = 0; i < end; i += page) {
    // A write that leaves the value; atomic, so that no compiler removes it.
    std::byte& first = block_.data[i];
    std::atomic_ref<std::byte>(first).store(first, std::memory_order_relaxed);
  }
}

}  // namespace costate
