// Kernel values and products, at every level and in both precisions, against scalar loops.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "check.hpp"
#include "mercer/kernels.hpp"
#include "mercer/level.hpp"
#include "mercer/parallel.hpp"
#include "mercer/products.hpp"
#include "mercer/rows.hpp"
#include "mercer/vectors.hpp"
#include "samples.hpp"
#include "tests.hpp"

namespace mercer::tests {
namespace {

template <class T>
void test_kernel_values(const Level& level) {
  const double tolerance = sizeof(T) == sizeof(double) ? 1e-13 : 2e-5;
  for (const Measure measure : measures) {
    for (const Transform transform : transforms) {
      const KernelSpec spec = kernel(measure, transform);
      const bool signs = measure == Measure::dot && transform != Transform::rational && !spec.needs_norms();
      const Table<T> x(9, 11, 1, signs), y(70, 11, 2, signs);
      for (const bool sparse : {false, true}) {
        const std::vector<T> K = matrix_of<T>(spec, level, x.view(sparse), y.view(sparse));
        bool good = true;
        for (std::size_t i = 0; i < x.rows; ++i) {
          for (std::size_t j = 0; j < y.rows; ++j) {
            good = good && close(K[i * y.rows + j], scalar_kernel(spec, x, i, y, j), tolerance);
          }
        }
        check(good, std::string(level.name) + (sparse ? " sparse " : " dense ") +
                        std::to_string(static_cast<int>(measure)) + " " + std::to_string(static_cast<int>(transform)));
        // Normalised measures are known on the diagonal for inner products only: no kernel has others.
        if (spec.needs_norms() && measure != Measure::dot) continue;
        const Vectors<T> vectors(spec, level, x.view(sparse), all_positions(x.rows), false);
        const std::vector<T> diagonal = vectors.diagonal();
        bool agrees = true;
        for (std::size_t i = 0; i < x.rows; ++i) {
          agrees = agrees && close(diagonal[i], scalar_kernel(spec, x, i, x, i), tolerance);
        }
        check(agrees, "diagonal");
      }
    }
  }
}

template <class T>
void test_shapes(const Level& level) {
  const double tolerance = sizeof(T) == sizeof(double) ? 1e-13 : 2e-5;
  const KernelSpec spec = gaussian(0.4);
  for (const std::size_t n : {0, 1, 3, 4, 5, 63, 64, 65}) {
    for (const std::size_t m : {0, 1, 31, 32, 33, 130}) {
      for (const std::size_t d : {1, 2, 33}) {
        const Table<T> x(n, d, 3), y(m, d, 4);
        for (const bool sparse : {false, true}) {
          const std::vector<T> K = matrix_of<T>(spec, level, x.view(sparse), y.view(sparse), 2);
          bool good = true;
          for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t j = 0; j < m; ++j)
              good = good && close(K[i * m + j], scalar_kernel(spec, x, i, y, j), tolerance);
          }
          check(good, std::to_string(n) + " x " + std::to_string(m) + " x " + std::to_string(d));
        }
      }
    }
  }
}

// The same entries under numbers far apart, most of which no column has.
template <class T>
void test_wide_rows(const Level& level) {
  constexpr std::int32_t apart = 20'000'003;
  for (const std::size_t n_columns : {0, 1, 70}) {
    Table<T> x(37, 40, 5), y(n_columns, 40, 6);
    for (const Measure measure : {Measure::dot, Measure::l2, Measure::l1, Measure::min, Measure::chi2}) {
      const KernelSpec spec = kernel(measure, Transform::exp);
      const std::vector<T> expected = matrix_of<T>(spec, level, x.view(true), y.view(true));
      Table<T> wide = x, others = y;
      for (Table<T>* table : {&wide, &others}) {
        table->features = 40 * std::size_t{apart};
        for (std::int32_t& column : table->columns) column *= apart;
      }
      check(expected == matrix_of<T>(spec, level, wide.view(true), others.view(true)),
            std::string(level.name) + " wide " + std::to_string(static_cast<int>(measure)));
    }
  }
}

// k(x, y) depends on the two vectors alone, whatever the tile, the thread or the side.
template <class T>
void test_locality(const Level& level) {
  const Table<T> x(70, 9, 5), y(40, 9, 6);
  for (const Measure measure : measures) {
    const KernelSpec spec = kernel(measure, Transform::exp);
    for (const bool sparse : {false, true}) {
      const std::vector<T> K = matrix_of<T>(spec, level, x.view(sparse), y.view(sparse));
      check(K == matrix_of<T>(spec, level, x.view(sparse), y.view(sparse), 3), "threads");
      const std::vector<T> back = matrix_of<T>(spec, level, y.view(sparse), x.view(sparse));
      bool symmetric = true;
      for (std::size_t i = 0; i < x.rows; ++i) {
        for (std::size_t j = 0; j < y.rows; ++j) symmetric = symmetric && K[i * y.rows + j] == back[j * x.rows + i];
      }
      check(symmetric,
            std::string(sparse ? "symmetry, sparse " : "symmetry, dense ") + std::to_string(static_cast<int>(measure)));
      const Vectors<T> rows(spec, level, x.view(sparse), {13}, false);
      const Vectors<T> columns(spec, level, y.view(sparse), {38, 7}, true);
      RowBlock<T> block;
      const std::size_t first = 0;
      rows.gather(&first, 1, block);
      std::vector<TileScratch<T>> scratch(1);
      Team alone(1);
      for_each_tile(block, columns, alone, scratch,
                    [&](std::size_t, std::size_t, std::size_t, std::size_t, const T* tile) {
                      check(tile[0] == K[13 * y.rows + 38] && tile[1] == K[13 * y.rows + 7], "another tile");
                    });
    }
  }
}

// The matrix of one set, of which one half is made, is that of the set with itself.
template <class T>
void test_one_set(const Level& level) {
  for (const std::size_t n : {0, 1, 31, 63, 64, 65, 129, 300}) {
    const Table<T> x(n, 5, 12);
    for (const Measure measure : measures) {
      for (const Transform transform : transforms) {
        const KernelSpec spec = kernel(measure, transform);
        for (const bool sparse : {false, true}) {
          const Samples samples = x.view(sparse);
          std::vector<T> half(n * n, T(-1));
          Team team(n % 2 == 0 ? 1 : 3);
          kernel_matrix<T>(spec, level, samples, team, half.data());
          check(half == matrix_of<T>(spec, level, samples, samples),
                std::string(level.name) + (sparse ? " sparse half " : " dense half ") + std::to_string(n) + " " +
                    std::to_string(static_cast<int>(measure)) + " " + std::to_string(static_cast<int>(transform)));
        }
      }
    }
  }
}

// The diagonal is that of the matrix to the last bit, so that normalised kernels are exactly 1 on it.
template <class T>
void test_diagonal(const Level& level) {
  const Table<T> x(40, 19, 11);
  std::vector<double> weights;  // that make products which must be rounded
  for (std::size_t f = 0; f < x.features; ++f) weights.push_back(1.0 / (3.0 + double(f)));
  for (const Measure measure : measures) {
    for (const Transform transform : transforms) {
      KernelSpec spec = kernel(measure, transform);
      if (spec.needs_norms() && measure != Measure::dot) continue;
      spec.weights = weights.data();
      for (const bool sparse : {false, true}) {
        const std::vector<T> K = matrix_of<T>(spec, level, x.view(sparse), x.view(sparse));
        const std::vector<T> diagonal =
            Vectors<T>(spec, level, x.view(sparse), all_positions(x.rows), false).diagonal();
        bool equal = true;
        for (std::size_t i = 0; i < x.rows; ++i) equal = equal && diagonal[i] == K[i * x.rows + i];
        check(equal, std::string(level.name) + (sparse ? " sparse " : " dense ") +
                         std::to_string(static_cast<int>(measure)) + " " + std::to_string(static_cast<int>(transform)));
      }
    }
  }
}

template <class T>
void test_weights_and_centre(const Level& level) {
  const double tolerance = sizeof(T) == sizeof(double) ? 1e-13 : 2e-5;
  const Table<T> x(6, 10, 7), y(40, 10, 8);
  std::vector<double> weights, centre;
  for (int f = 0; f < 10; ++f) {
    weights.push_back(0.25 * f);
    centre.push_back(0.5 - 0.125 * f);
  }
  for (const Measure measure : {Measure::dot, Measure::l2, Measure::l1, Measure::min}) {
    for (const bool centred : {false, true}) {
      if (centred && measure != Measure::l2 && measure != Measure::l1) continue;
      KernelSpec spec = kernel(measure, Transform::identity);
      spec.weights = weights.data();
      if (centred) spec.centre = centre.data();
      for (const bool sparse : {false, true}) {
        if (sparse && centred) continue;
        const std::vector<T> K = matrix_of<T>(spec, level, x.view(sparse), y.view(sparse));
        bool good = true;
        for (std::size_t i = 0; i < x.rows; ++i) {
          for (std::size_t j = 0; j < y.rows; ++j)
            good = good && close(K[i * y.rows + j], scalar_kernel(spec, x, i, y, j), tolerance);
        }
        check(good);
      }
    }
  }
}

template <class T>
void test_products(const Level& level) {
  const Table<T> y(37, 5, 9);
  for (const std::size_t n : {0, 1, 3, 8, 40, 700}) {
    const Table<T> x(n, 5, 10);
    for (const std::size_t k : {1, 3}) {
      std::vector<double> v(y.rows * k);
      for (std::size_t i = 0; i < v.size(); ++i) v[i] = i % 5 == 0 ? 0.0 : std::sin(double(i));
      for (const bool sparse : {false, true}) {
        const KernelSpec spec = gaussian(0.3);
        std::vector<double> product(n * k, -1.0), again(n * k, -2.0);
        Team one(1), three(3);
        kernel_dot<T>(spec, level, x.view(sparse), y.view(sparse), v.data(), k, one, product.data());
        kernel_dot<T>(spec, level, x.view(sparse), y.view(sparse), v.data(), k, three, again.data());
        check(product == again, "threads");
        bool good = true;
        for (std::size_t i = 0; i < n; ++i) {
          for (std::size_t c = 0; c < k; ++c) {
            double sum = 0.0;
            for (std::size_t j = 0; j < y.rows; ++j) sum += scalar_kernel(spec, x, i, y, j) * v[j * k + c];
            good = good && close(product[i * k + c], sum, sizeof(T) == sizeof(double) ? 1e-12 : 1e-4);
          }
        }
        check(good, std::to_string(n) + " rows, " + std::to_string(k) + " columns");
      }
    }
  }
  const Table<T> nothing(0, 5, 11), some(9, 5, 12);
  std::vector<double> product(9, -1.0);
  Team team(1);
  kernel_dot<T>(gaussian(1.0), level, some.view(false), nothing.view(false), nullptr, 1, team, product.data());
  check(std::all_of(product.begin(), product.end(), [](double p) { return p == 0.0; }), "no columns");
}

// exp of the level against the library's, over the whole range.
template <class T>
void test_exponential(const Level& level) {
  KernelSpec spec = kernel(Measure::dot, Transform::exp);
  spec.p0 = 1.0;
  const double largest = sizeof(T) == sizeof(double) ? 700.0 : 85.0;
  bool good = true;
  T values[panel_width<T>], before[panel_width<T>];
  for (int round = 0; round < 500; ++round) {
    for (std::size_t c = 0; c < panel_width<T>; ++c) {
      before[c] = T(largest * (double(round * panel_width<T> + c) / (500.0 * panel_width<T>)));
      values[c] = before[c];
    }
    level.loops<T>().transform(spec, T(0), nullptr, values);
    for (std::size_t c = 0; c < panel_width<T>; ++c) {
      const double exact = std::exp(-double(before[c]));
      good = good && std::abs(double(values[c]) - exact) <= 4.0 * double(std::numeric_limits<T>::epsilon()) * exact;
    }
  }
  check(good, "accuracy");
  std::fill_n(values, panel_width<T>, T(0));
  values[1] = T(1e4);
  values[2] = std::numeric_limits<T>::infinity();
  values[3] = std::numeric_limits<T>::max();
  values[4] = std::numeric_limits<T>::denorm_min();
  level.loops<T>().transform(spec, T(0), nullptr, values);
  check(values[0] == T(1) && values[4] == T(1), "exactly one at zero");
  check(values[1] == T(0) && values[2] == T(0) && values[3] == T(0), "zero far away");
}

}  // namespace

void run_kernels_tests() {
  for (const Level* level : supported_levels()) {
    test_kernel_values<float>(*level);
    test_kernel_values<double>(*level);
    test_shapes<float>(*level);
    test_shapes<double>(*level);
    test_wide_rows<float>(*level);
    test_wide_rows<double>(*level);
    test_locality<float>(*level);
    test_locality<double>(*level);
    test_one_set<float>(*level);
    test_one_set<double>(*level);
    test_diagonal<float>(*level);
    test_diagonal<double>(*level);
    test_weights_and_centre<float>(*level);
    test_weights_and_centre<double>(*level);
    test_products<float>(*level);
    test_products<double>(*level);
    test_exponential<float>(*level);
    test_exponential<double>(*level);
  }
}

}  // namespace mercer::tests
