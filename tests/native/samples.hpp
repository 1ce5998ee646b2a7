// Samples, dense and sparse, and the kernels between them by their definition.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "mercer/kernels.hpp"
#include "mercer/level.hpp"
#include "mercer/matrix.hpp"
#include "mercer/parallel.hpp"
#include "mercer/products.hpp"

namespace mercer::tests {

inline constexpr Measure measures[] = {Measure::dot, Measure::l2,   Measure::l1,
                                       Measure::min, Measure::chi2, Measure::match};
inline constexpr Transform transforms[] = {
    Transform::identity, Transform::exp,      Transform::exp_sqrt, Transform::power,  Transform::tanh,
    Transform::matern32, Transform::matern52, Transform::rational, Transform::cosine, Transform::tanimoto};

// Rows of a table, dense and as CSR. Values are multiples of 1/8 (exact in float), a third of them zero, so that
// matches and empty rows occur.
template <class T>
struct Table {
  std::size_t rows, features;
  std::vector<T> dense, values;
  std::vector<std::int32_t> columns;
  std::vector<std::int64_t> starts{0};

  Table(std::size_t n, std::size_t d, unsigned seed, bool signs = false) : rows(n), features(d), dense(n * d) {
    std::mt19937 random(seed);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t f = 0; f < d; ++f) {
        const int eighths = static_cast<int>(random() % 24) - 7;
        T value = i % 7 == 3 || eighths < 0 ? T(0) : T(eighths) / T(8);
        if (signs && random() % 2 == 1) value = -value;
        dense[i * d + f] = value;
        if (value != T(0)) {
          values.push_back(value);
          columns.push_back(static_cast<std::int32_t>(f));
        }
      }
      starts.push_back(static_cast<std::int64_t>(values.size()));
    }
  }

  Samples view(bool sparse) const {
    Samples samples;
    samples.values = sparse ? values.data() : dense.data();
    samples.columns = sparse ? columns.data() : nullptr;
    samples.starts = sparse ? starts.data() : nullptr;
    samples.rows = rows;
    samples.features = features;
    samples.precision = sizeof(T) == sizeof(double) ? Precision::full : Precision::single;
    samples.sparse = sparse;
    return samples;
  }

  double at(std::size_t i, std::size_t f, const KernelSpec& spec) const {
    double x = dense[i * features + f];
    if (spec.centre) x -= spec.centre[f];
    if (spec.weights) x *= spec.weights[f];
    return x;
  }
};

// The kernel by its definition.
template <class T>
double scalar_kernel(const KernelSpec& spec, const Table<T>& x, std::size_t i, const Table<T>& y, std::size_t j) {
  double t = 0.0, nx = 0.0, ny = 0.0;
  for (std::size_t f = 0; f < x.features; ++f) {
    const double a = x.at(i, f, spec), b = y.at(j, f, spec);
    nx += a * a;
    ny += b * b;
    switch (spec.measure) {
      case Measure::dot:
        t += a * b;
        break;
      case Measure::l2:
        t += (a - b) * (a - b);
        break;
      case Measure::l1:
        t += std::abs(a - b);
        break;
      case Measure::min:
        t += std::min(a, b);
        break;
      case Measure::chi2:
        t += a + b > 0 ? (a - b) * (a - b) / (a + b) : 0.0;
        break;
      case Measure::match:
        t += a == b ? 1.0 : 0.0;
        break;
    }
  }
  const double u = spec.p0 * std::sqrt(std::max(t, 0.0));
  switch (spec.transform) {
    case Transform::identity:
      return spec.p0 * t;
    case Transform::exp:
      return std::exp(-spec.p0 * t);
    case Transform::exp_sqrt:
      return std::exp(-u);
    case Transform::power:
      return std::pow(spec.p0 * t + spec.p1, spec.p2);
    case Transform::tanh:
      return std::tanh(spec.p0 * t + spec.p1);
    case Transform::matern32:
      return (1 + u) * std::exp(-u);
    case Transform::matern52:
      return (1 + u + u * u / 3) * std::exp(-u);
    case Transform::rational:
      return std::pow(1 + spec.p0 * t, -spec.p1);
    case Transform::cosine:
      return nx > 0 && ny > 0 ? t / std::sqrt(nx * ny) : 0.0;
    case Transform::tanimoto:
      return nx + ny - t > 0 ? t / (nx + ny - t) : 1.0;
  }
  return 0.0;
}

inline KernelSpec kernel(Measure measure, Transform transform) {
  KernelSpec spec;
  spec.measure = measure;
  spec.transform = transform;
  spec.p0 = 0.3;
  spec.p1 = 0.7;
  spec.p2 = 3.0;
  return spec;
}

inline KernelSpec gaussian(double gamma) {
  KernelSpec spec;
  spec.measure = Measure::l2;
  spec.transform = Transform::exp;
  spec.p0 = gamma;
  return spec;
}

template <class T>
std::vector<T> matrix_of(const KernelSpec& spec, const Level& level, const Samples& x, const Samples& y,
                         std::size_t n_threads = 1) {
  std::vector<T> out(x.rows * y.rows);
  Team team(n_threads);
  kernel_matrix<T>(spec, level, x, y, team, out.data());
  return out;
}

}  // namespace mercer::tests
