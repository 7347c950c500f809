#include "guard.hpp"

#include <algorithm>
#include <string>

#include "costate/core/error.hpp"

namespace costate::detail {
Guard::Guard(ReplayGuard mode, Step reserve) : mode_(mode), credit_(cost), reserve_(reserve) {
  if (mode == ReplayGuard::every_step) {
    hashes_ = Pool(static_cast<std::size_t>(reserve) * sizeof(std::uint64_t));
  }
}

const Guard::Mark* Guard::find(Step at) const noexcept {
  for (std::size_t i = count_; i > 0 && marks_[i - 1].at >= at; --i) {
    if (marks_[i - 1].at == at) return &marks_[i - 1];
  }
  return nullptr;
}

void Guard::add(Step at, std::uint64_t hash) {
  if (mode_ == ReplayGuard::every_step) {
    if (at >= reserve_) {
      throw BudgetError("the hashes of more than " + std::to_string(reserve_) +
                            " steps exceed their part of the memory budget; give more, or use the "
                            "sampled replay guard",
                        2 * static_cast<Bytes>(reserve_) * bytes_per_step());
    }
    reinterpret_cast<std::uint64_t*>(hashes_.data())[at] = hash;
    known_ = std::max(known_, at + 1);
    return;
  }
  credit_ -= cost;
  if (count_ == marks_.size()) {  // thin evenly: the rest still spans the run
    for (std::size_t i = 0; 2 * i < count_; ++i) marks_[i] = marks_[2 * i];
    count_ = (count_ + 1) / 2;
  }
  std::size_t i = count_++;
  for (; i > 0 && marks_[i - 1].at > at; --i) marks_[i] = marks_[i - 1];
  marks_[i] = {at, hash};
}

bool Guard::same(Step at, std::uint64_t hash) const noexcept {
  if (mode_ == ReplayGuard::every_step) {
    return at < 0 || at >= known_ ||
           reinterpret_cast<const std::uint64_t*>(hashes_.data())[at] == hash;
  }
  const Mark* const mark = find(at);
  return mark == nullptr || mark->hash == hash;
}

}  // namespace costate::detail
