// Machines for several classes that are learnt in one go: block coordinate descent, one sample's multipliers at a time,
// on working sets of samples whose kernel matrix lies in memory.
//
//   min_a  1/2 sum_k |w_k|^2 - t sum_ik a_ik,   w_k = sum_i B_ik phi(x_i),   a_i in its set (blocks.hpp),
//   relative margins: B_ik = -a_ik for k != y_i, B_iy = sum_k a_ik;  absolute: B_ik = mean_l a_il - a_ik;
//   with offsets b_k, moreover, sum_i B_ik = 0 for every class k.
//
// This file is the order of events; each part has a file of its own in joint/.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "joint/balance.hpp"
#include "joint/features.hpp"
#include "joint/offsets.hpp"
#include "joint/options.hpp"
#include "joint/selection.hpp"
#include "joint/shrinking.hpp"
#include "joint/state.hpp"
#include "joint/sweeps.hpp"
#include "joint/working_set.hpp"
#include "level.hpp"
#include "rows.hpp"
#include "run.hpp"
#include "stop.hpp"

namespace mercer::joint {

// A working set is optimised to this fraction of the violation outside: what is more would only fit it to itself.
inline constexpr double inner_accuracy = 0.3;

class Solver {
 public:
  // `single` may be null: then everything is done in double.
  Solver(const JointView& problem, const JointOptions& options, const Level& level, Rows<float>* single,
         Rows<double>& full, const Watch& watch)
      : problem_(problem),
        options_(options),
        single_(single),
        full_(full),
        state_(problem, level),
        run_(watch, options.max_iter, std::max<std::size_t>(1, problem.n_points / 16)),
        sweeps_(state_, run_),
        features_(state_, run_, full, options.exact),
        balance_(state_, watch, options.tol),
        set_size_(
            std::clamp<std::size_t>(problem.n_points / 32, std::min<std::size_t>(128, options.block), options.block)) {}

  // The parts refer to each other.
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  JointResult solve() {
    look_at_kernel();
    const bool small = state_.size() <= options_.exact;
    bool full = options_.full_precision || single_ == nullptr || small;
    if (full) {
      state_.compute_f(full_, state_.active);
    } else {
      state_.compute_f(*single_, state_.active);
    }
    const bool from_zero = std::all_of(state_.a.begin(), state_.a.end(), [](double a) { return a == 0.0; });
    if (problem_.bias && !from_zero) balance_.guess_offsets();
    double target = 0.9 * options_.tol, last = infinite;
    std::size_t stalls = 0;
    Status status;
    while (true) {
      status = full ? rounds(full_, target) : rounds(*single_, target);
      // Small problems are solved as exactly as rounding allows, where that is cheap.
      const bool polished = features_.was_tried() || run_.n_iter < state_.size();
      if (status == Status::solved && small && !features_.is_out() && !polished) features_.descend(full_, 0.0);
      if (problem_.bias) balance_.remove_excess();
      const bool trusted = full ? check_all<double>() : check_all<float>();
      const double worst = state_.largest_violation();
      record(worst);
      if (status != Status::solved) break;
      if (trusted && worst <= options_.tol) break;
      // The working rows are too coarse for this problem if going on from an exact state does not help.
      if (worst > 0.5 * last) {
        if (full && ++stalls == 3) {
          status = Status::stalled;
          break;
        }
        full = true;
      }
      last = worst;
      target = std::max(0.5 * target, 0.1 * options_.tol);
    }
    JointResult result = solution();
    result.status = status;
    result.full_precision = full;
    return result;
  }

 private:
  // A few kernel values tell the size of them all, and whether there are few features.
  void look_at_kernel() {
    const std::size_t m = state_.size(), n = std::min<std::size_t>(m, 128);
    std::vector<std::size_t> which(n);
    for (std::size_t k = 0; k < n; ++k) which[k] = k * m / n;
    std::vector<double> matrix(n * n);
    full_.square(which.data(), n, matrix.data());
    double mean = 0.0;
    for (std::size_t k = 0; k < n; ++k) mean += std::abs(matrix[k * n + k]) / static_cast<double>(n);
    state_.scale = mean > 0.0 ? mean : 1.0;
    if (problem_.bias) state_.offsets.choose_penalty(state_.scale);
    state_.find_excess();
    state_.offsets.follow();
    features_.look_for(which, matrix);
  }

  void record(double violation) { run_.record(state_.objective(), state_.gap(), violation); }

  // Optimise the active samples until their violation is at most `target` and z is negligible.
  template <class T>
  Status rounds(Rows<T>& rows, double target) {
    constexpr std::size_t most_idle = 1000;
    rows.restrict_to(state_.active);
    Selection selection(state_);
    WorkingSet<T> set;
    Offsets& offsets = state_.offsets;
    std::size_t used = 0;       // kernel values, whether they had to be computed or not
    std::size_t idle = 0;       // updates of the multipliers of z since the last step
    std::size_t fruitless = 0;  // turns of Newton's method over features
    const double smallest_excess = 0.04 * options_.tol / state_.scale;
    for (std::size_t round = 0;; ++round) {
      state_.find_violations();
      const double worst = state_.largest_violation();
      if (run_.wants_record() || round == 0) record(worst);
      const double excess = problem_.bias ? offsets.largest_excess() : 0.0;
      if (worst <= target && excess <= smallest_excess) {
        if (state_.active.size() == state_.size()) return Status::solved;
        take_all_in(state_, rows);
        continue;
      }
      const Status limit = run_.check_limits(run_.history.back().objective, worst);
      if (limit != Status::solved) {
        take_all_in(state_, rows);
        return limit;
      }
      if (features_.has_turn()) {
        const bool better = features_.descend(rows, target);
        fruitless = better || features_.is_out() ? 0 : fruitless + 1;
        // What Newton's method leaves is rounding, of the rows or of all there is.
        if (fruitless == 2) return sizeof(T) == sizeof(double) ? Status::stalled : Status::solved;
        continue;
      }
      if (problem_.bias && worst <= std::max(target, 0.3 * offsets.penalty * excess)) {
        if (++idle > most_idle) return Status::stalled;  // z does not follow
        offsets.update_multipliers();
        continue;
      }
      if (options_.shrinking && ++rounds_ % 8 == 0) shrink(state_, rows, worst + offsets.penalty * excess);
      // Where more than a whole matrix has been used up, small sets undo each other's work.
      const std::size_t n_active = state_.active.size();
      if (used > 2 * n_active * n_active && set_size_ < options_.largest_block) {
        set_size_ = std::min(2 * set_size_, options_.largest_block);
        used = 0;
      }
      const bool everything = n_active <= std::max(set_size_, options_.whole);
      if (everything) {
        set.points = state_.active;
      } else {
        selection.select(set_size_, set.points);
      }
      set.load(state_, rows);
      const double eps = everything ? target : std::max(target, inner_accuracy * worst);
      const std::size_t steps_before = run_.n_iter;
      sweeps_.optimise(set, eps, worst, features_.next_turn());
      if (run_.n_iter > steps_before) idle = 0;
      used += set.unload(state_, rows, everything);
      // No step: what is left is rounding, or for better multipliers.
      if (run_.n_iter == steps_before && (!problem_.bias || ++idle > most_idle)) return Status::solved;
    }
  }

  // f in double wherever the certificate depends on it: at samples with multipliers, near a margin, and at some more
  // that test the working rows, of type T. False if those are not to be trusted; then all of f is made anew.
  template <class T>
  bool check_all() {
    constexpr std::size_t probes = 128;
    constexpr double near = 0.05, agreement = 0.01;
    std::vector<std::size_t> counts;
    for (std::size_t i = 0; i < state_.size(); ++i) {
      state_.find_slopes(i);
      bool needed = sizeof(T) == sizeof(double) || i % std::max<std::size_t>(1, state_.size() / probes) == 0;
      for (std::size_t k = 0; k < state_.n_classes && !needed; ++k) {
        needed = k != state_.own(i) && (state_.a_of(i)[k] > 0.0 || state_.slope[k] < near);
      }
      if (needed) counts.push_back(i);
    }
    const std::vector<double> before = state_.f;
    state_.compute_f(full_, counts);
    state_.offsets.follow();
    bool agrees = true;
    for (std::size_t p = 0; p < before.size(); ++p) {
      agrees = agrees && std::abs(state_.f[p] - before[p]) <= agreement;
    }
    if (!agrees && counts.size() < state_.size()) state_.compute_f(full_, state_.active);
    state_.find_violations();
    return agrees;
  }

  // All samples must be active.
  JointResult solution() {
    JointResult result;
    result.violation = state_.largest_violation();
    state_.centre();
    result.a = std::move(state_.a);
    result.f = std::move(state_.f);
    result.offsets = state_.offsets.value;
    result.n_iter = run_.n_iter;
    result.evaluations = full_.evaluations() + (single_ ? single_->evaluations() : 0);
    result.history = std::move(run_.history);
    result.seconds = run_.watch.seconds();
    return result;
  }

  const JointView& problem_;
  const JointOptions& options_;
  Rows<float>* single_;
  Rows<double>& full_;
  State state_;
  Run run_;
  Sweeps sweeps_;
  Features features_;
  Balance balance_;
  std::size_t set_size_, rounds_ = 0;
};

}  // namespace mercer::joint
