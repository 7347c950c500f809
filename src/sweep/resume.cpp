#include "resume.hpp"

#include <memory>
#include <optional>
#include <utility>

#include "costate/schedule/online.hpp"

namespace costate::detail {
namespace {

class Continued final : public Generator {
 public:
  Continued(Step p, Slot first, Schedule inner, Costs costs, ResumePoint point)
      : p_(p),
        first_(first),
        inner_(std::move(inner)),
        costs_(std::move(costs)),
        point_(std::move(point)) {}

  [[nodiscard]] std::unique_ptr<Generator> clone() const override {
    return std::make_unique<Continued>(*this);
  }

  Command next() override {
    if (!tail_) {
      Command command = inner_.next_command();
      if (command.kind != Command::Kind::end) return shifted(command);
      if (p_ == 0) return command;
      // The adjoint is at p, and x_p is live if there was a step from it.
      point_.steps = n_;
      point_.end = p_;
      point_.turned = true;
      point_.live = unknown;
      tail_.emplace(continuation(costs_, point_));
    }
    return tail_->next_command();
  }

  [[nodiscard]] bool made_as(const Generator& other) const override {
    const auto* const same = dynamic_cast<const Continued*>(&other);
    return same != nullptr && p_ == same->p_ && first_ == same->first_ && inner_ == same->inner_ &&
           costs_.tiers == same->costs_.tiers && point_.stored == same->point_.stored;
  }

  void end_at(Step n, Step live, Step /*saved_end*/) override {
    n_ = n;
    inner_.end_at(n - p_, live - p_);
  }

 private:
  [[nodiscard]] Command shifted(Command command) const {
    command.from += p_;
    command.to += p_;
    command.slot += first_;
    return command;
  }

  Step p_;
  Slot first_;
  Schedule inner_;
  Costs costs_;
  ResumePoint point_;
  std::optional<Schedule> tail_;
  Step n_ = unknown;
};

}  // namespace

Schedule continue_online(Step p, Slot first, Slot count, const Costs& costs,
                         const ResumePoint& point, Step guess) {
  const Step left = guess > p ? guess - p : unknown;
  return {"online, resumed", unknown, point.tiers,
          std::make_unique<Continued>(p, first, online(count, left), costs, point)};
}

}  // namespace costate::detail
