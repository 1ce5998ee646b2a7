// What a kernel on vectors is: a measure accumulated over the features, then a transform of it.
#pragma once

#include <cstddef>

namespace mercer {

// t(x, y), summed over the features.
enum class Measure {
  dot,    // x y
  l2,     // (x - y)^2
  l1,     // |x - y|
  min,    // min(x, y)
  chi2,   // (x - y)^2 / (x + y), with 0/0 = 0
  match,  // [x = y]
};

// k = g(t; p), where n_x and n_y are the squared norms of the two vectors.
enum class Transform {
  identity,  // p0 t
  exp,       // exp(-p0 t)
  exp_sqrt,  // exp(-p0 sqrt t)
  power,     // (p0 t + p1)^p2, p2 a positive integer
  tanh,      // tanh(p0 t + p1)
  matern32,  // (1 + u) exp(-u), u = p0 sqrt t
  matern52,  // (1 + u + u^2/3) exp(-u), u = p0 sqrt t
  rational,  // (1 + p0 t)^(-p1)
  cosine,    // t / sqrt(n_x n_y), 0 when a vector is zero
  tanimoto,  // t / (n_x + n_y - t), 1 when both vectors are zero
};

struct KernelSpec {
  Measure measure = Measure::dot;
  Transform transform = Transform::identity;
  double p0 = 1.0, p1 = 0.0, p2 = 0.0;
  const double* centre = nullptr;   // subtracted from every dense vector (differences do not feel it)
  const double* weights = nullptr;  // multiplied into every vector

  bool needs_norms() const { return transform == Transform::cosine || transform == Transform::tanimoto; }
};

// A panel is a group of columns stored feature by feature, 256 bytes a feature: four AVX-512 registers.
inline constexpr std::size_t panel_bytes = 256;
template <class T>
inline constexpr std::size_t panel_width = panel_bytes / sizeof(T);
inline constexpr std::size_t tile_rows = 4;
// Sums along a row of a tile are kept in this many parts.
inline constexpr std::size_t row_sum_width = 8;
// Right-hand sides that a triangular solve takes together.
inline constexpr std::size_t solve_group = 8;
// A matrix in memory is multiplied with so many vectors at once, and so many of its rows are taken together.
inline constexpr std::size_t block_width = 4, block_rows = 8;
// Sparse products that are summed up side by side.
inline constexpr std::size_t dots_together = 8;
// Sparse rows are spread over all features, sixteen side by side: two cache lines of doubles a feature.
inline constexpr std::size_t spread_rows = 16;

}  // namespace mercer
