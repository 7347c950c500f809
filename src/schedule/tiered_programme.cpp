#include "tiered_programme.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "binomial_table.hpp"
#include "least_sum.hpp"
#include "programme.hpp"

namespace costate {

// All intervals on level 0 alone.
class TieredProgramme::Bottom {
 public:
  Bottom(const Chain& chain, const std::vector<Step>& borders, const TierLevel& level, double tie,
         bool exact)
      : chain_(chain), borders_(borders), tier_(level.tier), write_(level.write + tie) {
    const Step steps = borders.back() - borders.front();
    slots_ = std::min<Slot>(level.slots, std::max<Step>(1, steps - 1));
    BinomialTable table(slots_);
    const auto inside = [&](Step block, Slot c) {
      const Step length = end(block) - begin(block);
      const double mean = chain.span(begin(block), end(block)) / static_cast<double>(length);
      const Price price = table.price(length, std::min<Slot>(c, length));
      return mean * static_cast<double>(price.advances) +
             write_ * static_cast<double>(price.writes);
    };
    constexpr Step room = 3;  // around Knuth's bounds, which are not exact for blocks or writes
    if (exact && level.write == 0) {
      steps_.emplace(chain, Programme<MonotoneSplits>::Task{borders, slots_, write_, 0, true},
                     inside);
    } else {
      const Step all = static_cast<Step>(borders.size());
      blocks_.emplace(chain,
                      Programme<AnySplits>::Task{borders, slots_, write_, exact ? all : room, true},
                      inside);
    }
  }

  // Writing x_i, but no reads.
  [[nodiscard]] double cost(Step i, Step j) const {
    return write_ + (steps_ ? steps_->cost(i, j) : blocks_->cost(i, j));
  }
  void append(Step i, Step j, std::vector<Decision>& plan) const {
    const std::size_t before = plan.size();
    plan.push_back(Decision::store(tier_));
    if (steps_) {
      steps_->append(i, j, plan, [](Step, Slot, std::vector<Decision>&) {});
    } else {
      blocks_->append(i, j, plan, [this](Step block, Slot c, std::vector<Decision>& out) {
        if (end(block) - begin(block) > 1) {
          split_by_mean(chain_, begin(block), end(block), c, write_, 1, out);
        }
      });
    }
    for (std::size_t at = before; at < plan.size(); ++at) plan[at].tier = tier_;
  }

 private:
  [[nodiscard]] Step begin(Step block) const { return borders_[static_cast<std::size_t>(block)]; }
  [[nodiscard]] Step end(Step block) const { return borders_[static_cast<std::size_t>(block) + 1]; }

  const Chain& chain_;
  const std::vector<Step>& borders_;
  std::size_t tier_;
  double write_;
  Slot slots_ = 1;
  std::optional<Programme<MonotoneSplits>> steps_;
  std::optional<Programme<AnySplits>> blocks_;
};

TieredProgramme::~TieredProgramme() = default;

TieredProgramme::TieredProgramme(const Chain& chain, Task task,
                                 const std::function<Inside(Step)>& inside)
    : chain_(chain),
      levels_(task.levels),
      borders_(std::move(task.borders)),
      m_(static_cast<Step>(borders_.size()) - 1),
      tie_(task.tie),
      slack_(task.slack > 0 ? task.slack : m_),
      inside_(static_cast<std::size_t>(m_)),
      codes_(levels_.size() - 1),
      below_(static_cast<std::size_t>(m_)),
      bounds_(static_cast<std::size_t>(m_)) {
  const bool steps = borders_.back() - borders_.front() == m_;
  bottom_ = std::make_unique<Bottom>(chain, borders_, levels_[0], tie_, steps && slack_ >= m_);
  for (Step i = 0; i < m_; ++i) {
    if (inside && !single(i, i + 1)) inside_[static_cast<std::size_t>(i)] = inside(i);
  }
  std::vector<double> all(cell(0, m_ + 1));  // O of the level below with all slots
  for (Step j = 1; j <= m_; ++j) {
    for (Step i = 0; i < j; ++i) {
      const auto reads = static_cast<double>(border(j) - border(i) - 1);
      all[cell(i, j)] = single(i, j) ? 0 : bottom_->cost(i, j) + reads * levels_[0].read;
    }
  }
  for (std::size_t k = 1; k < levels_.size(); ++k) fill(k, all);
  cost_ = all[cell(0, m_)];
}

void TieredProgramme::fill(std::size_t k, std::vector<double>& all) {
  const std::vector<double> lower = all;    // O(k-1)
  std::vector<double> p(lower.size() + 1);  // by rows, of which the first has no use for its first
  std::size_t layer = 0;                    // in Inside
  for (std::size_t below = 1; below < k; ++below) layer += static_cast<std::size_t>(slots(below));
  for (Slot s = 1; s <= slots(k); ++s, ++layer) {
    codes_[k - 1].emplace_back(lower.size());
    for (Step j = 1; j <= m_; ++j) column(k, j, lower, p, all, codes_[k - 1].back(), layer);
    whole_.push_back(p[static_cast<std::size_t>(m_)]);
  }
}

void TieredProgramme::column(std::size_t k, Step j, const std::vector<double>& lower,
                             std::vector<double>& p, std::vector<double>& all, Codes& codes,
                             std::size_t layer) {
  const double write = levels_[k].write + tie_;
  const bool open = levels_[k].open();
  // Row i of p, (i, j) at row(i)[j].
  const auto row = [&](Step i) { return p.data() + (i * m_ - i * (i - 1) / 2 - i); };
  for (Step i = 0; i < j; ++i) {
    below_[static_cast<std::size_t>(i)] = sum(i) + all[cell(i, j)];  // O(k, ·, ·, s-1)
  }
  Step above = j - 1;  // the best m of (i+1, j)
  for (Step i = j - 1; i >= 0; --i) {
    const double least_lower = lower[cell(i, j)];
    double best = std::numeric_limits<double>::infinity();
    Step best_m = 0;
    if (j - i == 1) {
      const Inside& block = inside_[static_cast<std::size_t>(i)];
      if (single(i, j)) {
        best = 0;
      } else if (!block.empty()) {
        best = block[layer];
      }
      best_m = j;
      bounds_[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(j);
    } else {
      const Step left = std::min<Step>(bounds_[static_cast<std::size_t>(i)], above);
      const Step right = std::max<Step>(bounds_[static_cast<std::size_t>(i)], above);
      const Step from = std::max(i + 1, left - slack_);
      const Step to = std::min(j - 1, right + slack_);
      const double* reach = row(i);
      const auto consider = [&](Step m) {
        const double value = reach[m] + below_[static_cast<std::size_t>(m)];
        if (value < best) {
          best = value;
          best_m = m;
        }
      };
      best = least_sum(reach + from, below_.data() + from, static_cast<std::size_t>(to - from + 1));
      best_m = from;
      while (reach[best_m] + below_[static_cast<std::size_t>(best_m)] != best) ++best_m;
      if (from > i + 1) consider(i + 1);
      if (to < j - 1) consider(j - 1);
      best += levels_[k].read - sum(i);
      bounds_[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(best_m);
      above = best_m;
    }
    const double kept = std::min(least_lower, best);
    row(i)[j] = kept;
    const bool keeps = write + kept < least_lower;
    const double o = keeps ? write + kept : least_lower;
    all[cell(i, j)] = o;
    if (open) below_[static_cast<std::size_t>(i)] = sum(i) + o;
    const auto offset = best < least_lower ? static_cast<unsigned>(best_m - i) : 0U;
    codes[cell(i, j)] = static_cast<std::uint16_t>(offset | (keeps ? keep : 0U));
  }
}

std::uint16_t TieredProgramme::code(const Node& node) const {
  const auto s = static_cast<std::size_t>(levels_[node.k].open() ? 0 : node.s - 1);
  return codes_[node.k - 1][s][cell(node.i, node.j)];
}

void TieredProgramme::append(std::vector<Decision>& plan, const Leaf& leaf) const {
  const std::size_t top = levels_.size() - 1;
  append({{0, m_, top, levels_[top].slots, false}}, plan, leaf);
}

void TieredProgramme::append_stored(std::size_t k, Slot s, std::vector<Decision>& plan,
                                    const Leaf& leaf) const {
  append({{0, m_, k, s, true}}, plan, leaf);
}

void TieredProgramme::append(std::vector<Node> open, std::vector<Decision>& plan,
                             const Leaf& leaf) const {
  while (!open.empty()) {
    Node at = open.back();
    open.pop_back();
    if (single(at.i, at.j)) continue;
    if (at.k == 0) {
      bottom_->append(at.i, at.j, plan);
      continue;
    }
    if (!at.stored) {
      if (at.s > 0 && (code(at) & keep) != 0) {
        plan.push_back(Decision::store(levels_[at.k].tier));
        at.stored = true;
      } else {
        open.push_back({at.i, at.j, at.k - 1, levels_[at.k - 1].slots, false});
        continue;
      }
    }
    const auto offset = static_cast<Step>(code(at) & ~keep);
    if (offset == 0) {
      open.push_back({at.i, at.j, at.k - 1, levels_[at.k - 1].slots, false});
    } else if (at.j - at.i == 1) {
      leaf(at.i, at.k, at.s, plan);
    } else {
      const Step m = at.i + offset;
      plan.push_back(Decision::cut(border(m)));
      const Slot one_less = levels_[at.k].open() ? at.s : at.s - 1;
      open.push_back({at.i, m, at.k, at.s, true});
      open.push_back({m, at.j, at.k, one_less, false});
    }
  }
}

}  // namespace costate
