// The Cholesky factor of a matrix whose rows and columns come and go.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "level.hpp"

namespace mercer {

// L L' = A, lower triangular, row by row.
class Factor {
 public:
  explicit Factor(const Level& level) : algebra_(level.algebra) {}

  std::size_t size() const { return rows_.size(); }

  // Up to `group` new rows and columns: entry (i, g) of `a`, which is (size(), group), is the value of A between row i
  // and the new row g; among(g, h) that of two new rows. A row that depends on the others, up to rounding, is left out.
  // Returns which ones were taken.
  static constexpr std::size_t group = solve_group;
  template <class Among>
  std::vector<char> append(std::vector<double> a, std::size_t n_new, Among among) {
    const std::size_t n = size();
    std::vector<const double*> rows(n);
    for (std::size_t i = 0; i < n; ++i) rows[i] = rows_[i].data();
    algebra_.forward_solve(rows.data(), n, a.data());
    std::vector<char> taken(n_new, 0);
    std::vector<std::size_t> new_rows;
    for (std::size_t g = 0; g < n_new; ++g) {
      std::vector<double> row(n + new_rows.size() + 1);
      for (std::size_t i = 0; i < n; ++i) row[i] = a[i * group + g];
      for (std::size_t h = 0; h < new_rows.size(); ++h) {
        const std::vector<double>& other = rows_[n + h];
        row[n + h] = (among(g, new_rows[h]) - algebra_.inner(row.data(), other.data(), n + h)) / other[n + h];
      }
      const double diagonal = among(g, g);
      const double pivot = diagonal - algebra_.inner(row.data(), row.data(), n + new_rows.size());
      if (!(pivot > smallest_pivot * diagonal)) continue;
      row.back() = std::sqrt(pivot);
      rows_.push_back(std::move(row));
      new_rows.push_back(g);
      taken[g] = 1;
    }
    return taken;
  }

  // Row and column j go; what follows is turned back into a triangle by plane rotations. Along a row each waits for the
  // one before, so that some rows take turns.
  void remove(std::size_t j) {
    constexpr std::size_t together = 8;
    std::vector<std::pair<double, double>> rotations;
    rows_.erase(rows_.begin() + static_cast<std::ptrdiff_t>(j));
    for (std::size_t first = j; first < rows_.size(); first += together) {
      const std::size_t count = std::min(together, rows_.size() - first);
      double* rows[together];  // row r has entries 0 .. r + 1
      double left[together];
      for (std::size_t g = 0; g < together; ++g) {
        rows[g] = rows_[first + std::min(g, count - 1)].data();
        left[g] = rows[g][j];
      }
      if (count == together) {
        for (std::size_t k = j; k < first; ++k) {
          const auto [c, s] = rotations[k - j];
          for (std::size_t g = 0; g < together; ++g) rotate(c, s, rows[g] + k, left[g]);
        }
      } else {
        for (std::size_t g = 0; g < count; ++g) {
          for (std::size_t k = j; k < first; ++k) {
            rotate(rotations[k - j].first, rotations[k - j].second, rows[g] + k, left[g]);
          }
        }
      }
      for (std::size_t g = 0; g < count; ++g) {
        const std::size_t r = first + g;
        for (std::size_t k = first; k < r; ++k) {
          rotate(rotations[k - j].first, rotations[k - j].second, rows[g] + k, left[g]);
        }
        const double right = rows[g][r + 1], length = std::hypot(left[g], right);
        rotations.emplace_back(left[g] / length, right / length);
        rows[g][r] = length;
        rows_[r].pop_back();
      }
    }
  }

  // x = A^-1 x, for one or several x while a row is at hand.
  void solve(double* x) const { solve(std::vector<double*>{x}); }
  void solve(const std::vector<double*>& several) const {
    const std::size_t n = size();
    for (std::size_t i = 0; i < n; ++i) {
      for (double* const x : several) x[i] = (x[i] - algebra_.inner(rows_[i].data(), x, i)) / rows_[i][i];
    }
    for (std::size_t i = n; i-- > 0;) {
      for (double* const x : several) {
        x[i] /= rows_[i][i];
        algebra_.subtract(x[i], rows_[i].data(), i, x);
      }
    }
  }

 private:
  // A rotation of two neighbours of a row, the left one of which has been turned before.
  static void rotate(double c, double s, double* row, double& left) {
    const double right = row[1];
    row[0] = c * left + s * right;
    left = c * right - s * left;
  }

  static constexpr double smallest_pivot = 1e-9;
  const Algebra& algebra_;
  std::vector<std::vector<double>> rows_;
};

}  // namespace mercer
