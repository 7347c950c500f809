#include "costate/hdf5/run_directory.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "costate/core/error.hpp"
#include "costate/core/hash.hpp"
#include "costate/storage/memory_tier.hpp"
#include "disk_tier.hpp"
#include "step_log.hpp"

namespace costate {
namespace {

using detail::Container;
using detail::DiskTier;
using detail::RowHeader;
using detail::RowStore;
using detail::StepLog;

// Rows besides the slots: one to write into, and some that wait for a record.
constexpr Slot spare_rows = 3;

std::string reason(int error) {
  return std::generic_category().message(error);
}

/// A lock that the system takes back when the process ends, however it ends.
class DirectoryLock {
 public:
  explicit DirectoryLock(const std::string& directory) : path_(directory + "/lock") {
    fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd_ < 0) {
      throw StorageError("cannot open '" + path_ + "': " + reason(errno), path_);
    }
    if (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
      const int error = errno;
      ::close(fd_);
      throw StorageError(error == EWOULDBLOCK ? "the run in '" + directory +
                                                    "' is being worked on by another process"
                                              : "cannot lock '" + path_ + "': " + reason(error),
                         path_);
    }
  }
  ~DirectoryLock() { ::close(fd_); }
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

 private:
  std::string path_;
  int fd_;
};

// The result file: magic, lengths and hashes, then identity and result.
struct ResultHeader {
  static constexpr std::uint64_t magic_value = 0x31746c7573657263ULL;  // "cresult1"
  std::uint64_t magic = magic_value;
  std::uint64_t identity_bytes = 0;
  std::uint64_t result_bytes = 0;
  std::uint64_t hash = 0;  // of identity and result
};

class Directory final : public RunStore {
 public:
  Directory(const RunDirectoryOptions& options, const RunRequest& request)
      : options_(options),
        files_(options.files != nullptr ? *options.files : FileSystem::real()),
        request_(request) {
    std::error_code made;
    std::filesystem::create_directories(options.directory, made);
    if (made) {
      throw StorageError("cannot make the directory '" + options.directory + "': " + made.message(),
                         options.directory);
    }
    lock_ = std::make_unique<DirectoryLock>(options.directory);
    files_.remove(states_path() + ".new");
    files_.remove(result_path() + ".new");
    if (read_result()) return;
    const bool found = std::filesystem::exists(states_path());
    const Container container = found ? check_found() : make();
    auto rows = std::make_unique<RowStore>(files_, states_path(), container, options_.durability,
                                           options_.sync_seconds);
    slots_ = container.rows - spare_rows;
    tier_ =
        std::make_unique<DiskTier>(std::move(rows), slots_, options_.io_threads, options_.buffers);
    open_log();
    record_buffer_ = Pool(request_.record_bytes);
    if (found) find_checkpoints();
    if (found) find_record();
  }

  Tier& tier() override { return *tier_; }
  [[nodiscard]] Slot slots() const noexcept override { return slots_; }

  [[nodiscard]] std::optional<std::vector<std::byte>> result() const override { return result_; }
  [[nodiscard]] std::optional<RunRecord> record() const override { return record_; }
  void read_record(std::span<std::byte> out) override {
    tier_->store().get_record(record_row_, record_->step, record_hash_, out);
  }
  [[nodiscard]] std::vector<RunCheckpoint> checkpoints() const override { return checkpoints_; }
  void read_log(Step to, std::span<std::byte> out) override { log_->read(to, out); }
  [[nodiscard]] const std::vector<std::string>& damage() const override { return damage_; }

  void append_log(Step from, Step to, std::span<const std::byte> logs) override {
    log_->append(from, to, logs);
  }
  std::span<std::byte> begin_record(std::size_t bytes) override {
    if (bytes > request_.record_bytes) {
      throw StorageError("a record has " + std::to_string(bytes) + " bytes, there is room for " +
                             std::to_string(request_.record_bytes),
                         states_path());
    }
    return {record_buffer_.data(), bytes};
  }
  void commit_record(const RunRecord& record) override {
    const bool durable = options_.durability != Durability::none;
    // What the record relies on comes first: the logs, and the checkpoints below it.
    if (request_.log_bytes > 0 && durable) log_->sync();
    tier_->flush();
    if (durable) tier_->store().sync();
    record_row_ = 1 - record_row_;
    RowHeader header{.kind = RowHeader::record,
                     .phase = static_cast<std::uint32_t>(record.phase),
                     .slot = record.steps,
                     .step = record.step};
    tier_->store().put_record(record_row_, header, {record_buffer_.data(), record.bytes});
    if (durable) tier_->store().sync();
    if (record.phase == RunRecord::Phase::reverse) tier_->release(record.step);
  }
  void retain(std::function<void()> need_record) override { tier_->retain(std::move(need_record)); }

  void finish(std::span<const std::byte> result) override {
    const std::string aside = result_path() + ".new";
    ResultHeader header;
    header.identity_bytes = request_.identity.size();
    header.result_bytes = result.size();
    std::vector<std::byte> body(request_.identity.size() + result.size());
    std::ranges::copy(std::as_bytes(std::span(request_.identity)), body.begin());
    std::ranges::copy(result, body.begin() + static_cast<std::ptrdiff_t>(header.identity_bytes));
    header.hash = hash_bytes(body);
    {
      const auto file = files_.open(aside, FileSystem::Mode::create);
      file->write(std::as_bytes(std::span(&header, 1)), 0);
      file->write(body, sizeof header);
      file->sync();
    }
    files_.rename(aside, result_path());
    files_.sync_directory(options_.directory);
    tier_.reset();
    log_.reset();
    if (options_.keep) return;
    files_.remove(states_path());
    files_.remove(log_path());
  }

 private:
  [[nodiscard]] std::string states_path() const { return options_.directory + "/states.h5"; }
  [[nodiscard]] std::string log_path() const { return options_.directory + "/steps.log"; }
  [[nodiscard]] std::string result_path() const { return options_.directory + "/result"; }

  [[noreturn]] void refuse(const std::string& path, const std::string& why) const {
    throw StorageError("the directory '" + options_.directory + "' holds another run: " + why,
                       path);
  }

  bool read_result() {
    if (!std::filesystem::exists(result_path())) return false;
    const auto file = files_.open(result_path(), FileSystem::Mode::read);
    ResultHeader header;
    const Bytes size = file->size();
    bool good = size >= sizeof header;
    std::vector<std::byte> body;
    if (good) {
      file->read(std::as_writable_bytes(std::span(&header, 1)), 0);
      good = header.magic == ResultHeader::magic_value &&
             header.identity_bytes <= size - sizeof header &&
             header.result_bytes == size - sizeof header - header.identity_bytes;
    }
    if (good) {
      body.resize(size - sizeof header);
      file->read(body, sizeof header);
      good = hash_bytes(body) == header.hash;
    }
    if (!good) {
      // Written aside and renamed, so it was whole once. The run has to be done again.
      damage_.push_back("'" + result_path() + "' is damaged");
      return false;
    }
    const auto middle = body.begin() + static_cast<std::ptrdiff_t>(header.identity_bytes);
    const std::string identity(reinterpret_cast<const char*>(body.data()), header.identity_bytes);
    if (identity != request_.identity) {
      refuse(result_path(), "it finished '" + identity + "', not '" + request_.identity + "'");
    }
    result_.emplace(middle, body.end());
    return true;
  }

  Container check_found() {
    const Container container = detail::open_container(states_path());
    if (container.identity != request_.identity) {
      refuse(states_path(),
             "it is of '" + container.identity + "', not of '" + request_.identity + "'");
    }
    if (container.row_bytes != request_.row_bytes ||
        container.record_bytes != request_.record_bytes || container.rows <= spare_rows - 1) {
      refuse(states_path(), "its states have " + std::to_string(container.row_bytes) +
                                " bytes and its records " + std::to_string(container.record_bytes) +
                                ", not " + std::to_string(request_.row_bytes) + " and " +
                                std::to_string(request_.record_bytes));
    }
    const auto file = files_.open(states_path(), FileSystem::Mode::read);
    if (file->size() < container.size) {
      throw StorageError("'" + states_path() + "' is cut off: it has " +
                             std::to_string(file->size()) + " of " +
                             std::to_string(container.size) + " bytes",
                         states_path());
    }
    return container;
  }

  // Made aside and renamed: under its name it is always whole.
  Container make() {
    Container wanted;
    wanted.rows = request_.slots + spare_rows;
    wanted.row_bytes = request_.row_bytes;
    wanted.record_bytes = request_.record_bytes;
    wanted.identity = request_.identity;
    const std::string aside = states_path() + ".new";
    Container made;
    try {
      made = detail::create_container(aside, wanted);
      const auto file = files_.open(aside, FileSystem::Mode::update);
      file->reserve(made.size);
      file->sync();
    } catch (...) {
      ::unlink(aside.c_str());
      throw;
    }
    files_.remove(log_path());
    files_.rename(aside, states_path());
    files_.sync_directory(options_.directory);
    return made;
  }

  void open_log() {
    if (request_.log_bytes == 0) return;
    const bool there = std::filesystem::exists(log_path());
    log_ = std::make_unique<StepLog>(
        files_.open(log_path(), there ? FileSystem::Mode::update : FileSystem::Mode::create),
        request_.log_bytes);
    if (!there) files_.sync_directory(options_.directory);
  }

  void find_checkpoints() {
    RowStore& store = tier_->store();
    struct Found {
      RowHeader header;
      Slot row;
    };
    std::map<Slot, Found> newest;  // by slot
    for (Slot row = 0; row < store.container().rows; ++row) {
      const RowHeader header = store.header(row);
      if (header.magic == 0) continue;  // never written
      if (!header.valid() || header.kind != RowHeader::state || header.slot < 0 ||
          header.slot >= slots_ || header.bytes == 0 || header.bytes > request_.row_bytes) {
        damage_.push_back("the header of row " + std::to_string(row) + " is damaged");
        continue;
      }
      store.seen(header.sequence);
      const auto known = newest.find(header.slot);
      if (known == newest.end() || known->second.header.sequence < header.sequence) {
        if (!store.holds(row, header)) {
          damage_.push_back("checkpoint " + std::to_string(header.step) + " in row " +
                            std::to_string(row) + " is damaged");
          continue;
        }
        newest[header.slot] = {header, row};
      }
    }
    std::map<Step, Slot> by_step;
    for (const auto& [slot, found] : newest) {
      if (!by_step.emplace(found.header.step, slot).second) continue;  // twice: once is enough
      tier_->adopt(slot, found.row, found.header.step, found.header.bytes,
                   found.header.payload_hash);
      checkpoints_.push_back({found.header.step, slot});
    }
    tier_->adopt_done();
  }

  void find_record() {
    RowStore& store = tier_->store();
    for (Slot row = 0; row < 2; ++row) {
      const RowHeader header = store.record_header(row);
      if (header.magic == 0) continue;
      const std::string name = "record " + std::to_string(row);
      if (!header.valid() || header.kind != RowHeader::record ||
          header.bytes > request_.record_bytes || header.phase > 1 || header.step < 0) {
        damage_.push_back("the header of " + name + " is damaged");
        continue;
      }
      store.seen(header.sequence);
      if (record_ && header.sequence < record_sequence_) continue;
      const Step logged = header.phase == 0 ? header.step : header.slot;
      if (request_.log_bytes > 0 && log_->steps() < logged) {
        damage_.push_back(name + " needs the log of " + std::to_string(logged) +
                          " steps, of which " + std::to_string(log_->steps()) + " are there");
        continue;
      }
      if (!store.holds_record(row, header)) {
        damage_.push_back(name + " is damaged");
        continue;
      }
      record_ = RunRecord{.phase = static_cast<RunRecord::Phase>(header.phase),
                          .step = header.step,
                          .steps = header.slot,
                          .bytes = header.bytes};
      record_sequence_ = header.sequence;
      record_row_ = row;
      record_hash_ = header.payload_hash;
    }
  }

  RunDirectoryOptions options_;
  FileSystem& files_;
  RunRequest request_;
  std::unique_ptr<DirectoryLock> lock_;
  Slot slots_ = 0;
  std::unique_ptr<DiskTier> tier_;
  std::unique_ptr<StepLog> log_;
  Pool record_buffer_;
  std::vector<RunCheckpoint> checkpoints_;
  std::optional<RunRecord> record_;
  std::uint64_t record_sequence_ = 0;
  Slot record_row_ = 0;
  std::uint64_t record_hash_ = 0;
  std::optional<std::vector<std::byte>> result_;
  std::vector<std::string> damage_;
};

class Factory final : public RunFactory {
 public:
  explicit Factory(RunDirectoryOptions options) : options_(std::move(options)) {}

  [[nodiscard]] std::string name() const override { return "disk"; }
  [[nodiscard]] Slot slots(std::size_t row_bytes) const override {
    return std::max<Slot>(0,
                          DiskTier::slots_within(options_.capacity, row_bytes) - (spare_rows - 1));
  }
  [[nodiscard]] Bytes memory_bytes(std::size_t row_bytes, Slot slots) const override {
    return DiskTier::memory_bytes(options_.buffers, row_bytes, slots);
  }
  [[nodiscard]] std::unique_ptr<Tier> make(std::size_t /*row_bytes*/,
                                           Slot /*slots*/) const override {
    throw Unsupported("a run directory is for run_or_resume, not for sweep");
  }
  [[nodiscard]] std::string where() const override { return options_.directory; }
  [[nodiscard]] std::unique_ptr<RunStore> open(const RunRequest& request) const override {
    return std::make_unique<Directory>(options_, request);
  }

 private:
  RunDirectoryOptions options_;
};

}  // namespace

RunSpec run_directory(const RunDirectoryOptions& options) {
  // The same ranges as for a plain disk.
  (void)hdf5({.directory = options.directory,
              .io_threads = options.io_threads,
              .buffers = options.buffers,
              .sync_seconds = options.sync_seconds});
  return RunSpec(std::make_shared<const Factory>(options));
}

}  // namespace costate
