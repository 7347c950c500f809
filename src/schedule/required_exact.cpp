#include "required_exact.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "gap_reversal.hpp"

namespace costate {
namespace {

using Set = GapTables::Set;
using Free = GapTables::Free;

constexpr double infinite = std::numeric_limits<double>::infinity();

class Required {
 public:
  Required(const GapTables& tables, const std::vector<Step>& required, std::vector<Step> places)
      : tables_(tables),
        places_(std::move(places)),
        n_(static_cast<Step>(places_.size()) - 1),
        tiers_(tables.tiers()),
        columns_(tables.all_free() + 1),
        until_(index(n_) + 1, 0),
        cost_(index(n_) * tiers_ * columns_, infinite),
        choice_(cost_.size()),
        placed_(index(n_) * columns_, infinite) {
    for (const Step at : required) {
      const auto number = std::lower_bound(places_.begin(), places_.end(), at) - places_.begin();
      until_[index(number) + 1] = 1;
    }
    for (Step at = 0; at < n_; ++at) until_[index(at) + 1] += until_[index(at)];
    for (Step b = n_ - 1; b >= 0; --b) {
      if (place(b) + 1 == place(n_)) continue;  // it is not stored
      for (Step p = n_; p > b; --p) {
        if (p == n_ || place(p) + 1 < place(n_)) consider(b, p);
      }
      store(b);
    }
  }

  [[nodiscard]] FirstPass best() const {
    FirstPass found{{}, placed_[tables_.all_free()]};
    Free f = tables_.all_free();
    for (Step b = 0; b < n_;) {
      const std::size_t tier = tier_of(b, f);
      found.stored.push_back({place(b), tier, false});
      f = tables_.less(f, Set{1} << tier);
      const Choice& choice = choice_[cell(b, tier, f)];
      for (Step q = b + 1; q < choice.next; ++q) {
        if (between(q - 1, q + 1) == 0) continue;
        found.stored.push_back({place(q), choice.unread, true});
        f = tables_.less(f, Set{1} << choice.unread);
      }
      b = choice.next;
    }
    return found;
  }

 private:
  struct Choice {
    Step next = 0;           // the next state to reverse from, n: none
    std::size_t unread = 0;  // the tier of those between
  };

  static std::size_t index(Step at) { return static_cast<std::size_t>(at); }
  [[nodiscard]] Step place(Step at) const { return places_[index(at)]; }
  [[nodiscard]] std::size_t cell(Step b, std::size_t t, Free f) const {
    return (index(b) * tiers_ + t) * columns_ + f;
  }
  // How many required states there are between b and p.
  [[nodiscard]] Slot between(Step b, Step p) const {
    return until_[index(p)] - until_[index(b) + 1];
  }

  void consider(Step b, Step p) {
    const Slot unread = between(b, p);
    const double* const gap = tables_.kept(place(b), place(p));
    for (std::size_t d = 0; d < tiers_; ++d) {
      const Set bit = Set{1} << d;
      if (unread > tables_.free(tables_.all_free(), d)) continue;
      const double writes = static_cast<double>(unread) * tables_.write(bit);
      const double there = p < n_ ? tables_.steps(place(b), place(p)) + writes : writes;
      Free shift = 0;
      for (Slot i = 0; i < unread; ++i) shift = tables_.more(shift, bit);
      for (Free f = shift; f < columns_; ++f) {
        if (unread > 0 && tables_.free(f, d) < unread) continue;
        const double above = p < n_ ? placed_[index(p) * columns_ + f - shift] : 0;
        for (std::size_t t = 0; t < tiers_; ++t) {
          const Set m = Set{1} << t;
          const double read = p < n_ ? tables_.read(m) : 0;
          const double cost = there + above + read + gap[tables_.row(m, f - shift)];
          const std::size_t here = cell(b, t, f);
          if (!(cost < cost_[here])) continue;
          cost_[here] = cost;
          choice_[here] = {p, d};
        }
      }
      if (unread == 0) break;
    }
  }
  void store(Step b) {
    for (Free f = 0; f < columns_; ++f) {
      double& least = placed_[index(b) * columns_ + f];
      for (std::size_t t = 0; t < tiers_; ++t) least = std::min(least, stored(b, t, f));
    }
  }
  // What remains if x_b is live and goes to tier t.
  [[nodiscard]] double stored(Step b, std::size_t t, Free f) const {
    const Set bit = Set{1} << t;
    if (!tables_.fits(bit, f)) return infinite;
    return tables_.write(bit) + cost_[cell(b, t, tables_.less(f, bit))];
  }
  [[nodiscard]] std::size_t tier_of(Step b, Free f) const {
    std::size_t t = 0;
    while (t + 1 < tiers_ && stored(b, t, f) != placed_[index(b) * columns_ + f]) ++t;
    return t;
  }

  const GapTables& tables_;
  std::vector<Step> places_;  // where states may be stored, and the end; numbers are said below
  Step n_;
  std::size_t tiers_;
  std::size_t columns_;
  std::vector<Slot> until_;     // required states below an index
  std::vector<double> cost_;    // R by b, t, f
  std::vector<Choice> choice_;  // likewise
  std::vector<double> placed_;  // min over t of w_t + R(b, t, f - e_t), by b, then f
};

}  // namespace

FirstPass required_exact(const GapTables& tables, const std::vector<Step>& required, Step n,
                         std::vector<Step> places) {
  places.push_back(n);
  return Required(tables, required, std::move(places)).best();
}

std::vector<Command> carried_out(const FirstPass& pass, const ResumePoint& point,
                                 const GapTables& tables) {
  GapReversal reversal(point, tables);
  for (const FirstStored& each : pass.stored) {
    if (each.unread) {
      reversal.store_unread(each.at, each.tier);
      continue;
    }
    reversal.advance(each.at);
    GapReversal::Copies copies(tables.tiers(), unknown);
    reversal.save(copies, each.tier);
    reversal.add_frame(each.at, GapTables::Set{1} << each.tier, std::move(copies));
  }
  return std::move(reversal).reverse();
}

}  // namespace costate
