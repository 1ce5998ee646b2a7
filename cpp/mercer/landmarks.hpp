// A pass over the kernel values of many samples with few landmarks, K(x, z): each value is made once, goes forward to
// its sample and back to its landmark while it is in a near cache, and is stored nowhere.
//
// Sums over the samples are kept by groups of fixed rows: they do not depend on the threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "parallel.hpp"
#include "row_loops.hpp"
#include "rows.hpp"
#include "vectors.hpp"

namespace mercer {

// For k columns at a time: values (n, k) = K(x, z) v with v (k, m), and sums (k, m) = K(x, z)' (scale * values + shift)
// with scale (n) and shift (n, k), which may be missing.
struct LandmarkPass {
  std::size_t k;
  const double* v;
  const double* scale;
  const double* shift;
  double* values;
  double* sums;
};

// In tiles of precision T, summed in double.
template <class T>
void landmark_pass(const KernelSpec& spec, const Level& level, const Samples& x, const Samples& z, Team& team,
                   const LandmarkPass& pass) {
  constexpr std::size_t strip = 32;        // rows whose values with all landmarks are held
  constexpr std::size_t most_groups = 64;  // of rows, each with sums of its own
  const std::size_t n = x.rows, m = z.rows, k = pass.k;
  const std::size_t strips = (n + strip - 1) / strip, n_groups = std::min(strips, most_groups);
  const Vectors<T> rows(spec, level, x, all_positions(n), false);
  const Vectors<T> columns(spec, level, z, all_positions(m), true);
  const std::vector<std::size_t> positions = all_positions(n);
  std::vector<double> sums(n_groups * k * m, 0.0);
  struct Room {
    RowBlock<T> block;
    std::vector<TileScratch<T>> tiles = std::vector<TileScratch<T>>(1);
    std::vector<T> values;
  };
  std::vector<Room> rooms(team.size());
  team.for_each(n_groups, [&](std::size_t g, std::size_t worker) {
    Room& own = rooms[worker];
    own.values.resize(strip * m);
    Team alone(1);
    for (std::size_t s = strips * g / n_groups; s < strips * (g + 1) / n_groups; ++s) {
      const std::size_t start = s * strip, size = std::min(strip, n - start);
      rows.gather(positions.data() + start, size, own.block);
      for_each_tile(own.block, columns, alone, own.tiles,
                    [&](std::size_t row, std::size_t n_rows, std::size_t first, std::size_t n_columns, const T* tile) {
                      for (std::size_t r = 0; r < n_rows; ++r) {
                        std::copy_n(tile + r * Vectors<T>::width, n_columns, own.values.data() + (row + r) * m + first);
                      }
                    });
      for (std::size_t row = 0; row < size; row += row_group) {
        const std::size_t count = std::min(row_group, size - row), i = start + row;
        const T* at[row_group];
        for (std::size_t r = 0; r < row_group; ++r) at[r] = own.values.data() + (row + std::min(r, count - 1)) * m;
        for (std::size_t column = 0; column < k; ++column) {
          double products[row_group], back[row_group] = {};
          row_products(level, at, pass.v + column * m, m, products);
          for (std::size_t r = 0; r < count; ++r) {
            const std::size_t place = (i + r) * k + column;
            pass.values[place] = products[r];
            back[r] = pass.scale == nullptr ? products[r] : pass.scale[i + r] * products[r];
            if (pass.shift != nullptr) back[r] += pass.shift[place];
          }
          add_rows(level, back, at, m, sums.data() + (g * k + column) * m);
        }
      }
      team.poll(worker);
    }
  });
  std::fill_n(pass.sums, k * m, 0.0);
  for (std::size_t g = 0; g < n_groups; ++g) {
    for (std::size_t c = 0; c < k * m; ++c) pass.sums[c] += sums[g * k * m + c];
  }
}

}  // namespace mercer
