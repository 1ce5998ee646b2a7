// Where the solver's kernel values come from. One interface, three sources: vectors seen through a kernel, a
// matrix in memory, and rows that somebody else computes (Python). The numbers do not depend on threads,
// cache or budget.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <type_traits>
#include <vector>

#include "cache.hpp"
#include "parallel.hpp"
#include "vectors.hpp"

namespace mercer {

inline std::vector<std::size_t> all_positions(std::size_t n) {
  std::vector<std::size_t> positions(n);
  std::iota(positions.begin(), positions.end(), std::size_t{0});
  return positions;
}

// Kernel values among m points.
template <class T>
class Rows {
 public:
  explicit Rows(std::size_t n_points) : n_points_(n_points), active_(all_positions(n_points)) {}
  virtual ~Rows() = default;

  std::size_t n_points() const { return n_points_; }
  std::size_t n_active() const { return active_.size(); }
  virtual std::size_t evaluations() const { return evaluations_; }

  // out[i * n + j] = K[which_i, which_j]
  virtual void square(const std::size_t* which, std::size_t n, T* out) = 0;
  // sum[c] += sum_i coefficients_i K[which_i, active_c], added in the order of i
  virtual void add(const std::size_t* which, const double* coefficients, std::size_t n, double* sum) = 0;
  // The same for several sums at once: coefficients (n_sums, n), sums (n_sums, n_active).
  virtual void add_many(const std::size_t* which, const double* coefficients, std::size_t n, std::size_t n_sums,
                        double* sums) = 0;
  // sum[c] += sum_i coefficients_i K[which_i, columns_c], for few columns and many rows
  virtual void add_at(const std::size_t* columns, std::size_t n_columns, const std::size_t* which,
                      const double* coefficients, std::size_t n, double* sum) = 0;
  // sum[i] += sum_j coefficients_j K[which_i, which_j]
  virtual void add_among(const std::size_t* which, const double* coefficients, std::size_t n, double* sum) {
    add_at(which, n, which, coefficients, n, sum);
  }
  // K of all points, row by row, where it is stored so; else null.
  virtual const T* whole() const { return nullptr; }
  // From now on `add` serves these points only.
  virtual void restrict_to(std::vector<std::size_t> active) { active_ = std::move(active); }

 protected:
  std::size_t n_points_;
  std::vector<std::size_t> active_;
  std::size_t evaluations_ = 0;
};

// Vectors: tiles are made and used up at once, no row is ever stored.
template <class T>
class VectorRows final : public Rows<T> {
 public:
  VectorRows(const KernelSpec& spec, const Level& level, const Samples& samples, std::vector<std::size_t> points,
             bool packed, Team& team)
      : Rows<T>(points.size()),
        spec_(spec),
        level_(level),
        samples_(samples),
        points_(std::move(points)),
        packed_(packed),
        team_(team),
        scratch_(team.size()) {}

  void square(const std::size_t* which, std::size_t n, T* out) override {
    std::vector<std::size_t> ids(n);
    for (std::size_t i = 0; i < n; ++i) ids[i] = points_[which[i]];
    const Vectors<T> columns(spec_, level_, samples_, std::move(ids), true);
    columns.gather(all_positions(n).data(), n, block_);
    const auto keep = [&](std::size_t row, std::size_t n_rows, std::size_t first, std::size_t n_columns,
                          const T* tile) {
      for (std::size_t r = 0; r < n_rows; ++r) {
        std::copy_n(tile + r * Vectors<T>::width, n_columns, out + (row + r) * n + first);
      }
    };
    if (samples_.sparse || samples_.features < worth_turning) {
      this->evaluations_ += n * n;
      for_each_tile(block_, columns, team_, scratch_, keep);
      return;
    }
    // Half of the tiles: what lies before a panel is its transpose too.
    this->evaluations_ += n * (n + Vectors<T>::width) / 2;
    for_each_run(block_, columns, team_, scratch_, [&](std::size_t panel, std::size_t, TileScratch<T>& own) {
      constexpr std::size_t width = Vectors<T>::width;
      const std::size_t first = panel * width, n_columns = columns.columns_in(panel);
      T tile[tile_rows * width];
      for (std::size_t row = 0; row < first + n_columns; row += tile_rows) {
        columns.dense_tile(block_, row, panel, own, tile);
        keep(row, std::min(tile_rows, n - row), first, n_columns, tile);
        for (std::size_t c = 0; c < n_columns && row < first; ++c) {
          for (std::size_t r = 0; r < tile_rows; ++r) out[(first + c) * n + row + r] = tile[r * width + c];
        }
      }
    });
  }

  void add(const std::size_t* which, const double* coefficients, std::size_t n, double* sum) override {
    add_to_columns(active_columns(), which, coefficients, n, sum);
  }

  void add_many(const std::size_t* which, const double* coefficients, std::size_t n, std::size_t n_sums,
                double* sums) override {
    const Vectors<T>& columns = active_columns();
    std::vector<double> weights;
    for (std::size_t first = 0; first < n; first += row_group) {
      const std::size_t size = std::min(n - first, row_group), stride = size + tile_rows;
      all_columns().gather(which + first, size, block_);
      weights.assign(n_sums * stride, 0.0);
      for (std::size_t k = 0; k < n_sums; ++k) {
        std::copy_n(coefficients + k * n + first, size, weights.begin() + std::ptrdiff_t(k * stride));
      }
      this->evaluations_ += size * columns.size();
      add_weighted(block_, columns, team_, scratch_, Weights{weights.data(), n_sums, stride}, sums);
    }
  }

  void add_at(const std::size_t* columns, std::size_t n_columns, const std::size_t* which, const double* coefficients,
              std::size_t n, double* sum) override {
    add_to_columns(*pack(columns, n_columns), which, coefficients, n, sum);
  }

  // By half of the tiles, each of which serves both its sides: strips of columns in parallel, and of each strip the
  // rows from its own on. Sums along the rows are kept by strip, so that their order does not depend on threads.
  void add_among(const std::size_t* which, const double* coefficients, std::size_t n, double* sum) override {
    if (samples_.sparse) {
      Rows<T>::add_among(which, coefficients, n, sum);
      return;
    }
    constexpr std::size_t width = Vectors<T>::width;
    const std::size_t strip = std::max<std::size_t>(2 * width, (n / 32 + width - 1) / width * width);
    const std::size_t n_strips = (n + strip - 1) / strip;
    all_columns().gather(which, n, block_);
    std::vector<double> weights(coefficients, coefficients + n), along(n_strips * n);
    weights.resize(n_strips * strip + tile_rows, 0.0);
    team_.for_each(n_strips, [&](std::size_t s, std::size_t worker) {
      const std::size_t begin = s * strip, end = std::min(n, begin + strip);
      const Vectors<T> columns(spec_, level_, samples_, samples_of(which + begin, end - begin), true);
      std::vector<double> down(strip, 0.0);
      double* const rows_of_strip = along.data() + s * n;
      for (std::size_t row = begin; row < n; row += tile_rows) {
        double across[tile_rows * row_sum_width] = {};
        for (std::size_t p = 0; p < columns.n_panels(); ++p) {
          if (row < end) {
            columns.add_dense_tile(block_, row, p, scratch_[worker], weights.data() + row, down.data() + p * width);
          } else {
            columns.add_dense_tile_both_ways(block_, row, p, scratch_[worker], weights.data() + row,
                                             weights.data() + begin + p * width, down.data() + p * width, across);
          }
        }
        for (std::size_t r = 0; r < tile_rows && row >= end && row + r < n; ++r) {
          rows_of_strip[row + r] = std::accumulate(across + r * row_sum_width, across + (r + 1) * row_sum_width, 0.0);
        }
      }
      std::copy_n(down.data(), end - begin, rows_of_strip + begin);
    });
    this->evaluations_ += (n * n + n * strip) / 2;
    for (std::size_t s = 0; s < n_strips; ++s) {
      for (std::size_t i = s * strip; i < n; ++i) sum[i] += along[s * n + i];
    }
  }

  // Full rows K[which, :], one after the other; for a cache.
  void rows(const std::size_t* which, std::size_t n, T* const* out) {
    all_columns().gather(which, n, block_);
    this->evaluations_ += n * this->n_points_;
    for_each_tile(block_, all_columns(), team_, scratch_,
                  [&](std::size_t row, std::size_t n_rows, std::size_t first, std::size_t n_columns, const T* tile) {
                    for (std::size_t r = 0; r < n_rows; ++r) {
                      std::copy_n(tile + r * Vectors<T>::width, n_columns, out[row + r] + first);
                    }
                  });
  }

  void restrict_to(std::vector<std::size_t> active) override {
    Rows<T>::restrict_to(std::move(active));
    columns_.reset();
  }

 private:
  static constexpr std::size_t row_group = 1024;  // rows gathered at once: a large n needs no copy of all its vectors
  // Features from which on it is cheaper to turn a tile than to compute the one on the other side.
  static constexpr std::size_t worth_turning = 32;

  const Vectors<T>& all_columns() {
    if (!all_columns_) all_columns_ = std::make_unique<Vectors<T>>(spec_, level_, samples_, points_, packed_);
    return *all_columns_;
  }

  const Vectors<T>& active_columns() {
    if (this->active_.size() == this->n_points_) return all_columns();
    if (!columns_) columns_ = pack(this->active_.data(), this->active_.size());
    return *columns_;
  }

  std::vector<std::size_t> samples_of(const std::size_t* which, std::size_t n) const {
    std::vector<std::size_t> ids(n);
    for (std::size_t c = 0; c < n; ++c) ids[c] = points_[which[c]];
    return ids;
  }

  std::unique_ptr<Vectors<T>> pack(const std::size_t* which, std::size_t n) const {
    return std::make_unique<Vectors<T>>(spec_, level_, samples_, samples_of(which, n), packed_);
  }

  void add_to_columns(const Vectors<T>& columns, const std::size_t* which, const double* coefficients, std::size_t n,
                      double* sum) {
    std::vector<double> weights;
    for (std::size_t first = 0; first < n; first += row_group) {
      const std::size_t last = std::min(n, first + row_group);
      all_columns().gather(which + first, last - first, block_);
      weights.assign(coefficients + first, coefficients + last);
      weights.resize(last - first + tile_rows, 0.0);
      this->evaluations_ += (last - first) * columns.size();
      add_weighted(block_, columns, team_, scratch_, weights.data(), sum);
    }
  }

  KernelSpec spec_;
  const Level& level_;
  Samples samples_;
  std::vector<std::size_t> points_;
  bool packed_;
  Team& team_;
  std::vector<TileScratch<T>> scratch_;
  RowBlock<T> block_;
  std::unique_ptr<Vectors<T>> columns_, all_columns_;
};

// Neighbouring columns: `size` of them from `first` on.
struct ColumnRun {
  std::size_t first, size;
};

// Columns as runs of neighbours; none if these are so short that it is better to take them one by one.
inline std::vector<ColumnRun> runs_of(const std::vector<std::size_t>& columns) {
  constexpr std::size_t worth = 16;
  std::vector<ColumnRun> runs;
  for (const std::size_t column : columns) {
    if (!runs.empty() && runs.back().first + runs.back().size == column) {
      ++runs.back().size;
    } else if (runs.size() * worth > columns.size()) {
      return {};
    } else {
      runs.push_back({column, 1});
    }
  }
  return runs;
}

// Stored rows, added up. sums[k][c] += sum_i coefficients_ki T(rows_i[columns_c]) in the order of i, a stripe of
// columns at a time, with the same arithmetic as freshly made tiles; coefficients_ki is at [k * stride + i]. No
// columns: all n_columns in their order.
template <class T, class S>
void add_rows(const Loops<T>& loops, Team& team, const S* const* rows, const double* coefficients, std::size_t stride,
              std::size_t n, std::size_t n_sums, const std::size_t* columns, std::size_t n_columns, double* sums) {
  constexpr std::size_t stripe = 1024;
  const auto one_stripe = [&](std::size_t s, std::size_t) {
    T values[tile_rows][stripe];
    const T* group[tile_rows];
    const std::size_t begin = s * stripe, width = std::min(n_columns - begin, stripe);
    for (std::size_t i = 0; i < n; i += tile_rows) {
      for (std::size_t r = 0; r < tile_rows; ++r) {
        const bool exists = i + r < n;
        group[r] = values[r];
        if (!exists) {
          std::fill_n(values[r], width, T(0));
        } else if (columns != nullptr) {
          for (std::size_t c = 0; c < width; ++c) values[r][c] = T(rows[i + r][columns[begin + c]]);
        } else if constexpr (std::is_same_v<T, S>) {
          group[r] = rows[i + r] + begin;
        } else {
          for (std::size_t c = 0; c < width; ++c) values[r][c] = T(rows[i + r][begin + c]);
        }
      }
      for (std::size_t k = 0; k < n_sums; ++k) {
        double weights[tile_rows] = {};
        bool any = false;
        for (std::size_t r = 0; r < tile_rows && i + r < n; ++r) {
          weights[r] = coefficients[k * stride + i + r];
          any = any || weights[r] != 0.0;
        }
        if (any) loops.accumulate(weights, group, width, sums + k * n_columns + begin);
      }
    }
  };
  const std::size_t n_stripes = (n_columns + stripe - 1) / stripe;
  // Below this a second thread costs more than it brings.
  if (n * n_columns * n_sums < (std::size_t{1} << 17)) {
    for (std::size_t s = 0; s < n_stripes; ++s) one_stripe(s, 0);
  } else {
    team.for_each(n_stripes, one_stripe);
  }
}

// Rows that stay in memory, filled by `fill` when they are missed.
template <class T>
class CachedRows final : public Rows<T> {
 public:
  // fill(which, n, out): out[i] receives the row of which[i]. Some `batch` rows at most are asked for at once. Single
  // values, which do not need a row, come from `direct` where there is one.
  using Fill = std::function<void(const std::size_t* which, std::size_t n, T* const* out)>;

  CachedRows(const Level& level, std::size_t n_points, std::size_t bytes, std::size_t batch, Fill fill, Team& team,
             std::shared_ptr<Rows<T>> direct = nullptr)
      : Rows<T>(n_points),
        loops_(level.loops<T>()),
        batch_((batch + tile_rows - 1) / tile_rows * tile_rows),  // rows are added up in groups of a tile
        cache_(n_points, n_points, std::max(bytes, batch_ * n_points * sizeof(T))),
        fill_(std::move(fill)),
        team_(team),
        direct_(std::move(direct)) {}

  std::size_t evaluations() const override { return this->evaluations_ + (direct_ ? direct_->evaluations() : 0); }

  // Of a pair, one row is enough, K being symmetric; where neither is stored, the value is computed.
  void square(const std::size_t* which, std::size_t n, T* out) override {
    if (!direct_) {
      visit(which, n, [&](std::size_t first, const std::vector<const T*>& rows) {
        for (std::size_t i = 0; i < rows.size(); ++i) {
          for (std::size_t j = 0; j < n; ++j) out[(first + i) * n + j] = rows[i][which[j]];
        }
      });
      return;
    }
    std::vector<const T*> rows(n);
    std::vector<std::size_t> missing, places;
    for (std::size_t i = 0; i < n; ++i) {
      rows[i] = cache_.find(which[i]);
      if (rows[i] != nullptr) continue;
      missing.push_back(which[i]);
      places.push_back(i);
    }
    std::vector<T> fresh(missing.size() * missing.size());
    direct_->square(missing.data(), missing.size(), fresh.data());
    for (std::size_t i = 0; i < n; ++i) {
      if (rows[i] == nullptr) continue;
      for (std::size_t j = 0; j < n; ++j) out[i * n + j] = rows[i][which[j]];
      for (const std::size_t j : places) out[j * n + i] = rows[i][which[j]];
    }
    for (std::size_t i = 0; i < places.size(); ++i) {
      for (std::size_t j = 0; j < places.size(); ++j) out[places[i] * n + places[j]] = fresh[i * places.size() + j];
    }
  }

  void add(const std::size_t* which, const double* coefficients, std::size_t n, double* sum) override {
    add_many(which, coefficients, n, 1, sum);
  }

  void add_many(const std::size_t* which, const double* coefficients, std::size_t n, std::size_t n_sums,
                double* sums) override {
    const bool all = this->active_.size() == this->n_points_;
    visit(which, n, [&](std::size_t first, const std::vector<const T*>& rows) {
      add_rows<T>(loops_, team_, rows.data(), coefficients + first, n, rows.size(), n_sums,
                  all ? nullptr : this->active_.data(), this->active_.size(), sums);
    });
  }

  void add_at(const std::size_t* columns, std::size_t n_columns, const std::size_t* which, const double* coefficients,
              std::size_t n, double* sum) override {
    if (direct_) {
      direct_->add_at(columns, n_columns, which, coefficients, n, sum);
      return;
    }
    // By the rows of the columns, K being symmetric.
    std::vector<T> values;
    visit(columns, n_columns, [&](std::size_t first, const std::vector<const T*>& rows) {
      const std::size_t width = rows.size();
      for (std::size_t i = 0; i < n; i += tile_rows) {
        values.assign(tile_rows * width, T(0));
        const T* group[tile_rows];
        double weights[tile_rows] = {};
        for (std::size_t r = 0; r < tile_rows; ++r) group[r] = values.data() + r * width;
        for (std::size_t r = 0; r < tile_rows && i + r < n; ++r) {
          weights[r] = coefficients[i + r];
          for (std::size_t c = 0; c < width; ++c) values[r * width + c] = rows[c][which[i + r]];
        }
        loops_.accumulate(weights, group, width, sum + first);
      }
    });
  }

  void add_among(const std::size_t* which, const double* coefficients, std::size_t n, double* sum) override {
    if (direct_) {
      direct_->add_among(which, coefficients, n, sum);
    } else {
      Rows<T>::add_among(which, coefficients, n, sum);
    }
  }

 private:
  // use(first, rows of which[first], which[first + 1], ...) in order.
  template <class Use>
  void visit(const std::size_t* which, std::size_t n, Use use) {
    std::vector<std::size_t> missing;
    std::vector<T*> room;
    std::vector<const T*> rows;
    for (std::size_t first = 0; first < n; first += batch_) {
      const std::size_t last = std::min(n, first + batch_);
      missing.clear();
      room.clear();
      rows.clear();
      // All rows of the batch are marked as used first; as it fits the cache, making room cannot evict one of
      // them.
      for (std::size_t i = first; i < last; ++i) {
        if (cache_.find(which[i]) == nullptr) missing.push_back(which[i]);
      }
      for (const std::size_t row : missing) room.push_back(cache_.insert(row));
      if (!missing.empty()) {
        fill_(missing.data(), missing.size(), room.data());
        if (!direct_) this->evaluations_ += missing.size() * this->n_points_;
      }
      for (std::size_t i = first; i < last; ++i) rows.push_back(cache_.find(which[i]));
      use(first, rows);
    }
  }

  const Loops<T>& loops_;
  std::size_t batch_;
  RowCache<T> cache_;
  Fill fill_;
  Team& team_;
  std::shared_ptr<Rows<T>> direct_;
};

// A matrix in memory; S is how it is stored.
template <class T, class S>
class MatrixRows final : public Rows<T> {
 public:
  // A matrix of its own, which took so many evaluations.
  MatrixRows(const Level& level, std::vector<S> matrix, std::size_t n, std::size_t evaluations, Team& team)
      : MatrixRows(level, matrix.data(), n, all_positions(n), team) {
    own_ = std::move(matrix);  // the values stay where they are
    this->evaluations_ = evaluations;
  }

  MatrixRows(const Level& level, const S* matrix, std::size_t n_columns, std::vector<std::size_t> points, Team& team)
      : Rows<T>(points.size()),
        loops_(level.loops<T>()),
        matrix_(matrix),
        n_columns_(n_columns),
        points_(std::move(points)),
        columns_(points_),
        runs_(runs_of(columns_)),
        everything_(points_ == all_positions(n_columns)),
        team_(team) {}

  void square(const std::size_t* which, std::size_t n, T* out) override {
    std::vector<std::size_t> columns(n);
    for (std::size_t j = 0; j < n; ++j) columns[j] = points_[which[j]];
    const std::vector<ColumnRun> runs = runs_of(columns);
    for (std::size_t i = 0; i < n; ++i) {
      const S* row = row_of(which[i]);
      T* place = out + i * n;
      for (const ColumnRun& run : runs) place = std::copy_n(row + run.first, run.size, place);
      for (std::size_t j = 0; j < n && runs.empty(); ++j) place[j] = T(row[columns[j]]);
    }
  }

  void add(const std::size_t* which, const double* coefficients, std::size_t n, double* sum) override {
    add_many(which, coefficients, n, 1, sum);
  }

  void add_many(const std::size_t* which, const double* coefficients, std::size_t n, std::size_t n_sums,
                double* sums) override {
    if (everything_ && columns_.size() == n_columns_) {
      add_rows_at(nullptr, columns_.size(), which, coefficients, n, n_sums, sums);
    } else if (n_sums == 1 && !runs_.empty() && std::is_same_v<T, S>) {
      add_runs(which, coefficients, n, sums);
    } else if (n_points_are_few()) {
      add_compact(which, coefficients, n, n_sums, sums);
    } else {
      add_rows_at(columns_.data(), columns_.size(), which, coefficients, n, n_sums, sums);
    }
  }

  void add_at(const std::size_t* columns, std::size_t n_columns, const std::size_t* which, const double* coefficients,
              std::size_t n, double* sum) override {
    std::vector<std::size_t> ids(n_columns);
    for (std::size_t c = 0; c < n_columns; ++c) ids[c] = points_[columns[c]];
    add_rows_at(ids.data(), n_columns, which, coefficients, n, 1, sum);
  }

  const T* whole() const override {
    if constexpr (std::is_same_v<T, S>) return everything_ ? matrix_ : nullptr;
    return nullptr;
  }

  void restrict_to(std::vector<std::size_t> active) override {
    columns_.resize(active.size());
    for (std::size_t c = 0; c < active.size(); ++c) columns_[c] = points_[active[c]];
    runs_ = runs_of(columns_);
    compact_.clear();
    Rows<T>::restrict_to(std::move(active));
  }

 private:
  static constexpr std::size_t compact_bytes = std::size_t{8} << 20;

  bool n_points_are_few() const { return this->n_points_ * columns_.size() * sizeof(T) <= compact_bytes; }

  // Where the active columns are few, rows are kept without the others once they have been used.
  void add_compact(const std::size_t* which, const double* coefficients, std::size_t n, std::size_t n_sums,
                   double* sums) {
    const std::size_t width = columns_.size();
    if (compact_.empty()) {
      compact_.resize(this->n_points_ * width);
      is_compact_.assign(this->n_points_, 0);
    }
    std::vector<const T*> rows(n);
    for (std::size_t i = 0; i < n; ++i) {
      T* const row = compact_.data() + which[i] * width;
      rows[i] = row;
      if (is_compact_[which[i]]) continue;
      is_compact_[which[i]] = 1;
      const S* const whole_row = row_of(which[i]);
      for (std::size_t c = 0; c < width; ++c) row[c] = T(whole_row[columns_[c]]);
    }
    add_rows<T>(loops_, team_, rows.data(), coefficients, n, n, n_sums, nullptr, width, sums);
  }

  // Where they are runs of neighbours, such as all samples but those of a fold, each run is added up where it lies.
  void add_runs(const std::size_t* which, const double* coefficients, std::size_t n, double* sum) {
    if constexpr (std::is_same_v<T, S>) {
      std::vector<const T*> rows(n);
      std::size_t place = 0;
      for (const ColumnRun& run : runs_) {
        for (std::size_t i = 0; i < n; ++i) rows[i] = row_of(which[i]) + run.first;
        add_rows<T>(loops_, team_, rows.data(), coefficients, n, n, 1, nullptr, run.size, sum + place);
        place += run.size;
      }
    }
  }

  const S* row_of(std::size_t point) const { return matrix_ + points_[point] * n_columns_; }

  void add_rows_at(const std::size_t* columns, std::size_t n_columns, const std::size_t* which,
                   const double* coefficients, std::size_t n, std::size_t n_sums, double* sums) {
    std::vector<const S*> rows(n);
    for (std::size_t i = 0; i < n; ++i) rows[i] = row_of(which[i]);
    add_rows<T>(loops_, team_, rows.data(), coefficients, n, n, n_sums, columns, n_columns, sums);
  }

  const Loops<T>& loops_;
  std::vector<S> own_;
  const S* matrix_;
  std::size_t n_columns_;
  std::vector<std::size_t> points_, columns_;
  std::vector<ColumnRun> runs_;
  std::vector<T> compact_;  // (n_points, n_active), of which some rows are there
  std::vector<char> is_compact_;
  bool everything_;  // the points are all columns, in their order
  Team& team_;
};

}  // namespace mercer
