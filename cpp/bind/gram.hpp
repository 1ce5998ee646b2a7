// Where a native solver's kernel values come from, as Python describes it (mercer.gram).
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "../mercer/rows.hpp"
#include "../mercer/triangle.hpp"
#include "arrays.hpp"

namespace mercer::bind {

// Up to so many features a kernel value costs less to compute than to fetch, from memory or from a cache nearby.
inline constexpr std::size_t cheap_features = 64, trivial_features = 24;
inline constexpr std::size_t near_bytes = std::size_t{16}
                                          << 20;   // a matrix of this size is in a cache of the processor
inline constexpr std::size_t largest_batch = 256;  // rows asked from Python at once

// Where kernel values come from: vectors and a kernel, a matrix, or a Python function of row numbers.
struct GramIn {
  enum class Kind { vectors, matrix, matrix_single, function } kind = Kind::matrix;
  std::size_t n = 0;
  SamplesIn samples;
  SpecIn spec;
  Matrix<double> matrix;
  Matrix<float> matrix_single;
  nb::object function;

  bool stored_values() const { return kind == Kind::matrix || kind == Kind::matrix_single; }
};

inline GramIn gram_in(const nb::tuple& source) {
  GramIn gram;
  const auto kind = nb::cast<std::string>(source[0]);
  if (kind == "vectors") {
    gram.kind = GramIn::Kind::vectors;
    gram.samples = samples_in(source[6]);
    gram.n = gram.samples.view.rows;
    gram.spec = spec_in(nb::cast<std::string>(source[1]), nb::cast<std::string>(source[2]),
                        nb::cast<std::vector<double>>(source[3]), nb::cast<std::optional<Vector<double>>>(source[4]),
                        nb::cast<std::optional<Vector<double>>>(source[5]), gram.samples.view);
  } else if (kind == "matrix") {
    if (nb::try_cast(source[1], gram.matrix, false)) {
      gram.kind = GramIn::Kind::matrix;
      gram.n = gram.matrix.shape(0);
    } else if (nb::try_cast(source[1], gram.matrix_single, false)) {
      gram.kind = GramIn::Kind::matrix_single;
      gram.n = gram.matrix_single.shape(0);
    } else {
      throw nb::type_error("a matrix must be C-contiguous float32/float64");
    }
  } else if (kind == "function") {
    gram.kind = GramIn::Kind::function;
    gram.function = nb::borrow(source[1]);
    gram.n = nb::cast<std::size_t>(source[2]);
  } else {
    throw nb::value_error("unknown kind of Gram matrix");
  }
  return gram;
}

// What a kernel value costs: features, or the entries of a sparse vector, of which eight share their work.
inline std::size_t features_of_a_vector(const Samples& samples) {
  if (!samples.sparse) return samples.features;
  return static_cast<std::size_t>(samples.starts[samples.rows]) / std::max<std::size_t>(1, samples.rows);
}

template <class T>
std::unique_ptr<Rows<T>> make_rows(const GramIn& gram, const std::vector<std::size_t>& points, const Level& level,
                                   std::size_t bytes, std::size_t block, Team& team) {
  const std::size_t m = points.size();
  switch (gram.kind) {
    case GramIn::Kind::matrix:
      return std::make_unique<MatrixRows<T, double>>(level, gram.matrix.data(), gram.matrix.shape(1), points, team);
    case GramIn::Kind::matrix_single:
      return std::make_unique<MatrixRows<T, float>>(level, gram.matrix_single.data(), gram.matrix_single.shape(1),
                                                    points, team);
    case GramIn::Kind::function: {
      const std::size_t batch = std::clamp<std::size_t>(bytes / (4 * sizeof(double) * (gram.n + 1)), 1, largest_batch);
      return std::make_unique<CachedRows<T>>(
          level, m, bytes, batch,
          [&gram, &points](const std::size_t* which, std::size_t n, T* const* out) {
            nb::gil_scoped_acquire locked;
            auto ids = std::make_unique_for_overwrite<std::int64_t[]>(n);
            for (std::size_t i = 0; i < n; ++i) ids[i] = static_cast<std::int64_t>(points[which[i]]);
            const nb::object rows = gram.function(own(std::move(ids), {n}));
            const auto values = nb::cast<Matrix<double>>(rows);
            if (values.shape(0) != n || values.shape(1) != gram.n)
              throw nb::value_error("a row block has a wrong shape");
            for (std::size_t i = 0; i < n; ++i) {
              const double* row = values.data() + i * gram.n;
              for (std::size_t c = 0; c < points.size(); ++c) out[i][c] = T(row[points[c]]);
            }
          },
          team);
    }
    case GramIn::Kind::vectors:
      break;
  }
  const bool packed = sizeof(T) == sizeof(float);  // double is mostly for checking: one panel at a time
  auto rows = std::make_unique<VectorRows<T>>(gram.spec.view, level, gram.samples.view, points, packed, team);
  const std::size_t features = features_of_a_vector(gram.samples.view);
  const bool cheap = features <= cheap_features;
  const bool near = features > trivial_features && m * m * sizeof(T) <= near_bytes;
  const std::size_t batch = std::min(block, m);
  if (!near && (cheap || bytes / sizeof(T) < batch * m)) return rows;
  std::shared_ptr<VectorRows<T>> maker = std::move(rows);
  return std::make_unique<CachedRows<T>>(
      level, m, near ? near_bytes : bytes, batch,
      [maker](const std::size_t* which, std::size_t n, T* const* out) { maker->rows(which, n, out); }, team, maker);
}

// Stored values of all points, without those of others between them.
template <class T>
std::unique_ptr<Rows<T>> side_by_side(Rows<T>& rows, const Level& level, Team& team) {
  const std::size_t m = rows.n_points();
  std::vector<T> matrix(m * m);
  rows.square(all_positions(m).data(), m, matrix.data());
  return std::make_unique<MatrixRows<T, T>>(level, std::move(matrix), m, rows.evaluations(), team);
}

// All kernel values of a small problem, taken from those of all samples where these are there.
inline std::unique_ptr<Rows<double>> whole_matrix(const GramIn& gram, const std::vector<std::size_t>& points,
                                                  const Level& level, const Triangle& shared, Team& team) {
  const std::size_t m = points.size();
  std::vector<double> matrix(m * m);
  std::size_t evaluations = 0;
  if (shared.empty()) {
    VectorRows<double> rows(gram.spec.view, level, gram.samples.view, points, true, team);
    rows.square(all_positions(m).data(), m, matrix.data());
    evaluations = rows.evaluations();
  } else {
    shared.gather(points, matrix.data());
  }
  return std::make_unique<MatrixRows<double, double>>(level, std::move(matrix), m, evaluations, team);
}

}  // namespace mercer::bind
