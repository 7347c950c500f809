#include "step_log.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "costate/core/error.hpp"
#include "costate/core/hash.hpp"

namespace costate::detail {
namespace {

struct BlockHeader {
  static constexpr std::uint64_t magic_value = 0x32676f6c74736f63ULL;  // "costlog2"
  std::uint64_t magic = magic_value;
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::uint64_t payload_hash = 0;
  std::uint64_t header_hash = 0;
  [[nodiscard]] std::uint64_t own_hash(std::uint64_t seed) const noexcept {
    return hash_bytes(std::as_bytes(std::span(this, 1)).first(32), seed);
  }
};
static_assert(sizeof(BlockHeader) == 40);

}  // namespace

StepLog::StepLog(std::unique_ptr<File> file, std::size_t step_bytes, std::string_view identity)
    : file_(std::move(file)),
      step_bytes_(step_bytes),
      seed_(hash_bytes(std::as_bytes(std::span(identity)))) {
  scan([](Step, Step, std::span<const std::byte>) {});
}

// Visits the blocks in order and leaves end_ and steps_ behind the last good one.
template <typename Visit>
void StepLog::scan(Visit visit) {
  end_ = 0;
  steps_ = 0;
  const Bytes size = file_->size();
  std::vector<std::byte> payload;
  while (end_ + sizeof(BlockHeader) <= size) {
    BlockHeader header;
    file_->read(std::as_writable_bytes(std::span(&header, 1)), end_);
    if (header.magic != BlockHeader::magic_value || header.header_hash != header.own_hash(seed_) ||
        header.from != steps_ || header.to <= header.from) {
      return;
    }
    const Bytes bytes = static_cast<Bytes>(header.to - header.from) * step_bytes_;
    if (bytes > size - end_ - sizeof(BlockHeader)) return;
    payload.resize(bytes);
    file_->read(payload, end_ + sizeof(BlockHeader));
    if (hash_bytes(payload, seed_) != header.payload_hash) return;
    visit(header.from, header.to, payload);
    end_ += sizeof(BlockHeader) + bytes;
    steps_ = header.to;
  }
}

void StepLog::append(Step from, Step to, std::span<const std::byte> logs) {
  if (from > steps_ || logs.size() != static_cast<std::size_t>(to - from) * step_bytes_) {
    throw InvalidArgument("the step log ends at step " + std::to_string(steps_) +
                          ", so steps from " + std::to_string(from) + " cannot be appended");
  }
  // Steps that an earlier process has logged already are the same steps.
  logs = logs.subspan(std::min(logs.size(), static_cast<std::size_t>(steps_ - from) * step_bytes_));
  if (logs.empty()) return;
  BlockHeader header;
  header.from = steps_;
  header.to = to;
  header.payload_hash = hash_bytes(logs, seed_);
  header.header_hash = header.own_hash(seed_);
  file_->write(logs, end_ + sizeof(BlockHeader));
  file_->write(std::as_bytes(std::span(&header, 1)), end_);
  end_ += sizeof(BlockHeader) + logs.size();
  steps_ = to;
}

void StepLog::read(Step to, std::span<std::byte> out) {
  scan([&](Step from, Step end, std::span<const std::byte> payload) {
    const Step last = std::min(end, to);
    if (last <= from) return;
    std::copy_n(
        payload.begin(), static_cast<std::size_t>(last - from) * step_bytes_,
        out.begin() + static_cast<std::ptrdiff_t>(from) * static_cast<std::ptrdiff_t>(step_bytes_));
  });
}

}  // namespace costate::detail
