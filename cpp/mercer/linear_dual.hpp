// Dual coordinate descent for linear machines: one variable at a time, with w = X'(s a) kept beside them.
//
// Hsieh, Chang, Lin, Keerthi, Sundararajan, A dual coordinate descent method for large-scale linear SVM, 2008. The
// equality s'a = total enters as an augmented Lagrangian: f(x) = w.x + b + sigma (s'a - total), b following.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "dual.hpp"
#include "linear.hpp"
#include "stop.hpp"

namespace mercer {

struct DescentOptions {
  double tol = 1e-3;  // on the violation, the largest minus the smallest projected slope
  std::size_t max_epochs = 1000;
  double constant = 0.0;  // a feature with this square, the same for all samples
  bool equality = false;
  double total = 0.0;   // of s'a
  double sigma = 1.0;   // of the augmented Lagrangian
  double offset = 0.0;  // to start from
};

struct DescentResult {
  std::vector<double> a;
  double offset = 0.0;
  double violation = 0.0;  // of the last epoch, among the variables it visited
  std::size_t epochs = 0;
  bool settled = false;  // the violation of an epoch over all variables was below tol
};

class DualDescent {
 public:
  // `problem.point` numbers rows of `samples`, `problem.start` is feasible up to the equality.
  DualDescent(const LinearMap& map, const DualView& problem, const DescentOptions& options, std::size_t features)
      : map_(map), problem_(problem), options_(options), w_(features, 0.0) {
    const std::size_t n = problem.n_variables;
    result_.a.assign(problem.start, problem.start + n);
    curvature_.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
      curvature_[i] = map_.squared_norm(row(i)) + options_.constant + problem_.ridge[i];
      if (options_.equality) curvature_[i] += options_.sigma;
      if (result_.a[i] != 0.0) move(i, result_.a[i]);
    }
    if (options_.equality) sum_ -= options_.total;
  }

  DescentResult run(const Watch& watch) {
    std::vector<std::uint32_t> active(problem_.n_variables);
    for (std::size_t i = 0; i < problem_.n_variables; ++i) active[i] = static_cast<std::uint32_t>(i);
    std::size_t n_active = problem_.n_variables;
    std::vector<std::uint8_t> rest(problem_.n_variables, 0), pause(problem_.n_variables, 0);
    bool all = true;                                // no variable rested in this epoch
    double highest = infinity, lowest = -infinity;  // slopes beyond them settle a variable at its bound
    while (result_.epochs < options_.max_epochs) {
      shuffle(active.data(), n_active);
      double most = -infinity, least = infinity;
      for (std::size_t k = 0; k < n_active;) {
        const std::size_t i = active[k];
        if (rest[i] > 0) {  // it would hardly move
          --rest[i];
          ++k;
          continue;
        }
        const double a = result_.a[i], slope = slope_at(i);
        double projected = slope;
        if (a <= 0.0) {
          if (slope > highest) {
            std::swap(active[k], active[--n_active]);
            continue;
          }
          projected = std::min(slope, 0.0);
        } else if (a >= problem_.upper[i]) {
          if (slope < lowest) {
            std::swap(active[k], active[--n_active]);
            continue;
          }
          projected = std::max(slope, 0.0);
        }
        ++k;
        most = std::max(most, projected);
        least = std::min(least, projected);
        const bool calm = std::abs(projected) < calm_share * result_.violation;
        pause[i] = calm ? std::min<std::uint8_t>(longest_pause, pause[i] + 1) : 0;
        rest[i] = pause[i];
        if (projected == 0.0) continue;
        const double moved = std::clamp(a - slope / curvature_[i], 0.0, problem_.upper[i]);
        result_.a[i] = moved;
        move(i, moved - a);
      }
      ++result_.epochs;
      if (options_.equality) offset_ += options_.sigma * sum_;
      result_.violation = std::max(most, 0.0) - std::min(least, 0.0);
      watch.poll();
      if (watch.out_of_time()) break;
      const bool balanced = !options_.equality || std::abs(options_.sigma * sum_) <= options_.tol;
      if (result_.violation <= options_.tol && balanced) {
        if (n_active == problem_.n_variables && all) {
          result_.settled = true;
          break;
        }
        n_active = problem_.n_variables;  // look at all of them again
        std::fill(rest.begin(), rest.end(), 0);
        std::fill(pause.begin(), pause.end(), 0);
        all = true;
        highest = infinity;
        lowest = -infinity;
        continue;
      }
      all = false;
      highest = most > 0.0 ? most : infinity;
      lowest = least < 0.0 ? least : -infinity;
    }
    result_.offset = offset_ + (options_.equality ? options_.sigma * sum_ : 0.0);
    return std::move(result_);
  }

 private:
  static constexpr double infinity = __builtin_huge_val();
  // A variable whose slope is this small a part of the violation rests for an epoch, then for two, and so on.
  static constexpr double calm_share = 0.1;
  static constexpr std::uint8_t longest_pause = 3;

  std::size_t row(std::size_t i) const { return static_cast<std::size_t>(problem_.point[i]); }

  double slope_at(std::size_t i) const {
    double f = map_.product(row(i), w_.data());
    f += options_.constant * plain_sum_;
    if (options_.equality) f += offset_ + options_.sigma * sum_;
    return problem_.sign[i] * f + problem_.ridge[i] * result_.a[i] + problem_.linear[i];
  }

  void move(std::size_t i, double change) {
    const double c = problem_.sign[i] * change;
    map_.add(row(i), c, w_.data());
    plain_sum_ += c;
    sum_ += c;
  }

  void shuffle(std::uint32_t* values, std::size_t n) {
    for (std::size_t k = n; k > 1; --k) {
      random_ ^= random_ << 13;
      random_ ^= random_ >> 7;
      random_ ^= random_ << 17;
      std::swap(values[k - 1], values[random_ % k]);
    }
  }

  const LinearMap& map_;
  const DualView& problem_;
  DescentOptions options_;
  DescentResult result_;
  std::vector<double> w_, curvature_;
  double plain_sum_ = 0.0;  // s'a
  double sum_ = 0.0;        // s'a - total
  double offset_;
  std::uint64_t random_ = 0x9e3779b97f4a7c15;  // the same order on every run
};

}  // namespace mercer
