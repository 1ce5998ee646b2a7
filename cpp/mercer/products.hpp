// Kernel matrices between two sets of vectors, and products with them that never store the matrix.
#pragma once

#include <cstddef>
#include <vector>

#include "parallel.hpp"
#include "rows.hpp"
#include "vectors.hpp"

namespace mercer {

// use(row, n_rows, column, n_columns, tile) for all tiles of rows x columns, a group of rows made ready at a
// time.
template <class T, class Use>
void for_each_tile(const Vectors<T>& rows, const Vectors<T>& columns, Team& team, Use use) {
  constexpr std::size_t group = 1024;
  std::vector<TileScratch<T>> scratch(team.size());
  const std::vector<std::size_t> positions = all_positions(rows.size());
  RowBlock<T> block;
  for (std::size_t first = 0; first < rows.size(); first += group) {
    rows.gather(positions.data() + first, std::min(group, rows.size() - first), block);
    for_each_tile(block, columns, team, scratch,
                  [&](std::size_t row, std::size_t n_rows, std::size_t column, std::size_t n_columns, const T* tile) {
                    use(first + row, n_rows, column, n_columns, tile);
                  });
  }
}

// out (n, m) = k(x_i, y_j)
template <class T>
void kernel_matrix(const KernelSpec& spec, const Level& level, const Samples& x, const Samples& y, Team& team, T* out) {
  const Vectors<T> rows(spec, level, x, all_positions(x.rows), false);
  const Vectors<T> columns(spec, level, y, all_positions(y.rows), false);
  for_each_tile(rows, columns, team,
                [&](std::size_t row, std::size_t n_rows, std::size_t first, std::size_t n_columns, const T* tile) {
                  for (std::size_t r = 0; r < n_rows; ++r) {
                    std::copy_n(tile + r * Vectors<T>::width, n_columns, out + (row + r) * y.rows + first);
                  }
                });
}

// out (n, k) = K(x, y) v with v (m, k), summed over y in its order. The larger side is laid out as columns,
// so that one sample against many support vectors wastes no tile.
template <class T>
void kernel_dot(const KernelSpec& spec, const Level& level, const Samples& x, const Samples& y, const double* v,
                std::size_t k, Team& team, double* out) {
  const std::size_t n = x.rows;
  std::fill_n(out, n * k, 0.0);
  if (n >= Vectors<T>::width / 4) {
    std::vector<double> sums(n * k);  // (k, n): one column of v at a time runs along the samples
    const Vectors<T> rows(spec, level, y, all_positions(y.rows), false);
    const Vectors<T> columns(spec, level, x, all_positions(n), false);
    for_each_tile(rows, columns, team,
                  [&](std::size_t row, std::size_t n_rows, std::size_t first, std::size_t n_columns, const T* tile) {
                    for (std::size_t r = 0; r < n_rows; ++r) {
                      for (std::size_t column = 0; column < k; ++column) {
                        const double coefficient = v[(row + r) * k + column];
                        if (coefficient == 0.0) continue;
                        columns.loops().accumulate(coefficient, tile + r * Vectors<T>::width, n_columns,
                                                   sums.data() + column * n + first);
                      }
                    }
                  });
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t column = 0; column < k; ++column) out[i * k + column] = sums[column * n + i];
    }
    return;
  }
  const Vectors<T> rows(spec, level, x, all_positions(n), false);
  const Vectors<T> columns(spec, level, y, all_positions(y.rows), false);
  std::vector<T> values(n * y.rows);
  for_each_tile(rows, columns, team,
                [&](std::size_t row, std::size_t n_rows, std::size_t first, std::size_t n_columns, const T* tile) {
                  for (std::size_t r = 0; r < n_rows; ++r) {
                    std::copy_n(tile + r * Vectors<T>::width, n_columns, values.data() + (row + r) * y.rows + first);
                  }
                });
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < y.rows; ++j) {
      level.full.accumulate(double(values[i * y.rows + j]), v + j * k, k, out + i * k);
    }
  }
}

}  // namespace mercer
