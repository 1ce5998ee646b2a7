// Many dual problems as Python hands them over, and what comes back: flat arrays, problem after problem.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "../mercer/certificate.hpp"
#include "../mercer/smo.hpp"
#include "arrays.hpp"
#include "outcome.hpp"

namespace mercer::bind {

// mercer.problems.DualProblems: the variables of problem k are those from starts[k] to starts[k + 1].
class BatchIn {
 public:
  // (starts, index, sign, linear, upper, ridge, equality, totals, scaled), a first point, and how many samples there
  // are
  BatchIn(const nb::tuple& source, Vector<double> start, std::size_t n_samples)
      : starts_(nb::cast<Vector<std::int64_t>>(source[0], false)),
        index_(nb::cast<Vector<std::int64_t>>(source[1], false)),
        sign_(nb::cast<Vector<double>>(source[2], false)),
        linear_(nb::cast<Vector<double>>(source[3], false)),
        upper_(nb::cast<Vector<double>>(source[4], false)),
        ridge_(nb::cast<Vector<double>>(source[5], false)),
        start_(std::move(start)),
        equality_(nb::cast<Vector<std::int8_t>>(source[6], false)),
        totals_(nb::cast<Matrix<double>>(source[7], false)),
        scaled_(nb::cast<Vector<bool>>(source[8], false)) {
    const std::size_t n = index_.shape(0);
    for (const auto* values : {&sign_, &linear_, &upper_, &ridge_, &start_}) {
      if (values->shape(0) != n) throw nb::value_error("the parts of a problem must have the same length");
    }
    if (starts_.shape(0) == 0 || starts_.data()[0] != 0 || starts_.data()[size()] != static_cast<std::int64_t>(n) ||
        !std::is_sorted(starts_.data(), starts_.data() + starts_.shape(0))) {
      throw nb::value_error("the problems must begin one after the other");
    }
    if (equality_.shape(0) != size() || scaled_.shape(0) != size() || totals_.shape(0) != size() ||
        totals_.shape(1) != 2) {
      throw nb::value_error("every problem has an equality, two totals and a scale");
    }
    for (std::size_t k = 0; k < size(); ++k) {
      if (equality_.data()[k] < 0 || equality_.data()[k] > 2) throw nb::value_error("unknown equality");
    }
    for (std::size_t k = 0; k < n; ++k) {
      const std::int64_t sample = index_.data()[k];
      if (sample < 0 || static_cast<std::size_t>(sample) >= n_samples) throw nb::value_error("index out of range");
    }
  }

  std::size_t size() const { return starts_.shape(0) - 1; }
  std::size_t n_variables() const { return index_.shape(0); }
  std::size_t begin(std::size_t k) const { return static_cast<std::size_t>(starts_.data()[k]); }
  bool scaled(std::size_t k) const { return scaled_.data()[k]; }
  Equality equality(std::size_t k) const { return static_cast<Equality>(equality_.data()[k]); }
  Totals totals(std::size_t k) const { return {totals_.data()[2 * k], totals_.data()[2 * k + 1]}; }

  // Whether two problems have the same variables: of the same samples, with the same signs and kinds of equality.
  bool alike(std::size_t k, std::size_t l) const {
    const std::size_t n = begin(k + 1) - begin(k);
    return begin(l + 1) - begin(l) == n && equality_.data()[k] == equality_.data()[l] &&
           std::equal(index_.data() + begin(k), index_.data() + begin(k) + n, index_.data() + begin(l)) &&
           std::equal(sign_.data() + begin(k), sign_.data() + begin(k) + n, sign_.data() + begin(l));
  }

  // The samples of problem k, ascending.
  std::vector<std::size_t> points(std::size_t k) const {
    std::vector<std::size_t> points(index_.data() + begin(k), index_.data() + begin(k + 1));
    if (std::is_sorted(points.begin(), points.end(), std::less_equal<>{})) return points;
    std::sort(points.begin(), points.end());
    points.erase(std::unique(points.begin(), points.end()), points.end());
    return points;
  }

  // The point of every variable of problem k.
  std::vector<std::int64_t> places(std::size_t k, const std::vector<std::size_t>& points) const {
    std::vector<std::int64_t> places(begin(k + 1) - begin(k));
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto sample = static_cast<std::size_t>(index_.data()[begin(k) + i]);
      const bool own = i < points.size() && points[i] == sample;  // usually
      places[i] =
          own ? static_cast<std::int64_t>(i) : std::lower_bound(points.begin(), points.end(), sample) - points.begin();
    }
    return places;
  }

  DualView view(std::size_t k, std::size_t n_points, const std::int64_t* places) const {
    const std::size_t first = begin(k);
    return {begin(k + 1) - first,
            n_points,
            places,
            sign_.data() + first,
            linear_.data() + first,
            upper_.data() + first,
            ridge_.data() + first,
            start_.data() + first,
            equality(k)};
  }

 private:
  Vector<std::int64_t> starts_, index_;
  Vector<double> sign_, linear_, upper_, ridge_, start_;
  Vector<std::int8_t> equality_;
  Matrix<double> totals_;
  Vector<bool> scaled_;
};

// The results of a batch; workers write those of different problems side by side.
class BatchOut {
 public:
  explicit BatchOut(const BatchIn& batch)
      : batch_(batch),
        a_(std::make_unique_for_overwrite<double[]>(batch.n_variables())),
        gradient_(std::make_unique_for_overwrite<double[]>(batch.n_variables())),
        numbers_(std::make_unique<double[]>(n_numbers * batch.size())),
        counts_(std::make_unique<std::int64_t[]>(n_counts * batch.size())),
        histories_(batch.size()) {}

  void put(std::size_t k, const DualView& problem, SmoResult result) {
    std::copy(result.a.begin(), result.a.end(), a_.get() + batch_.begin(k));
    std::copy(result.gradient.begin(), result.gradient.end(), gradient_.get() + batch_.begin(k));
    const Certificate c =
        smo::Certifier(problem, batch_.totals(k), batch_.scaled(k), result.a.data(), result.gradient.data()).certify();
    const double numbers[n_numbers] = {c.objective, c.gap, c.violation, c.imbalance, c.plus, c.minus, result.seconds};
    const std::int64_t counts[n_counts] = {static_cast<std::int64_t>(result.n_iter),
                                           static_cast<std::int64_t>(result.evaluations),
                                           static_cast<std::int64_t>(result.status), result.full_precision};
    std::copy_n(numbers, n_numbers, numbers_.get() + k * n_numbers);
    std::copy_n(counts, n_counts, counts_.get() + k * n_counts);
    // The last entry is the certificate.
    if (!result.history.empty()) {
      result.history.back() = {result.history.back().n_iter, c.objective, c.gap, c.violation};
    }
    histories_[k] = std::move(result.history);
  }

  // Kernel values that all problems share, counted at the first.
  void add_evaluations(std::size_t n) {
    if (batch_.size() > 0) counts_[1] += static_cast<std::int64_t>(n);
  }

  // (a, gradient, numbers, counts, history, starts of the histories)
  nb::tuple out() {
    const std::size_t m = batch_.size();
    std::vector<Record> records;
    auto starts = std::make_unique_for_overwrite<std::int64_t[]>(m + 1);
    for (std::size_t k = 0; k <= m; ++k) {
      starts[k] = static_cast<std::int64_t>(records.size());
      if (k < m) records.insert(records.end(), histories_[k].begin(), histories_[k].end());
    }
    return nb::make_tuple(own(std::move(a_), {batch_.n_variables()}), own(std::move(gradient_), {batch_.n_variables()}),
                          own(std::move(numbers_), {m, n_numbers}), own(std::move(counts_), {m, n_counts}),
                          history_out(records), own(std::move(starts), {m + 1}));
  }

 private:
  static constexpr std::size_t n_numbers = 7, n_counts = 4;
  const BatchIn& batch_;
  std::unique_ptr<double[]> a_, gradient_, numbers_;
  std::unique_ptr<std::int64_t[]> counts_;
  std::vector<std::vector<Record>> histories_;
};

}  // namespace mercer::bind
