#include "costate/hdf5/run_directory.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include <unistd.h>

#include "costate/core/error.hpp"
#include "disk_tier.hpp"
#include "run_agreement.hpp"
#include "run_files.hpp"
#include "run_scan.hpp"
#include "step_log.hpp"

namespace costate {
namespace {

using detail::Container;
using detail::DiskTier;
using detail::RowHeader;
using detail::RowStore;
using detail::StepLog;

using detail::run_spare_rows;

DiskTier::Options tier_options(const RunDirectoryOptions& options, std::size_t row_bytes,
                               Slot slots) {
  return {.row_bytes = row_bytes,
          .slots = slots,
          .io_threads = options.io_threads,
          .buffers = options.buffers,
          .compression = options.compression,
          .capacity = options.capacity,
          .spare_rows = run_spare_rows,
          .retains = true};
}

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
    lock_ = std::make_unique<detail::DirectoryLock>(options.directory);
    files_.remove(states_path() + ".new");
    files_.remove(detail::result_path(options.directory) + ".new");
    // A run in parts is finished when every part has its result; until then none removes anything.
    if (least(request_.team, find_result() ? 1 : 0) == 0) {
      result_.reset();
    } else {
      if (!options_.keep) remove_all_but_result();  // killed before it had done so itself
      return;
    }
    const bool found = detail::exists(states_path());
    const Container container = found ? check_found() : make();
    auto rows = std::make_unique<RowStore>(files_, states_path(), container, options_.durability,
                                           options_.sync_seconds);
    slots_ = least(request_.team, container.rows - run_spare_rows);
    DiskTier::Options tier = tier_options(options_, request_.row_bytes, slots_);
    tier.untimed = request_.team != nullptr;
    tier_ = std::make_unique<DiskTier>(std::move(rows), tier);
    open_log();
    record_buffer_ = Pool(request_.record_bytes);
    if (found || request_.team != nullptr) find_what_is_there();
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
    // No part of a run gives up its older record before all parts have the newer one.
    const std::int64_t key = detail::order_of(record.phase, record.step);
    if (most(request_.team, key) != least(request_.team, key)) {
      throw ScheduleError("the parts of the run write different records, here of step " +
                              std::to_string(record.step),
                          record.step);
    }
    const bool durable = options_.durability != Durability::none;
    // What the record relies on comes first: the logs, and the checkpoints below it.
    if (request_.log_bytes > 0 && durable) log_->sync();
    tier_->flush();
    if (durable) tier_->store().sync();
    record_row_ = 1 - record_row_;
    RowHeader header{.kind = RowHeader::record,
                     .phase = static_cast<std::uint16_t>(record.phase),
                     .slot = record.steps,
                     .step = record.step,
                     .time = record.time};
    tier_->store().put_record(record_row_, header, {record_buffer_.data(), record.bytes});
    if (durable) tier_->store().sync();
    if (!tier_->store().has_name()) {
      throw StorageError("record of step " + std::to_string(record.step) + ": '" + states_path() +
                             "' has been removed while the run was using it",
                         states_path(), record.step);
    }
    if (record.phase == RunRecord::Phase::reverse) tier_->release(record.step);
  }
  void retain(std::function<void()> need_record) override { tier_->retain(std::move(need_record)); }

  void finish(std::span<const std::byte> result) override {
    detail::write_result(files_, options_.directory, request_.identity, Container::own_name(),
                         result);
    most(request_.team, 0);  // all parts have theirs
    tier_.reset();
    log_.reset();
    if (!options_.keep) remove_all_but_result();
  }

 private:
  [[nodiscard]] std::string states_path() const { return detail::states_path(options_.directory); }
  [[nodiscard]] std::string log_path() const { return detail::log_path(options_.directory); }

  void remove_all_but_result() {
    files_.remove(states_path());
    files_.remove(log_path());
  }

  [[noreturn]] void refuse(const std::string& path, const std::string& why) const {
    throw StorageError("the directory '" + options_.directory + "' holds another run: " + why,
                       path);
  }

  bool find_result() {
    const std::string path = detail::result_path(options_.directory);
    std::optional<detail::Result> found;
    try {
      found = detail::read_result(files_, options_.directory);
    } catch (const StorageError& error) {
      // Written aside and renamed, so it was whole once. The run has to be done again.
      damage_.emplace_back(error.what());
    }
    if (!found) return false;
    if (found->identity != request_.identity) {
      refuse(path, "it finished '" + found->identity + "', not '" + request_.identity + "'");
    }
    check_library(path, found->library);
    result_ = std::move(found->bytes);
    return true;
  }

  // Bits are promised for one version only.
  void check_library(const std::string& path, const std::string& library) const {
    if (library == Container::own_name()) return;
    throw StorageError("the run in '" + options_.directory + "' is by " + library + ", this is " +
                           Container::own_name() + "; another version may give other bits",
                       path);
  }

  Container check_found() {
    const Container container = detail::open_container(files_, states_path());
    if (container.identity != request_.identity) {
      refuse(states_path(),
             "it is of '" + container.identity + "', not of '" + request_.identity + "'");
    }
    check_library(states_path(), container.library);
    const std::size_t row_bytes =
        tier_options(options_, request_.row_bytes, request_.slots).stored_bytes();
    if (container.row_bytes != row_bytes || container.record_bytes != request_.record_bytes ||
        container.log_bytes != request_.log_bytes || container.rows <= run_spare_rows - 1) {
      const auto sizes = [](std::size_t row, std::size_t record, std::size_t log) {
        return std::to_string(row) + ", its records " + std::to_string(record) +
               " and its steps' logs " + std::to_string(log) + " bytes";
      };
      refuse(states_path(),
             "its states have " +
                 sizes(container.row_bytes, container.record_bytes, container.log_bytes) +
                 ", not " + sizes(row_bytes, request_.record_bytes, request_.log_bytes));
    }
    return container;
  }

  // Made aside and renamed: under its name it is always whole.
  Container make() {
    Container wanted;
    const DiskTier::Options tier = tier_options(options_, request_.row_bytes, request_.slots);
    wanted.rows = tier.rows();
    wanted.row_bytes = tier.stored_bytes();
    wanted.record_bytes = request_.record_bytes;
    wanted.identity = request_.identity;
    if (!options_.compression.on()) wanted.fields = request_.fields;
    wanted.log_bytes = request_.log_bytes;
    wanted.memory = request_.memory;
    wanted.memory_slots = static_cast<std::uint64_t>(request_.memory_slots);
    const std::string aside = states_path() + ".new";
    Container made;
    try {
      made = detail::create_container(files_, aside, wanted);
      files_.open(aside, FileSystem::Mode::update)->sync();
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
    const bool there = detail::exists(log_path());
    log_ = std::make_unique<StepLog>(
        files_.open(log_path(), there ? FileSystem::Mode::update : FileSystem::Mode::create),
        request_.log_bytes, request_.identity);
    if (!there) files_.sync_directory(options_.directory);
  }

  void find_what_is_there() {
    RowStore& store = tier_->store();
    Team* const team = request_.team;
    auto records = detail::find_records(
        store, log_.get(), team == nullptr ? detail::Reading::needed : detail::Reading::all);
    if (team != nullptr) {
      records.valid = detail::common_record(records.all, log_.get(), *team);
    }
    if (const auto& record = records.valid) {
      record_ = RunRecord{.phase = static_cast<RunRecord::Phase>(record->header.phase),
                          .step = record->header.step,
                          .steps = record->header.slot,
                          .bytes = record->header.bytes,
                          .time = record->header.time};
      record_row_ = record->row;
      record_hash_ = record->header.payload_hash;
    }
    auto states = detail::find_states(store, slots_, detail::state_limit(records.valid),
                                      detail::Reading::needed);
    std::vector<detail::FoundRow> good;  // one an index
    for (const detail::FoundRow& state : states.states) {
      if (state.payload == detail::FoundRow::Payload::damaged) continue;
      if (good.empty() || good.back().header.step != state.header.step) good.push_back(state);
    }
    if (team != nullptr) good = detail::common_states(good, *team);
    for (const auto& [row, header, payload] : good) {
      tier_->adopt(header.slot, row, header.step, store.state_bytes(row, header),
                   {header.bytes, header.payload_hash});
      checkpoints_.push_back({header.step, header.slot});
    }
    tier_->adopt_done();
    if (record_ && record_->phase == RunRecord::Phase::reverse) {
      tier_->retain({});
      tier_->release(record_->step);
    }
    for (std::vector<std::string>* lines : {&records.damage, &states.damage}) {
      std::ranges::move(*lines, std::back_inserter(damage_));
    }
  }

  RunDirectoryOptions options_;
  FileSystem& files_;
  RunRequest request_;
  std::unique_ptr<detail::DirectoryLock> lock_;
  Slot slots_ = 0;
  std::unique_ptr<DiskTier> tier_;
  std::unique_ptr<StepLog> log_;
  Pool record_buffer_;
  std::vector<RunCheckpoint> checkpoints_;
  std::optional<RunRecord> record_;
  Slot record_row_ = 0;
  std::uint64_t record_hash_ = 0;
  std::optional<std::vector<std::byte>> result_;
  std::vector<std::string> damage_;
};

class Factory final : public RunFactory {
 public:
  explicit Factory(RunDirectoryOptions options, std::size_t record_bytes = 0)
      : options_(std::move(options)), record_bytes_(record_bytes) {}

  [[nodiscard]] std::string name() const override { return "disk"; }
  [[nodiscard]] Slot slots(std::size_t row_bytes) const override {
    const Bytes records = Container::records_size(record_bytes_);
    if (options_.capacity < records) return 0;
    DiskTier::Options tier = tier_options(options_, row_bytes, 0);
    tier.capacity -= records;
    return std::max<Slot>(0, tier.slots_within() - (run_spare_rows - 1));
  }
  [[nodiscard]] Bytes memory_bytes(std::size_t row_bytes, Slot slots) const override {
    return tier_options(options_, row_bytes, slots).memory_bytes() +
           static_cast<Bytes>(slots) * sizeof(RunCheckpoint);
  }
  [[nodiscard]] std::unique_ptr<Tier> make(
      std::size_t /*row_bytes*/, Slot /*slots*/,
      const std::vector<StateField>& /*fields*/) const override {
    throw Unsupported("a run directory is for run_or_resume, not for sweep");
  }
  [[nodiscard]] std::shared_ptr<const RunFactory> with_records(
      std::size_t record_bytes) const override {
    return std::make_shared<const Factory>(options_, record_bytes);
  }
  [[nodiscard]] std::string where() const override { return options_.directory; }
  [[nodiscard]] std::unique_ptr<RunStore> open(const RunRequest& request) const override {
    return std::make_unique<Directory>(options_, request);
  }

 private:
  RunDirectoryOptions options_;
  std::size_t record_bytes_;
};

}  // namespace

RunSpec run_directory(const RunDirectoryOptions& options) {
  // The same ranges as for a plain disk.
  (void)hdf5({.directory = options.directory,
              .io_threads = options.io_threads,
              .buffers = options.buffers,
              .sync_seconds = options.sync_seconds,
              .compression = options.compression});
  if (options.compression.ratio != 1) {
    throw InvalidArgument(
        "a run directory reserves the place of whole states: the ratio must be 1");
  }
  return RunSpec(std::make_shared<const Factory>(options));
}

}  // namespace costate
