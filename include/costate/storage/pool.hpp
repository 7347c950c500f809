#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "costate/core/bytes.hpp"

namespace costate {

/// Memory that outlives a sweep. Who computes one gradient after another, an optimiser for example,
/// gives all of them one workspace: the first sweep meets the page faults, the others do not.
///
/// Serves one sweep at a time; must outlive the sweeps that use it. What it keeps is what the last
/// sweep used.
class Workspace {
 public:
  Workspace() = default;
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  ~Workspace() { release(); }

  /// Bytes kept for the next sweep.
  [[nodiscard]] Bytes held() const noexcept;
  /// Gives them back to the system.
  void release() noexcept;

 private:
  friend class Pool;
  struct Block {
    std::byte* data;
    std::size_t size;
  };
  std::vector<Block> idle_;
};

/// A piece of address space whose pages come into being when they are first touched. So it may be
/// made as large as a budget allows and costs only what is used. Zeroed, page-aligned; pools of
/// some megabytes ask for huge pages. Never grows, shrinks or moves.
///
/// Why a pool: storing a state into memory that is there already runs at the speed of a copy, 5 to
/// 15 times faster than into a fresh allocation.
class Pool {
 public:
  /// Whether the contents matter before they are written. A fresh page is zero in any case.
  enum class Contents : unsigned char { any, zero };

  Pool() noexcept = default;
  /// @param workspace  where to take it from and give it back to, if anywhere
  /// @throws StorageError if the address space cannot be had
  explicit Pool(std::size_t bytes, Workspace* workspace = nullptr,
                Contents contents = Contents::zero);
  Pool(Pool&& other) noexcept { swap(other); }
  Pool& operator=(Pool&& other) noexcept {
    swap(other);
    return *this;
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool();

  [[nodiscard]] std::byte* data() const noexcept { return block_.data; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Makes the pages of the first `bytes` bytes exist, so that using them later costs no page
  /// fault. Leaves their contents.
  void touch(std::size_t bytes) noexcept;

 private:
  void swap(Pool& other) noexcept {
    std::swap(block_, other.block_);
    std::swap(size_, other.size_);
    std::swap(workspace_, other.workspace_);
  }

  Workspace::Block block_ = {nullptr, 0};
  std::size_t size_ = 0;  // what was asked for; the block may be larger
  Workspace* workspace_ = nullptr;
};

}  // namespace costate
