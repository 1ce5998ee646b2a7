// Sequential minimal optimisation on blocks (the problem and its notation: dual.hpp): the most violating points form a
// block, pairs (or single variables, where there is no equality) are optimised inside it, and the rest of the gradient
// follows in one pass over the columns.
//
// This file is the order of events; each part has a file of its own in smo/.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "dual.hpp"
#include "level.hpp"
#include "rows.hpp"
#include "smo/accuracy.hpp"
#include "smo/block.hpp"
#include "smo/options.hpp"
#include "smo/pairs.hpp"
#include "smo/path.hpp"
#include "smo/run.hpp"
#include "smo/selection.hpp"
#include "smo/shrinking.hpp"
#include "smo/state.hpp"
#include "stop.hpp"

namespace mercer::smo {

// A block is optimised to this fraction of the violation outside: what is more would only fit the block to itself.
inline constexpr double inner_accuracy = 0.3;

class Solver {
 public:
  // `single` may be null: then everything is done in double. `before`, if there is one, has solved the problem that
  // comes before this one on a path, over the same rows.
  Solver(const DualView& problem, const SmoOptions& options, const Level& level, Rows<float>* single,
         Rows<double>& full, const Watch& watch, const Solver* before = nullptr, bool on_a_path = false)
      : options_(options),
        single_(single),
        full_(full),
        state_(problem, level),
        run_(options, watch, problem.n_points),
        accuracy_(state_, full),
        shrinking_(state_),
        selection_(state_),
        pairs_(state_, run_, accuracy_, full),
        tol_(options.tol),
        block_size_(std::clamp(problem.n_points / 32, std::min(options.smallest_block, options.block), options.block)),
        on_a_path_(on_a_path && !options.rough),
        evaluations_before_(before == nullptr ? 0 : evaluations()) {
    if (before == nullptr) return;
    // The rows may still serve what was active at the end.
    full_.restrict_to(all_positions(problem.n_points));
    if (single_ != nullptr) single_->restrict_to(all_positions(problem.n_points));
    follow(*before);
  }

  // The parts refer to each other.
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  SmoResult solve() {
    bool full = options_.full_precision || single_ == nullptr || state_.size() <= options_.exact;
    if (!full) {
      // On a path f is wanted in double anyway, sooner or later.
      if (!followed_ && on_a_path_) refresh();
      if (!followed_ && !on_a_path_) accuracy_.start_in(*single_);
      full = !accuracy_.single_resolves(tol_);
    }
    if (full) refresh();
    double target = 0.9 * tol_, last = state_.violation();
    std::size_t stalls = 0;
    Status status;
    while (true) {
      status = full ? rounds(full_, target) : rounds(*single_, target);
      // float32 cannot tell a flat direction from a small slope
      if ((status == Status::unbounded || status == Status::indefinite) && !full) {
        full = true;
        refresh();
        shrinking_.reactivate();
        continue;
      }
      if (status == Status::solved && !full) {
        shrinking_.catch_up(*single_);
        if (state_.violation() > tol_) continue;
        // The next problem of a path goes on from f at all points.
        if (options_.rough ? accuracy_.is_fine(tol_) : !on_a_path_ && accuracy_.confirm(tol_)) {
          run_.record(state_, state_.violation());
          if (state_.violation() <= tol_) {
            if (!tighten()) break;
            target = 0.9 * tol_;
            continue;
          }
        }
      }
      if (status == Status::coarse && accuracy_.rounding_is_small()) continue;
      refresh();
      const double inside = state_.violation();
      if (status == Status::coarse) {
        full = full || inside > 0.5 * last;
        last = inside;
        continue;
      }
      shrinking_.reactivate();
      const double everywhere = state_.violation();
      run_.record(state_, everywhere);
      if (status != Status::solved) break;
      if (everywhere <= tol_) {
        if (!tighten()) break;
        target = 0.9 * tol_;
        continue;
      }
      if (inside > tol_) {
        // The working rows are too coarse for this problem if going on from the exact gradient does not help.
        if (inside > 0.5 * last) {
          if (full && ++stalls == 3) {
            status = Status::stalled;
            break;
          }
          full = true;
        }
        last = inside;
        target = std::max(0.5 * target, 0.1 * tol_);
      }
    }
    shrinking_.reactivate();
    SmoResult result = solution();
    result.status = status == Status::solved && pairs_.negative_curvature() ? Status::indefinite : status;
    result.full_precision = full;
    return result;
  }

 private:
  std::size_t evaluations() const { return full_.evaluations() + (single_ ? single_->evaluations() : 0); }

  // Begin where the problem before has ended.
  void follow(const Solver& before) {
    const Successor next(before.state_, state_);
    if (!(next.factor() > 0.0)) return;
    followed_ = true;
    state_.largest_diagonal = before.state_.largest_diagonal;
    const auto other = next.at_new_bounds();
    if (!other.empty()) {
      accuracy_.follow(before.accuracy_, 1.0);
      const std::vector<double> coefficients = before.state_.coefficients();
      std::vector<std::size_t> changed;
      std::vector<double> change, f = before.state_.f;
      state_.put(other, f);
      state_.changes_since(coefficients, changed, change);
      if (single_ != nullptr) {
        single_->add(changed.data(), change.data(), changed.size(), f.data());
      } else {
        full_.add(changed.data(), change.data(), changed.size(), f.data());
      }
      state_.put(other, std::move(f));
      accuracy_.add_changes(change);
      if (state_.objective < next.objective()) return;
    }
    accuracy_.follow(before.accuracy_, next.factor());
    std::vector<double> f = before.state_.f;
    for (double& value : f) value *= next.factor();
    state_.put(next.multiple(), std::move(f));
  }

  // f in double for all points.
  void refresh() {
    accuracy_.refresh();
    shrinking_.caught_up(accuracy_.base());
  }

  // Where tol counts in units of the margin: whether the violation is too large for the margin that was found. Margins
  // below a thousandth are left to the caller, who asks whether there is one at all.
  bool tighten() {
    if (!options_.scaled || !state_.separate()) return false;
    const std::vector<Extremes> groups = state_.extremes();
    const Equality equality = state_.problem.equality;
    const double margin = 0.5 * (groups[1].middle(equality) - groups[0].middle(equality));
    if (state_.worst(groups) <= 0.9 * options_.tol * margin || margin < 1e-3) return false;
    tol_ = std::min(tol_, 0.8 * options_.tol * margin);
    return true;
  }

  // Optimise the active points until their violation is at most `target`.
  template <class T>
  Status rounds(Rows<T>& rows, double target) {
    shrinking_.restrict(rows);
    Block<T, double> block;
    Block<T, float> quick;
    std::size_t used = 0;  // kernel values, whether they had to be computed or not
    for (std::size_t round = 0;; ++round) {
      const std::vector<Extremes> groups = state_.extremes();
      const double outer = state_.worst(groups);
      // Numbers that the rounding of the rows has spoilt are not for the history.
      const bool sound = accuracy_.drift<T>() <= 0.25 * std::max(outer, tol_);
      if (sound && (run_.wants_record() || round == 0)) run_.record(state_, outer);
      const bool unpolished = round == 0 && state_.n_active <= options_.polish && outer > 0.0;
      if (outer <= target && !unpolished) return Status::solved;
      const Status limit = run_.check_limits(state_, outer, accuracy_.drift<T>());
      if (limit != Status::solved) return limit;
      if (options_.shrinking && ++rounds_ % 8 == 0 && shrinking_.shrink(groups)) shrinking_.restrict(rows);
      // Where more than a whole matrix has been used up, small blocks undo each other's work.
      const std::size_t n_active = state_.n_active;
      if (used > 2 * n_active * n_active && block_size_ < options_.largest_block) {
        block_size_ = std::min(2 * block_size_, options_.largest_block);
        used = 0;
      }
      const bool everything = n_active <= std::max(block_size_, options_.whole);
      const double inner = everything ? target : std::max(target, inner_accuracy * outer);
      const std::size_t steps_before = run_.n_iter;
      Status status;
      if constexpr (sizeof(T) == sizeof(float)) {
        // A problem that is one block tells its history step by step.
        const bool fine = inner <= 1e-5 || (everything && n_active == state_.size());
        status = fine ? one_round(rows, block, groups, inner, everything, used)
                      : one_round(rows, quick, groups, inner, everything, used);
      } else {
        status = one_round(rows, block, groups, inner, everything, used);
      }
      // No step: the block's own arithmetic sees no violation, and the rest is rounding.
      if (status != Status::solved || run_.n_iter == steps_before) return status;
    }
  }

  // Choose a block, optimise it, and bring the state of all active points up to date.
  template <class T, class S>
  Status one_round(Rows<T>& rows, Block<T, S>& block, const std::vector<Extremes>& groups, double eps, bool everything,
                   std::size_t& used) {
    if (everything) {
      block.points = all_positions(state_.n_active);
    } else {
      selection_.select(block_size_, groups, block.points);
    }
    block.load(state_, rows, groups[0].middle(state_.problem.equality));
    accuracy_.leave_out(block.layers, block.points);
    const double objective = state_.objective, slope = state_.slope, ridge = block.ridge_term();
    const Status status = pairs_.optimise(block, eps, everything);
    accuracy_.take_in(block.layers, block.points);
    block.write_variables(state_);
    std::vector<std::size_t> changed;
    std::vector<double> change;
    for (std::size_t c = 0; c < block.size(); ++c) {
      const std::size_t i = block.points[c];
      state_.f[i] = block.start[c];
      const double difference = state_.coefficient(i) - block.coefficient[c];
      if (difference == 0.0) continue;
      changed.push_back(block.ids[c]);
      change.push_back(difference);
    }
    if (everything && sizeof(S) == sizeof(double)) {
      block.write_f(state_);
    } else {
      used += block.size() * block.size() + changed.size() * state_.n_active;
      delta_.assign(state_.n_active, 0.0);
      rows.add(changed.data(), change.data(), changed.size(), delta_.data());
      for (std::size_t c = 0; c < state_.n_active; ++c) state_.f[c] += delta_[c];
    }
    // The objective, by the two gradients: what the steps have added up is rounded like the block's state.
    state_.objective = objective + (state_.slope - slope) + block.ridge_term() - ridge;
    for (std::size_t c = 0; c < block.size(); ++c) {
      const std::size_t i = block.points[c];
      state_.objective += 0.5 * (state_.coefficient(i) - block.coefficient[c]) * (block.start[c] + state_.f[i]);
    }
    return status;
  }

  // All points must be active.
  SmoResult solution() {
    SmoResult result;
    result.violation = state_.violation();
    result.objective = state_.objective_from_gradient();
    result.a.resize(state_.problem.n_variables);
    result.gradient.resize(state_.problem.n_variables);
    for (const Layer& layer : state_.layers) {
      for (std::size_t i = 0; i < state_.size(); ++i) {
        if (layer.variable[i] < 0) continue;
        result.a[layer.variable[i]] = layer.a[i];
        result.gradient[layer.variable[i]] = layer.gradient(i, state_.f[i]);
      }
    }
    result.n_iter = run_.n_iter;
    result.evaluations = evaluations() - evaluations_before_;
    result.history = std::move(run_.history);
    result.seconds = run_.watch.seconds();
    return result;
  }

  const SmoOptions& options_;
  Rows<float>* single_;
  Rows<double>& full_;
  State state_;
  Run run_;
  Accuracy accuracy_;
  Shrinking shrinking_;
  Selection selection_;
  Pairs pairs_;
  double tol_;
  std::size_t block_size_, rounds_ = 0;
  bool on_a_path_, followed_ = false;
  std::size_t evaluations_before_;
  std::vector<double> delta_;
};

}  // namespace mercer::smo
