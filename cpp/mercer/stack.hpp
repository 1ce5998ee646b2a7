// The kernel matrices of several kernels on the same samples, as lower halves, row by row: n (n + 1) / 2 numbers each.
// Some rows of a half lie side by side, so that a matrix that is not kept can be made again some rows at a time.
//
// Every number has its own order of summation: results depend neither on the threads nor on how rows are grouped.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "machines.hpp"
#include "parallel.hpp"
#include "products.hpp"
#include "row_loops.hpp"
#include "triangle.hpp"
#include "vectors.hpp"

namespace mercer {

// Some rows of a lower half.
struct HalfRows {
  std::size_t first, last;

  std::size_t begin(std::size_t row) const { return Triangle::start_of(row) - Triangle::start_of(first); }
  std::size_t size() const { return begin(last); }
};

// Kernels that are functions of one measure of the same vectors, each times its factor.
class Family {
 public:
  Family(std::vector<KernelSpec> kernels, std::vector<double> factors)
      : shared_(measure_of(kernels.front())), transforms_(std::move(kernels)), factors_(std::move(factors)) {
    if (!transforms_.front().needs_norms()) return;
    shared_ = transforms_.front();
    transforms_ = {measure_of(shared_)};
  }

  // The measure; a kernel that needs more than it is alone, and computed as such.
  const KernelSpec& shared() const { return shared_; }

  // use(k, values) with the values of kernel k, times its factor, for a tile of what is shared.
  template <class T, class Use>
  void values(const Level& level, const double* tile, Use use) const {
    T values[tile_rows * Vectors<double>::width];
    for (std::size_t k = 0; k < transforms_.size(); ++k) {
      if constexpr (sizeof(T) == sizeof(float)) {
        level.families.scaled_singles(transforms_[k], factors_[k], tile, values);
      } else {
        level.families.scaled_doubles(transforms_[k], factors_[k], tile, values);
      }
      use(k, values);
    }
  }

 private:
  static KernelSpec measure_of(KernelSpec spec) {
    spec.transform = Transform::identity;
    spec.p0 = 1.0;
    return spec;
  }

  KernelSpec shared_;
  std::vector<KernelSpec> transforms_;
  std::vector<double> factors_;
};

// out[k] = the rows of the lower half of kernel k.
template <class T>
void family_halves(const Family& family, const Level& level, const Samples& samples, HalfRows rows, Team& team,
                   T* const* out) {
  constexpr std::size_t strip = 512, group = 256;
  const KernelSpec& spec = family.shared();
  const std::size_t n_strips = (rows.last + strip - 1) / strip;
  std::vector<std::vector<TileScratch<double>>> scratch(team.size());
  for (auto& own : scratch) own.resize(1);
  team.for_each(n_strips, [&](std::size_t s, std::size_t worker) {
    const std::size_t begin = (n_strips - 1 - s) * strip;  // a team begins with the last tile: the longest strip
    const Vectors<double> columns(spec, level, samples, Triangle::range(begin, std::min(rows.last, begin + strip)),
                                  true);
    Team alone(1);
    RowBlock<double> block;
    for (std::size_t start = std::max(begin, rows.first); start < rows.last; start += group) {
      const Vectors<double> some(spec, level, samples, Triangle::range(start, std::min(rows.last, start + group)),
                                 false);
      some.gather(all_positions(some.size()).data(), some.size(), block);
      for_each_tile(
          block, columns, alone, scratch[worker],
          [&](std::size_t row, std::size_t n_rows, std::size_t column, std::size_t n_columns, const double* tile) {
            const std::size_t i = start + row, j = begin + column;
            if (j >= i + n_rows) return;
            family.values<T>(level, tile, [&](std::size_t k, const T* values) {
              for (std::size_t r = j > i ? j - i : 0; r < n_rows; ++r) {
                const std::size_t count = std::min(n_columns, i + r + 1 - j);
                std::copy_n(values + r * Vectors<double>::width, count, out[k] + rows.begin(i + r) + j);
              }
            });
          });
      team.poll(worker);
    }
  });
}

// out (m, n) += the sum of the kernels of some samples with all.
inline void add_family_rows(const Family& family, const Level& level, const Samples& samples,
                            std::vector<std::size_t> which, Team& team, double* out) {
  const KernelSpec& spec = family.shared();
  const Vectors<double> rows(spec, level, samples, std::move(which), false);
  const Vectors<double> columns(spec, level, samples, all_positions(samples.rows), false);
  std::vector<TileScratch<double>> scratch(team.size());
  for_each_group(rows, [&](std::size_t start, const RowBlock<double>& block) {
    for_each_tile(
        block, columns, team, scratch,
        [&](std::size_t row, std::size_t n_rows, std::size_t first, std::size_t n_columns, const double* tile) {
          family.values<double>(level, tile, [&](std::size_t, const double* values) {
            for (std::size_t r = 0; r < n_rows; ++r) {
              double* sum = out + (start + row + r) * samples.rows + first;
              for (std::size_t c = 0; c < n_columns; ++c) sum[c] += values[r * Vectors<double>::width + c];
            }
          });
        });
  });
}

// Rows of out (n, n), and their mirror images: the sum of halves times weights in their order, in double, with a ridge
// on the diagonal.
template <class T>
void combine_halves(const Level& level, const std::vector<const T*>& halves, const double* weights, HalfRows rows,
                    double ridge, std::size_t n, Team& team, T* out) {
  constexpr std::size_t tile = 16;
  // Columns that are summed up at a time, for all rows of a tile; the pad keeps these rows from one place in a cache.
  constexpr std::size_t stretch = 2048, stride = stretch + 8;
  std::vector<std::vector<double>> scratch(team.size());
  team.for_each((rows.last - rows.first + tile - 1) / tile, [&](std::size_t t, std::size_t worker) {
    std::vector<double>& sums = scratch[worker];
    const std::size_t begin = rows.first + t * tile, end = std::min(rows.last, begin + tile);
    for (std::size_t column = 0; column < end; column += stretch) {
      const std::size_t top = std::max(begin, column);  // rows above it end before this stretch
      sums.assign(tile * stride, 0.0);
      for (std::size_t k = 0; k < halves.size(); k += row_group) {
        double scales[row_group] = {};
        const T* at[row_group];
        std::copy_n(weights + k, std::min(row_group, halves.size() - k), scales);
        for (std::size_t i = top; i < end; ++i) {
          for (std::size_t g = 0; g < row_group; ++g) {
            at[g] = halves[std::min(k + g, halves.size() - 1)] + rows.begin(i) + column;
          }
          double* sum = sums.data() + (i - begin) * stride;
          const std::size_t size = std::min(stretch, i + 1 - column);
          add_rows(level, scales, at, size, sum);
        }
      }
      for (std::size_t i = top; i < end; ++i) {
        double* sum = sums.data() + (i - begin) * stride;
        if (i < column + stretch) sum[i - column] += ridge;
        for (std::size_t c = 0; c < std::min(stretch, i + 1 - column); ++c) out[i * n + column + c] = T(sum[c]);
      }
      for (std::size_t c = 0; c < std::min(stretch, end - column); ++c) {
        const std::size_t j = column + c;
        for (std::size_t i = std::max(begin, j); i < end; ++i) out[j * n + i] = T(sums[(i - begin) * stride + c]);
      }
    }
  });
}

// Some samples, in ascending order, whose values are picked out of rows of a half.
struct Picked {
  std::vector<std::size_t> samples;
  std::vector<std::size_t> before;  // samples in front of each one that lie side by side with it

  explicit Picked(std::vector<std::size_t> which) : samples(std::move(which)), before(samples.size(), 0) {
    for (std::size_t a = 1; a < samples.size(); ++a) {
      before[a] = samples[a] == samples[a - 1] + 1 ? before[a - 1] + 1 : 0;
    }
  }

  std::size_t size() const { return samples.size(); }

  // The values of samples up to a in the row of sample a, in `room` unless they lie side by side.
  template <class T>
  const T* values(const T* row, std::size_t a, T* room) const {
    if (samples[a] == a) return row;
    for (std::size_t b = a + 1, count; b > 0; b -= count) {
      count = before[b - 1] + 1;
      std::copy_n(row + samples[b - count], count, room + b - count);
    }
    return room;
  }
};

// out (halves, rows) = c_a sum_{b < a} c_b K_ab + c_a^2 K_aa / 2, summed over the machines c, for some rows a of the
// support; over all rows that is half of c'Kc. Position a is sample a of the support. The halves are `whole`, or the
// support is everything and they begin with the first of the rows.
template <class T>
void row_energies(const Level& level, const std::vector<const T*>& halves, const Picked& support,
                  const Machines& machines, HalfRows rows, bool whole, Team& team, double* out) {
  constexpr std::size_t tile = 4;
  const std::size_t m = support.size(), entries = machines.begin(machines.count);
  // The entries of every position, in the order of their machines.
  std::vector<std::size_t> starts(m + 1, 0), places(entries), owners(entries);
  for (std::size_t e = 0; e < entries; ++e) ++starts[static_cast<std::size_t>(machines.columns[e]) + 1];
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  std::vector<std::size_t> next(starts.begin(), starts.end() - 1);
  for (std::size_t machine = 0; machine < machines.count; ++machine) {
    for (std::size_t e = machines.begin(machine); e < machines.begin(machine + 1); ++e) {
      const std::size_t place = next[static_cast<std::size_t>(machines.columns[e])]++;
      places[place] = e;
      owners[place] = machine;
    }
  }
  const HalfRows stored{whole ? 0 : rows.first, rows.last};
  struct Scratch {
    std::vector<double> products;
    std::vector<T> values;
  };
  std::vector<Scratch> scratch(team.size());
  team.for_each((rows.last - rows.first + tile - 1) / tile, [&](std::size_t t, std::size_t worker) {
    Scratch& own = scratch[worker];
    const std::size_t begin = rows.first + t * tile, end = std::min(rows.last, begin + tile);
    own.products.assign(tile * m, 0.0);
    own.values.resize(m);
    for (std::size_t a = begin; a < end; ++a) {
      double* products = own.products.data() + (a - begin) * m;
      for (std::size_t p = starts[a]; p < starts[a + 1]; ++p) {
        const double value = machines.values[places[p]];
        for (std::size_t e = machines.begin(owners[p]); e <= places[p]; ++e) {
          products[machines.columns[e]] += value * machines.values[e];
        }
      }
      products[a] *= 0.5;
    }
    for (std::size_t k = 0; k < halves.size(); ++k) {
      for (std::size_t a = begin; a < end; ++a) {
        const T* values = support.values(halves[k] + stored.begin(support.samples[a]), a, own.values.data());
        const double* products = own.products.data() + (a - begin) * m;
        out[k * (rows.last - rows.first) + a - rows.first] = row_product(level, values, products, a + 1);
      }
    }
  });
}

// out (halves, m) += K c over some samples, with the values of some of their rows: those up to the diagonal serve both
// of their places. The halves are `whole`, or the samples are everything and they begin with the first of the rows,
// which is to be a multiple of `row_group` if sums are to be the same to the last bit.
template <class T>
void add_products(const Level& level, const std::vector<const T*>& halves, const Picked& samples, const double* c,
                  HalfRows rows, bool whole, Team& team, double* out) {
  const std::size_t m = samples.size();
  const HalfRows stored{whole ? 0 : rows.first, rows.last};
  std::vector<std::vector<T>> scratch(team.size());
  team.for_each(halves.size(), [&](std::size_t k, std::size_t worker) {
    std::vector<T>& room = scratch[worker];
    room.resize(row_group * m);
    double* sums = out + k * m;
    for (std::size_t begin = rows.first; begin < rows.last; begin += row_group) {
      const std::size_t end = std::min(rows.last, begin + row_group);
      double scales[row_group] = {};
      const T* values[row_group];
      for (std::size_t g = 0; g < row_group; ++g) {
        const std::size_t a = std::min(begin + g, end - 1);
        values[g] = samples.values(halves[k] + stored.begin(samples.samples[a]), a, room.data() + g * m);
        if (begin + g == a) scales[g] = c[a];
      }
      for (std::size_t a = begin; a < end; ++a) sums[a] += row_product(level, values[a - begin], c, a + 1);
      add_rows(level, scales, values, begin, sums);
      for (std::size_t a = begin; a < end; ++a) {
        for (std::size_t b = begin; b < a; ++b) sums[b] += c[a] * double(values[a - begin][b]);
      }
    }
    team.poll(worker);
  });
}

}  // namespace mercer
