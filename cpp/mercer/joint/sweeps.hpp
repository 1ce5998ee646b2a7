// Sweeps over a working set: the multipliers of one sample at a time are set to their exact optimum.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "../rows.hpp"
#include "../run.hpp"
#include "newton.hpp"
#include "offsets.hpp"
#include "options.hpp"
#include "state.hpp"
#include "working_set.hpp"

namespace mercer::joint {

class Sweeps {
 public:
  Sweeps(State& state, Run& run)
      : state_(state),
        problem_(state.problem),
        offsets_(state.offsets),
        run_(run),
        newton_(state, run),
        rho_(state.relative() ? 1.0 : -1.0 / static_cast<double>(state.n_classes)),
        wanted_(state.n_classes),
        best_(state.n_classes) {}

  // Sweeps over the set, until its violation is at most eps, or small enough for better multipliers of z. Samples far
  // below the worst wait, and those that stay at their bounds anyway are left out until the others have settled. Where
  // sweeps crawl, Newton's method takes turns with them, for longer and longer. After so many steps of the run, others
  // have their turn.
  template <class T>
  void optimise(WorkingSet<T>& set, double eps, double worst, std::size_t turn_ends) {
    constexpr std::size_t patience = 100;  // steps per sample until Newton's method has its turn
    const std::size_t m = set.size();
    const std::vector<std::size_t> all = all_positions(m);
    std::vector<std::size_t> live = all, kept;
    std::size_t steps = 0, work = 0, allowed = 0;  // work in rows added
    while (true) {
      const double before = worst, enough = std::max(eps, 0.2 * worst);
      worst = 0.0;
      kept.clear();
      for (const std::size_t c : live) {
        const std::size_t i = set.points[c];
        state_.find_slopes(i, set.f.data() + c, m);
        const double violation = state_.view(i).violation();
        worst = std::max(worst, violation);
        if (violation > 0.0 || !state_.view(i).settled(before)) kept.push_back(c);
        if (violation <= enough) continue;
        work += step(set, c);
        ++steps;
        if (++run_.n_iter % 1024 == 0) run_.watch.poll();
        if (run_.n_iter >= run_.max_iter) return;
      }
      if (run_.watch.out_of_time()) return;
      if (worst <= std::max(eps, 0.2 * offsets_.penalty * offsets_.largest_excess())) {
        if (live.size() == m) return;
        live = all;
        worst = before;
        continue;
      }
      if (run_.n_iter >= turn_ends) return;
      live.swap(kept);
      if (steps < patience * m) continue;
      allowed = std::max(2 * allowed, work / 2);
      newton_.descend(set, allowed);
      live = all;
      steps = work = 0;
    }
  }

 private:
  // The best multipliers of sample c of the set, given all others and its slopes of now. Returns the rows added.
  template <class T>
  std::size_t step(WorkingSet<T>& set, std::size_t c) {
    const std::size_t m = set.size(), i = set.points[c], y = state_.own(i), n_classes = state_.n_classes;
    const T* row = set.row(c);
    double* a = state_.a_of(i);
    const double curvature = std::max(double(row[c]) + offsets_.penalty, 1e-12 * state_.scale);
    double sum = 0.0;
    for (std::size_t k = 0; k < n_classes; ++k) sum += k == y ? 0.0 : a[k];
    for (std::size_t k = 0; k < n_classes; ++k) wanted_[k] = a[k] + rho_ * sum - state_.slope[k] / curvature;
    wanted_[y] = -infinite;
    state_.constrain(i, wanted_.data(), n_classes, rho_, sum, best_.data());
    const auto& loops = state_.level.loops<T>();
    double own_change = 0.0;
    std::size_t work = 1;
    for (std::size_t k = 0; k < n_classes; ++k) {
      if (k == y) continue;
      const double change = a[k] - best_[k];  // of B_ik
      if (change == 0.0) continue;
      a[k] = best_[k];
      own_change -= change;
      ++work;
      loops.add_row(change, row, m, set.f.data() + k * m);
      offsets_.excess[k] += change;
    }
    if (state_.relative()) {
      loops.add_row(own_change, row, m, set.f.data() + y * m);
      offsets_.excess[y] += own_change;
    } else {
      for (double& z : offsets_.excess) z += own_change / static_cast<double>(n_classes);
    }
    if (problem_.bias) offsets_.follow();
    return work;
  }

  State& state_;
  const JointView& problem_;
  Offsets& offsets_;
  Run& run_;
  Newton newton_;
  const double rho_;                   // B_i'B_i = |a_i|^2 + rho (sum a_i)^2
  std::vector<double> wanted_, best_;  // of one sample
};

}  // namespace mercer::joint
