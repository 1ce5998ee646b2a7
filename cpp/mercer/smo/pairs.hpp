// SMO inside the block: the working pair (or the single variable, where there is no equality) and its step, and Newton
// steps on all free variables where pairs crawl.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "../active_set.hpp"
#include "../dual.hpp"
#include "../level.hpp"
#include "../rows.hpp"
#include "accuracy.hpp"
#include "block.hpp"
#include "options.hpp"
#include "run.hpp"
#include "state.hpp"

namespace mercer::smo {

class Pairs {
 public:
  Pairs(State& state, Run& run, const Accuracy& accuracy, Rows<double>& full)
      : state_(state), run_(run), accuracy_(accuracy), full_(full), rule_(run.options.rule) {}

  // Whether a step has shown that the kernel is not positive semi-definite.
  bool negative_curvature() const { return negative_curvature_; }

  // Steps until the violation of the block is at most eps; `everything` tells that it holds all active points. [CY eqs
  // 1.51-1.61]
  template <class T, class S>
  Status optimise(Block<T, S>& block, double eps, bool everything) {
    const std::size_t n = block.size(), n_groups = state_.n_groups();
    const Equality equality = state_.problem.equality;
    double step = 0.0;
    const T *first = block.zeros.data(), *second = block.zeros.data();
    std::vector<Place> top(n_groups), bottom(n_groups);
    // Groups that share no point are updated each on its own.
    const bool apart = n_groups == 1 || block.groups[0].end <= block.groups[1].begin;
    const bool polishable = everything && sizeof(T) == sizeof(double) && n <= run_.options.polish;
    constexpr std::size_t polishing_steps = 50;                       // per point
    const bool recorded = everything && sizeof(S) == sizeof(double);  // float32 adds up too coarsely for the history
    double largest_f = 0.0, largest_linear = 0.0;
    for (const double f : block.start) largest_f = std::max(largest_f, std::abs(f));
    for (const Layer& layer : block.layers) {
      for (const double p : layer.linear) largest_linear = std::max(largest_linear, std::abs(p));
    }
    const double polished = std::max(1e-12 * std::min(1.0, std::max(largest_f, largest_linear)), 1e-14 * largest_f);
    const double goal = polishable ? std::min(polished, eps) : eps;
    std::size_t settled = 0, last_newton = 0, leaps = 0;
    double first_violation = 0.0;
    for (std::size_t iteration = 0;; ++iteration) {
      // f after the last step, and the extremes of every group.
      for (std::size_t g = 0; g < n_groups; ++g) {
        const auto& group = block.groups[g];
        const std::size_t begin = apart ? group.begin : 0, end = apart ? group.end : n;
        Candidate largest, smallest;
        search<T, S>().update_and_extremes(apart || g == 0 ? step : 0.0, first + begin, second + begin,
                                           group.up.data() + begin, group.low.data() + begin, end - begin,
                                           block.f.data() + begin, &largest, &smallest);
        top[g] = {begin + largest.position, largest.value};
        bottom[g] = {begin + smallest.position, smallest.value};
      }
      std::size_t g = 0;
      double violation = 0.0;
      for (std::size_t k = 0; k < n_groups; ++k) {
        const double here = Extremes{top[k].v, bottom[k].v}.violation(equality);
        if (here > violation) {
          violation = here;
          g = k;
        }
      }
      if (violation <= eps) {
        // Small problems go on to the last digits: cheap, and then weights, copies and order of samples do
        // not show.
        if (settled == 0) settled = iteration + 1;
        if (violation <= goal || iteration > settled + polishing_steps * n) return Status::solved;
      }
      // The last digits of a small problem come by Newton steps: early, where few of them may do, and at the latest
      // when it has settled.
      constexpr double nearly_settled = 0.05;  // of the first violation: most of the free variables have been found
      first_violation = std::max(first_violation, violation);
      const bool early = leaps == 0 && violation <= nearly_settled * first_violation;
      const bool late = leaps < 2 && violation <= eps;
      if (polishable && (early || late)) {
        leaps = late ? 2 : 1;
        newton(block, goal, late ? 10 * n : 4);
        for (std::size_t c = 0; c < n; ++c) block.merge(c);
        step = 0.0;
        continue;
      }
      const bool due = recorded && run_.wants_record();
      if (iteration % 1024 == 1023 || run_.n_iter >= run_.max_iter || due) {
        if (due) {
          block.write_variables(state_);
          block.write_f(state_);
          run_.record(state_, violation);
        }
        const double drift = accuracy_.template drift_with<T>(block.layers, block.points);
        const Status limit = run_.check_limits(state_, violation, drift);
        if (limit != Status::solved) return violation <= eps ? Status::solved : limit;
        if (iteration >= 2 * last_newton + newton_pays(block)) {
          newton(block, goal, 10 * n);
          for (std::size_t c = 0; c < n; ++c) block.merge(c);
          last_newton = iteration;
          step = 0.0;
          continue;
        }
      }
      ++run_.n_iter;
      if (equality == Equality::none) {
        const Place i = single(block);
        step = step_one(block, i);
        first = block.row(i.position);
        second = block.zeros.data();
        block.merge(i.position);
      } else {
        const Place i = top[g];
        const Place j = partner(block, i, bottom[g], g);
        step = step_pair(block, i, j, g);
        first = block.row(i.position);
        second = block.row(j.position);
        block.merge(i.position);
        block.merge(j.position);
      }
      if (!(step < infinity)) return state_.hard ? Status::unbounded : Status::indefinite;
    }
  }

 private:
  // A point of the block and the v of its variable.
  struct Place {
    std::size_t position = 0;
    double v = 0.0;
  };

  // Steps of pairs after which a factorisation of the free variables has become the cheaper way.
  template <class T, class S>
  std::size_t newton_pays(const Block<T, S>& block) const {
    double free = 0.0;
    for (const Layer& layer : block.layers) {
      for (std::size_t c = 0; c < block.size(); ++c) free += layer.up[c] > -infinity && layer.low[c] < infinity;
    }
    return 1024 + static_cast<std::size_t>(free * free * free / (24.0 * static_cast<double>(block.size())));
  }

  // Newton steps on the free variables of the block, in double, until it is optimal or they lead nowhere, but no more
  // than so many.
  template <class T, class S>
  void newton(Block<T, S>& block, double eps, std::size_t most_steps) {
    const std::size_t n = block.size();
    std::vector<double> matrix(n * n);
    full_.square(block.ids.data(), n, matrix.data());
    std::vector<double> f(n);
    for (std::size_t c = 0; c < n; ++c) f[c] = block.exact_f(c);
    ActiveSet set(state_.level, matrix.data(), n, block.layers, f, block.group_of,
                  state_.problem.equality == Equality::none ? 0 : state_.n_groups());
    const std::size_t most = run_.n_iter + most_steps;
    while (run_.n_iter < most && run_.n_iter < run_.max_iter && !run_.watch.out_of_time()) {
      run_.watch.poll();
      ++run_.n_iter;
      const ActiveSet::Step step = set.step();
      if (!step.made) break;
      state_.objective += step.objective;
      state_.slope += step.slope;
      if (step.whole && !set.enter_violating(eps)) break;
    }
    set.update_f();
    for (std::size_t c = 0; c < n; ++c) block.f[c] = S(f[c] - block.start[c]);
  }

  // The loops that search a block.
  template <class T, class S>
  const auto& search() const {
    if constexpr (sizeof(S) == sizeof(float)) {
      return state_.level.quick;
    } else {
      return state_.level.loops<T>();
    }
  }

  // The partner of i: the most violating one [CY eq 1.58] or the one with the largest gain [CY eq 1.60].
  template <class T, class S>
  Place partner(const Block<T, S>& block, const Place& i, const Place& bottom, std::size_t g) const {
    if (rule_ == PairRule::violation) return bottom;
    const auto& group = block.groups[g];
    const std::size_t begin = group.begin;
    const Candidate candidate = search<T, S>().best_partner(
        i.v, block.curvature[i.position], block.row(i.position) + begin, block.curvature.data() + begin,
        group.low.data() + begin, block.f.data() + begin, group.end - begin);
    if (candidate.position == std::numeric_limits<std::size_t>::max()) return bottom;
    const std::size_t position = begin + candidate.position;
    return {position, double(group.low[position]) - double(block.f[position])};
  }

  // The curvature of a step: of the kernel, which rounding alone can make slightly negative and an indefinite kernel
  // more than that, plus the ridge.
  template <class T>
  double curvature(double of_kernel, double ridge, double scale) {
    if (sizeof(T) == sizeof(double) && of_kernel < -1e-10 * scale) negative_curvature_ = true;
    return negative_curvature_ ? of_kernel + ridge : std::max(of_kernel, 0.0) + ridge;
  }

  // s_i a_i += t, s_j a_j -= t with t = (v_i - v_j) / eta, clipped to the box. [CY eqs 1.54-1.56]
  // Infinite where nothing ends the descent.
  template <class T, class S>
  double step_pair(Block<T, S>& block, const Place& i, const Place& j, std::size_t g) {
    const double kii = double(block.row(i.position)[i.position]), kjj = double(block.row(j.position)[j.position]);
    Layer& li = block.layers[block.layer_of(g, i.position, true)];
    Layer& lj = block.layers[block.layer_of(g, j.position, false)];
    const double eta = curvature<T>(kii + kjj - 2.0 * double(block.row(i.position)[j.position]),
                                    li.ridge[i.position] + lj.ridge[j.position], std::abs(kii) + std::abs(kjj));
    const double slope = i.v - j.v;
    const double room_i = li.room(i.position, true), room_j = lj.room(j.position, false);
    if (eta <= smallest_curvature && std::min(room_i, room_j) == infinity) return infinity;
    const double t = std::min({slope / std::max(eta, smallest_curvature), room_i, room_j});
    li.move(i.position, t, t == room_i);
    lj.move(j.position, -t, t == room_j);
    state_.slope += t * (li.sign[i.position] * li.linear[i.position] - lj.sign[j.position] * lj.linear[j.position]);
    state_.objective += t * (0.5 * eta * t - slope);
    return t;
  }

  // Without an equality: the point with the largest gain v^2 / Q_ii (or the largest |v|).
  template <class T, class S>
  Place single(const Block<T, S>& block) const {
    const auto& group = block.groups[0];
    Place best;
    double value = 0.0;
    for (std::size_t c = 0; c < block.size(); ++c) {
      const double up = double(group.up[c]) - double(block.f[c]), low = double(group.low[c]) - double(block.f[c]);
      const double v = up > 0.0 ? up : (low < 0.0 ? low : 0.0);
      if (v == 0.0) continue;
      const double worth =
          rule_ == PairRule::violation ? std::abs(v) : v * v / std::max(double(block.curvature[c]), smallest_curvature);
      if (worth > value) {
        value = worth;
        best = {c, v};
      }
    }
    return best;
  }

  template <class T, class S>
  double step_one(Block<T, S>& block, const Place& i) {
    Layer& layer = block.layers[block.layer_of(0, i.position, i.v > 0.0)];
    const double kii = double(block.row(i.position)[i.position]);
    const double eta = curvature<T>(kii, layer.ridge[i.position], std::abs(kii));
    const double room = layer.room(i.position, i.v > 0.0);
    if (eta <= smallest_curvature && room == infinity) return infinity;
    const double length = std::min(std::abs(i.v) / std::max(eta, smallest_curvature), room);
    const double t = i.v > 0.0 ? length : -length;
    layer.move(i.position, t, length == room);
    state_.slope += t * layer.sign[i.position] * layer.linear[i.position];
    state_.objective += t * (0.5 * eta * t - i.v);
    return t;
  }

  State& state_;
  Run& run_;
  const Accuracy& accuracy_;
  Rows<double>& full_;
  PairRule rule_;
  bool negative_curvature_ = false;
};

}  // namespace mercer::smo
