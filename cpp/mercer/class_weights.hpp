// Weights of features for several classes at once, and samples that are multiplied with them or added to them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "level.hpp"
#include "matrix.hpp"

namespace mercer {

// Rows of samples for sums in double: sparse values of float32 are turned into double once. Dense rows of double may be
// rounded to float32 for a while, of which twice as many stay in a cache.
class WideSamples {
 public:
  WideSamples(const Level& level, const Samples& samples) : level(level), samples(samples) {
    if (!samples.sparse) return;
    values = static_cast<const double*>(samples.values);
    if (samples.precision == Precision::full) return;
    const std::size_t entries = static_cast<std::size_t>(samples.starts[samples.rows]);
    const float* single = static_cast<const float*>(samples.values);
    own_.assign(single, single + entries);
    values = own_.data();
  }

  // Use rounded rows from now on, or exact ones; without effect where there is nothing to round.
  void round(bool wanted) {
    rounded = wanted && !samples.sparse && samples.precision == Precision::full;
    if (!rounded || !single_.empty()) return;
    const double* exact = static_cast<const double*>(samples.values);
    single_.assign(exact, exact + samples.rows * samples.features);
  }

  bool single() const { return rounded || samples.precision == Precision::single; }
  const float* single_row(std::size_t i) const {
    return (rounded ? single_.data() : static_cast<const float*>(samples.values)) + i * samples.features;
  }
  const double* full_row(std::size_t i) const {
    return static_cast<const double*>(samples.values) + i * samples.features;
  }

  // Row i will be needed soon: in any order but that of memory nobody else would know.
  void fetch(std::size_t i) const {
    if (samples.sparse) return;
    const std::size_t size = samples.features * (single() ? sizeof(float) : sizeof(double));
    const char* from =
        single() ? reinterpret_cast<const char*>(single_row(i)) : reinterpret_cast<const char*>(full_row(i));
    for (std::size_t k = 0; k < size; k += 64) __builtin_prefetch(from + k);
  }

  // Multiplications that a product of one row with one vector takes, on average.
  std::size_t entries_per_row() const {
    if (!samples.sparse) return samples.features;
    return samples.rows ? std::size_t(samples.starts[samples.rows]) / samples.rows + 1 : 1;
  }

  const Level& level;
  const Samples samples;
  const double* values = nullptr;  // of sparse samples
  bool rounded = false;

 private:
  std::vector<double> own_;
  std::vector<float> single_;
};

// w_k for n classes. Dense samples meet one w_k after the other: (n, features). A sparse sample meets all w_k of one of
// its features side by side: (features, n and some padding).
class ClassWeights {
 public:
  ClassWeights(const WideSamples& x, std::size_t n)
      : x_(x),
        n_(n),
        stride_(x.samples.sparse ? (n + pad - 1) / pad * pad : x.samples.features),
        w_(x.samples.sparse ? x.samples.features * stride_ : n * stride_, 0.0) {}

  void clear() { std::fill(w_.begin(), w_.end(), 0.0); }

  // out[p] = x_i . w_which[p]
  void products(std::size_t i, const std::uint32_t* which, std::size_t count, double* out) const {
    const Samples& x = x_.samples;
    if (!x.sparse) {
      for (std::size_t p = 0; p < count; ++p) out[p] = dense_product(i, w_.data() + which[p] * stride_);
      return;
    }
    std::fill_n(out, count, 0.0);
    for (auto e = x.starts[i]; e < x.starts[i + 1]; ++e) {
      const double value = x_.values[e];
      const double* w = w_.data() + std::size_t(x.columns[e]) * stride_;
      for (std::size_t p = 0; p < count; ++p) out[p] += value * w[which[p]];
    }
  }

  // The same for all classes; `out` has room for `padded()` of them.
  void all_products(std::size_t i, double* out) const {
    const Samples& x = x_.samples;
    if (!x.sparse) {
      for (std::size_t k = 0; k < n_; ++k) out[k] = dense_product(i, w_.data() + k * stride_);
      return;
    }
    std::fill_n(out, stride_, 0.0);
    const auto first = x.starts[i];
    x_.level.algebra.combine(x_.values + first, x.columns + first, std::size_t(x.starts[i + 1] - first), w_.data(),
                             stride_, stride_, out);
  }

  std::size_t padded() const { return std::max(n_, x_.samples.sparse ? stride_ : n_); }

  // w_which[p] += c[p] x_i, of features [first, last) only if the samples are dense
  void add(std::size_t i, const std::uint32_t* which, const double* c, std::size_t count, std::size_t first,
           std::size_t last) {
    const Samples& x = x_.samples;
    if (!x.sparse) {
      for (std::size_t p = 0; p < count; ++p) {
        double* w = w_.data() + which[p] * stride_ + first;
        if (x_.single()) {
          x_.level.single.add_row(c[p], x_.single_row(i) + first, last - first, w);
        } else {
          x_.level.full.add_row(c[p], x_.full_row(i) + first, last - first, w);
        }
      }
      return;
    }
    for (auto e = x.starts[i]; e < x.starts[i + 1]; ++e) {
      const double value = x_.values[e];
      double* w = w_.data() + std::size_t(x.columns[e]) * stride_;
      for (std::size_t p = 0; p < count; ++p) w[which[p]] += c[p] * value;
    }
  }

  void add(std::size_t i, const std::uint32_t* which, const double* c, std::size_t count) {
    add(i, which, c, count, 0, x_.samples.features);
  }

  // w += t v
  void add(double t, const ClassWeights& v) { x_.level.full.add_row(t, v.w_.data(), w_.size(), w_.data()); }

 private:
  static constexpr std::size_t pad = 8;

  double dense_product(std::size_t i, const double* w) const {
    const std::size_t d = x_.samples.features;
    return x_.single() ? x_.level.linear.product_single(x_.single_row(i), w, d)
                       : x_.level.linear.product_full(x_.full_row(i), w, d);
  }

  const WideSamples& x_;
  const std::size_t n_, stride_;
  std::vector<double> w_;
};

}  // namespace mercer
