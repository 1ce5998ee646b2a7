// Equations with a symmetric positive definite matrix.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "level.hpp"

namespace mercer {

// The Cholesky factor of a positive definite A (n, n), of which the lower triangle is read. It is that of a matrix with
// a diagonal of ones, so that unknowns of very different size do no harm, and with a little more than that where
// rounding has made it indefinite.
class Definite {
 public:
  Definite(const Algebra& algebra, const double* a, std::size_t n)
      : algebra_(algebra), n_(n), scale_(n), factor_(n * n) {
    for (std::size_t i = 0; i < n; ++i) scale_[i] = 1.0 / std::sqrt(a[i * n + i]);
    for (double jitter = 0.0;; jitter = std::max(10.0 * jitter, 1e-14)) {
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < i; ++j) factor_[i * n + j] = a[i * n + j] * scale_[i] * scale_[j];
        factor_[i * n + i] = 1.0 + jitter;
      }
      if (factorise()) break;
    }
  }

  // x = A^-1 x
  void solve(double* x) const {
    for (std::size_t i = 0; i < n_; ++i) {
      x[i] = (x[i] * scale_[i] - algebra_.inner(row(i), x, i)) / row(i)[i];
    }
    for (std::size_t i = n_; i-- > 0;) {
      x[i] /= row(i)[i];
      algebra_.subtract(x[i], row(i), i, x);
    }
    for (std::size_t i = 0; i < n_; ++i) x[i] *= scale_[i];
  }

 private:
  const double* row(std::size_t i) const { return factor_.data() + i * n_; }

  // False if a pivot is not positive.
  bool factorise() {
    for (std::size_t i = 0; i < n_; ++i) {
      double* mine = factor_.data() + i * n_;
      for (std::size_t j = 0; j < i; ++j) mine[j] = (mine[j] - algebra_.inner(mine, row(j), j)) / row(j)[j];
      const double pivot = mine[i] - algebra_.inner(mine, mine, i);
      if (!(pivot > 0.0)) return false;
      mine[i] = std::sqrt(pivot);
    }
    return true;
  }

  const Algebra& algebra_;
  const std::size_t n_;
  std::vector<double> scale_, factor_;
};

}  // namespace mercer
