// Shrinking: points that cannot be part of a violating pair are left out for a while. Their f is not kept, and must be
// brought up to date before they take part again.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "../dual.hpp"
#include "../rows.hpp"
#include "state.hpp"

namespace mercer::smo {

class Shrinking {
 public:
  explicit Shrinking(State& state) : state_(state) {}

  // Leave out the points none of whose variables can be part of a violating pair while the extremes stay where they
  // are: they go behind the others. False where they would be too few to be worth it.
  bool shrink(const std::vector<Extremes>& groups) {
    std::vector<std::size_t> kept, left_out;
    for (std::size_t i = 0; i < state_.n_active; ++i) (is_needed(i, groups) ? kept : left_out).push_back(i);
    if (kept.size() > 0.8 * static_cast<double>(state_.n_active)) return false;
    dropped_.push_back({kept.size(), state_.coefficients()});
    std::vector<std::size_t> from = std::move(kept);
    const std::size_t n_kept = from.size();
    from.insert(from.end(), left_out.begin(), left_out.end());
    for (std::size_t i = state_.n_active; i < state_.size(); ++i) from.push_back(i);
    state_.reorder(from);
    state_.n_active = n_kept;
    return true;
  }

  // Active sets only ever shrink or become everything again, so their size tells them apart.
  template <class T>
  void restrict(Rows<T>& rows) const {
    if (rows.n_active() == state_.n_active) return;
    rows.restrict_to({state_.order.begin(), state_.order.begin() + std::ptrdiff_t(state_.n_active)});
  }

  // Bring f of the points that were left out up to date, in the working precision, and take them in again.
  template <class T>
  void catch_up(Rows<T>& rows) {
    std::vector<std::size_t> changed;
    std::vector<double> change, delta;
    std::size_t end = state_.size();
    for (const Dropped& dropped : dropped_) {
      state_.changes_since(dropped.coefficient, changed, change);
      delta.assign(end - dropped.begin, 0.0);
      const auto first = state_.order.begin();
      rows.restrict_to({first + std::ptrdiff_t(dropped.begin), first + std::ptrdiff_t(end)});
      rows.add(changed.data(), change.data(), changed.size(), delta.data());
      for (std::size_t c = 0; c < delta.size(); ++c) state_.f[dropped.begin + c] += delta[c];
      end = dropped.begin;
    }
    reactivate();
  }

  // f of all points is up to date, for these coefficients.
  void caught_up(const std::vector<double>& coefficients) {
    for (Dropped& dropped : dropped_) dropped.coefficient = coefficients;
  }

  // All points take part again, in their own order; their f must be up to date.
  void reactivate() {
    state_.n_active = state_.size();
    if (dropped_.empty()) return;
    dropped_.clear();
    std::vector<std::size_t> position(state_.size());
    for (std::size_t i = 0; i < state_.size(); ++i) position[state_.order[i]] = i;
    state_.reorder(position);
  }

 private:
  bool is_needed(std::size_t i, const std::vector<Extremes>& groups) const {
    for (std::size_t l = 0; l < state_.layers.size(); ++l) {
      Extremes group = groups[state_.group_of(l)];
      if (state_.problem.equality == Equality::none) group = {0.0, 0.0};
      const double up = state_.layers[l].up[i] - state_.f[i], low = state_.layers[l].low[i] - state_.f[i];
      if (up >= group.smallest || low <= group.largest) return true;
    }
    return false;
  }

  // Points from `begin` on that were left out together, and s a of all points then.
  struct Dropped {
    std::size_t begin;
    std::vector<double> coefficient;
  };

  State& state_;
  std::vector<Dropped> dropped_;
};

}  // namespace mercer::smo
