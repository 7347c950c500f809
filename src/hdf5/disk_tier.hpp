#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "costate/hdf5/disk.hpp"
#include "costate/storage/pool.hpp"
#include "costate/storage/tier.hpp"
#include "row_store.hpp"

namespace costate::detail {

/// Checkpoints in a container. There is one row more than there are slots, and a checkpoint goes
/// into a free row, so that nothing that counts is ever overwritten.
///
/// Some buffers of the size of a row lie between the sweep and the file. `commit` hands a full one
/// to the I/O threads, `prefetch` an empty one; without threads the work is done at once. A buffer
/// keeps what it holds until it is needed for something else, so what was just written is read
/// without touching the file. When all buffers wait to be written, the sweep waits too.
///
/// An error of a thread surfaces in the next call.
class DiskTier final : public Tier {
 public:
  /// @param io_threads, buffers  as in Hdf5Options
  DiskTier(std::unique_ptr<RowStore> store, Slot slots, int io_threads, int buffers);
  ~DiskTier() override;
  DiskTier(const DiskTier&) = delete;
  DiskTier& operator=(const DiskTier&) = delete;

  /// Memory that a tier of that size takes.
  static Bytes memory_bytes(int buffers, std::size_t row_bytes, Slot slots);
  /// Slots that fit the capacity.
  static Slot slots_within(Bytes capacity, std::size_t row_bytes);

  [[nodiscard]] const TierUse& use() const noexcept override { return use_; }
  std::span<std::byte> begin_write(Slot slot, Step at, std::size_t bytes) override;
  void commit(Slot slot) override;
  void label(double time) override;
  std::span<const std::byte> read(Slot slot, Step at) override;
  void drop(Slot slot) override;
  bool prefetch(Slot slot, Step at) override;
  [[nodiscard]] int prefetch_depth() const noexcept override;

  /// A checkpoint that a row was found to hold; after the last one, `adopt_done`. Before anything
  /// is written.
  void adopt(Slot slot, Slot row, Step at, std::size_t bytes, std::uint64_t hash);
  void adopt_done();
  /// From now on the row of a dropped checkpoint is not used again before it is released.
  /// `need` is called when a row is needed and only a release can give one.
  void retain(std::function<void()> need);
  /// Rows of dropped checkpoints of an index of at least `front` may be used again.
  void release(Step front);
  /// Waits until everything is written.
  void flush();
  [[nodiscard]] RowStore& store() noexcept { return *store_; }

 private:
  // A slot. All zero (a fresh page) is an empty one.
  struct Entry {
    Step at_plus_1;
    Slot row;
    std::size_t bytes;
    std::uint64_t hash;
  };
  struct Buffer {
    enum class State : unsigned char {
      free,
      filling,
      to_write,
      writing,
      to_read,
      reading,
      holding
    };
    Pool bytes;
    State state = State::free;
    bool wanted = false;  // prefetched and not read yet
    Slot slot = -1;
    Step at = 0;
    std::size_t size = 0;
    double time = 0;
    std::uint64_t ticket = 0;  // order of requests
  };
  using Lock = std::unique_lock<std::mutex>;

  [[nodiscard]] Entry& entry(Slot slot) const noexcept {
    return reinterpret_cast<Entry*>(entries_.data())[slot];
  }
  void check(Slot slot) const;
  void check_holds(Slot slot, Step at) const;
  [[nodiscard]] bool holds(Slot slot, Step at) const noexcept;
  Buffer* find(Slot slot) noexcept;
  Buffer& take_buffer(Lock& lock);
  Slot take_row();
  void work(Buffer& buffer, Lock& lock);
  void serve();
  void rethrow();
  void free_row(Slot row) noexcept;
  void release_lent() noexcept;
  void stop() noexcept;

  struct Retired {
    Slot row;
    Step at;
  };
  std::unique_ptr<RowStore> store_;
  TierUse use_;
  Bytes slot_bytes_;
  std::size_t row_bytes_;
  Pool entries_;
  Pool freed_;  // a stack of rows that were used and are free
  Slot freed_count_ = 0;
  Slot fresh_ = 0;                // rows from here on were never used
  std::vector<Retired> retired_;  // rows that wait for a release
  std::function<void()> need_;    // set: dropped rows retire
  std::vector<Buffer> buffers_;
  Buffer* lent_ = nullptr;  // what the caller looks at
  std::uint64_t tickets_ = 0;

  std::mutex lock_;                // of everything above that a thread touches
  std::condition_variable asked_;  // there is work, or the end
  std::condition_variable done_;   // some work is done
  std::exception_ptr error_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace costate::detail
