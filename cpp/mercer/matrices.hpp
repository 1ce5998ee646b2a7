// Symmetric matrices that are given, (n, n) each: of every one the half up to the diagonal is read, where it lies.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "level.hpp"
#include "parallel.hpp"
#include "row_loops.hpp"

namespace mercer {

// Some rows of a half, and some of their columns: row i has size(i) of them. A number for each has room in `room`.
struct HalfTile {
  static constexpr std::size_t rows = 16, columns = 2048;
  static constexpr std::size_t stride = columns + 8;  // rows do not meet in one place of a cache

  std::size_t begin, end, column;
  double* room;

  std::size_t size(std::size_t i) const { return std::min(columns, i + 1 - column); }
  std::size_t top() const { return std::max(begin, column); }  // rows above it end before these columns
  double* numbers(std::size_t i) const { return room + (i - begin) * stride; }
};

// use(tile) for all tiles of a half, with zeros for numbers; those of the same rows one after the other.
template <class Use>
void for_each_half_tile(std::size_t n, Team& team, Use use) {
  const std::size_t n_strips = (n + HalfTile::rows - 1) / HalfTile::rows;
  std::vector<std::vector<double>> scratch(team.size());
  team.for_each(n_strips, [&](std::size_t strip, std::size_t worker) {
    const std::size_t begin = strip * HalfTile::rows, end = std::min(n, begin + HalfTile::rows);
    for (std::size_t column = 0; column < end; column += HalfTile::columns) {
      scratch[worker].resize(HalfTile::rows * HalfTile::stride);
      const HalfTile tile{begin, end, column, scratch[worker].data()};
      for (std::size_t i = tile.top(); i < end; ++i) std::fill_n(tile.numbers(i), tile.size(i), 0.0);
      use(tile);
    }
  });
}

// Rows of some of the matrices, from number k on; behind the end those of the last.
template <class T>
std::array<const T*, row_group> rows_of(const std::vector<const T*>& matrices, std::size_t k, std::size_t place) {
  std::array<const T*, row_group> rows;
  for (std::size_t g = 0; g < row_group; ++g) rows[g] = matrices[std::min(k + g, matrices.size() - 1)] + place;
  return rows;
}

// out (n, n) = the sum of the matrices times weights, in double.
template <class T, class Out>
void sum_matrices(const Level& level, const std::vector<const T*>& matrices, const double* weights, std::size_t n,
                  Team& team, Out* out) {
  for_each_half_tile(n, team, [&](const HalfTile& tile) {
    for (std::size_t k = 0; k < matrices.size(); k += row_group) {
      double scales[row_group] = {};
      std::copy_n(weights + k, std::min(row_group, matrices.size() - k), scales);
      for (std::size_t i = tile.top(); i < tile.end; ++i) {
        add_rows(level, scales, rows_of(matrices, k, i * n + tile.column).data(), tile.size(i), tile.numbers(i));
      }
    }
    for (std::size_t i = tile.top(); i < tile.end; ++i) {
      const double* sums = tile.numbers(i);
      for (std::size_t c = 0; c < tile.size(i); ++c) out[i * n + tile.column + c] = Out(sums[c]);
    }
    for (std::size_t j = tile.column; j < std::min(tile.end, tile.column + HalfTile::columns); ++j) {
      for (std::size_t i = std::max(tile.begin, j); i < tile.end; ++i) {
        out[j * n + i] = Out(tile.numbers(i)[j - tile.column]);
      }
    }
  });
}

// Half of c'Kc for every matrix, summed over the rows c of coefficients (count, n).
template <class T>
std::vector<double> matrix_energies(const Level& level, const std::vector<const T*>& matrices,
                                    const double* coefficients, std::size_t count, std::size_t n, Team& team) {
  const std::size_t p = matrices.size(), n_strips = (n + HalfTile::rows - 1) / HalfTile::rows;
  std::vector<double> by_strip(n_strips * p, 0.0);  // added in their order: it does not depend on the threads
  for_each_half_tile(n, team, [&](const HalfTile& tile) {
    // The inner product of K with the sum of cc': what is not on the diagonal is there twice.
    for (std::size_t i = tile.top(); i < tile.end; ++i) {
      for (std::size_t m = 0; m < count; ++m) {
        const double* c = coefficients + m * n;
        for (std::size_t j = 0; j < tile.size(i); ++j) tile.numbers(i)[j] += c[i] * c[tile.column + j];
      }
      if (i < tile.column + HalfTile::columns) tile.numbers(i)[i - tile.column] *= 0.5;
    }
    // Some matrices side by side: memory gives several rows faster than one.
    double* energies = by_strip.data() + tile.begin / HalfTile::rows * p;
    for (std::size_t k = 0; k < p; k += row_group) {
      for (std::size_t i = tile.top(); i < tile.end; ++i) {
        double products[row_group];
        row_products(level, rows_of(matrices, k, i * n + tile.column).data(), tile.numbers(i), tile.size(i), products);
        for (std::size_t g = 0; g < std::min(row_group, p - k); ++g) energies[k + g] += products[g];
      }
    }
  });
  std::vector<double> energies(p, 0.0);
  for (std::size_t strip = 0; strip < n_strips; ++strip) {
    for (std::size_t k = 0; k < p; ++k) energies[k] += by_strip[strip * p + k];
  }
  return energies;
}

}  // namespace mercer
