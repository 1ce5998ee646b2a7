// Kernels between sets: kernel values of elements, summed over the elements of pairs of sets.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "parallel.hpp"

namespace mercer {

// A block of kernel values: rows are elements of sets, columns are elements of other sets, whole sets or parts of them.
// Every element knows the number of its set among those of the block; elements of a set stand together.
struct ElementBlock {
  const double* values = nullptr;
  std::size_t rows = 0, columns = 0;
  const std::int64_t *row_sets = nullptr, *column_sets = nullptr;
};

// Adds a block to the sums along its rows, by_row[element, set of columns], and along its columns,
// by_column[set of rows, element]. Elements are added one after the other, so that it does not matter where blocks end.
inline void add_to_sums(const ElementBlock& block, std::size_t n_column_sets, Team& team, double* by_row,
                        double* by_column) {
  // A tile has whole sets of columns, so that no two of them write to the same place.
  constexpr std::size_t tile_columns = 256, together = 4;  // so many rows do not wait for each other's sums
  const std::size_t n = block.columns;
  std::vector<std::size_t> tiles{0};
  for (std::size_t b = 1; b < n; ++b) {
    if (b - tiles.back() >= tile_columns && block.column_sets[b] != block.column_sets[b - 1]) tiles.push_back(b);
  }
  tiles.push_back(n);
  team.for_each(tiles.size() - 1, [&](std::size_t tile, std::size_t) {
    for (std::size_t first = 0; first < block.rows; first += together) {
      const std::size_t some = std::min(together, block.rows - first);
      const double* values = block.values + first * n;
      for (std::size_t begin = tiles[tile], end = begin; begin < tiles[tile + 1]; begin = end) {
        const std::size_t set = static_cast<std::size_t>(block.column_sets[begin]);
        while (end < tiles[tile + 1] && block.column_sets[end] == block.column_sets[begin]) ++end;
        double sums[together];
        for (std::size_t a = 0; a < some; ++a) sums[a] = by_row[(first + a) * n_column_sets + set];
        if (some == together) {
          for (std::size_t b = begin; b < end; ++b) {
            for (std::size_t a = 0; a < together; ++a) sums[a] += values[a * n + b];
          }
        } else {
          for (std::size_t b = begin; b < end; ++b) {
            for (std::size_t a = 0; a < some; ++a) sums[a] += values[a * n + b];
          }
        }
        for (std::size_t a = 0; a < some; ++a) by_row[(first + a) * n_column_sets + set] = sums[a];
      }
      for (std::size_t a = 0; a < some; ++a) {
        double* sums = by_column + static_cast<std::size_t>(block.row_sets[first + a]) * n;
        for (std::size_t b = tiles[tile]; b < tiles[tile + 1]; ++b) sums[b] += values[a * n + b];
      }
    }
  });
}

// out[set of the row] += row, one row after the other
inline void add_rows_by_set(const double* values, std::size_t rows, std::size_t columns, const std::int64_t* sets,
                            double* out) {
  for (std::size_t a = 0; a < rows; ++a) {
    double* sums = out + static_cast<std::size_t>(sets[a]) * columns;
    for (std::size_t c = 0; c < columns; ++c) sums[c] += values[a * columns + c];
  }
}

}  // namespace mercer
