// One table of inner loops per SIMD level; the level is chosen once per native call, at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels.hpp"

namespace mercer {

struct Candidate {
  double value;
  std::size_t position;  // SIZE_MAX: none
};

struct SparseColumns {
  const std::int32_t* features;
  const double* values;
  const std::int64_t* starts;
  const double* norms;  // null: products are wanted
};

template <class T>
struct Loops {
  // tile[r * panel_width + c] = k(rows[r], column c of the panel), r < tile_rows
  void (*dense_tile)(const KernelSpec&, const T* const* rows, const T* row_norms, const T* panel, const T* norms,
                     std::size_t features, T* tile);
  // sum[c] += sum_r coefficients[r] k(rows[r], column c of the panel) for c < n
  void (*add_dense_tile)(const KernelSpec&, const double* coefficients, const T* const* rows, const T* row_norms,
                         const T* panel, const T* norms, std::size_t features, std::size_t n, double* sum);
  // The same, and row_sums[r * row_sum_width + k] gains, for every r, the products of the row's values with `weights`,
  // column c going to k = c modulo row_sum_width: a tile that serves its transpose too. `row_sums` is (tile_rows,
  // row_sum_width).
  void (*add_dense_tile_both_ways)(const KernelSpec&, const double* coefficients, const T* const* rows,
                                   const T* row_norms, const T* panel, const T* norms, std::size_t features,
                                   const double* weights, double* sum, double* row_sums);
  // values[c] = g(values[c]) for one row of a tile
  void (*transform)(const KernelSpec&, T row_norm, const T* norms, T* values);
  // sum[c] += sum_r coefficients[r] rows[r][c], r < tile_rows, with the arithmetic of add_dense_tile
  void (*accumulate)(const double* coefficients, const T* const* rows, std::size_t n, double* sum);
  // sum[c] += coefficient * row[c], in double
  void (*add_row)(double coefficient, const T* row, std::size_t n, double* sum);
  // sum_j values[j] weights[j * stride] in the order of j, with the arithmetic of accumulate in double
  double (*dot)(const T* values, const double* weights, std::size_t stride, std::size_t n);
  // sum_j values[j]^2, rounded like the product of a row and a column of a dense tile
  T (*square)(const T* values, std::size_t n);
  // One panel of sparse columns against `spread_rows` spread rows: tile[r * panel_width + j] = the measure of row r and
  // column j < n, a product or a squared distance (`row_norms` and `norms` are then the squared norms). The entries e
  // of column j, starts[j] <= e < starts[j + 1], are summed in their order, in double.
  void (*sparse_tile)(const SparseColumns&, const double* spread, const double* row_norms, std::size_t n, T* tile);
  // f += step * (first - second); then the extremes of up - f (largest) and low - f (smallest)
  void (*update_and_extremes)(double step, const T* first, const T* second, const double* up, const double* low,
                              std::size_t n, double* f, Candidate* largest, Candidate* smallest);
  // argmax of (v - (low - f))^2 / (curvature_i + curvature - 2 row) over the positions where v > low - f
  Candidate (*best_partner)(double v, double curvature_i, const T* row, const double* curvature, const double* low,
                            const double* f, std::size_t n);
};

// The search for pairs with everything in float32.
struct QuickSearch {
  void (*update_and_extremes)(double step, const float* first, const float* second, const float* up, const float* low,
                              std::size_t n, float* f, Candidate* largest, Candidate* smallest);
  Candidate (*best_partner)(double v, double curvature_i, const float* row, const float* curvature, const float* low,
                            const float* f, std::size_t n);
};

struct Algebra {
  // sum_k x[k] y[k], in any order
  double (*inner)(const double* x, const double* y, std::size_t n);
  // y -= scale * x
  void (*subtract)(double scale, const double* x, std::size_t n, double* y);
  // L x = b for `solve_group` right-hand sides side by side, in place; row i of L ends with its diagonal
  void (*forward_solve)(const double* const* rows, std::size_t n, double* x);
  // sum[c] += sum_e coefficients[e] block[rows[e] * stride + c] for c < n, in the order of e
  void (*combine)(const double* coefficients, const std::int32_t* rows, std::size_t entries, const double* block,
                  std::size_t stride, std::size_t n, double* sum);
  // sums[r] = sum_e coefficients[e] values[r][places[e] * stride] in the order of e, r < dots_together, with the
  // arithmetic of combine: one need not wait for the other
  void (*sparse_dots)(const double* coefficients, const std::int32_t* places, std::size_t entries,
                      const double* const* values, std::size_t stride, double* sums);
  // The same for one row of values.
  double (*sparse_dot)(const double* coefficients, const std::int32_t* places, std::size_t entries,
                       const double* values, std::size_t stride);
  // y[r] += sum_c rows[r][c] v[c] and z[c] += sum_r rows[r][c] w[r], r < block_rows, c < n; every v[c], w[r], y[r] and
  // z[c] is `block_width` numbers
  void (*multiply_both_ways)(const double* const* rows, std::size_t n, const double* v, const double* w, double* y,
                             double* z);
};

// Rows of samples times vectors, in double whatever the samples are stored in.
inline constexpr std::size_t row_group = 4;    // rows that are added at once
inline constexpr std::size_t moment_rows = 8;  // features of a strip of second moments
inline constexpr std::size_t moment_pad = 16;  // features are padded with zeros to a multiple of this
struct LinearLoops {
  // sum_k x[k] w[k]
  double (*product_single)(const float* x, const double* w, std::size_t n);
  double (*product_full)(const double* x, const double* w, std::size_t n);
  // products[r] = sum_k rows[r][k] w[k], r < row_group
  void (*products_single)(const float* const* rows, const double* w, std::size_t n, double* products);
  void (*products_full)(const double* const* rows, const double* w, std::size_t n, double* products);
  // sum += sum_r scale[r] rows[r], r < row_group
  void (*add_single)(const double* scale, const float* const* rows, std::size_t n, double* sum);
  void (*add_full)(const double* scale, const double* const* rows, std::size_t n, double* sum);
  // moments[i][j] += sum_r left[r][i] right[r][j] for j <= i (and some j beyond); all (rows, stride),
  // stride a multiple of moment_pad
  void (*add_moments)(const double* left, const double* right, std::size_t n_rows, std::size_t stride, double* moments);
};

// Several kernels of one measure.
struct FamilyLoops {
  // out[c] = factor g(measures[c]) for a tile, g a transform of the measure alone
  void (*scaled_singles)(const KernelSpec&, double factor, const double* measures, float* out);
  void (*scaled_doubles)(const KernelSpec&, double factor, const double* measures, double* out);
};

// One feature of samples, for recursive elimination. Rows are padded with zeros to a multiple of `loss_pad`.
inline constexpr std::size_t loss_pad = 8;
struct EliminationLoops {
  // measures[k] += scale t(x, y[k]), t the measure of one feature
  void (*add_measure)(Measure, double scale, double x, const double* y, std::size_t n, double* measures);
  // sum_k weights[k] (values[k] - g(measures[k] - t(x, y[k]))), g a transform of the measure alone, n a multiple of
  // loss_pad
  double (*loss)(const KernelSpec&, double x, const double* y, const double* measures, const double* values,
                 const double* weights, std::size_t n);
};

// Dynamic programmes on one sequence against several, each in a lane of its own: symbol j of lane l is at
// lanes[j * sequence_lanes + l], and behind the end of its sequence there is `no_symbol`.
inline constexpr std::size_t sequence_lanes = 8;
inline constexpr std::int64_t no_symbol = -2;

struct GapSpec {
  std::size_t length;  // of the subsequences
  double decay;
  bool blended;  // all lengths up to this one
};
// What two symbols are worth in an alignment: by a table (codes are then its rows), else by whether they are equal.
struct PairScores {
  const double* table = nullptr;  // (n_symbols, n_symbols)
  std::size_t n_symbols = 0;
  double equal = 0.0, unequal = 0.0;
};
struct AlignmentSpec {
  PairScores pairs, pair_slopes;
  double open, extend;  // the first symbol of a gap, and every other one
  double open_slope = 0.0, extend_slope = 0.0;
};
struct SeriesSpec {
  const double* points;  // (n_points, n_features); codes are rows of it
  std::size_t n_features;
  double width;
  double triangle;  // 0: none
};
// The value of lane l is values[l] 2^(scale_step * scales[l]), its derivative slopes[l] times the same power.
inline constexpr int scale_step = 256;
struct ScaledValues {
  double values[sequence_lanes], scales[sequence_lanes], slopes[sequence_lanes];
};

struct SequenceLoops {
  // Numbers of doubles that the programmes need as room, for lanes of length m.
  static std::size_t gap_room(const GapSpec& spec, std::size_t m) { return 2 * (spec.length + 2) * (m + 1) * 8; }
  static std::size_t room(std::size_t m) { return 8 * (m + 1) * 8; }

  void (*gap_weighted)(const GapSpec&, const std::int64_t* s, std::size_t n, const std::int64_t* lanes, std::size_t m,
                       double* room, double* values);
  // With the derivative by the decay.
  void (*gap_weighted_slope)(const GapSpec&, const std::int64_t* s, std::size_t n, const std::int64_t* lanes,
                             std::size_t m, double* room, double* values, double* slopes);
  void (*all_subsequences)(const std::int64_t* s, std::size_t n, const std::int64_t* lanes, std::size_t m, double* room,
                           double* values);
  // d (d + 1) / 2 times the weighted degree kernel of degree d, of the first n symbols
  void (*weighted_degree)(double degree, const std::int64_t* s, const std::int64_t* lanes, std::size_t n,
                          double* values);
  // The largest score of a local alignment.
  void (*local_alignment)(const AlignmentSpec&, const std::int64_t* s, std::size_t n, const std::int64_t* lanes,
                          std::size_t m, double* room, double* values);
  // The sum over all local alignments; scores are factors here.
  void (*local_alignments)(const AlignmentSpec&, bool slope, const std::int64_t* s, std::size_t n,
                           const std::int64_t* lanes, std::size_t m, double* room, ScaledValues* values);
  // The sum over all global alignments of series, with its derivative by the width.
  void (*global_alignments)(const SeriesSpec&, bool slope, const std::int64_t* s, std::size_t n,
                            const std::int64_t* lanes, std::size_t m, double* room, ScaledValues* values);
};

// Chains of labels: matrices with a column for every label, of n labels.
inline constexpr std::size_t chain_pad = 8;
struct ChainLoops {
  // sums[c] = sum_e weights[e] matrix[places[e] * n + c], in the order of e
  void (*sum_of_rows)(const double* weights, const std::int32_t* places, std::size_t entries, const double* matrix,
                      std::size_t n, double* sums);
  // best[c] = added[c] + max_r scores[r] + matrix[r * n + c]
  void (*best_of_rows)(const double* scores, std::size_t rows, const double* matrix, std::size_t n, const double* added,
                       double* best);
  // The largest x[k] + y[k], and where it is first, or any place if none is a number; n a multiple of chain_pad
  Candidate (*best_sum)(const double* x, const double* y, std::size_t n);
};

struct Level {
  std::string_view name;
  bool (*supported)();
  Loops<float> single;
  Loops<double> full;
  Algebra algebra;
  QuickSearch quick;
  LinearLoops linear;
  SequenceLoops sequences;
  EliminationLoops elimination;
  FamilyLoops families;
  ChainLoops chains;

  template <class T>
  const Loops<T>& loops() const {
    if constexpr (sizeof(T) == sizeof(float)) {
      return single;
    } else {
      return full;
    }
  }
};

// The levels compiled into this library, best last; the first always runs.
const std::vector<const Level*>& compiled_levels();
std::vector<const Level*> supported_levels();
const Level& find_level(std::string_view name);  // "" is the best supported one; throws std::invalid_argument

}  // namespace mercer
