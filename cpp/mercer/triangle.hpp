// The kernel values of all pairs of samples, each of them once, for many small problems that share them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "vectors.hpp"

namespace mercer {

// The lower half of a kernel matrix, row by row.
class Triangle {
 public:
  static double bytes(std::size_t n) { return 0.5 * double(n) * double(n + 1) * sizeof(double); }

  // Where a row begins.
  static std::size_t start_of(std::size_t row) { return row * (row + 1) / 2; }

  static std::vector<std::size_t> range(std::size_t begin, std::size_t end) {
    std::vector<std::size_t> numbers(end - begin);
    for (std::size_t k = begin; k < end; ++k) numbers[k - begin] = k;
    return numbers;
  }

  Triangle() = default;

  // Strips of columns in parallel, each from its own rows on.
  Triangle(const KernelSpec& spec, const Level& level, const Samples& samples, Team& team)
      : n_(samples.rows), values_(std::make_unique_for_overwrite<double[]>(start_of(n_))) {
    constexpr std::size_t strip = 512, row_group = 256;
    const std::size_t n_strips = (n_ + strip - 1) / strip;
    std::vector<std::vector<TileScratch<double>>> scratch(team.size());
    for (auto& own : scratch) own.resize(1);
    team.for_each(n_strips, [&](std::size_t k, std::size_t worker) {
      const std::size_t begin = (n_strips - 1 - k) * strip;  // a team begins with the last tile: the longest strip
      const Vectors<double> columns(spec, level, samples, range(begin, std::min(n_, begin + strip)), true);
      Team alone(1);
      RowBlock<double> block;
      for (std::size_t first = begin; first < n_; first += row_group) {
        const Vectors<double> rows(spec, level, samples, range(first, std::min(n_, first + row_group)), false);
        rows.gather(all_positions(rows.size()).data(), rows.size(), block);
        for_each_tile(
            block, columns, alone, scratch[worker],
            [&](std::size_t row, std::size_t n_rows, std::size_t column, std::size_t n_columns, const double* tile) {
              for (std::size_t r = 0; r < n_rows; ++r) {
                const std::size_t i = first + row + r, j = begin + column;
                if (j > i) continue;
                std::copy_n(tile + r * Vectors<double>::width, std::min(n_columns, i + 1 - j),
                            values_.get() + start_of(i) + j);
              }
            });
      }
    });
  }

  bool empty() const { return n_ == 0; }
  std::size_t size() const { return start_of(n_); }

  // out (m, m) = the kernel matrix of some samples, in ascending order.
  void gather(const std::vector<std::size_t>& samples, double* out) const {
    const std::size_t m = samples.size();
    for (std::size_t i = 0; i < m; ++i) {
      const double* row = values_.get() + start_of(samples[i]);
      for (std::size_t j = 0; j <= i; ++j) out[i * m + j] = out[j * m + i] = row[samples[j]];
    }
  }

 private:
  std::size_t n_ = 0;
  std::unique_ptr<double[]> values_;
};

}  // namespace mercer
