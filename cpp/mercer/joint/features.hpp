// Few features: where the kernel has them, all samples are optimised at once by the proximal Newton method.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "../level.hpp"
#include "../rows.hpp"
#include "../run.hpp"
#include "offsets.hpp"
#include "options.hpp"
#include "proximal_newton.hpp"
#include "shrinking.hpp"
#include "state.hpp"

namespace mercer::joint {

// Samples of which a kernel matrix (n, n) is made up but for rounding, in the order of their importance: the pivots of
// its Cholesky factor. None if it takes more than `most`.
inline std::vector<std::size_t> find_basis(const Algebra& algebra, const double* matrix, std::size_t n,
                                           std::size_t most) {
  constexpr double rounding = 1e-13;
  std::vector<double> left(n), x(n * most);
  for (std::size_t c = 0; c < n; ++c) left[c] = matrix[c * n + c];
  const double largest = *std::max_element(left.begin(), left.end());
  std::vector<std::size_t> basis;
  while (true) {
    const std::size_t pivot = std::size_t(std::max_element(left.begin(), left.end()) - left.begin());
    if (!(left[pivot] > rounding * largest)) return basis;
    if (basis.size() == most) return {};
    const std::size_t r = basis.size();
    basis.push_back(pivot);
    const double root = std::sqrt(left[pivot]);
    for (std::size_t c = 0; c < n; ++c) {
      double* row = x.data() + c * most;
      row[r] = (matrix[pivot * n + c] - algebra.inner(row, x.data() + pivot * most, r)) / root;
      left[c] -= row[r] * row[r];
    }
    left[pivot] = 0.0;
  }
}

// Feature r of all samples, as x (n, stride) x' is their kernel matrix: from the kernel row of sample `pivot` and the
// features before.
inline void extend_features(const Algebra& algebra, const std::vector<double>& row, std::size_t pivot, std::size_t r,
                            std::size_t stride, std::vector<double>& x) {
  const std::vector<double> own(x.begin() + std::ptrdiff_t(pivot * stride),
                                x.begin() + std::ptrdiff_t(pivot * stride + r));
  const double root = std::sqrt(row[pivot] - algebra.inner(own.data(), own.data(), r));
  for (std::size_t c = 0; c < row.size(); ++c) {
    x[c * stride + r] = (row[c] - algebra.inner(x.data() + c * stride, own.data(), r)) / root;
  }
}

class Features {
 public:
  Features(State& state, Run& run, Rows<double>& full, std::size_t exact)
      : state_(state), problem_(state.problem), offsets_(state.offsets), run_(run), full_(full), exact_(exact) {}

  // Some samples, as many as there are features, whose kernel functions make up those of all others: looked for among a
  // few, and taken where a Newton step over features costs no more than some sweeps.
  void look_for(const std::vector<std::size_t>& which, const std::vector<double>& matrix) {
    const double n = static_cast<double>(state_.size()), classes = static_cast<double>(state_.n_classes);
    const double work = std::max(1.5 * n * n * classes, 1e6);
    const double most = ProximalNewton::most_features(problem_.margin, problem_.errors, n, classes, work);
    // Where the few are not much more than the features, there may be more of these.
    const double seen = which.size() == state_.size() ? n : 0.75 * static_cast<double>(which.size());
    basis_ = find_basis(state_.level.algebra, matrix.data(), which.size(),
                        std::size_t(std::max(0.0, std::min(most - double(problem_.bias), seen))));
    for (std::size_t& c : basis_) c = which[c];
    if (!basis_.empty()) next_turn_ = sweeps_per_turn * state_.size();
  }

  // The number of steps of the run from which on it is the turn of this method.
  std::size_t next_turn() const { return next_turn_; }
  bool has_turn() const { return run_.n_iter >= next_turn_; }
  // There are too many features, or it got nowhere.
  bool is_out() const { return next_turn_ == never; }
  bool was_tried() const { return violation_ < infinite; }

  // Newton's method for all samples, where that is better than what there is. Returns whether it is also clearly better
  // than the last time.
  template <class T>
  bool descend(Rows<T>& rows, double eps) {
    next_turn_ = 4 * run_.n_iter + sweeps_per_turn * state_.size();
    take_all_in(state_, rows);
    const std::vector<double> x = features();
    const std::vector<std::size_t> label(problem_.label, problem_.label + state_.size());
    ProximalNewton newton(state_.level, problem_over(x, label), state_.a, run_.watch);
    const bool works = newton.solve(state_.size() <= exact_ ? 0.0 : 0.1 * eps);
    if (!works && !was_tried()) next_turn_ = never;
    run_.n_iter += newton.n_steps();
    const double before = state_.largest_violation();
    std::vector<double> a = newton.multipliers(), f = state_.f;
    const Offsets offsets = offsets_;
    state_.a.swap(a);
    state_.find_excess();
    if (problem_.bias) move_offsets(newton.offsets());
    offsets_.follow();
    state_.compute_f(full_, state_.active);
    rows.restrict_to(state_.active);
    state_.find_violations();
    const double after = state_.largest_violation(), last = std::exchange(violation_, std::min(after, violation_));
    if (after < before) return after < 0.5 * last;
    state_.a.swap(a);
    state_.f.swap(f);
    offsets_ = offsets;
    state_.find_violations();
    return false;
  }

 private:
  static constexpr std::size_t sweeps_per_turn = 5;
  static constexpr std::size_t never = std::numeric_limits<std::size_t>::max();

  // (n_points, n_features), with a last one of ones where there are offsets.
  std::vector<double> features() {
    const std::size_t n = state_.size(), rank = basis_.size(), d = rank + problem_.bias;
    std::vector<double> x(n * d, 1.0), row(n);
    full_.restrict_to(state_.active);
    for (std::size_t r = 0; r < rank; ++r) {
      const double one = 1.0;
      std::fill(row.begin(), row.end(), 0.0);
      full_.add(&basis_[r], &one, 1, row.data());
      extend_features(state_.level.algebra, row, basis_[r], r, d, x);
    }
    return x;
  }

  // An offset is the weight of the last feature: sigma/2 |z|^2 + b'z of the dual are its price and its centre.
  FewFeatures problem_over(const std::vector<double>& x, const std::vector<std::size_t>& label) const {
    const std::size_t n_classes = state_.n_classes, rank = basis_.size(), d = rank + problem_.bias;
    FewFeatures problem{state_.size(),
                        n_classes,
                        d,
                        x.data(),
                        label.data(),
                        problem_.cost,
                        problem_.margin,
                        problem_.errors,
                        problem_.target,
                        std::vector<double>(d, 1.0),
                        std::vector<double>(n_classes * d, 0.0),
                        problem_.bias};
    if (problem_.bias) {
      problem.price[rank] = 1.0 / offsets_.penalty;
      for (std::size_t k = 0; k < n_classes; ++k) problem.centre[k * d + rank] = offsets_.multiplier[k];
    }
    return problem;
  }

  // A constant does not matter to the margins; the offsets add up to zero, as z does.
  void move_offsets(const std::vector<double>& to) {
    const double mean = std::accumulate(to.begin(), to.end(), 0.0) / static_cast<double>(state_.n_classes);
    for (std::size_t k = 0; k < state_.n_classes; ++k) {
      offsets_.multiplier[k] = to[k] - mean - offsets_.penalty * offsets_.excess[k];
    }
  }

  State& state_;
  const JointView& problem_;
  Offsets& offsets_;
  Run& run_;
  Rows<double>& full_;
  const std::size_t exact_;
  std::vector<std::size_t> basis_;  // samples
  std::size_t next_turn_ = never;
  double violation_ = infinite;  // the smallest that it came to
};

}  // namespace mercer::joint
