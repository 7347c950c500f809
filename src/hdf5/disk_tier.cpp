#include "disk_tier.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "copy_past_cache.hpp"
#include "costate/core/error.hpp"
#include "costate/core/hash.hpp"
#include "costate/storage/memory_tier.hpp"
#include "payload_hash.hpp"

namespace costate::detail {

namespace {

constexpr std::size_t pieces_at_once = 2;

// What a packed state takes of a sparse file.
Bytes whole_pages(Bytes bytes) noexcept {
  constexpr Bytes page = 4096;
  return (bytes + page - 1) / page * page;
}

}  // namespace

std::size_t DiskTier::Options::stored_bytes() const noexcept {
  return compression.on() ? Packer::bound(row_bytes) : row_bytes;
}

Bytes DiskTier::Options::memory_bytes() const {
  const Bytes packers = compression.on() ? static_cast<Bytes>(io_threads + 1) *
                                               Packer::memory_bytes(compression, row_bytes)
                                         : 0;
  const Bytes hashes = pieces_of(row_bytes) * sizeof(std::uint64_t);
  const std::size_t row = sizeof(Slot) + (retains ? sizeof(Retired) : 0);
  return packers + static_cast<Bytes>(buffers) * (MemoryTier::stride(row_bytes) + hashes) + hashes +
         static_cast<Bytes>(slots) * sizeof(Entry) + static_cast<Bytes>(rows()) * row;
}

Slot DiskTier::Options::slots_within() const noexcept {
  constexpr Bytes metadata = 32_KiB;  // of HDF5, the seal, and what lies between for alignment
  const Bytes stride = Container::stride_for(stored_bytes());
  const Bytes row = static_cast<Bytes>(std::ceil(static_cast<double>(stride) / compression.ratio)) +
                    sizeof(RowHeader);
  if (capacity < metadata + 2 * row) return 0;
  return static_cast<Slot>((capacity - metadata) / row) - 1;
}

DiskTier::DiskTier(std::unique_ptr<RowStore> store, const Options& options)
    : store_(std::move(store)),
      options_(options),
      slot_bytes_(static_cast<Bytes>(std::ceil(static_cast<double>(store_->container().stride) /
                                               options.compression.ratio)) +
                  sizeof(RowHeader)),
      entries_(static_cast<std::size_t>(options.slots) * sizeof(Entry)),
      freed_(static_cast<std::size_t>(store_->container().rows) * sizeof(Slot)),
      buffers_(static_cast<std::size_t>(options.buffers)) {
  for (Buffer& buffer : buffers_) {
    buffer.pool = Pool(MemoryTier::stride(options.row_bytes));
    buffer.pool.touch(buffer.pool.size());
    buffer.bytes = buffer.pool.data();
    buffer.hashes.resize(pieces_of(options.row_bytes));
  }
  direct_.hashes.resize(pieces_of(options.row_bytes));
  use_.name = "disk";
  use_.slots = options.slots;
  use_.capacity = static_cast<Bytes>(options.slots) * slot_bytes_;
  const auto threads = static_cast<std::size_t>(options.io_threads);
  if (options.compression.on()) {
    packers_.reserve(threads + 1);
    for (std::size_t i = 0; i <= threads; ++i) {
      packers_.emplace_back(options.compression, options.row_bytes);
    }
  }
  threads_.reserve(threads);
  try {
    for (std::size_t i = 1; i <= threads; ++i) {
      Packer* const packer = packers_.empty() ? nullptr : &packers_[i];
      threads_.emplace_back([this, packer] { serve(packer); });
    }
  } catch (...) {
    stop();
    throw;
  }
}

DiskTier::~DiskTier() {
  stop();
}

void DiskTier::stop() noexcept {
  {
    const Lock lock(lock_);
    stopping_ = true;
  }
  asked_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

// ----- The sweep's side
// ---------------------------------------------------------------------------

std::span<std::byte> DiskTier::begin_write(Slot slot, Step at, std::size_t bytes) {
  check(slot);
  if (!threads_.empty()) computed_ = Clock::now() - saved_;
  // Before the lock: the record releases rows.
  if (no_row_free() && need_ != nullptr) need_();
  Lock lock(lock_);
  settle();
  release_lent(lock);
  if (const Entry& taken = entry(slot); taken.at_plus_1 != 0) {
    throw ScheduleError("cannot save index " + std::to_string(at) + ": slot #" +
                            std::to_string(slot) + " of the disk holds index " +
                            std::to_string(taken.at_plus_1 - 1),
                        at);
  }
  if (bytes == 0 || bytes > options_.row_bytes) {
    throw StorageError("state " + std::to_string(at) + " has " + std::to_string(bytes) +
                           " bytes, but the rows of '" + store_->path() + "' were made for 1 to " +
                           std::to_string(options_.row_bytes),
                       store_->path(), at);
  }
  if (no_row_free()) release_replaced(lock);
  Buffer& buffer = take_buffer(lock);
  buffer.slot = slot;
  buffer.at = at;
  buffer.size = bytes;
  buffer.time = std::numeric_limits<double>::quiet_NaN();
  buffer.hashed = false;
  ask(buffer, Buffer::State::to_write);
  lent_ = &buffer;
  return {buffer.bytes, bytes};
}

// While the threads have other work the checksum is computed here, of what is in the cache; if they
// have none they get what is there already.
void DiskTier::fill(std::span<std::byte> place, std::span<const std::byte> state) {
  if (threads_.empty()) {
    std::memcpy(place.data(), state.data(), state.size());
    return;
  }
  if (better_written_at_once(state.size())) {
    write_from(state);
    return;
  }
  const bool hash = [&] {
    const Lock lock(lock_);
    return packers_.empty() && std::ranges::any_of(buffers_, [&](const Buffer& buffer) {
             return &buffer != lent_ && buffer.waits();
           });
  }();
  const bool at_once = !hash && packers_.empty();
  const Clock::time_point start = Clock::now();
  for (std::size_t i = 0; i * piece_bytes < state.size(); ++i) {
    const std::size_t at = i * piece_bytes;
    const auto piece = state.subspan(at, std::min(piece_bytes, state.size() - at));
    if (hash) lent_->hashes[i] = hash_bytes(piece);
    copy_past_cache(piece, place.data() + at);
    const std::size_t there = i + 1;
    if (at_once && there % pieces_at_once == 0 && there * piece_bytes < state.size()) {
      const Lock lock(lock_);
      lent_->ready = there;
      asked_.notify_one();
    }
  }
  copying_.add(Clock::now() - start, state.size());
  if (hash) lent_->hashed = true;
}

// A state that is copied to be written behind costs the caller the copy, while the writing of the
// last one takes memory's time from it. That pays if what is computed between two saves hides a
// good part of the writing, or if writing is much slower than copying and the buffers get over a
// burst.
bool DiskTier::better_written_at_once(std::size_t bytes) const noexcept {
  if (!packers_.empty() || bytes <= piece_bytes) return false;
  const double write = writing_.value();
  return write > 0 && write < 4 * copying_.value() &&
         std::chrono::duration<double>(computed_).count() < write * static_cast<double>(bytes) / 4;
}

void DiskTier::write_from(std::span<const std::byte> state) {
  Lock lock(lock_);
  Buffer& buffer = *lent_;
  // It is only read from.
  buffer.bytes = const_cast<std::byte*>(state.data());
  buffer.elsewhere = true;
  buffer.hashed = true;
  buffer.ready = buffer.pieces;
  hashing_ = &buffer;
  to_hash_ = 0;
  ++waits_;
  asked_.notify_one();
  while (buffer.next < buffer.pieces) work(buffer, lock, nullptr);
  while (to_hash_ < buffer.pieces) hash_next(lock);
  await(lock, [&] { return hashers_ == 0; });
  hashing_ = nullptr;
  ++waits_;
  buffer.bytes = buffer.pool.data();
  settle();
}

void DiskTier::label(double time) {
  if (lent_ != nullptr && lent_->open) lent_->time = time;
}

void DiskTier::commit(Slot slot) {
  Lock lock(lock_);
  if (lent_ == nullptr || !lent_->open || lent_->slot != slot) {
    throw ScheduleError(
        "slot #" + std::to_string(slot) + " of the disk is committed, but not being written",
        unknown);
  }
  Buffer& buffer = *lent_;
  lent_ = nullptr;
  buffer.ready = buffer.pieces;
  entry(slot) = {buffer.at + 1, buffer.row, buffer.size, {}};
  use_.held += slot_bytes_;
  use_.peak = std::max(use_.peak, use_.held);
  ++use_.writes;
  buffer.open = false;
  if (buffer.elsewhere) {
    finish(buffer, lock, nullptr);
    settle();
  } else if (threads_.empty()) {
    while (buffer.waits()) work(buffer, lock, own_packer());
    settle();
  } else {
    asked_.notify_one();
  }
  if (!threads_.empty()) saved_ = Clock::now();
}

std::span<const std::byte> DiskTier::read(Slot slot, Step at) {
  check_holds(slot, at);
  Lock lock(lock_);
  settle();
  release_lent(lock);
  Buffer* buffer = find(slot);
  if (buffer == nullptr) {
    buffer = &take_buffer(lock);
    buffer->slot = slot;
    buffer->at = at;
    buffer->size = entry(slot).bytes;
    buffer->hashed = false;
    ask(*buffer, Buffer::State::to_read);
  }
  if (buffer->state == Buffer::State::to_read) {
    hurry(*buffer);
    read_some(*buffer, lock);
  }
  settle();
  buffer->wanted = false;
  buffer->ticket = ++tickets_;
  lent_ = buffer;
  ++use_.reads;
  return {buffer->bytes, buffer->size};
}

void DiskTier::read_into(Slot slot, Step at, std::span<std::byte> state) {
  check_holds(slot, at);
  Lock lock(lock_);
  settle();
  Buffer* const begun = find(slot);
  const bool there = begun != nullptr && begun->state != Buffer::State::to_read;
  if (there || !packers_.empty() || entry(slot).bytes != state.size()) {
    lock.unlock();
    return Tier::read_into(slot, at, state);
  }
  release_lent(lock);
  direct_.bytes = state.data();
  direct_.slot = slot;
  direct_.at = at;
  direct_.size = entry(slot).bytes;
  direct_.hashed = false;
  ask(direct_, Buffer::State::to_read);
  // What has been prefetched of it is copied, and the rest not prefetched any more; the one piece
  // that a thread may be at is read again rather than waited for.
  if (begun != nullptr) direct_.next = begun->next - static_cast<std::size_t>(begun->busy);
  hurry(direct_);
  if (begun != nullptr) {
    const std::size_t pieces = direct_.next;
    begun->next = begun->pieces;
    begun->slot = -1;
    begun->wanted = false;
    begun->failed = true;
    if (begun->busy == 0) begun->state = Buffer::State::free;
    ++direct_.busy;
    lock.unlock();
    std::copy_n(begun->hashes.begin(), pieces, direct_.hashes.begin());
    std::memcpy(state.data(), begun->bytes, std::min(pieces * piece_bytes, state.size()));
    lock.lock();
    --direct_.busy;
  }
  read_some(direct_, lock);
  settle();
  ++use_.reads;
}

void DiskTier::drop(Slot slot) {
  check(slot);
  Lock lock(lock_);
  settle();
  release_lent(lock);
  Entry& taken = entry(slot);
  if (taken.at_plus_1 == 0) {
    throw ScheduleError("cannot drop: slot #" + std::to_string(slot) + " of the disk is empty",
                        unknown);
  }
  bool written = true;
  if (Buffer* const buffer = find(slot)) {
    // What is being moved at this moment has to be waited for; what only waits to be is not moved.
    await(lock, [&] { return buffer->busy == 0; });
    written = options_.untimed || buffer->state != Buffer::State::to_write;
    buffer->state = Buffer::State::free;
    buffer->wanted = false;
    buffer->slot = -1;
  }
  if (retaining_ && written && taken.at_plus_1 - 1 < released_) {
    retired_.push_back({slot, taken.row, taken.at_plus_1 - 1, taken.stored.bytes});
  } else {
    release_row(taken.row, taken.stored.bytes);
  }
  taken = Entry{};
  use_.held -= slot_bytes_;
}

void DiskTier::adopt(Slot slot, Slot row, Step at, std::size_t bytes, const Stored& stored) {
  check(slot);
  entry(slot) = {at + 1, row, bytes, stored};
  use_.held += slot_bytes_;
  use_.peak = std::max(use_.peak, use_.held);
}

void DiskTier::adopt_done() {
  // Whatever is not adopted may be written to.
  const Slot rows = store_->container().rows;
  std::vector<bool> taken(static_cast<std::size_t>(rows));
  for (Slot slot = 0; slot < use_.slots; ++slot) {
    if (entry(slot).at_plus_1 != 0) taken[static_cast<std::size_t>(entry(slot).row)] = true;
  }
  for (Slot row = rows - 1; row >= 0; --row) {
    if (!taken[static_cast<std::size_t>(row)]) free_row(row);
  }
  fresh_ = rows;
}

void DiskTier::retain(std::function<void()> need) {
  retired_.reserve(static_cast<std::size_t>(store_->container().rows));
  retaining_ = true;
  need_ = std::move(need);
}

void DiskTier::release(Step front) {
  const Lock lock(lock_);
  released_ = front;
  std::erase_if(retired_, [&](const Retired& retired) {
    if (retired.at < front) return false;
    release_row(retired.row, retired.stored);
    return true;
  });
}

// A plan made anew may give up checkpoints below the adjoint, which no record releases. There are
// rows for more than the slots, so if none is free then several have been replaced: with s slots, u
// of them taken, and s + 3 rows, s + 3 - u are retired, and at most s - u, the newest of each empty
// slot, are what opening the file would find.
void DiskTier::release_replaced(Lock& lock) {
  wait_for_writes(lock);
  if (store_->durability() != Durability::none) store_->sync();
  std::vector<bool> found(static_cast<std::size_t>(use_.slots));
  for (Slot slot = 0; slot < use_.slots; ++slot) {
    found[static_cast<std::size_t>(slot)] = entry(slot).at_plus_1 != 0;
  }
  for (auto retired = retired_.end(); retired != retired_.begin();) {
    --retired;
    if (found[static_cast<std::size_t>(retired->slot)]) {
      release_row(retired->row, retired->stored);
      retired = retired_.erase(retired);
    } else {
      found[static_cast<std::size_t>(retired->slot)] = true;
    }
  }
}

void DiskTier::flush() {
  Lock lock(lock_);
  release_lent(lock);
  wait_for_writes(lock);
}

void DiskTier::wait_for_writes(Lock& lock) {
  await(lock, [&] {
    return error_ != nullptr || std::ranges::none_of(buffers_, [](const Buffer& buffer) {
             return buffer.state == Buffer::State::to_write;
           });
  });
  settle();
}

// One buffer is left for the caller and one for the writes.
int DiskTier::prefetch_depth() const noexcept {
  return threads_.empty() ? 0 : static_cast<int>(buffers_.size()) - 2;
}

bool DiskTier::prefetch(Slot slot, Step at) {
  if (!holds(slot, at)) return true;
  const Lock lock(lock_);
  if (error_ != nullptr || find(slot) != nullptr) return true;
  // Only into a buffer that nobody needs.
  Buffer* chosen = nullptr;
  int wanted = 0;
  for (Buffer& buffer : buffers_) {
    if (buffer.wanted) ++wanted;
    if (&buffer == lent_) continue;
    if (buffer.state == Buffer::State::free) {
      chosen = &buffer;
    } else if (buffer.state == Buffer::State::holding && !buffer.wanted &&
               (chosen == nullptr ||
                (chosen->state == Buffer::State::holding && buffer.ticket < chosen->ticket))) {
      chosen = &buffer;
    }
  }
  if (chosen == nullptr || wanted >= prefetch_depth()) return false;
  chosen->slot = slot;
  chosen->at = at;
  chosen->size = entry(slot).bytes;
  chosen->wanted = true;
  chosen->hashed = false;
  ask(*chosen, Buffer::State::to_read);
  asked_.notify_one();
  return true;
}

bool DiskTier::holds(Slot slot, Step at) const noexcept {
  return slot >= 0 && slot < use_.slots && at >= 0 && entry(slot).at_plus_1 == at + 1;
}

void DiskTier::check(Slot slot) const {
  if (slot < 0 || slot >= use_.slots) {
    throw ScheduleError("the disk has " + std::to_string(use_.slots) + " slots, so no slot #" +
                            std::to_string(slot),
                        unknown);
  }
}

void DiskTier::check_holds(Slot slot, Step at) const {
  check(slot);
  if (!holds(slot, at)) {
    const Step held = entry(slot).at_plus_1;
    throw ScheduleError(
        "cannot load index " + std::to_string(at) + ": slot #" + std::to_string(slot) +
            " of the disk " +
            (held == 0 ? std::string("is empty") : "holds index " + std::to_string(held - 1)),
        at);
  }
}

DiskTier::Buffer* DiskTier::find(Slot slot) noexcept {
  for (Buffer& buffer : buffers_) {
    if (buffer.state != Buffer::State::free && buffer.slot == slot) return &buffer;
  }
  return nullptr;
}

// A buffer to fill: a free one, or the one that holds what was used longest ago; or else the first
// whose writing is over.
DiskTier::Buffer& DiskTier::take_buffer(Lock& lock) {
  for (;;) {
    Buffer* best = nullptr;
    bool busy = false;
    const auto rank = [](const Buffer& buffer) {
      return buffer.state == Buffer::State::free ? 0 : (buffer.wanted ? 2 : 1);
    };
    for (Buffer& buffer : buffers_) {
      if (buffer.state != Buffer::State::free && buffer.state != Buffer::State::holding) {
        busy = true;
        continue;
      }
      if (best == nullptr || rank(buffer) < rank(*best) ||
          (rank(buffer) == rank(*best) && buffer.ticket < best->ticket)) {
        best = &buffer;
      }
    }
    // Something prefetched is given up only if nothing else becomes free.
    if (best != nullptr && (rank(*best) < 2 || !busy)) {
      best->state = Buffer::State::free;
      best->wanted = false;
      return *best;
    }
    const std::uint64_t before = finished_;
    await(lock, [&] { return finished_ != before; });
    settle();
  }
}

void DiskTier::release_lent(Lock& lock) {
  Buffer* const lent = std::exchange(lent_, nullptr);
  if (lent == nullptr || !lent->open) return;
  // Its writer failed between begin_write and commit.
  lent->open = false;
  lent->failed = true;
  lent->next = lent->pieces;
  await(lock, [&] { return lent->busy == 0; });
  lent->state = Buffer::State::free;
  free_row(lent->row);
}

void DiskTier::free_row(Slot row) noexcept {
  reinterpret_cast<Slot*>(freed_.data())[freed_count_++] = row;
}

bool DiskTier::no_row_free() const noexcept {
  return freed_count_ == 0 && fresh_ == store_->container().rows;
}

Slot DiskTier::take_row() {
  if (freed_count_ > 0) return reinterpret_cast<Slot*>(freed_.data())[--freed_count_];
  return fresh_++;
}

// A row that holds that many bytes becomes free.
void DiskTier::release_row(Slot row, Bytes stored) {
  if (store_->container().sparse && stored > 0) {
    // What is not given back still counts.
    if (store_->release(row)) space_ -= whole_pages(stored);
  }
  free_row(row);
}

void DiskTier::take_space(Bytes stored, Step at) {
  if (!store_->container().sparse) return;
  space_ += whole_pages(stored);
  if (space_ <= options_.capacity) return;
  throw StorageError("checkpoint " + std::to_string(at) + ": the packed states in '" +
                         store_->path() + "' exceed the capacity of " +
                         format_bytes(options_.capacity) +
                         "; they shrink less than the ratio that was counted on",
                     store_->path(), at);
}

// What the threads have done becomes known.
void DiskTier::settle() {
  use_.unpacked += std::exchange(unpacked_, 0);
  use_.packed += std::exchange(packed_, 0);
  if (error_ != nullptr) std::rethrow_exception(std::exchange(error_, nullptr));
}

// Until the threads have done what is waited for. To be woken takes longer than a piece does, so at
// first the caller only steps aside.
template <class Done>
void DiskTier::await(Lock& lock, const Done& done) {
  constexpr int patience = 100;
  for (int i = 0; i < patience && !done(); ++i) {
    lock.unlock();
    std::this_thread::yield();
    lock.lock();
  }
  done_.wait(lock, done);
}

// The threads read this first: the caller waits for it.
void DiskTier::hurry(Buffer& buffer) {
  awaited_ = &buffer;
  ++waits_;
  if (buffer.pieces - buffer.next > 1) asked_.notify_one();
}

// Until a buffer holds what it is to read, or has failed. The caller, who has nothing better to do,
// reads with the threads; when this returns nobody writes to the buffer any more.
void DiskTier::read_some(Buffer& buffer, Lock& lock) {
  while (buffer.state == Buffer::State::to_read) {
    if (buffer.next < buffer.pieces) {
      work(buffer, lock, own_packer());
    } else if (buffer.busy == 0) {
      finish(buffer, lock, nullptr);
    } else {
      await(lock, [&] { return buffer.busy == 0; });
    }
  }
  awaited_ = nullptr;
  ++waits_;
}

// ----- The threads' side
// --------------------------------------------------------------------------

// The buffer waits to be read, or to be written, first to be filled.
void DiskTier::ask(Buffer& buffer, Buffer::State what) {
  buffer.state = what;
  buffer.open = what == Buffer::State::to_write;
  buffer.row = buffer.open ? take_row() : entry(buffer.slot).row;
  buffer.ticket = ++tickets_;
  // A packed state is packed or unpacked in one go.
  buffer.pieces = packers_.empty() ? pieces_of(buffer.size) : 1;
  buffer.ready = buffer.open ? 0 : buffer.pieces;
  buffer.next = 0;
  buffer.failed = false;
  buffer.elsewhere = false;
}

// What the caller waits for, or else the oldest request that no thread is at.
DiskTier::Buffer* DiskTier::next_work() noexcept {
  if (awaited_ != nullptr && awaited_->waits() && awaited_->next < awaited_->pieces) {
    return awaited_;
  }
  Buffer* oldest = nullptr;
  for (Buffer& buffer : buffers_) {
    if (buffer.asks() && (oldest == nullptr || buffer.ticket < oldest->ticket)) {
      oldest = &buffer;
    }
  }
  return oldest;
}

// Moves the next piece of what a buffer waits for, with the lock open. Two at a time are written:
// the system keeps what was written at once in larger pages, which are read faster; but with eight
// a sweep that writes a new file waits three times as long (docs/storage.md).
void DiskTier::work(Buffer& buffer, Lock& lock, Packer* packer) {
  const bool write = buffer.state == Buffer::State::to_write;
  const std::size_t first = buffer.next;
  const std::size_t last = std::min(buffer.ready, first + (write ? pieces_at_once : 1));
  buffer.next = last;
  const Step at = buffer.at;
  const Stored stored = entry(buffer.slot).stored;
  const std::span<std::byte> all(buffer.bytes, buffer.size);
  Stored packed;
  Clock::duration took{};
  std::exception_ptr error;
  ++buffer.busy;
  lock.unlock();
  try {
    if (packer != nullptr && write) {
      packed = store_->pack(buffer.row, at, all, *packer);
    } else if (packer != nullptr) {
      store_->unpack(buffer.row, at, stored, all, *packer);
    } else if (first < last) {
      const auto part = [&](std::size_t from, std::size_t to) {
        const std::size_t begin = from * piece_bytes;
        return all.subspan(begin, std::min(to * piece_bytes, all.size()) - begin);
      };
      const Bytes offset = first * piece_bytes;
      if (!write) store_->read(buffer.row, at, offset, part(first, last));
      for (std::size_t i = first; i < last && !buffer.hashed; ++i) {
        buffer.hashes[i] = hash_bytes(part(i, i + 1));
      }
      if (write) {
        const Clock::time_point start = Clock::now();
        store_->write(buffer.row, at, offset, part(first, last));
        took = Clock::now() - start;
      }
    }
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  --buffer.busy;
  if (took != Clock::duration::zero()) {
    writing_.add(took, std::min((last - first) * piece_bytes, buffer.size - first * piece_bytes));
  }
  if (error != nullptr) {
    failed(buffer, error);
    buffer.failed = true;
    buffer.next = buffer.pieces;
  }
  if (buffer.next == buffer.pieces && buffer.busy == 0 && !buffer.open) {
    finish(buffer, lock, packer != nullptr ? &packed : nullptr);
  }
}

// The next piece of what the caller writes itself, with the lock open.
void DiskTier::hash_next(Lock& lock) {
  Buffer& buffer = *hashing_;
  const std::size_t i = to_hash_++;
  ++hashers_;
  lock.unlock();
  const std::span<const std::byte> all(buffer.bytes, buffer.size);
  const std::size_t at = i * piece_bytes;
  buffer.hashes[i] = hash_bytes(all.subspan(at, std::min(piece_bytes, all.size() - at)));
  lock.lock();
  if (--hashers_ == 0) done_.notify_all();
}

// One error of a buffer is enough, and of several buffers the first: it is why the others fail.
// What becomes of a prefetch that was given up concerns nobody.
void DiskTier::failed(const Buffer& buffer, const std::exception_ptr& error) noexcept {
  if (!buffer.failed && error_ == nullptr) error_ = error;
}

// All pieces are moved, or one has failed: a row that was written is committed, one that was read
// is compared with its checksum.
void DiskTier::finish(Buffer& buffer, Lock& lock, const Stored* packed) {
  const bool write = buffer.state == Buffer::State::to_write;
  std::exception_ptr error;
  if (!buffer.failed) {
    const Slot slot = buffer.slot;
    const Step at = buffer.at;
    const Stored held = entry(slot).stored;
    const Stored stored =
        packed != nullptr
            ? *packed
            : Stored{buffer.size, payload_hash(std::span(buffer.hashes).first(buffer.pieces))};
    ++buffer.busy;
    lock.unlock();
    try {
      if (write) {
        const auto kind = packed != nullptr ? RowHeader::packed_state : RowHeader::state;
        store_->commit(buffer.row, {.kind = kind, .slot = slot, .step = at, .time = buffer.time},
                       stored);
      } else if (packed == nullptr) {
        store_->check(buffer.row, at, held, stored.hash);
      }
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    --buffer.busy;
    if (write && error == nullptr) {
      entry(slot).stored = stored;
      if (packed != nullptr) {
        unpacked_ += buffer.size;
        packed_ += stored.bytes;
      }
      try {
        take_space(stored.bytes, at);
      } catch (...) {
        error = std::current_exception();
      }
    }
    if (error != nullptr) failed(buffer, error);
  }
  const bool whole = !buffer.failed && error == nullptr;
  buffer.state = whole && !buffer.elsewhere ? Buffer::State::holding : Buffer::State::free;
  if (!whole) buffer.wanted = false;
  ++finished_;
  done_.notify_all();
}

// A caller for whom a thread has just read or hashed comes again at once if the file is in the page
// cache and the model is quick. A thread that has gone on with something else then comes too late
// to help, so it sees first whether that happens.
void DiskTier::linger(Lock& lock) {
  constexpr std::chrono::microseconds moment(5);
  const std::uint64_t seen = waits_;
  lock.unlock();
  while (waits_ == seen) std::this_thread::yield();
  const auto end = std::chrono::steady_clock::now() + moment;
  while (waits_ == seen + 1 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  lock.lock();
}

void DiskTier::serve(Packer* packer) {
  Lock lock(lock_);
  for (;;) {
    if (hashing_ != nullptr && to_hash_ < hashing_->pieces) {
      hash_next(lock);
      if (hashing_ != nullptr && to_hash_ == hashing_->pieces && next_work() == nullptr) {
        linger(lock);
      }
    } else if (Buffer* const next = next_work()) {
      const bool awaited = next == awaited_;
      work(*next, lock, packer);
      // Pieces that others are at are all that is left.
      if (awaited && next == awaited_ && next->next == next->pieces) linger(lock);
    } else if (stopping_) {
      return;
    } else {
      asked_.wait(lock);
    }
  }
}

}  // namespace costate::detail
