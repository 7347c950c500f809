#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "costate/hdf5/compression.hpp"
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
/// Rows are moved in pieces. Threads with nothing else to do begin to write what is still being
/// filled. A sweep that waits for a checkpoint reads pieces of it, too, and if it says where the
/// state is to go, then straight to there. A file has one writer at a time, so a sweep does not
/// write beside a thread. But one that saves state after state, without computing anything between,
/// has to wait for the writes anyhow: where the file takes bytes about as fast as memory does, it
/// writes them itself from where they are, and a thread computes the checksums meanwhile.
///
/// An error of a thread surfaces in the next call.
class DiskTier final : public Tier {
 public:
  struct Options {
    std::size_t row_bytes = 0;  ///< the largest state
    Slot slots = 0;
    // As in Hdf5Options.
    int io_threads = 0;
    int buffers = 1;
    Compression compression{};
    Bytes capacity = 0;  ///< that packed states may take; matters if the container is sparse
    /// When a row becomes free does not depend on how far the threads are: the members of a team
    /// have to run out of rows at the same moment.
    bool untimed = false;
    Slot spare_rows = 1;   ///< rows besides the slots
    bool retains = false;  ///< `retain` will be called

    [[nodiscard]] Slot rows() const noexcept { return slots + spare_rows; }
    /// All that is kept in memory, besides a few objects.
    [[nodiscard]] Bytes memory_bytes() const;
    /// Slots that fit the capacity.
    [[nodiscard]] Slot slots_within() const noexcept;
    /// What a row must hold.
    [[nodiscard]] std::size_t stored_bytes() const noexcept;
  };
  DiskTier(std::unique_ptr<RowStore> store, const Options& options);
  ~DiskTier() override;
  DiskTier(const DiskTier&) = delete;
  DiskTier& operator=(const DiskTier&) = delete;

  [[nodiscard]] const TierUse& use() const noexcept override { return use_; }
  std::span<std::byte> begin_write(Slot slot, Step at, std::size_t bytes) override;
  void commit(Slot slot) override;
  void fill(std::span<std::byte> place, std::span<const std::byte> state) override;
  void label(double time) override;
  std::span<const std::byte> read(Slot slot, Step at) override;
  void read_into(Slot slot, Step at, std::span<std::byte> state) override;
  void drop(Slot slot) override;
  void flush() override;
  bool prefetch(Slot slot, Step at) override;
  [[nodiscard]] int prefetch_depth() const noexcept override;

  /// A checkpoint that a row was found to hold; after the last one, `adopt_done`. Before anything
  /// is written.
  void adopt(Slot slot, Slot row, Step at, std::size_t bytes, const Stored& stored);
  void adopt_done();
  /// From now on the row of a dropped checkpoint is used again only when it is released, or when
  /// a newer checkpoint, whole and as durable as asked for, has its slot, so that nobody who opens
  /// the file would look at it. `need`, if any, is called when no row is free, for it may release
  /// some.
  void retain(std::function<void()> need);
  /// Rows of dropped checkpoints of an index of at least `front` may be used again, now and later.
  void release(Step front);
  [[nodiscard]] RowStore& store() noexcept { return *store_; }

 private:
  // A slot. All zero (a fresh page) is an empty one.
  struct Entry {
    Step at_plus_1;
    Slot row;
    std::size_t bytes;
    Stored stored;
  };
  struct Buffer {
    enum class State : unsigned char { free, to_write, to_read, holding };
    Pool pool;
    std::byte* bytes = nullptr;
    State state = State::free;
    bool wanted = false;  // prefetched and not read yet
    Slot slot = -1;
    Step at = 0;
    std::size_t size = 0;
    Slot row = 0;
    double time = 0;
    std::uint64_t ticket = 0;  // order of requests

    std::size_t pieces = 0;  // of what is to be written or read
    std::size_t ready = 0;   // those that can be moved
    std::size_t next = 0;    // the first one that nobody has begun with
    bool open = false;       // it is still being filled
    int busy = 0;            // threads that are at work on it
    bool hashed = false;     // all hashes are known already, or not computed by who moves the piece
    bool elsewhere = false;  // it is written from the caller's memory, and will hold nothing
    bool failed = false;
    std::vector<std::uint64_t> hashes;

    [[nodiscard]] bool waits() const noexcept {
      return state == State::to_write || state == State::to_read;
    }
    // There is something to do for a thread.
    [[nodiscard]] bool asks() const noexcept {
      return waits() && busy == 0 && (next < ready || (next == pieces && !open));
    }
  };
  using Lock = std::unique_lock<std::mutex>;
  using Clock = std::chrono::steady_clock;
  // Seconds that a byte takes, as measured of late.
  class Rate {
   public:
    void add(Clock::duration time, std::size_t bytes) noexcept {
      const double now = std::chrono::duration<double>(time).count() / static_cast<double>(bytes);
      const double weight = std::min(static_cast<double>(bytes) / (64 << 20), 0.5);
      each_ = each_ == 0 ? now : each_ + (now - each_) * weight;
    }
    [[nodiscard]] double value() const noexcept { return each_; }

   private:
    double each_ = 0;
  };

  [[nodiscard]] Entry& entry(Slot slot) const noexcept {
    return reinterpret_cast<Entry*>(entries_.data())[slot];
  }
  void check(Slot slot) const;
  void check_holds(Slot slot, Step at) const;
  [[nodiscard]] bool holds(Slot slot, Step at) const noexcept;
  Buffer* find(Slot slot) noexcept;
  Buffer& take_buffer(Lock& lock);
  Slot take_row();
  void ask(Buffer& buffer, Buffer::State what);
  Buffer* next_work() noexcept;
  [[nodiscard]] Packer* own_packer() noexcept {
    return packers_.empty() ? nullptr : packers_.data();
  }
  void work(Buffer& buffer, Lock& lock, Packer* packer);
  void failed(const Buffer& buffer, const std::exception_ptr& error) noexcept;
  void finish(Buffer& buffer, Lock& lock, const Stored* packed);
  void hurry(Buffer& buffer);
  void read_some(Buffer& buffer, Lock& lock);
  template <class Done>
  void await(Lock& lock, const Done& done);
  void linger(Lock& lock);
  [[nodiscard]] bool better_written_at_once(std::size_t bytes) const noexcept;
  void write_from(std::span<const std::byte> state);
  void hash_next(Lock& lock);
  void serve(Packer* packer);
  void settle();
  void free_row(Slot row) noexcept;
  void release_row(Slot row, Bytes stored);
  [[nodiscard]] bool no_row_free() const noexcept;
  void wait_for_writes(Lock& lock);
  void release_replaced(Lock& lock);
  void take_space(Bytes stored, Step at);
  void release_lent(Lock& lock);
  void stop() noexcept;

  struct Retired {
    Slot slot;
    Slot row;
    Step at;
    Bytes stored;
  };
  std::unique_ptr<RowStore> store_;
  TierUse use_;
  Options options_;
  Bytes slot_bytes_;
  std::vector<Packer> packers_;  // the caller's, then the threads'
  Pool entries_;
  Pool freed_;  // a stack of rows that were used and are free
  Slot freed_count_ = 0;
  Slot fresh_ = 0;                                    // rows from here on were never used
  bool retaining_ = false;                            // dropped rows retire
  Step released_ = std::numeric_limits<Step>::max();  // but not those from here on
  std::vector<Retired> retired_;  // rows that wait for a release, in the order of their dropping
  std::function<void()> need_;
  std::vector<Buffer> buffers_;
  Buffer direct_;                         // has no memory: what is read to where the caller says
  Buffer* awaited_ = nullptr;             // what the caller waits for, and reads, too
  std::atomic<std::uint64_t> waits_ = 0;  // begun and over: odd while the caller waits
  Buffer* lent_ = nullptr;                // what the caller looks at
  Buffer* hashing_ = nullptr;             // what the caller writes itself, for threads to hash
  std::size_t to_hash_ = 0;               // the first piece of it that nobody hashes yet
  int hashers_ = 0;                       // that are at it
  Rate writing_;                          // pieces to the file
  Rate copying_;                          // states to a buffer
  Clock::time_point saved_{};             // when the caller had last saved something
  Clock::duration computed_{};            // from then until it came to save again
  std::uint64_t tickets_ = 0;

  std::mutex lock_;                // of everything above that a thread touches
  std::condition_variable asked_;  // there is work, or the end
  std::condition_variable done_;   // some work is done
  std::exception_ptr error_;
  Bytes space_ = 0;             // that rows in use take, if the container is sparse
  Bytes unpacked_ = 0;          // bytes of states compressed since use_ was brought up to date
  Bytes packed_ = 0;            // and what they take
  std::uint64_t finished_ = 0;  // requests that are done with
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace costate::detail
