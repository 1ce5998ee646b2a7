// A working set: samples whose kernel matrix lies in memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "../rows.hpp"
#include "state.hpp"

namespace mercer::joint {

// T is the type of the matrix.
template <class T>
struct WorkingSet {
  std::vector<std::size_t> points;
  const T* matrix = nullptr;  // `own`, or where the rows have it
  std::vector<T> own;
  std::vector<double> f;       // (n_classes, size)
  std::vector<double> before;  // (size, n_classes): a when the set was made

  std::size_t size() const { return points.size(); }
  const T* row(std::size_t c) const { return matrix + c * size(); }

  void load(const State& state, Rows<T>& rows) {
    const std::size_t m = size(), n_classes = state.n_classes;
    matrix = m == state.size() && points == all_positions(m) ? rows.whole() : nullptr;
    if (matrix == nullptr) {
      own.resize(m * m);
      rows.square(points.data(), m, own.data());
      matrix = own.data();
    }
    f.resize(n_classes * m);
    before.resize(m * n_classes);
    for (std::size_t c = 0; c < m; ++c) {
      const std::size_t i = points[c];
      for (std::size_t k = 0; k < n_classes; ++k) f[k * m + c] = state.f[i * n_classes + k];
      std::copy_n(state.a_of(i), n_classes, before.begin() + std::ptrdiff_t(c * n_classes));
    }
  }

  // Bring the state of all active samples up to date; `everything` tells that they are all here. Returns the kernel
  // values used.
  std::size_t unload(State& state, Rows<T>& rows, bool everything) {
    const std::size_t m = size(), n_classes = state.n_classes, n_active = state.active.size();
    if (everything) {
      for (std::size_t c = 0; c < m; ++c) {
        for (std::size_t k = 0; k < n_classes; ++k) state.f[points[c] * n_classes + k] = f[k * m + c];
      }
      return 0;
    }
    std::vector<std::size_t> moved, place(state.size(), 0);
    for (std::size_t c = 0; c < m; ++c) {
      const std::size_t i = points[c];
      place[i] = c;
      if (!std::equal(state.a_of(i), state.a_of(i) + n_classes, before.begin() + std::ptrdiff_t(c * n_classes))) {
        moved.push_back(i);
      }
    }
    const std::vector<double> changes = state.gather_coefficients(moved, [&](std::size_t i, std::size_t k) {
      return state.coefficient(i, k) - state.coefficient(before.data() + place[i] * n_classes, i, k);
    });
    delta_.assign(n_classes * n_active, 0.0);
    rows.add_many(moved.data(), changes.data(), moved.size(), n_classes, delta_.data());
    for (std::size_t k = 0; k < n_classes; ++k) {
      const double* delta = delta_.data() + k * n_active;
      for (std::size_t c = 0; c < n_active; ++c) state.f[state.active[c] * n_classes + k] += delta[c];
    }
    return m * m + moved.size() * n_active;
  }

 private:
  std::vector<double> delta_;
};

}  // namespace mercer::joint
