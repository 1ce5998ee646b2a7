// How exact f is. Working rows are in float32, and their rounding adds up with the coefficients: it is estimated,
// measured at some points, and undone by computing f afresh in double. The certificate is for f in double alone.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "../dual.hpp"
#include "../rows.hpp"
#include "state.hpp"

namespace mercer::smo {

class Accuracy {
 public:
  Accuracy(State& state, Rows<double>& full)
      : state_(state), full_(full), exact_f_(state.size(), 0.0), base_(state.size(), 0.0) {}

  // s a at the last refresh, by point.
  const std::vector<double>& base() const { return base_; }

  // f in double for all points: exact for the coefficients at hand, whatever the working precision was. Only what has
  // changed since the last time is computed.
  void refresh() {
    std::vector<std::size_t> changed;
    std::vector<double> change;
    state_.changes_since(base_, changed, change);
    base_ = state_.coefficients();
    full_.restrict_to(all_positions(state_.size()));
    full_.add(changed.data(), change.data(), changed.size(), exact_f_.data());
    for (std::size_t i = 0; i < state_.size(); ++i) state_.f[i] = exact_f_[state_.order[i]];
    squared_change_ = 0.0;
    state_.take_stock();
  }

  // The point is a multiple of that of another run over the same points, and f the same multiple of its f.
  void follow(const Accuracy& before, double factor) {
    for (std::size_t i = 0; i < base_.size(); ++i) {
      base_[i] = factor * before.base_[i];
      exact_f_[i] = factor * before.exact_f_[i];
    }
    squared_change_ = factor * factor * before.squared_change_;
    rounding_units_ = before.rounding_units_;
  }

  // f of the start, in the working precision.
  template <class T>
  void start_in(Rows<T>& rows) {
    std::vector<std::size_t> changed;
    std::vector<double> change;
    state_.changes_since(base_, changed, change);
    rows.add(changed.data(), change.data(), changed.size(), state_.f.data());
    add_changes(change);
    state_.take_stock();
  }

  // Rows of the working precision have been added to f with these coefficients.
  void add_changes(const std::vector<double>& change) {
    for (const double c : change) squared_change_ += c * c;
  }

  // Is float32 fine enough? Its rounding of kernel values, times the size of a usual solution (steps of violation over
  // squared distance in feature space, at most a bound, for every point), must be below the tolerance.
  bool single_resolves(double tol) {
    const std::size_t m = state_.size(), n = std::min<std::size_t>(m, 128);
    std::vector<std::size_t> which(n);
    for (std::size_t k = 0; k < n; ++k) which[k] = k * m / n;
    std::vector<double> matrix(n * n), distances;
    full_.square(which.data(), n, matrix.data());
    double largest = 0.0, bound = 0.0;
    for (std::size_t k = 0; k < n; ++k) {
      const std::size_t l = (k + n / 2) % n;
      largest = std::max(largest, std::abs(matrix[k * n + k]));
      distances.push_back(matrix[k * n + k] + matrix[l * n + l] - matrix[k * n + l] - matrix[l * n + k]);
    }
    for (const Layer& layer : state_.layers)
      bound = std::max(bound, *std::max_element(layer.upper.begin(), layer.upper.end()));
    std::nth_element(distances.begin(), distances.begin() + n / 2, distances.end());
    const double step = std::min(bound, state_.violation() / std::max(distances[n / 2], smallest_curvature));
    const double rounding = double(std::numeric_limits<float>::epsilon()) * largest;
    return rounding * step * std::sqrt(double(m)) < 0.25 * tol;
  }

  // How far rows of precision T may have led f astray: independent roundings of the kernel values, of some units in the
  // last place each.
  template <class T>
  double drift() const {
    return drift<T>(squared_change_);
  }

  // The same inside a block, whose coefficients are in `layers`: see `leave_out`.
  template <class T>
  double drift_with(const std::vector<Layer>& layers, const std::vector<std::size_t>& points) const {
    return drift<T>(change_elsewhere_ + squared_change(layers, points));
  }

  // A block is about to change its points, and has changed them.
  void leave_out(const std::vector<Layer>& layers, const std::vector<std::size_t>& points) {
    change_elsewhere_ = squared_change_ - squared_change(layers, points);
  }
  void take_in(const std::vector<Layer>& layers, const std::vector<std::size_t>& points) {
    squared_change_ = std::max(0.0, change_elsewhere_) + squared_change(layers, points);
  }

  // Whether the rounding, once measured, is small enough to go on.
  bool rounding_is_small() {
    measure_rounding();
    return drift<float>() <= 0.2 * state_.violation();
  }

  // Whether the rounding of float32 rows is far below the tolerance.
  bool is_fine(double tol) {
    if (drift<float>() > 0.25 * tol) measure_rounding();
    return drift<float>() <= 0.25 * tol;
  }

  // Certify f kept in float32 rows: where its error, estimated, is far below the tolerance, objective, gap and
  // violation depend on the support vectors and on the points near the margin alone, and only their f is computed
  // afresh. Some more points test the estimate. All points must be active.
  bool confirm(double tol) {
    if (!is_fine(tol)) return false;
    const double error = drift<float>();
    std::vector<std::size_t> changed, others;
    std::vector<double> change;
    state_.changes_since(base_, changed, change);
    std::vector<char> moved(state_.size(), 0);
    for (const std::size_t i : changed) moved[i] = 1;
    const std::vector<Extremes> groups = state_.extremes();
    for (std::size_t i = 0; i < state_.size(); ++i) {
      const bool counts = i % std::max<std::size_t>(1, state_.size() / probes) == 0 || matters(i, groups, error);
      if (counts && !moved[i]) others.push_back(i);
    }
    std::vector<double> among(changed.size(), 0.0), at(others.size(), 0.0);
    full_.add_among(changed.data(), change.data(), changed.size(), among.data());
    full_.add_at(others.data(), others.size(), changed.data(), change.data(), changed.size(), at.data());
    std::vector<double> exact = state_.f;
    for (std::size_t c = 0; c < changed.size(); ++c) exact[changed[c]] = exact_f_[changed[c]] + among[c];
    for (std::size_t c = 0; c < others.size(); ++c) exact[others[c]] = exact_f_[others[c]] + at[c];
    for (std::size_t i = 0; i < state_.size(); ++i) {
      if (std::abs(exact[i] - state_.f[i]) > error) return false;
    }
    state_.f = std::move(exact);
    state_.objective = state_.objective_from_gradient();
    return true;
  }

 private:
  static constexpr std::size_t probes = 128;

  // The rounding of float32 rows is estimated with care, and f computed afresh at some points shows how much of the
  // estimate is true.
  void measure_rounding() {
    constexpr double care = 3.0;  // other points may be worse
    std::vector<std::size_t> positions, points, changed;
    std::vector<double> exact, change;
    for (std::size_t k = 0; k < probes; ++k) positions.push_back(k * state_.n_active / probes);
    for (const std::size_t i : positions) {
      points.push_back(state_.order[i]);
      exact.push_back(exact_f_[state_.order[i]]);
    }
    state_.changes_since(base_, changed, change);
    full_.add_at(points.data(), probes, changed.data(), change.data(), changed.size(), exact.data());
    double worst = 0.0;
    for (std::size_t k = 0; k < probes; ++k) worst = std::max(worst, std::abs(exact[k] - state_.f[positions[k]]));
    const double estimate = drift<float>();
    if (care * worst < estimate) rounding_units_ *= std::max(care * worst / estimate, 0.01);
  }

  // a > 0, or a slope that may be negative: a part of objective, gap or violation.
  bool matters(std::size_t i, const std::vector<Extremes>& groups, double error) const {
    for (std::size_t l = 0; l < state_.layers.size(); ++l) {
      const Layer& layer = state_.layers[l];
      const Extremes& group = groups[state_.group_of(l)];
      const double b = group.middle(state_.problem.equality);
      const double limit = 0.5 * group.violation(state_.problem.equality) + 2.0 * error;
      if (layer.a[i] > 0.0 || layer.up[i] - state_.f[i] >= b - limit || layer.low[i] - state_.f[i] <= b + limit) {
        return true;
      }
    }
    return false;
  }

  // Sum of (change of s a since the last refresh)^2 over the points of a block, whose coefficients are in `layers`.
  double squared_change(const std::vector<Layer>& layers, const std::vector<std::size_t>& points) const {
    double sum = 0.0;
    for (std::size_t c = 0; c < points.size(); ++c) {
      double change = -base_[state_.order[points[c]]];
      for (const Layer& layer : layers) change += layer.sign[c] * layer.a[c];
      sum += change * change;
    }
    return sum;
  }

  template <class T>
  double drift(double squared_change) const {
    if constexpr (sizeof(T) == sizeof(double)) return 0.0;
    const double rounding = rounding_units_ * double(std::numeric_limits<T>::epsilon()) * state_.largest_diagonal;
    return rounding * std::sqrt(std::max(0.0, squared_change));
  }

  State& state_;
  Rows<double>& full_;
  std::vector<double> exact_f_, base_;  // by point: f in double and s a, at the last refresh
  // Of s a since the last refresh, squared and summed: of all points, and of those outside the block.
  double squared_change_ = 0.0, change_elsewhere_ = 0.0;
  double rounding_units_ = 8.0;  // of the last place, how much a float32 kernel value is taken to be off
};

}  // namespace mercer::smo
