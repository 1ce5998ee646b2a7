// Samples as a matrix X of rows: products X w, X'c and X' diag(c) X of chosen rows, and the O(n) parts of the proximal
// Newton method for linear machines (src/mercer/solvers/linear).
//
// Sums run over chunks that depend on the problem alone, in their order: threads do not change a bit.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "definite.hpp"
#include "level.hpp"
#include "matrix.hpp"
#include "parallel.hpp"

namespace mercer {

// Rows of X, all of them or those numbered by `ids`.
struct RowChoice {
  const Samples& samples;
  const std::int64_t* ids;  // null: all
  std::size_t n;

  std::size_t operator[](std::size_t k) const { return ids ? static_cast<std::size_t>(ids[k]) : k; }
  // Numbers of multiplications that a product with the rows takes, about.
  std::size_t work() const {
    if (!samples.sparse) return n * samples.features;
    const std::size_t entries = static_cast<std::size_t>(samples.starts[samples.rows]);
    return samples.rows ? entries / samples.rows * n + n : 0;
  }
};

// Body(first, last, chunk) over [0, n), cut into `n_chunks` parts of equal size.
template <class Body>
void for_chunks(Team& team, std::size_t n, std::size_t n_chunks, Body body) {
  team.for_each(n_chunks,
                [&](std::size_t chunk, std::size_t) { body(n * chunk / n_chunks, n * (chunk + 1) / n_chunks, chunk); });
}

// Less than this is done before a helper is awake.
inline constexpr std::size_t smallest_share = 1 << 15;

inline std::size_t chunks_for(std::size_t work, std::size_t most) {
  return std::clamp<std::size_t>(work / smallest_share, 1, most);
}

class LinearMap {
 public:
  LinearMap(const Level& level, const Samples& samples) : loops_(level.linear), samples_(samples) {}

  // out[k] = x_k . w
  void products(const RowChoice& rows, const double* w, Team& team, double* out) const {
    for_chunks(team, rows.n, chunks_for(rows.work(), 256), [&](std::size_t first, std::size_t last, std::size_t) {
      for (std::size_t k = first; k < last; ++k) out[k] = product(rows[k], w);
    });
  }

  // out = sum_k c[k] x_k
  void sums(const RowChoice& rows, const double* c, Team& team, double* out) const {
    const std::size_t d = samples_.features;
    // Every chunk has sums of its own, which must not cost more than the rows.
    const std::size_t n_chunks = std::min(chunks_for(rows.work(), 64), rows.work() / (4 * d + 1) + 1);
    std::vector<double> parts(n_chunks * d, 0.0);
    for_chunks(team, rows.n, n_chunks, [&](std::size_t first, std::size_t last, std::size_t chunk) {
      double* sum = parts.data() + chunk * d;
      if (samples_.sparse) {
        for (std::size_t k = first; k < last; ++k) {
          if (c[k] != 0.0) add(rows[k], c[k], sum);
        }
      } else if (samples_.precision == Precision::full) {
        add_dense<double>(rows, c, first, last, loops_.add_full, sum);
      } else {
        add_dense<float>(rows, c, first, last, loops_.add_single, sum);
      }
    });
    add_up(parts, n_chunks, d, out);
  }

  // out (d, d) = sum_k c[k] x_k x_k'
  void moments(const RowChoice& rows, const double* c, Team& team, double* out) const {
    const std::size_t d = samples_.features;
    const std::size_t stride = samples_.sparse ? d : (d + moment_pad - 1) / moment_pad * moment_pad;
    const std::size_t work = samples_.sparse ? rows.work() * (rows.work() / (rows.n + 1) + 1) / 2 : rows.work() * d / 2;
    const std::size_t n_chunks = std::min(chunks_for(work, 16), work / (4 * d * d + 1) + 1);
    std::vector<double> parts(n_chunks * stride * stride, 0.0);
    for_chunks(team, rows.n, n_chunks, [&](std::size_t first, std::size_t last, std::size_t chunk) {
      double* sum = parts.data() + chunk * stride * stride;
      if (samples_.sparse) {
        for (std::size_t k = first; k < last; ++k) add_sparse_moments(rows[k], c[k], sum);
      } else if (samples_.precision == Precision::full) {
        add_dense_moments<double>(rows, c, first, last, stride, sum);
      } else {
        add_dense_moments<float>(rows, c, first, last, stride, sum);
      }
    });
    for (std::size_t i = 0; i < d; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        double sum = 0.0;
        for (std::size_t chunk = 0; chunk < n_chunks; ++chunk) sum += parts[(chunk * stride + i) * stride + j];
        out[i * d + j] = out[j * d + i] = sum;
      }
    }
  }

  // out = sum_k c[k] x_k^2, feature by feature: the diagonal of the moments
  void squares(const RowChoice& rows, const double* c, double* out) const {
    std::fill(out, out + samples_.features, 0.0);
    for (std::size_t k = 0; k < rows.n; ++k) {
      const std::size_t d = samples_.features, first = samples_.sparse ? samples_.starts[rows[k]] : rows[k] * d;
      const std::size_t last = samples_.sparse ? samples_.starts[rows[k] + 1] : first + d;
      for (std::size_t e = first; e < last; ++e) {
        out[samples_.sparse ? samples_.columns[e] : e - first] += c[k] * samples_.value(e) * samples_.value(e);
      }
    }
  }

  // x_row . w
  double product(std::size_t row, const double* w) const {
    const std::size_t d = samples_.features;
    if (!samples_.sparse) {
      if (samples_.precision == Precision::full) {
        return loops_.product_full(static_cast<const double*>(samples_.values) + row * d, w, d);
      }
      return loops_.product_single(static_cast<const float*>(samples_.values) + row * d, w, d);
    }
    return samples_.precision == Precision::full ? sparse_product(static_cast<const double*>(samples_.values), row, w)
                                                 : sparse_product(static_cast<const float*>(samples_.values), row, w);
  }

  // w += c x_row
  void add(std::size_t row, double c, double* w) const {
    if (samples_.sparse) {
      if (samples_.precision == Precision::full) {
        add_sparse(static_cast<const double*>(samples_.values), row, c, w);
      } else {
        add_sparse(static_cast<const float*>(samples_.values), row, c, w);
      }
      return;
    }
    const std::size_t d = samples_.features;
    if (samples_.precision == Precision::full) {
      const double* x = static_cast<const double*>(samples_.values) + row * d;
      for (std::size_t j = 0; j < d; ++j) w[j] += c * x[j];
    } else {
      const float* x = static_cast<const float*>(samples_.values) + row * d;
      for (std::size_t j = 0; j < d; ++j) w[j] += c * double(x[j]);
    }
  }

  double squared_norm(std::size_t row) const {
    double sum = 0.0;
    const std::size_t first =
        samples_.sparse ? static_cast<std::size_t>(samples_.starts[row]) : row * samples_.features;
    const std::size_t last =
        samples_.sparse ? static_cast<std::size_t>(samples_.starts[row + 1]) : first + samples_.features;
    for (std::size_t e = first; e < last; ++e) sum += samples_.value(e) * samples_.value(e);
    return sum;
  }

 private:
  template <class T>
  double sparse_product(const T* values, std::size_t row, const double* w) const {
    double sums[4] = {};  // side by side, so that one does not wait for the other
    std::int64_t e = samples_.starts[row];
    const std::int64_t end = samples_.starts[row + 1];
    const std::int32_t* columns = samples_.columns;
    for (; e + 4 <= end; e += 4) {
      sums[0] += double(values[e]) * w[columns[e]];
      sums[1] += double(values[e + 1]) * w[columns[e + 1]];
      sums[2] += double(values[e + 2]) * w[columns[e + 2]];
      sums[3] += double(values[e + 3]) * w[columns[e + 3]];
    }
    for (; e < end; ++e) sums[0] += double(values[e]) * w[columns[e]];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }

  template <class T>
  void add_sparse(const T* values, std::size_t row, double c, double* sum) const {
    for (std::int64_t e = samples_.starts[row]; e < samples_.starts[row + 1]; ++e) {
      sum[samples_.columns[e]] += c * double(values[e]);
    }
  }

  void add_sparse_moments(std::size_t row, double c, double* sum) const {
    for (std::int64_t e = samples_.starts[row]; e < samples_.starts[row + 1]; ++e) {
      double* line = sum + static_cast<std::size_t>(samples_.columns[e]) * samples_.features;
      const double x = c * samples_.value(static_cast<std::size_t>(e));
      for (std::int64_t f = samples_.starts[row]; f <= e; ++f) {  // columns ascend: the lower triangle
        line[samples_.columns[f]] += x * samples_.value(static_cast<std::size_t>(f));
      }
    }
  }

  template <class T, class Add>
  void add_dense(const RowChoice& rows, const double* c, std::size_t first, std::size_t last, Add add,
                 double* sum) const {
    const T* values = static_cast<const T*>(samples_.values);
    const T* group[row_group];
    double scale[row_group];
    std::size_t filled = 0;
    for (std::size_t k = first; k < last; ++k) {
      if (c[k] == 0.0) continue;
      group[filled] = values + rows[k] * samples_.features;
      scale[filled++] = c[k];
      if (filled == row_group) {
        add(scale, group, samples_.features, sum);
        filled = 0;
      }
    }
    if (filled == 0) return;
    for (std::size_t r = filled; r < row_group; ++r) {  // the first row again, with no weight
      group[r] = group[0];
      scale[r] = 0.0;
    }
    add(scale, group, samples_.features, sum);
  }

  template <class T>
  void add_dense_moments(const RowChoice& rows, const double* c, std::size_t first, std::size_t last,
                         std::size_t stride, double* sum) const {
    constexpr std::size_t group = 64;  // rows that stay in a cache nearby
    const std::size_t d = samples_.features;
    std::vector<double> left(group * stride, 0.0), right(group * stride, 0.0);
    for (std::size_t k = first; k < last; k += group) {
      const std::size_t n = std::min(group, last - k);
      for (std::size_t r = 0; r < n; ++r) {
        const T* row = static_cast<const T*>(samples_.values) + rows[k + r] * d;
        for (std::size_t j = 0; j < d; ++j) right[r * stride + j] = row[j];
        for (std::size_t j = 0; j < d; ++j) left[r * stride + j] = c[k + r] * row[j];
      }
      loops_.add_moments(left.data(), right.data(), n, stride, sum);
    }
  }

  static void add_up(const std::vector<double>& parts, std::size_t n_parts, std::size_t d, double* out) {
    std::fill(out, out + d, 0.0);
    for (std::size_t part = 0; part < n_parts; ++part) {
      for (std::size_t j = 0; j < d; ++j) out[j] += parts[part * d + j];
    }
  }

  const LinearLoops& loops_;
  const Samples& samples_;
};

// The best multipliers for given decision values, a(z) = argmax over [0, upper] of -a (z + linear) - a^2 ridge / 2 -
// (h/2)(a - centre)^2 = clip((pull - z) / stiffness), with pull = h centre - linear and stiffness = ridge + h > 0.
struct Responses {
  std::size_t n;
  const double *pull, *stiffness, *upper;

  double operator()(std::size_t i, double z) const {
    const double a = (pull[i] - z) / stiffness[i];
    return a <= 0.0 ? 0.0 : (a < upper[i] ? a : upper[i]);
  }
};

// A convex, piecewise quadratic function of t and its derivatives: slope + t curvature - sum_i a_i(z + t dz) dz_i.
class Line {
 public:
  Line(const Responses& responses, const double* z, const double* dz, double slope, double curvature, Team& team)
      : responses_(responses), z_(z), dz_(dz), slope_(slope), curvature_(curvature), team_(team) {}

  struct Derivatives {
    double first, second;
  };

  Derivatives at(double t) const {
    const std::size_t n = responses_.n, n_chunks = chunks_for(4 * n, 64);
    std::vector<Derivatives> parts(n_chunks);
    for_chunks(team_, n, n_chunks, [&](std::size_t first, std::size_t last, std::size_t chunk) {
      double sum = 0.0, bend = 0.0;
      for (std::size_t i = first; i < last; ++i) {
        const double a = responses_(i, z_[i] + t * dz_[i]);
        sum += a * dz_[i];
        bend += a > 0.0 && a < responses_.upper[i] ? dz_[i] * dz_[i] / responses_.stiffness[i] : 0.0;
      }
      parts[chunk] = {sum, bend};
    });
    Derivatives total{slope_ + t * curvature_, curvature_};
    for (const Derivatives& part : parts) {
      total.first -= part.first;
      total.second += part.second;
    }
    return total;
  }

  // The minimum, up to a tenth of the first slope: by Newton's method within a bracket that bisection narrows.
  double minimum() const {
    const double start = at(0.0).first;
    if (!(start < 0.0)) return 0.0;
    const double enough = 0.1 * -start;
    double low = 0.0, high = infinity, t = 1.0;
    for (int step = 0; step < 60; ++step) {
      const Derivatives here = at(t);
      if (std::abs(here.first) <= enough) return t;
      (here.first < 0.0 ? low : high) = t;
      const double newton = here.second > 0.0 ? t - here.first / here.second : infinity;
      if (high == infinity) {
        t = std::clamp(newton, 2.0 * t, 10.0 * t);
      } else {
        t = newton > low && newton < high ? newton : 0.5 * (low + high);
      }
    }
    return low;
  }

 private:
  static constexpr double infinity = __builtin_huge_val();
  const Responses& responses_;
  const double *z_, *dz_;
  double slope_, curvature_;
  Team& team_;
};

// The solution of (I + M, m; m', corner) x = right for M (d, d) and m (d), or without the border where m is null.
inline std::vector<double> newton_step(const Algebra& algebra, const double* moments, const double* border,
                                       double corner, const double* right, std::size_t d) {
  const std::size_t n = d + (border != nullptr);
  std::vector<double> system(n * n);
  for (std::size_t i = 0; i < d; ++i) {
    std::copy_n(moments + i * d, i, system.data() + i * n);
    system[i * n + i] = 1.0 + moments[i * d + i];
  }
  if (border) {
    std::copy_n(border, d, system.data() + d * n);
    system[d * n + d] = corner;
  }
  std::vector<double> step(right, right + n);
  Definite(algebra, system.data(), n).solve(step.data());
  return step;
}

}  // namespace mercer
