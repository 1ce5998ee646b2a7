// Kernel values between vectors, a tile of four rows and one panel of columns at a time.
//
// k(x, y) depends on the two vectors alone: features are summed in their order, whatever the tile, thread or
// budget.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels.hpp"
#include "level.hpp"
#include "matrix.hpp"
#include "parallel.hpp"

namespace mercer {

// One feature pair of a measure; the scalar twin of the vector code, used for sparse rows.
inline double feature_term(Measure measure, double x, double y) {
  switch (measure) {
    case Measure::dot:
      return x * y;
    case Measure::l2:
      return (x - y) * (x - y);
    case Measure::l1:
      return std::abs(x - y);
    case Measure::min:
      return x < y ? x : y;
    case Measure::chi2:
      return x + y > 0 ? (x - y) * (x - y) / (x + y) : 0.0;
    case Measure::match:
      return x == y ? 1.0 : 0.0;
  }
  return 0.0;
}

// What a feature adds beyond a pair of zeros, which sparse rows do not store: [0 = 0] counts one match.
inline double beyond_zeros(Measure measure, double x, double y) {
  return feature_term(measure, x, y) - feature_term(measure, 0.0, 0.0);
}

// Rows made ready for tiles: dense rows centred, weighted and rounded to T; sparse rows by reference.
template <class T>
struct RowBlock {
  Samples samples;
  std::vector<std::size_t> ids;
  std::vector<T> values;  // dense: (size, features); padded to a multiple of tile_rows
  std::vector<T> norms;   // squared norms, where the kernel needs them
  std::size_t size() const { return ids.size(); }
};

// Memory of one worker.
template <class T>
struct TileScratch {
  std::vector<T> panel, norms;
  std::vector<double> spread;      // sparse: `spread_rows` rows over the features of the columns
  std::vector<double> entries;     // of one of them
  double alone[spread_rows] = {};  // t(x, 0) of these rows
  std::vector<T> block;            // values of a block of rows against some columns
};

// The columns: `n` vectors of `samples`, those numbered by `ids` (or all of them), seen through a kernel.
template <class T>
class Vectors {
 public:
  static constexpr std::size_t width = panel_width<T>;

  // `packed` keeps all panels in memory (as much as one copy of the data in T); otherwise each is made when
  // used.
  Vectors(const KernelSpec& spec, const Level& level, const Samples& samples, std::vector<std::size_t> ids, bool packed)
      : spec_(spec), loops_(level.loops<T>()), in_double_(level.full), samples_(samples), ids_(std::move(ids)) {
    if (samples_.sparse) pack_sparse();
    if (packed && !samples_.sparse) {
      panels_.resize(n_panels() * width * samples_.features);
      if (spec_.needs_norms()) norms_.resize(n_panels() * width);
      for (std::size_t p = 0; p < n_panels(); ++p) {
        pack(p, panels_.data() + p * width * samples_.features,
             spec_.needs_norms() ? norms_.data() + p * width : nullptr);
      }
    }
  }

  std::size_t size() const { return ids_.size(); }
  std::size_t features() const { return samples_.features; }
  std::size_t n_panels() const { return (size() + width - 1) / width; }
  std::size_t columns_in(std::size_t panel) const { return std::min(width, size() - panel * width); }

  // Ready the vectors at `positions` (in ids) as rows.
  void gather(const std::size_t* positions, std::size_t n, RowBlock<T>& block) const {
    block.samples = samples_;
    block.ids.resize(n);
    for (std::size_t r = 0; r < n; ++r) block.ids[r] = ids_[positions[r]];
    const std::size_t padded = (n + tile_rows - 1) / tile_rows * tile_rows;
    if (spec_.needs_norms()) {
      block.norms.assign(padded, T(0));
      for (std::size_t r = 0; r < n; ++r) block.norms[r] = T(squared_norm(block.ids[r]));
    }
    if (samples_.sparse) return;
    block.values.assign(padded * samples_.features, T(0));
    for (std::size_t r = 0; r < n; ++r) dense_row(block.ids[r], block.values.data() + r * samples_.features, 1);
  }

  bool sparse() const { return samples_.sparse; }

  // tile[r * width + c] = k(row first + r, column c of the panel), r < tile_rows; rows past the block are undefined.
  void dense_tile(const RowBlock<T>& block, std::size_t first, std::size_t panel, const TileScratch<T>& scratch,
                  T* tile) const {
    const DenseTile at(*this, block, first, panel, scratch);
    loops_.dense_tile(spec_, at.rows, at.row_norms, at.columns, at.norms, samples_.features, tile);
  }

  // sum[c] += sum_r coefficients[r] k(row first + r, column c of the panel), r < tile_rows: the tile is used up at
  // once.
  void add_dense_tile(const RowBlock<T>& block, std::size_t first, std::size_t panel, const TileScratch<T>& scratch,
                      const double* coefficients, double* sum) const {
    const DenseTile at(*this, block, first, panel, scratch);
    loops_.add_dense_tile(spec_, coefficients, at.rows, at.row_norms, at.columns, at.norms, samples_.features,
                          columns_in(panel), sum);
  }

  // The same for a packed panel, padded `weights` and `sum`, and for the transpose (see Loops).
  void add_dense_tile_both_ways(const RowBlock<T>& block, std::size_t first, std::size_t panel,
                                const TileScratch<T>& scratch, const double* coefficients, const double* weights,
                                double* sum, double* row_sums) const {
    const DenseTile at(*this, block, first, panel, scratch);
    loops_.add_dense_tile_both_ways(spec_, coefficients, at.rows, at.row_norms, at.columns, at.norms, samples_.features,
                                    weights, sum, row_sums);
  }

  // Call before the dense tiles of a panel.
  void open_panel(std::size_t panel, TileScratch<T>& scratch) const {
    if (!panels_.empty()) return;
    scratch.panel.resize(width * samples_.features);
    scratch.norms.resize(width);
    pack(panel, scratch.panel.data(), spec_.needs_norms() ? scratch.norms.data() : nullptr);
  }

  // Spread sparse rows first, first + 1, ... over the features of the columns; call `gather_up` when their tiles are
  // done.
  void spread(const RowBlock<T>& block, std::size_t first, TileScratch<T>& scratch) const {
    scratch.spread.resize((renumbered_ ? known_.size() : samples_.features) * spread_rows, 0.0);
    for (std::size_t r = 0; r < spread_rows; ++r) {
      scratch.entries.clear();
      if (first + r < block.size()) {
        for_each_entry(block.samples, block.ids[first + r], [&](std::size_t feature, double x) {
          if (const std::size_t place = place_of(feature); place != nowhere) {
            scratch.spread[place * spread_rows + r] = x;
          }
          scratch.entries.push_back(x);
        });
      }
      scratch.alone[r] = alone(scratch.entries.data(), scratch.entries.size());
    }
  }

  void gather_up(const RowBlock<T>& block, std::size_t first, TileScratch<T>& scratch) const {
    for (std::size_t r = 0; r < spread_rows && first + r < block.size(); ++r) {
      for_each_entry(block.samples, block.ids[first + r], [&](std::size_t feature, double) {
        if (const std::size_t place = place_of(feature); place != nowhere) {
          scratch.spread[place * spread_rows + r] = 0.0;
        }
      });
    }
  }

  // tile[r * width + c] = k(row first + r, column c of the panel), r < spread_rows, for rows that are spread.
  //
  // t(x, y) = t(x, 0) + t(0, y) + sum over y's entries of [t(x_f, y_f) - (t(x_f, 0) + t(0, y_f))]: the bracket is
  // exactly zero where x has no entry, so the sum is symmetric in x and y to the last bit. In double, whatever T is.
  void sparse_tile(const RowBlock<T>& block, std::size_t first, std::size_t panel, TileScratch<T>& scratch,
                   T* tile) const {
    const std::size_t n = columns_in(panel), begin = panel * width;
    if (spec_.measure == Measure::dot || spec_.measure == Measure::l2) {
      const SparseColumns columns{entry_features_.data(), entry_values_.data(), starts_.data() + begin,
                                  spec_.measure == Measure::l2 ? alone_.data() + begin : nullptr};
      loops_.sparse_tile(columns, scratch.spread.data(), scratch.alone, n, tile);
    } else {
      std::fill_n(tile, spread_rows * width, T(0));
      for (std::size_t r = 0; r < spread_rows; ++r) {
        for (std::size_t c = 0; c < n; ++c) tile[r * width + c] = T(sparse_measure(scratch, r, begin + c));
      }
    }
    for (std::size_t r = 0; r < spread_rows && first + r < block.size(); ++r) {
      loops_.transform(spec_, block.norms.empty() ? T(0) : block.norms[first + r],
                       norms_.empty() ? nullptr : norms_.data() + begin, tile + r * width);
    }
  }

  // k(x, x), without tiles: most measures of a vector with itself are known.
  std::vector<T> diagonal() const {
    std::vector<T> diagonal(size());
    T values[width];
    for (std::size_t first = 0; first < size(); first += width) {
      const std::size_t n = std::min(width, size() - first);
      for (std::size_t c = 0; c < width; ++c) values[c] = c < n ? T(measure_with_itself(ids_[first + c])) : T(0);
      if (spec_.transform == Transform::cosine) {
        for (std::size_t c = 0; c < n; ++c) values[c] = values[c] > T(0) ? T(1) : T(0);
      } else if (spec_.transform == Transform::tanimoto) {
        for (std::size_t c = 0; c < n; ++c) values[c] = T(1);
      } else {
        loops_.transform(spec_, T(0), nullptr, values);
      }
      std::copy_n(values, n, diagonal.data() + first);
    }
    return diagonal;
  }

  const Loops<T>& loops() const { return loops_; }

 private:
  // Where the parts of a dense tile lie.
  struct DenseTile {
    const T *rows[tile_rows], *row_norms, *columns, *norms;

    DenseTile(const Vectors& vectors, const RowBlock<T>& block, std::size_t first, std::size_t panel,
              const TileScratch<T>& scratch) {
      const std::size_t d = vectors.samples_.features;
      for (std::size_t r = 0; r < tile_rows; ++r) rows[r] = block.values.data() + (first + r) * d;
      row_norms = block.norms.empty() ? nullptr : block.norms.data() + first;
      const bool packed = !vectors.panels_.empty();
      columns = packed ? vectors.panels_.data() + panel * width * d : scratch.panel.data();
      norms =
          !packed ? scratch.norms.data() : (vectors.norms_.empty() ? nullptr : vectors.norms_.data() + panel * width);
    }
  };

  // One vector, centred and weighted, written with a stride.
  void dense_row(std::size_t id, T* out, std::size_t stride) const {
    const std::size_t d = samples_.features;
    for (std::size_t f = 0; f < d; ++f) {
      double x = samples_.value(id * d + f);
      if (spec_.centre) x -= spec_.centre[f];
      if (spec_.weights) x *= spec_.weights[f];
      out[f * stride] = T(x);
    }
  }

  // |x|^2, rounded like the product of x and x in a tile: what is divided by it is exactly 1 for a vector with itself.
  double squared_norm(std::size_t id) const {
    if (samples_.sparse) {
      std::vector<double> entries;
      for_each_entry(samples_, id, [&](std::size_t, double x) { entries.push_back(x); });
      return in_double_.dot(entries.data(), entries.data(), 1, entries.size());
    }
    std::vector<T> row(samples_.features);
    for (std::size_t f = 0; f < row.size(); ++f) {
      const double x = samples_.value(id * row.size() + f);
      row[f] = T(spec_.weights ? x * spec_.weights[f] : x);
    }
    return double(loops_.square(row.data(), row.size()));
  }

  double measure_with_itself(std::size_t id) const {
    switch (spec_.measure) {
      case Measure::dot:
        return squared_norm(id);
      case Measure::match:
        return double(samples_.features);
      case Measure::min: {
        const std::size_t d = samples_.features;
        if (samples_.sparse) {
          double sum = 0.0;
          for_each_entry(samples_, id, [&](std::size_t, double x) { sum += x; });
          return sum;
        }
        T sum = 0;
        for (std::size_t f = 0; f < d; ++f) {
          sum += T(samples_.value(id * d + f) * (spec_.weights ? spec_.weights[f] : 1.0));
        }
        return double(sum);
      }
      default:
        return 0.0;
    }
  }

  void pack(std::size_t panel, T* out, T* norms) const {
    const std::size_t n = columns_in(panel);
    if (n < width) std::memset(out, 0, width * samples_.features * sizeof(T));
    for (std::size_t c = 0; c < n; ++c) dense_row(ids_[panel * width + c], out + c, width);
    if (norms == nullptr) return;
    for (std::size_t c = 0; c < width; ++c) norms[c] = c < n ? T(squared_norm(ids_[panel * width + c])) : T(0);
  }

  // use(feature, weighted value) for the entries of a sparse row.
  template <class Use>
  void for_each_entry(const Samples& samples, std::size_t id, Use use) const {
    for (std::int64_t e = samples.starts[id]; e < samples.starts[id + 1]; ++e) {
      const std::size_t feature = static_cast<std::size_t>(samples.columns[e]);
      const double x = samples.value(static_cast<std::size_t>(e));
      use(feature, spec_.weights ? x * spec_.weights[feature] : x);
    }
  }

  // t(x, 0) beyond zeros, from the entries of x. A squared norm is rounded like the products of a tile, so that the
  // distance of a vector from itself is exactly zero.
  double alone(const double* entries, std::size_t n) const {
    if (spec_.measure == Measure::l2) return in_double_.dot(entries, entries, 1, n);
    double sum = 0.0;
    for (std::size_t e = 0; e < n; ++e) sum += beyond_zeros(spec_.measure, entries[e], 0.0);
    return sum;
  }

  // The entries of all columns, one column after the other, with what each has beyond zeros.
  void pack_sparse() {
    starts_.push_back(0);
    for (const std::size_t id : ids_) {
      const std::size_t begin = entry_values_.size();
      for_each_entry(samples_, id, [&](std::size_t feature, double y) {
        entry_features_.push_back(static_cast<std::int32_t>(feature));
        entry_values_.push_back(y);
      });
      starts_.push_back(static_cast<std::int64_t>(entry_values_.size()));
      alone_.push_back(alone(entry_values_.data() + begin, entry_values_.size() - begin));
    }
    if (spec_.needs_norms()) {
      norms_.resize(n_panels() * width);
      for (std::size_t c = 0; c < size(); ++c) norms_[c] = T(squared_norm(ids_[c]));
    }
    // Hashed words have millions of numbers, most of them in no column: rows that are spread need room for the others.
    renumbered_ = samples_.features / 4 > entry_features_.size();
    if (!renumbered_) return;
    known_ = entry_features_;
    std::sort(known_.begin(), known_.end());
    known_.erase(std::unique(known_.begin(), known_.end()), known_.end());
    for (std::int32_t& feature : entry_features_) {
      feature = static_cast<std::int32_t>(place_of(static_cast<std::size_t>(feature)));
    }
  }

  // Where a feature of a row is spread: `nowhere` if no column has it.
  std::size_t place_of(std::size_t feature) const {
    if (!renumbered_) return feature;
    const auto found = std::lower_bound(known_.begin(), known_.end(), static_cast<std::int32_t>(feature));
    if (found == known_.end() || static_cast<std::size_t>(*found) != feature) return nowhere;
    return static_cast<std::size_t>(found - known_.begin());
  }

  double sparse_measure(const TileScratch<T>& scratch, std::size_t r, std::size_t column) const {
    double sum = 0.0;
    for (std::int64_t e = starts_[column]; e < starts_[column + 1]; ++e) {
      const double x = scratch.spread[static_cast<std::size_t>(entry_features_[e]) * spread_rows + r];
      const double y = entry_values_[e];
      sum += beyond_zeros(spec_.measure, x, y) -
             (beyond_zeros(spec_.measure, x, 0.0) + beyond_zeros(spec_.measure, 0.0, y));
    }
    return scratch.alone[r] + alone_[column] + sum + double(samples_.features) * feature_term(spec_.measure, 0.0, 0.0);
  }

  KernelSpec spec_;
  const Loops<T>& loops_;
  const Loops<double>& in_double_;
  Samples samples_;
  std::vector<std::size_t> ids_;
  std::vector<T> panels_, norms_;
  static constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();
  // Sparse columns: entries, where each column's begin, and t(0, y) of every column. Where most features are in no
  // column, `known_` has the others, in their order, and entries have their places in it.
  bool renumbered_ = false;
  std::vector<std::int32_t> known_;
  std::vector<std::int32_t> entry_features_;
  std::vector<double> entry_values_, alone_;
  std::vector<std::int64_t> starts_;
};

// Below this many products, features and some for the transform, a second thread costs more than it brings.
inline constexpr std::size_t small_work = 1 << 17;

// work(first panel, last panel, scratch) for runs of panels from `begin` on, in parallel where the block is large
// enough to be worth it. Spreading sparse rows pays off over many columns: `sparse_columns` of them make a run.
template <class T, class Work>
void for_each_run(const RowBlock<T>& block, const Vectors<T>& columns, Team& team, std::vector<TileScratch<T>>& scratch,
                  Work work, std::size_t sparse_columns = 1024, std::size_t begin = 0) {
  const std::size_t run = columns.sparse() ? sparse_columns / Vectors<T>::width : 1;
  const std::size_t n_panels = columns.n_panels() - begin, n_runs = (n_panels + run - 1) / run;
  const auto one_run = [&](std::size_t k, std::size_t worker) {
    work(begin + k * run, begin + std::min(n_panels, (k + 1) * run), scratch[worker]);
  };
  if (block.size() * n_panels * Vectors<T>::width * (columns.features() + 16) < small_work) {
    for (std::size_t k = 0; k < n_runs; ++k) one_run(k, 0);
  } else {
    team.for_each(n_runs, one_run);
  }
}

// use(row, n_rows, column, n_columns, tile) for all tiles of the block against the columns; for a column, rows in
// order.
template <class T, class Use>
void for_each_tile(const RowBlock<T>& block, const Vectors<T>& columns, Team& team,
                   std::vector<TileScratch<T>>& scratch, Use use) {
  constexpr std::size_t width = Vectors<T>::width;
  for_each_run(block, columns, team, scratch, [&](std::size_t first, std::size_t last, TileScratch<T>& own) {
    const auto use_rows = [&](std::size_t row, std::size_t panel, const T* tile) {
      use(row, std::min(tile_rows, block.size() - row), panel * width, columns.columns_in(panel), tile);
    };
    if (columns.sparse()) {
      T tile[spread_rows * width] = {};
      for (std::size_t row = 0; row < block.size(); row += spread_rows) {
        columns.spread(block, row, own);
        for (std::size_t panel = first; panel < last; ++panel) {
          columns.sparse_tile(block, row, panel, own, tile);
          for (std::size_t r = 0; r < spread_rows && row + r < block.size(); r += tile_rows) {
            use_rows(row + r, panel, tile + r * width);
          }
        }
        columns.gather_up(block, row, own);
      }
      return;
    }
    T tile[tile_rows * width];
    for (std::size_t panel = first; panel < last; ++panel) {
      columns.open_panel(panel, own);
      for (std::size_t row = 0; row < block.size(); row += tile_rows) {
        columns.dense_tile(block, row, panel, own, tile);
        use_rows(row, panel, tile);
      }
    }
  });
}

// Coefficients of several sums for a group of rows: k times `stride` numbers, with room for a whole last tile and zeros
// there.
struct Weights {
  const double* values;
  std::size_t n_sums, stride;

  // Those of four rows for one sum, or null if they are all zero.
  const double* of_tile(std::size_t sum, std::size_t row) const {
    const double* four = values + sum * stride + row;
    return std::all_of(four, four + tile_rows, [](double w) { return w == 0.0; }) ? nullptr : four;
  }
};

// sums[k * columns.size() + c] += sum_i weights_ki k(row i, column c): every kernel value is made once.
template <class T>
void add_weighted(const RowBlock<T>& block, const Vectors<T>& columns, Team& team, std::vector<TileScratch<T>>& scratch,
                  const Weights& weights, double* sums) {
  for_each_tile(block, columns, team, scratch,
                [&](std::size_t row, std::size_t, std::size_t first, std::size_t n_columns, const T* tile) {
                  const T* rows[tile_rows];
                  for (std::size_t r = 0; r < tile_rows; ++r) rows[r] = tile + r * Vectors<T>::width;
                  for (std::size_t k = 0; k < weights.n_sums; ++k) {
                    const double* four = weights.of_tile(k, row);
                    if (four == nullptr) continue;
                    columns.loops().accumulate(four, rows, n_columns, sums + k * columns.size() + first);
                  }
                });
}

// use(first column, n_columns, values, stride) for stretches of columns from panel `begin` on, `values` being those of
// all rows of the block.
template <class T, class Use>
void for_each_stretch(const RowBlock<T>& block, const Vectors<T>& columns, Team& team,
                      std::vector<TileScratch<T>>& scratch, Use use, std::size_t begin = 0) {
  constexpr std::size_t width = Vectors<T>::width;
  constexpr std::size_t sparse_columns = 256;  // all rows of the block are held for as many
  const std::size_t padded = (block.size() + spread_rows - 1) / spread_rows * spread_rows;
  const auto work = [&](std::size_t first, std::size_t last, TileScratch<T>& own) {
    if (columns.sparse()) {
      const std::size_t stride = (last - first) * width;
      own.block.resize(padded * stride);
      T tile[spread_rows * width] = {};
      for (std::size_t row = 0; row < block.size(); row += spread_rows) {
        columns.spread(block, row, own);
        for (std::size_t panel = first; panel < last; ++panel) {
          columns.sparse_tile(block, row, panel, own, tile);
          T* out = own.block.data() + row * stride + (panel - first) * width;
          for (std::size_t r = 0; r < spread_rows; ++r) std::copy_n(tile + r * width, width, out + r * stride);
        }
        columns.gather_up(block, row, own);
      }
      use(first * width, std::min(columns.size(), last * width) - first * width, own.block.data(), stride);
      return;
    }
    own.block.resize(padded * width);
    for (std::size_t panel = first; panel < last; ++panel) {
      columns.open_panel(panel, own);
      for (std::size_t row = 0; row < block.size(); row += tile_rows) {
        columns.dense_tile(block, row, panel, own, own.block.data() + row * width);
      }
      use(panel * width, columns.columns_in(panel), own.block.data(), width);
    }
  };
  for_each_run(block, columns, team, scratch, work, sparse_columns, begin);
}

// sum[c] += sum_i coefficients_i k(row i, column c); `coefficients` has room for a whole last tile, zeros there.
template <class T>
void add_weighted(const RowBlock<T>& block, const Vectors<T>& columns, Team& team, std::vector<TileScratch<T>>& scratch,
                  const double* coefficients, double* sum) {
  constexpr std::size_t width = Vectors<T>::width;
  if (columns.sparse()) {
    for_each_tile(block, columns, team, scratch,
                  [&](std::size_t row, std::size_t, std::size_t column, std::size_t n_columns, const T* tile) {
                    const T* rows[tile_rows];
                    for (std::size_t r = 0; r < tile_rows; ++r) rows[r] = tile + r * width;
                    columns.loops().accumulate(coefficients + row, rows, n_columns, sum + column);
                  });
    return;
  }
  for_each_run(block, columns, team, scratch, [&](std::size_t first, std::size_t last, TileScratch<T>& own) {
    for (std::size_t panel = first; panel < last; ++panel) {
      columns.open_panel(panel, own);
      for (std::size_t row = 0; row < block.size(); row += tile_rows) {
        columns.add_dense_tile(block, row, panel, own, coefficients + row, sum + panel * width);
      }
    }
  });
}

}  // namespace mercer
