#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "costate/schedule/schedule.hpp"

namespace costate {

/// Emits commands that are known, and then those of a reversal.
template <typename Reversal>
class Listed final : public Generator {
 public:
  Listed(std::vector<Command> first, Reversal rest)
      : first_(std::make_shared<std::vector<Command>>(std::move(first))), rest_(std::move(rest)) {}
  [[nodiscard]] std::unique_ptr<Generator> clone() const override {
    return std::make_unique<Listed>(*this);
  }
  Command next() override { return given_ < first_->size() ? (*first_)[given_++] : rest_.next(); }

 private:
  std::shared_ptr<const std::vector<Command>> first_;  // shared by copies; never changes
  std::size_t given_ = 0;
  Reversal rest_;
};

}  // namespace costate
