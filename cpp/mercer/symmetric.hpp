// A symmetric matrix in memory times some vectors, in one pass over one half of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>

#include "kernels.hpp"
#include "level.hpp"
#include "parallel.hpp"

namespace mercer {

// A row of a block of vectors, within one cache line: loads that cross two take twice as long.
struct alignas(block_width * sizeof(double)) BlockRow {
  double values[block_width];
};

// out (n) = K v for the symmetric K (n, n), of which the part right of the diagonal is read, and a block of vectors v
// (n). An entry serves both of its places: out_i gains K_ij v_j, and out_j gains K_ij v_i.
//
// The matrix comes from memory once, and so four vectors cost little more than one. Strips of rows are dealt to a
// number of parts that does not depend on the threads; every part has sums of its own, which are added in their order.
inline void symmetric_product(const Level& level, const double* K, std::size_t n, const BlockRow* v, Team& team,
                              BlockRow* out) {
  constexpr std::size_t strip = 16, most_parts = 16;
  constexpr std::size_t stretch = 2048;  // its rows of v and of the sums stay in the second cache
  const std::size_t n_strips = (n + strip - 1) / strip, n_parts = std::min(most_parts, n_strips);
  const auto sums = std::make_unique_for_overwrite<BlockRow[]>(n_parts * n);
  const auto add_corner = [&](BlockRow* own, std::size_t begin, std::size_t end) {  // on both sides of the diagonal
    for (std::size_t i = begin; i < end; ++i) {
      for (std::size_t j = begin; j < end; ++j) {
        const double value = K[std::min(i, j) * n + std::max(i, j)];
        for (std::size_t k = 0; k < block_width; ++k) own[i].values[k] += value * v[j].values[k];
      }
    }
  };
  const auto add_strip = [&](BlockRow* own, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; i += block_rows) add_corner(own, i, std::min(end, i + block_rows));
    for (std::size_t column = begin; column < n; column += stretch) {
      const std::size_t stop = std::min(n, column + stretch);
      for (std::size_t i = begin; i < end; i += block_rows) {
        const std::size_t first = std::max(column, i + block_rows);
        if (first >= stop) break;
        const double* rows[block_rows];
        for (std::size_t r = 0; r < block_rows; ++r) rows[r] = K + (i + r) * n + first;
        level.algebra.multiply_both_ways(rows, stop - first, v[first].values, v[i].values, own[i].values,
                                         own[first].values);
      }
    }
  };
  team.for_each(n_parts, [&](std::size_t part, std::size_t) {
    BlockRow* own = sums.get() + part * n;
    std::fill_n(own, n, BlockRow{});
    for (std::size_t s = part; s < n_strips; s += n_parts) add_strip(own, s * strip, std::min(n, (s + 1) * strip));
  });
  constexpr std::size_t piece = 256;
  team.for_each((n + piece - 1) / piece, [&](std::size_t p, std::size_t) {
    for (std::size_t i = p * piece; i < std::min(n, (p + 1) * piece); ++i) {
      out[i] = sums[i];
      for (std::size_t part = 1; part < n_parts; ++part) {
        for (std::size_t k = 0; k < block_width; ++k) out[i].values[k] += sums[part * n + i].values[k];
      }
    }
  });
}

}  // namespace mercer
