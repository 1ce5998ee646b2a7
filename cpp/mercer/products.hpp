// Kernel matrices between two sets of vectors, and products with them that never store the matrix.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "parallel.hpp"
#include "rows.hpp"
#include "vectors.hpp"

namespace mercer {

// use(first row, block) for all rows, a group made ready at a time.
template <class T, class Use>
void for_each_group(const Vectors<T>& rows, Use use, std::size_t group = 1024) {
  const std::vector<std::size_t> positions = all_positions(rows.size());
  RowBlock<T> block;
  for (std::size_t first = 0; first < rows.size(); first += group) {
    rows.gather(positions.data() + first, std::min(group, rows.size() - first), block);
    use(first, block);
  }
}

// out (n, m) = k(x_i, y_j)
template <class T>
void kernel_matrix(const KernelSpec& spec, const Level& level, const Samples& x, const Samples& y, Team& team, T* out) {
  const Vectors<T> rows(spec, level, x, all_positions(x.rows), false);
  const Vectors<T> columns(spec, level, y, all_positions(y.rows), false);
  std::vector<TileScratch<T>> scratch(team.size());
  for_each_group(rows, [&](std::size_t start, const RowBlock<T>& block) {
    for_each_tile(block, columns, team, scratch,
                  [&](std::size_t row, std::size_t n_rows, std::size_t first, std::size_t n_columns, const T* tile) {
                    for (std::size_t r = 0; r < n_rows; ++r) {
                      std::copy_n(tile + r * Vectors<T>::width, n_columns, out + (start + row + r) * y.rows + first);
                    }
                  });
  });
}

// out (n, n) = k(x_i, x_j). Kernels are symmetric to the last bit: a stretch right of the diagonal is written a second
// time, turned, while it is in the nearest cache.
template <class T>
void kernel_matrix(const KernelSpec& spec, const Level& level, const Samples& x, Team& team, T* out) {
  constexpr std::size_t group = 64, width = Vectors<T>::width;
  constexpr std::size_t line = 64 / sizeof(T);  // values that come with one cache line are used together
  static_assert(group % width == 0);            // the diagonal goes through whole panels
  const std::size_t n = x.rows;
  const Vectors<T> vectors(spec, level, x, all_positions(n), true);
  std::vector<TileScratch<T>> scratch(team.size());
  const auto one_group = [&](std::size_t start, const RowBlock<T>& block) {
    const std::size_t end = start + block.size();
    const auto write = [&](std::size_t first, std::size_t n_columns, const T* values, std::size_t stride) {
      for (std::size_t r = 0; r < block.size(); ++r) {
        std::copy_n(values + r * stride, n_columns, out + (start + r) * n + first);
      }
      for (std::size_t c = std::max(first, end) - first; c < n_columns; c += line) {
        const std::size_t some = std::min(line, n_columns - c);
        T* turned = out + (first + c) * n + start;
        for (std::size_t r = 0; r < block.size(); ++r) {
          for (std::size_t k = 0; k < some; ++k) turned[k * n + r] = values[r * stride + c + k];
        }
      }
    };
    for_each_stretch(block, vectors, team, scratch, write, start / width);
  };
  for_each_group(vectors, one_group, group);
}

// out = g(values), the transform of measures that have been computed before; not for kernels that need norms.
inline void transform_values(const KernelSpec& spec, const Level& level, const double* values, std::size_t n,
                             Team& team, double* out) {
  constexpr std::size_t width = panel_width<double>, stretch = 256 * width;
  team.for_each((n + stretch - 1) / stretch, [&](std::size_t s, std::size_t) {
    const std::size_t end = std::min(n, (s + 1) * stretch);
    for (std::size_t first = s * stretch; first < end; first += width) {
      const std::size_t size = std::min(width, end - first);
      double row[width] = {};
      std::copy_n(values + first, size, row);
      level.full.transform(spec, 0.0, nullptr, row);
      std::copy_n(row, size, out + first);
    }
  });
}

// out (n, k) = K(x, y) v with v (m, k), summed over y in its order. The larger side is laid out as columns, so that one
// sample against many support vectors wastes no tile.
template <class T>
void kernel_dot(const KernelSpec& spec, const Level& level, const Samples& x, const Samples& y, const double* v,
                std::size_t k, Team& team, double* out) {
  const std::size_t n = x.rows;
  if (n < Vectors<T>::width / 4) {
    std::vector<T> values(n * y.rows);
    kernel_matrix<T>(spec, level, x, y, team, values.data());
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t column = 0; column < k; ++column) {
        out[i * k + column] = level.loops<T>().dot(values.data() + i * y.rows, v + column, k, y.rows);
      }
    }
    return;
  }
  std::vector<double> sums(n * k), weights;  // (k, n) and (k, group): one column of v at a time runs along the samples
  const Vectors<T> rows(spec, level, y, all_positions(y.rows), false);
  const Vectors<T> columns(spec, level, x, all_positions(n), false);
  std::vector<TileScratch<T>> scratch(team.size());
  for_each_group(rows, [&](std::size_t start, const RowBlock<T>& block) {
    const std::size_t stride = block.size() + tile_rows;
    weights.assign(k * stride, 0.0);
    for (std::size_t i = 0; i < block.size(); ++i) {
      for (std::size_t column = 0; column < k; ++column) weights[column * stride + i] = v[(start + i) * k + column];
    }
    if (k == 1) {
      add_weighted(block, columns, team, scratch, weights.data(), sums.data());
      return;
    }
    add_weighted(block, columns, team, scratch, Weights{weights.data(), k, stride}, sums.data());
  });
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t column = 0; column < k; ++column) out[i * k + column] = sums[column * n + i];
  }
}

// How far a Gaussian kernel value computed in float32 may be from the true one, for vectors of norms up to `size` in
// all after centring: rounding of the two vectors moves t = gamma d^2 by 2 eps sqrt(gamma t) size, that of the sum by
// (features + 5) eps t, and both count e^-t times; exp, the weight and the sum over a tile add some units more.
inline double gaussian_rounding(double gamma, std::size_t features, double size) {
  constexpr double eps = 0.5 * double(std::numeric_limits<float>::epsilon());
  return 2.0 * eps * (0.86 * std::sqrt(gamma) * size + 0.37 * (double(features) + 5.0) + 10.0);
}

// out_i has the sign of K(x_i, y) v + offset. For a Gaussian kernel in float32 first; only where that is nearer to zero
// than its rounding can account for, in double.
inline void kernel_decide(const KernelSpec& spec, const Level& level, const Samples& x, const Samples& y,
                          const double* v, double offset, Team& team, double* out) {
  const std::size_t n = x.rows, d = x.features;
  const bool gaussian = spec.measure == Measure::l2 && spec.transform == Transform::exp && spec.weights == nullptr;
  if (!gaussian || x.sparse || n < Vectors<float>::width || y.rows == 0) {
    kernel_dot<double>(spec, level, x, y, v, 1, team, out);
    for (std::size_t i = 0; i < n; ++i) out[i] += offset;
    return;
  }
  std::vector<double> centre(d, 0.0);
  for (std::size_t j = 0; j < y.rows; ++j) {
    for (std::size_t f = 0; f < d; ++f) centre[f] += y.value(j * d + f) / double(y.rows);
  }
  const auto distance = [&](const Samples& samples, std::size_t i) {
    double sum = 0.0;
    for (std::size_t f = 0; f < d; ++f) {
      const double difference = samples.value(i * d + f) - centre[f];
      sum += difference * difference;
    }
    return std::sqrt(sum);
  };
  double size = 0.0, weight = 0.0;
  for (std::size_t j = 0; j < y.rows; ++j) {
    size = std::max(size, distance(y, j));
    weight += std::abs(v[j]);
  }
  KernelSpec centred = spec;
  centred.centre = centre.data();
  kernel_dot<float>(centred, level, x, y, v, 1, team, out);
  std::vector<std::size_t> near;
  for (std::size_t i = 0; i < n; ++i) {
    out[i] += offset;
    const double error = weight * gaussian_rounding(spec.p0, d, size + distance(x, i));
    if (!(std::abs(out[i]) > error)) near.push_back(i);
  }
  std::vector<double> rows(near.size() * d), exact(near.size());
  for (std::size_t i = 0; i < near.size(); ++i) {
    for (std::size_t f = 0; f < d; ++f) rows[i * d + f] = x.value(near[i] * d + f);
  }
  const Samples again{rows.data(), nullptr, nullptr, near.size(), d, Precision::full, false};
  kernel_dot<double>(spec, level, again, y, v, 1, team, exact.data());
  for (std::size_t i = 0; i < near.size(); ++i) out[near[i]] = exact[i] + offset;
}

}  // namespace mercer
