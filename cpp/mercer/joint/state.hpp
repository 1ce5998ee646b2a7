// The point where the solver stands: the multipliers a, the sums f of all classes at the samples, the offsets, and what
// follows from them: slopes and violations, objective and duality gap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "../blocks.hpp"
#include "../level.hpp"
#include "../rows.hpp"
#include "offsets.hpp"
#include "options.hpp"

namespace mercer::joint {

inline constexpr double infinite = std::numeric_limits<double>::infinity();

struct State {
  const JointView& problem;
  const Level& level;
  const std::size_t n_classes;
  std::vector<double> a, f;  // (n_points, n_classes)
  Offsets offsets;
  double scale = 1.0;               // the size of the kernel values
  std::vector<double> slope;        // of the sample that was looked at last
  std::vector<double> violation;    // by sample
  std::vector<std::size_t> active;  // the samples whose f and violation are kept
  std::size_t arrangement = 0;      // changes with the active samples

  State(const JointView& view, const Level& loops)
      : problem(view),
        level(loops),
        n_classes(view.n_classes),
        a(view.start, view.start + view.n_points * view.n_classes),
        f(view.n_points * view.n_classes, 0.0),
        offsets(view.n_classes),
        slope(view.n_classes),
        violation(view.n_points, 0.0),
        active(all_positions(view.n_points)),
        values_(view.n_classes) {}

  std::size_t size() const { return problem.n_points; }
  bool relative() const { return problem.margin == Margin::relative; }
  std::size_t own(std::size_t i) const { return static_cast<std::size_t>(problem.label[i]); }
  double* a_of(std::size_t i) { return a.data() + i * n_classes; }
  const double* a_of(std::size_t i) const { return a.data() + i * n_classes; }
  const double* f_of(std::size_t i) const { return f.data() + i * n_classes; }

  void activate(std::vector<std::size_t> samples) {
    active = std::move(samples);
    ++arrangement;
  }

  // B of a sample as the sums f are made of it: for absolute margins without the mean, so that few classes change; f is
  // then centred where it is used.
  double coefficient(const double* mine, std::size_t i, std::size_t k) const {
    if (k != own(i)) return -mine[k];
    if (!relative()) return 0.0;
    double sum = 0.0;
    for (std::size_t l = 0; l < n_classes; ++l) sum += l == k ? 0.0 : mine[l];
    return sum;
  }
  double coefficient(std::size_t i, std::size_t k) const { return coefficient(a_of(i), i, k); }

  // Slopes of the objective along the multipliers of a sample whose sums f_k lie `stride` apart, into `slope`.
  void find_slopes(std::size_t i, const double* sums, std::size_t stride) {
    double reference = 0.0;
    for (std::size_t k = 0; k < n_classes; ++k) {
      values_[k] = sums[k * stride] + offsets.value[k];
      reference += values_[k];
    }
    reference = relative() ? values_[own(i)] : reference / static_cast<double>(n_classes);
    for (std::size_t k = 0; k < n_classes; ++k) slope[k] = (reference - values_[k]) - problem.target;
  }
  void find_slopes(std::size_t i) { find_slopes(i, f_of(i), 1); }

  // The sample that was looked at last.
  BlockView view(std::size_t i) const {
    return {a_of(i), slope.data(), n_classes, own(i), problem.cost[i], problem.errors};
  }

  // The best of n multipliers of sample i: optimise_block for its set.
  double constrain(std::size_t i, const double* wanted, std::size_t n, double rho, double guess, double* best) const {
    constexpr double unlimited = std::numeric_limits<double>::max();
    const bool summed = problem.errors == Errors::sum;
    return optimise_block(wanted, n, rho, summed ? problem.cost[i] : unlimited, summed ? unlimited : problem.cost[i],
                          guess, best);
  }

  // f of some samples from scratch, in the precision of the rows; the rows are left restricted to them.
  template <class T>
  void compute_f(Rows<T>& rows, const std::vector<std::size_t>& samples) {
    std::vector<std::size_t> moved;
    for (std::size_t i = 0; i < size(); ++i) {
      if (std::any_of(a_of(i), a_of(i) + n_classes, [](double value) { return value != 0.0; })) moved.push_back(i);
    }
    const std::vector<double> coefficients =
        gather_coefficients(moved, [&](std::size_t i, std::size_t k) { return coefficient(i, k); });
    rows.restrict_to(samples);
    std::vector<double> sums(n_classes * samples.size(), 0.0);
    rows.add_many(moved.data(), coefficients.data(), moved.size(), n_classes, sums.data());
    for (std::size_t c = 0; c < samples.size(); ++c) {
      for (std::size_t k = 0; k < n_classes; ++k) f[samples[c] * n_classes + k] = sums[k * samples.size() + c];
    }
  }

  // value(sample, class) as (n_classes, n moved), the samples first sorted by class: rows are added up in fours, and
  // zeros of all four are passed by.
  template <class Value>
  std::vector<double> gather_coefficients(std::vector<std::size_t>& moved, Value value) const {
    std::stable_sort(moved.begin(), moved.end(), [&](std::size_t x, std::size_t y) { return own(x) < own(y); });
    std::vector<double> coefficients(n_classes * moved.size());
    for (std::size_t c = 0; c < moved.size(); ++c) {
      for (std::size_t k = 0; k < n_classes; ++k) coefficients[k * moved.size() + c] = value(moved[c], k);
    }
    return coefficients;
  }

  // f as it belongs to the true B.
  void centre() {
    if (relative()) return;
    for (std::size_t i = 0; i < size(); ++i) {
      double mean = 0.0;
      for (std::size_t k = 0; k < n_classes; ++k) mean += f[i * n_classes + k] / static_cast<double>(n_classes);
      for (std::size_t k = 0; k < n_classes; ++k) f[i * n_classes + k] -= mean;
    }
  }

  // z from scratch.
  void find_excess() {
    std::vector<double>& excess = offsets.excess;
    std::fill(excess.begin(), excess.end(), 0.0);
    for (std::size_t i = 0; i < size(); ++i) {
      for (std::size_t k = 0; k < n_classes; ++k) excess[k] += coefficient(i, k);
    }
    if (relative()) return;
    double mean = 0.0;
    for (const double z : excess) mean += z / static_cast<double>(n_classes);
    for (double& z : excess) z -= mean;
  }

  // Of the active samples.
  void find_violations() {
    for (const std::size_t i : active) {
      find_slopes(i);
      violation[i] = view(i).violation();
    }
  }

  double largest_violation() const {
    double worst = 0.0;
    for (const std::size_t i : active) worst = std::max(worst, violation[i]);
    return worst;
  }

  double objective() const {
    double sum = 0.0;
    for (std::size_t i = 0; i < size(); ++i) {
      double mean = 0.0;
      const double* sums = f_of(i);
      if (!relative()) {
        for (std::size_t k = 0; k < n_classes; ++k) mean += sums[k] / static_cast<double>(n_classes);
      }
      for (std::size_t k = 0; k < n_classes; ++k) {
        const double mine = k == own(i) ? 0.0 : a_of(i)[k];
        sum += 0.5 * coefficient(i, k) * (sums[k] - mean) - problem.target * mine;
      }
    }
    return sum;
  }

  double gap() {
    double sum = 0.0;
    for (std::size_t i = 0; i < size(); ++i) {
      find_slopes(i);
      sum += view(i).gap();
    }
    return sum;
  }

 private:
  std::vector<double> values_;  // f + b of one sample
};

}  // namespace mercer::joint
