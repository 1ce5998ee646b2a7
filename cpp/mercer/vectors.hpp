// Kernel values between vectors, a tile of four rows and one panel of columns at a time.
//
// k(x, y) depends on the two vectors alone: features are summed in their order, whatever the tile, thread or
// budget.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
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
  std::vector<double> scattered;  // a sparse row spread over all features
};

// The columns: `n` vectors of `samples`, those numbered by `ids` (or all of them), seen through a kernel.
template <class T>
class Vectors {
 public:
  static constexpr std::size_t width = panel_width<T>;

  // `packed` keeps all panels in memory (as much as one copy of the data in T); otherwise each is made when
  // used.
  Vectors(const KernelSpec& spec, const Level& level, const Samples& samples, std::vector<std::size_t> ids, bool packed)
      : spec_(spec), loops_(level.loops<T>()), samples_(samples), ids_(std::move(ids)) {
    if (samples_.sparse) prepare_sparse();
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

  // tile[r * width + c] = k(row first + r, column c of the panel); rows past the block are undefined.
  void tile(const RowBlock<T>& block, std::size_t first, std::size_t panel, TileScratch<T>& scratch, T* tile) const {
    if (samples_.sparse) {
      sparse_tile(block, first, panel, scratch, tile);
      return;
    }
    const DenseTile at(*this, block, first, panel, scratch);
    loops_.dense_tile(spec_, at.rows, at.row_norms, at.columns, at.norms, samples_.features, tile);
  }

  // sum[c] += sum_r coefficients[r] k(row first + r, column c of the panel), r < tile_rows: the tile is used up at once.
  void add_tile(const RowBlock<T>& block, std::size_t first, std::size_t panel, TileScratch<T>& scratch,
                const double* coefficients, double* sum) const {
    if (samples_.sparse) {
      T values[tile_rows * width] = {};
      sparse_tile(block, first, panel, scratch, values);
      const T* rows[tile_rows];
      for (std::size_t r = 0; r < tile_rows; ++r) rows[r] = values + r * width;
      loops_.accumulate(coefficients, rows, columns_in(panel), sum);
      return;
    }
    const DenseTile at(*this, block, first, panel, scratch);
    loops_.add_dense_tile(spec_, coefficients, at.rows, at.row_norms, at.columns, at.norms, samples_.features,
                          columns_in(panel), sum);
  }

  // Call before the tiles of a panel.
  void open_panel(std::size_t panel, TileScratch<T>& scratch) const {
    if (samples_.sparse) {
      scratch.scattered.resize(samples_.features, 0.0);
      return;
    }
    if (!panels_.empty()) return;
    scratch.panel.resize(width * samples_.features);
    scratch.norms.resize(width);
    pack(panel, scratch.panel.data(), spec_.needs_norms() ? scratch.norms.data() : nullptr);
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
      norms = !packed ? scratch.norms.data()
                      : (vectors.norms_.empty() ? nullptr : vectors.norms_.data() + panel * width);
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

  double squared_norm(std::size_t id) const {
    double sum = 0.0;
    if (samples_.sparse) {
      for (std::int64_t e = samples_.starts[id]; e < samples_.starts[id + 1]; ++e) {
        const double x = sparse_value(e);
        sum += x * x;
      }
    } else {
      for (std::size_t f = 0; f < samples_.features; ++f) {
        double x = samples_.value(id * samples_.features + f);
        if (spec_.weights) x *= spec_.weights[f];
        sum += double(T(x)) * double(T(x));
      }
    }
    return sum;
  }

  double measure_with_itself(std::size_t id) const {
    switch (spec_.measure) {
      case Measure::dot:
        return squared_norm(id);
      case Measure::match:
        return double(samples_.features);
      case Measure::min: {
        double sum = 0.0;
        const std::size_t d = samples_.features;
        if (samples_.sparse) {
          for (std::int64_t e = samples_.starts[id]; e < samples_.starts[id + 1]; ++e) sum += sparse_value(e);
        } else {
          for (std::size_t f = 0; f < d; ++f) {
            sum += samples_.value(id * d + f) * (spec_.weights ? spec_.weights[f] : 1.0);
          }
        }
        return sum;
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

  double sparse_value(std::int64_t entry) const {
    const double x = samples_.value(static_cast<std::size_t>(entry));
    return spec_.weights ? x * spec_.weights[samples_.columns[entry]] : x;
  }

  // t(x, 0) and t(0, y), feature by feature: what is left of the measure where only one of the two has an
  // entry.
  double alone(std::size_t id) const {
    double sum = 0.0;
    for (std::int64_t e = samples_.starts[id]; e < samples_.starts[id + 1]; ++e) {
      sum += beyond_zeros(spec_.measure, sparse_value(e), 0.0);
    }
    return sum;
  }

  void prepare_sparse() {
    if (spec_.measure != Measure::dot) {
      alone_.resize(size());
      for (std::size_t c = 0; c < size(); ++c) alone_[c] = alone(ids_[c]);
    }
    if (spec_.needs_norms()) {
      norms_.resize(n_panels() * width);
      for (std::size_t c = 0; c < size(); ++c) norms_[c] = T(squared_norm(ids_[c]));
    }
  }

  // t(x, y) = t(x, 0) + t(0, y) + sum over y's entries of [t(x_f, y_f) - (t(x_f, 0) + t(0, y_f))]: the bracket
  // is exactly zero where x has no entry, so the sum is symmetric in x and y to the last bit. In double,
  // whatever T is.
  void sparse_tile(const RowBlock<T>& block, std::size_t first, std::size_t panel, TileScratch<T>& scratch,
                   T* tile) const {
    const Samples& from = block.samples;
    double* x = scratch.scattered.data();
    const std::size_t n = columns_in(panel);
    for (std::size_t r = 0; r < tile_rows && first + r < block.size(); ++r) {
      const std::size_t row = block.ids[first + r];
      double row_alone = 0.0;
      for (std::int64_t e = from.starts[row]; e < from.starts[row + 1]; ++e) {
        const std::size_t f = static_cast<std::size_t>(from.columns[e]);
        x[f] = from.value(static_cast<std::size_t>(e));
        if (spec_.weights) x[f] *= spec_.weights[f];
        row_alone += beyond_zeros(spec_.measure, x[f], 0.0);
      }
      T* out = tile + r * width;
      for (std::size_t c = 0; c < n; ++c) out[c] = T(sparse_measure(x, row_alone, panel * width + c));
      for (std::size_t c = n; c < width; ++c) out[c] = T(0);
      loops_.transform(spec_, block.norms.empty() ? T(0) : block.norms[first + r],
                       norms_.empty() ? nullptr : norms_.data() + panel * width, out);
      for (std::int64_t e = from.starts[row]; e < from.starts[row + 1]; ++e) {
        x[from.columns[e]] = 0.0;
      }
    }
  }

  double sparse_measure(const double* x, double row_alone, std::size_t column) const {
    const std::size_t id = ids_[column];
    const std::int64_t begin = samples_.starts[id], end = samples_.starts[id + 1];
    double sum = 0.0;
    switch (spec_.measure) {
      case Measure::dot:
      case Measure::l2:
        for (std::int64_t e = begin; e < end; ++e) sum += x[samples_.columns[e]] * sparse_value(e);
        if (spec_.measure == Measure::dot) return sum;
        return std::max(0.0, row_alone + alone_[column] - 2.0 * sum);
      default:
        for (std::int64_t e = begin; e < end; ++e) {
          const double xf = x[samples_.columns[e]], y = sparse_value(e);
          sum += beyond_zeros(spec_.measure, xf, y) -
                 (beyond_zeros(spec_.measure, xf, 0.0) + beyond_zeros(spec_.measure, 0.0, y));
        }
        return row_alone + alone_[column] + sum + double(samples_.features) * feature_term(spec_.measure, 0.0, 0.0);
    }
  }

  KernelSpec spec_;
  const Loops<T>& loops_;
  Samples samples_;
  std::vector<std::size_t> ids_;
  std::vector<T> panels_, norms_;
  std::vector<double> alone_;  // sparse: t(0, y) of every column
};

// work(panel, worker) for all panels of the columns, in parallel where the block is large enough to be worth it.
template <class T, class Work>
void for_each_panel(const RowBlock<T>& block, const Vectors<T>& columns, Team& team,
                    std::vector<TileScratch<T>>& scratch, Work work) {
  const auto one_panel = [&](std::size_t panel, std::size_t worker) {
    columns.open_panel(panel, scratch[worker]);
    work(panel, scratch[worker]);
  };
  // Below this a second thread costs more than it brings.
  constexpr std::size_t small = 1 << 17;
  if (block.size() * columns.size() * (columns.features() + 16) < small) {
    for (std::size_t panel = 0; panel < columns.n_panels(); ++panel) one_panel(panel, 0);
  } else {
    team.for_each(columns.n_panels(), one_panel);
  }
}

// use(row, n_rows, column, n_columns, tile) for all tiles of the block against the columns; within a panel, rows in
// order.
template <class T, class Use>
void for_each_tile(const RowBlock<T>& block, const Vectors<T>& columns, Team& team,
                   std::vector<TileScratch<T>>& scratch, Use use) {
  for_each_panel(block, columns, team, scratch, [&](std::size_t panel, TileScratch<T>& own) {
    T tile[tile_rows * Vectors<T>::width];
    for (std::size_t row = 0; row < block.size(); row += tile_rows) {
      columns.tile(block, row, panel, own, tile);
      use(row, std::min(tile_rows, block.size() - row), panel * Vectors<T>::width, columns.columns_in(panel), tile);
    }
  });
}

// sum[c] += sum_i coefficients_i k(row i, column c); `coefficients` has room for a whole last tile, zeros there.
template <class T>
void add_weighted(const RowBlock<T>& block, const Vectors<T>& columns, Team& team, std::vector<TileScratch<T>>& scratch,
                  const double* coefficients, double* sum) {
  for_each_panel(block, columns, team, scratch, [&](std::size_t panel, TileScratch<T>& own) {
    for (std::size_t row = 0; row < block.size(); row += tile_rows) {
      columns.add_tile(block, row, panel, own, coefficients + row, sum + panel * Vectors<T>::width);
    }
  });
}

}  // namespace mercer
