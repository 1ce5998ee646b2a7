// Kernel matrices between two sets of vectors, and products with them that never store the matrix.
#pragma once

#include <cstddef>
#include <vector>

#include "parallel.hpp"
#include "rows.hpp"
#include "vectors.hpp"

namespace mercer {

// use(first row, block) for all rows, a group made ready at a time.
template <class T, class Use>
void for_each_group(const Vectors<T>& rows, Use use) {
  constexpr std::size_t group = 1024;
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
    for_each_tile(block, columns, team, scratch,
                  [&](std::size_t row, std::size_t, std::size_t first, std::size_t n_columns, const T* tile) {
                    const T* group[tile_rows];
                    for (std::size_t r = 0; r < tile_rows; ++r) group[r] = tile + r * Vectors<T>::width;
                    for (std::size_t column = 0; column < k; ++column) {
                      const double* four = weights.data() + column * stride + row;
                      if (std::all_of(four, four + tile_rows, [](double w) { return w == 0.0; })) continue;
                      columns.loops().accumulate(four, group, n_columns, sums.data() + column * n + first);
                    }
                  });
  });
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t column = 0; column < k; ++column) out[i * k + column] = sums[column * n + i];
  }
}

}  // namespace mercer
