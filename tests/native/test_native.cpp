// Tests of the native core: every SIMD level against scalar loops, threads, caches, and the solver on problems
// whose answers are known. A plain program, built and run under sanitizers by `make sanitize`.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "mercer/active_set.hpp"
#include "mercer/blocks.hpp"
#include "mercer/cache.hpp"
#include "mercer/dual.hpp"
#include "mercer/factor.hpp"
#include "mercer/joint.hpp"
#include "mercer/kernels.hpp"
#include "mercer/level.hpp"
#include "mercer/linear.hpp"
#include "mercer/linear_dual.hpp"
#include "mercer/machines.hpp"
#include "mercer/matrix.hpp"
#include "mercer/parallel.hpp"
#include "mercer/products.hpp"
#include "mercer/rows.hpp"
#include "mercer/smo.hpp"
#include "mercer/stop.hpp"
#include "mercer/vectors.hpp"

namespace {

using namespace mercer;

constexpr double infinity = std::numeric_limits<double>::infinity();

int passed = 0, failed = 0;

void check(bool ok, std::string_view what = "", std::source_location where = std::source_location::current()) {
  if (ok) {
    ++passed;
    return;
  }
  ++failed;
  std::printf("line %u: %s failed: %.*s\n", static_cast<unsigned>(where.line()), where.function_name(),
              static_cast<int>(what.size()), what.data());
}

bool close(double x, double y, double tolerance) {
  return x == y || std::abs(x - y) <= tolerance * std::max({1.0, std::abs(x), std::abs(y)});
}

template <class Error, class Action>
bool throws(Action action) {
  try {
    action();
  } catch (const Error&) {
    return true;
  }
  return false;
}

// --- samples and a scalar kernel -------------------------------------------------------------------------------

constexpr Measure measures[] = {Measure::dot, Measure::l2, Measure::l1, Measure::min, Measure::chi2, Measure::match};
constexpr Transform transforms[] = {Transform::identity, Transform::exp,      Transform::exp_sqrt, Transform::power,
                                    Transform::tanh,     Transform::matern32, Transform::matern52, Transform::rational,
                                    Transform::cosine,   Transform::tanimoto};

// Rows of a table, dense and as CSR. Values are multiples of 1/8 (exact in float), a third of them zero, so that
// matches and empty rows occur.
template <class T>
struct Table {
  std::size_t rows, features;
  std::vector<T> dense, values;
  std::vector<std::int32_t> columns;
  std::vector<std::int64_t> starts{0};

  Table(std::size_t n, std::size_t d, unsigned seed, bool signs = false) : rows(n), features(d), dense(n * d) {
    std::mt19937 random(seed);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t f = 0; f < d; ++f) {
        const int eighths = static_cast<int>(random() % 24) - 7;
        T value = i % 7 == 3 || eighths < 0 ? T(0) : T(eighths) / T(8);
        if (signs && random() % 2 == 1) value = -value;
        dense[i * d + f] = value;
        if (value != T(0)) {
          values.push_back(value);
          columns.push_back(static_cast<std::int32_t>(f));
        }
      }
      starts.push_back(static_cast<std::int64_t>(values.size()));
    }
  }

  Samples view(bool sparse) const {
    Samples samples;
    samples.values = sparse ? values.data() : dense.data();
    samples.columns = sparse ? columns.data() : nullptr;
    samples.starts = sparse ? starts.data() : nullptr;
    samples.rows = rows;
    samples.features = features;
    samples.precision = sizeof(T) == sizeof(double) ? Precision::full : Precision::single;
    samples.sparse = sparse;
    return samples;
  }

  double at(std::size_t i, std::size_t f, const KernelSpec& spec) const {
    double x = dense[i * features + f];
    if (spec.centre) x -= spec.centre[f];
    if (spec.weights) x *= spec.weights[f];
    return x;
  }
};

// The kernel by its definition.
template <class T>
double scalar_kernel(const KernelSpec& spec, const Table<T>& x, std::size_t i, const Table<T>& y, std::size_t j) {
  double t = 0.0, nx = 0.0, ny = 0.0;
  for (std::size_t f = 0; f < x.features; ++f) {
    const double a = x.at(i, f, spec), b = y.at(j, f, spec);
    nx += a * a;
    ny += b * b;
    switch (spec.measure) {
      case Measure::dot:
        t += a * b;
        break;
      case Measure::l2:
        t += (a - b) * (a - b);
        break;
      case Measure::l1:
        t += std::abs(a - b);
        break;
      case Measure::min:
        t += std::min(a, b);
        break;
      case Measure::chi2:
        t += a + b > 0 ? (a - b) * (a - b) / (a + b) : 0.0;
        break;
      case Measure::match:
        t += a == b ? 1.0 : 0.0;
        break;
    }
  }
  const double u = spec.p0 * std::sqrt(std::max(t, 0.0));
  switch (spec.transform) {
    case Transform::identity:
      return spec.p0 * t;
    case Transform::exp:
      return std::exp(-spec.p0 * t);
    case Transform::exp_sqrt:
      return std::exp(-u);
    case Transform::power:
      return std::pow(spec.p0 * t + spec.p1, spec.p2);
    case Transform::tanh:
      return std::tanh(spec.p0 * t + spec.p1);
    case Transform::matern32:
      return (1 + u) * std::exp(-u);
    case Transform::matern52:
      return (1 + u + u * u / 3) * std::exp(-u);
    case Transform::rational:
      return std::pow(1 + spec.p0 * t, -spec.p1);
    case Transform::cosine:
      return nx > 0 && ny > 0 ? t / std::sqrt(nx * ny) : 0.0;
    case Transform::tanimoto:
      return nx + ny - t > 0 ? t / (nx + ny - t) : 1.0;
  }
  return 0.0;
}

KernelSpec kernel(Measure measure, Transform transform) {
  KernelSpec spec;
  spec.measure = measure;
  spec.transform = transform;
  spec.p0 = 0.3;
  spec.p1 = 0.7;
  spec.p2 = 3.0;
  return spec;
}

KernelSpec gaussian(double gamma) {
  KernelSpec spec;
  spec.measure = Measure::l2;
  spec.transform = Transform::exp;
  spec.p0 = gamma;
  return spec;
}

template <class T>
std::vector<T> matrix_of(const KernelSpec& spec, const Level& level, const Samples& x, const Samples& y,
                         std::size_t n_threads = 1) {
  std::vector<T> out(x.rows * y.rows);
  Team team(n_threads);
  kernel_matrix<T>(spec, level, x, y, team, out.data());
  return out;
}

// --- kernels ---------------------------------------------------------------------------------------------------

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

// All ways to ask the machines of all pairs of classes agree to the last bit, and with scalar loops up to rounding.
void test_machines(const Level& level) {
  constexpr std::size_t n_classes = 6, n_pairs = n_classes * (n_classes - 1) / 2;
  const KernelSpec spec = gaussian(0.3);
  for (const std::size_t m : {std::size_t{23}, std::size_t{1100}}) {
    const Table<double> y(m, 5, 9);
    std::vector<double> values, offsets;
    std::vector<std::int32_t> columns;
    std::vector<std::int64_t> starts{0};
    for (std::size_t k = 0; k < n_pairs; ++k) {  // the third machine has no support vectors
      for (std::size_t j = k % 4; k != 2 && j < m; j += 1 + k % 3) {
        values.push_back(std::sin(double(values.size())));
        columns.push_back(static_cast<std::int32_t>(j));
      }
      starts.push_back(static_cast<std::int64_t>(values.size()));
      offsets.push_back(std::cos(double(k)) / 5.0);
    }
    const Machines machines{values.data(), columns.data(), starts.data(), n_pairs};
    for (const std::size_t n : {0, 1, 7, 8, 40, 300}) {
      const Table<double> x(n, 5, 10);
      for (const bool sparse : {false, true}) {
        const std::string what = std::to_string(n) + " samples, " + std::to_string(m) + " vectors";
        const Samples xs = x.view(sparse), ys = y.view(sparse);
        Team one(1), three(3);
        std::vector<double> sums(n_pairs * n, -1.0), again(n_pairs * n, -2.0);
        kernel_dot_rows(spec, level, xs, ys, machines, one, sums.data());
        kernel_dot_rows(spec, level, xs, ys, machines, three, again.data());
        check(sums == again, "threads, " + what);
        bool good = true;
        for (std::size_t k = 0; k < n_pairs; ++k) {
          for (std::size_t i = 0; i < n; ++i) {
            double sum = 0.0;
            for (std::size_t e = machines.begin(k); e < machines.begin(k + 1); ++e) {
              sum += scalar_kernel(spec, x, i, y, static_cast<std::size_t>(columns[e])) * values[e];
            }
            good = good && close(sums[k * n + i], sum, 1e-11);
          }
        }
        check(good, "sums, " + what);

        std::vector<double> votes(n * n_classes, 0.0), totals(n * n_classes, 0.0), order(n * n_classes, -1.0);
        for (std::size_t i = 0; i < n; ++i) {
          for (std::size_t a = 0; a < n_classes; ++a) {
            for (std::size_t b = a + 1; b < n_classes; ++b) {
              const std::size_t k = pair_number(a, b, n_classes);
              const double value = sums[k * n + i] + offsets[k];
              votes[i * n_classes + (value > 0.0 ? b : a)] += 1.0;
              totals[i * n_classes + b] += value;
              totals[i * n_classes + a] -= value;
            }
          }
          std::size_t first = 0, last = n_classes - 1;
          for (std::size_t step = 0; first < last; ++step) {
            const std::size_t k = pair_number(first, last, n_classes);
            order[i * n_classes + (sums[k * n + i] + offsets[k] > 0.0 ? first++ : last--)] = double(step);
          }
          order[i * n_classes + first] = double(n_classes - 1);
        }
        std::vector<double> matrix(n * m), won(n * n_classes), total(n * n_classes), found(n * n_classes);
        vote(spec, level, xs, ys, machines, offsets.data(), n_classes, three, won.data(), total.data());
        check(won == votes && total == totals, "votes, " + what);
        const std::size_t wanted = n * (n_classes - 1);
        check(
            walk_over_machines(spec, level, xs, ys, machines, offsets.data(), n_classes, three, found.data()) == wanted,
            "machines asked, " + what);
        check(found == order, "machine by machine, " + what);
        check(walk_over_rows(spec, level, xs, ys, machines, offsets.data(), n_classes, three, found.data()) == wanted,
              "rows asked, " + what);
        check(found == order, "by rows, " + what);
        kernel_matrix<double>(spec, level, xs, ys, one, matrix.data());
        check(walk_over_matrix(matrix.data(), n, m, level, machines, offsets.data(), n_classes, three, found.data()) ==
                  wanted,
              "matrix asked, " + what);
        check(found == order, "by a matrix, " + what);
      }
    }
  }
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

// --- the loops of the solver -----------------------------------------------------------------------------------

template <class T>
void test_solver_loops(const Level& level) {
  std::mt19937 random(13);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  for (const std::size_t n : {1, 2, 3, 7, 8, 9, 16, 31, 64, 100}) {
    std::vector<T> first(n), second(n);
    std::vector<double> up(n), low(n), f(n), curvature(n), sum(n, 0.5);
    for (std::size_t c = 0; c < n; ++c) {
      first[c] = T(uniform(random));
      second[c] = T(uniform(random));
      f[c] = uniform(random);
      curvature[c] = 2.0 + uniform(random);
      up[c] = c % 3 == 0 ? -infinity : uniform(random);
      low[c] = c % 4 == 1 ? infinity : uniform(random);
    }
    std::vector<double> expected = f;
    for (std::size_t c = 0; c < n; ++c) expected[c] += 0.75 * (double(first[c]) - double(second[c]));
    Candidate largest, smallest;
    level.loops<T>().update_and_extremes(0.75, first.data(), second.data(), up.data(), low.data(), n, f.data(),
                                         &largest, &smallest);
    Candidate most{-infinity, SIZE_MAX}, least{infinity, SIZE_MAX};
    bool moved = true;
    for (std::size_t c = 0; c < n; ++c) {
      moved = moved && close(f[c], expected[c], 1e-15);
      if (up[c] - f[c] > most.value) most = {up[c] - f[c], c};
      if (low[c] - f[c] < least.value) least = {low[c] - f[c], c};
    }
    check(moved, "step");
    check(largest.position == most.position && largest.value == most.value, "largest");
    check(smallest.position == least.position && smallest.value == least.value, "smallest");

    const double v = 0.5;
    Candidate partner{0.0, SIZE_MAX};
    for (std::size_t c = 0; c < n; ++c) {
      const double difference = v - (low[c] - f[c]), eta = 1.5 + curvature[c] - 2.0 * double(first[c]);
      if (difference > 0.0 && difference * difference / eta > partner.value * (1 + 1e-12))
        partner = {difference * difference / eta, c};
    }
    const Candidate found =
        level.loops<T>().best_partner(v, 1.5, first.data(), curvature.data(), low.data(), f.data(), n);
    check(found.position == partner.position && close(found.value, partner.value, 1e-12), "partner");

    const double weights[] = {-2.0, 0.25, 0.0, 1.0};
    const T* const rows[] = {first.data(), second.data(), first.data(), second.data()};
    level.loops<T>().accumulate(weights, rows, n, sum.data());
    bool added = true;
    for (std::size_t c = 0; c < n; ++c) {
      const double expected_sum = 0.5 - 2.0 * double(first[c]) + 1.25 * double(second[c]);
      added = added && close(sum[c], expected_sum, sizeof(T) == sizeof(double) ? 1e-14 : 1e-5);
    }
    check(added, "accumulate");
  }
  // Ties go to the first position, so that all levels take the same steps.
  std::vector<T> zeros(40, T(0));
  std::vector<double> same(40, 1.0), f(40, 0.0), none(40, -infinity), never(40, infinity);
  Candidate largest, smallest;
  const auto extremes = level.loops<T>().update_and_extremes;
  extremes(0.0, zeros.data(), zeros.data(), same.data(), same.data(), 40, f.data(), &largest, &smallest);
  check(largest.position == 0 && smallest.position == 0, "ties");
  extremes(0.0, zeros.data(), zeros.data(), none.data(), never.data(), 40, f.data(), &largest, &smallest);
  check(largest.value == -infinity && smallest.value == infinity, "nobody");
  extremes(0.0, zeros.data(), zeros.data(), none.data(), never.data(), 0, f.data(), &largest, &smallest);
  check(largest.value == -infinity && smallest.value == infinity, "nothing");
}

// Four rows and one panel, with everything a tile may ask for. Values are not negative: they suit every measure.
template <class T>
struct TileInput {
  static constexpr std::size_t width = panel_width<T>;
  std::vector<T> values, panel, norms = std::vector<T>(width), row_norms = std::vector<T>(tile_rows);
  const T* rows[tile_rows];
  std::size_t features;

  TileInput(std::size_t d, unsigned seed) : values(tile_rows * d), panel(width * d), features(d) {
    std::mt19937 random(seed);
    for (T& value : values) value = T(random() % 17) / T(8);
    for (T& value : panel) value = T(random() % 17) / T(8);
    for (std::size_t r = 0; r < tile_rows; ++r) {
      rows[r] = values.data() + r * d;
      for (std::size_t f = 0; f < d; ++f) row_norms[r] += rows[r][f] * rows[r][f];
    }
    for (std::size_t c = 0; c < width; ++c) {
      for (std::size_t f = 0; f < d; ++f) norms[c] += panel[f * width + c] * panel[f * width + c];
    }
  }
};

// A tile that is used up at once gives the sums of one that was stored, to the last bit: rows that are kept and rows
// that are made again can take each other's place.
template <class T>
void test_tiles_used_up_at_once(const Level& level) {
  constexpr std::size_t width = panel_width<T>;
  const Loops<T>& loops = level.loops<T>();
  const double coefficients[] = {-2.0, 0.3, 0.0, 1e3};
  std::vector<double> weights(width);
  for (std::size_t c = 0; c < width; ++c) weights[c] = std::sin(double(c)) / 3.0;
  const auto at_once = [&](const KernelSpec& spec, const std::string& what) {
    const TileInput<T> in(11, 71);
    std::vector<T> tile(tile_rows * width);
    loops.dense_tile(spec, in.rows, in.row_norms.data(), in.panel.data(), in.norms.data(), in.features, tile.data());
    const T* const stored[] = {tile.data(), tile.data() + width, tile.data() + 2 * width, tile.data() + 3 * width};
    bool same = true;
    for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{5}, width - 1, width}) {
      std::vector<double> expected(n, 0.1), sum(n, 0.1);
      loops.accumulate(coefficients, stored, n, expected.data());
      loops.add_dense_tile(spec, coefficients, in.rows, in.row_norms.data(), in.panel.data(), in.norms.data(),
                           in.features, n, sum.data());
      same = same && sum == expected;
    }
    check(same, "sums " + what);
    std::vector<double> expected(width, 0.1), sum(width, 0.1), row_sums(tile_rows * row_sum_width, 0.2);
    std::vector<double> expected_rows = row_sums;
    loops.accumulate(coefficients, stored, width, expected.data());
    for (std::size_t r = 0; r < tile_rows; ++r) {
      for (std::size_t c = 0; c < width; ++c) {
        expected_rows[r * row_sum_width + c % row_sum_width] += weights[c] * double(stored[r][c]);
      }
    }
    loops.add_dense_tile_both_ways(spec, coefficients, in.rows, in.row_norms.data(), in.panel.data(), in.norms.data(),
                                   in.features, weights.data(), sum.data(), row_sums.data());
    check(sum == expected, "both ways, down the columns " + what);
    bool good = true;
    for (std::size_t k = 0; k < row_sums.size(); ++k) good = good && close(row_sums[k], expected_rows[k], 1e-13);
    check(good, "both ways, along the rows " + what);
  };
  for (const Measure measure : measures) {
    for (const Transform transform : transforms) {
      const std::string what = std::string(level.name) + " " + std::to_string(static_cast<int>(measure)) + " " +
                               std::to_string(static_cast<int>(transform));
      KernelSpec spec = kernel(measure, transform);
      at_once(spec, what);
      if (transform != Transform::power) continue;
      for (const double degree : {1.0, 2.0, 5.0}) {
        spec.p2 = degree;
        at_once(spec, what + " degree " + std::to_string(degree));
      }
    }
  }
}

// Sums in the order of j, rounded like those of `accumulate` in double: one sample and many have the same values.
template <class T>
void test_dot(const Level& level) {
  std::mt19937 random(72);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  for (std::size_t n = 0; n <= 40; ++n) {
    for (const std::size_t stride : {1, 3}) {
      std::vector<T> values(n);
      std::vector<double> weights(n * stride);
      for (T& value : values) value = T(uniform(random));
      for (double& weight : weights) weight = uniform(random);
      double naive = 0.0, one_by_one = 0.0;
      for (std::size_t j = 0; j < n; ++j) {
        const double value = double(values[j]), zero = 0.0;
        const double four[] = {weights[j * stride], 0.0, 0.0, 0.0};
        const double* const rows[] = {&value, &zero, &zero, &zero};
        level.full.accumulate(four, rows, 1, &one_by_one);
        naive += weights[j * stride] * value;
      }
      const double sum = level.loops<T>().dot(values.data(), weights.data(), stride, n);
      check(close(sum, naive, 1e-14), "the sum");
      check(sum == one_by_one, "to the last bit");
    }
  }
}

template <class T>
void test_sparse_tile(const Level& level) {
  constexpr std::size_t width = panel_width<T>;
  const double tolerance = sizeof(T) == sizeof(double) ? 1e-13 : 1e-6;
  std::mt19937 random(73);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  for (const std::size_t d : {1, 2, 3, 16, 17, 50}) {
    for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{5}, width - 1, width}) {
      // Row 0 is column 0, so that its distance is known: zero, however the products are rounded.
      std::vector<double> spread(d * spread_rows), columns(d * n), row_norms(spread_rows), norms(n), values;
      std::vector<std::int32_t> features;
      std::vector<std::int64_t> starts{0};
      for (double& x : spread) x = random() % 3 == 0 ? 0.0 : uniform(random);
      for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t f = 0; f < d; ++f) {
          if (j % 3 == 1 || random() % 2 == 0) continue;  // every third column has no entries
          columns[j * d + f] = uniform(random);
          values.push_back(columns[j * d + f]);
          features.push_back(static_cast<std::int32_t>(f));
        }
        starts.push_back(static_cast<std::int64_t>(values.size()));
        const double* entries = values.data() + starts[j];
        norms[j] = level.full.dot(entries, entries, 1, static_cast<std::size_t>(starts[j + 1] - starts[j]));
      }
      for (std::size_t f = 0; f < d && n > 0; ++f) spread[f * spread_rows] = columns[f];
      for (std::size_t r = 0; r < spread_rows; ++r) {
        for (std::size_t f = 0; f < d; ++f) row_norms[r] += spread[f * spread_rows + r] * spread[f * spread_rows + r];
      }
      if (n > 0) row_norms[0] = norms[0];
      for (const bool distances : {false, true}) {
        std::vector<T> tile(spread_rows * width, T(-1));
        level.loops<T>().sparse_tile(
            {features.data(), values.data(), starts.data(), distances ? norms.data() : nullptr}, spread.data(),
            row_norms.data(), n, tile.data());
        bool good = true;
        for (std::size_t r = 0; r < spread_rows; ++r) {
          for (std::size_t j = 0; j < n; ++j) {
            double product = 0.0, squared = 0.0;
            for (std::size_t f = 0; f < d; ++f) {
              const double x = spread[f * spread_rows + r], y = columns[j * d + f];
              product += x * y;
              squared += (x - y) * (x - y);
            }
            good = good && close(tile[r * width + j], distances ? squared : product, tolerance);
            good = good && (!distances || tile[r * width + j] >= T(0));
          }
        }
        check(good, std::to_string(d) + " features, " + std::to_string(n) + " columns");
        if (distances && n > 0) check(tile[0] == T(0), "a vector and itself");
      }
    }
  }
}

// The same searches with a state in float32: the same choices, up to its rounding.
void test_quick_search(const Level& level) {
  constexpr float never = std::numeric_limits<float>::infinity();
  std::mt19937 random(74);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  std::vector<std::size_t> sizes = all_positions(41);
  sizes.push_back(1000);
  for (const std::size_t n : sizes) {
    std::vector<float> first(n), second(n), up(n), low(n), f(n), curvature(n);
    for (std::size_t c = 0; c < n; ++c) {
      first[c] = uniform(random);
      second[c] = uniform(random);
      f[c] = uniform(random);
      curvature[c] = 2.0f + uniform(random);
      up[c] = c % 3 == 0 ? -never : uniform(random);
      low[c] = c % 4 == 1 ? never : uniform(random);
    }
    const std::vector<float> before = f;
    Candidate largest, smallest;
    level.quick.update_and_extremes(0.75, first.data(), second.data(), up.data(), low.data(), n, f.data(), &largest,
                                    &smallest);
    Candidate most{-infinity, SIZE_MAX}, least{infinity, SIZE_MAX};
    bool moved = true;
    for (std::size_t c = 0; c < n; ++c) {
      moved = moved && close(f[c], double(before[c]) + 0.75 * (double(first[c]) - double(second[c])), 1e-6);
      if (up[c] - f[c] > most.value) most = {double(up[c] - f[c]), c};
      if (low[c] - f[c] < least.value) least = {double(low[c] - f[c]), c};
    }
    check(moved, "step");
    check(largest.position == most.position && largest.value == most.value, "largest");
    check(smallest.position == least.position && smallest.value == least.value, "smallest");

    const auto gain = [&](std::size_t c) {
      const double difference = std::max(0.0, 0.5 - (double(low[c]) - double(f[c])));
      return difference * difference / (1.5 + double(curvature[c]) - 2.0 * double(first[c]));
    };
    double best = 0.0;
    for (std::size_t c = 0; c < n; ++c) best = std::max(best, gain(c));
    const Candidate found = level.quick.best_partner(0.5, 1.5, first.data(), curvature.data(), low.data(), f.data(), n);
    check(best > 0.0
              ? found.position < n && gain(found.position) >= (1.0 - 1e-5) * best && close(found.value, best, 1e-5)
              : found.position == SIZE_MAX,
          "partner");
  }
  const std::vector<float> same(40, 1.0f), zeros(40, 0.0f);
  std::vector<float> f(40, 0.0f);
  Candidate largest, smallest;
  level.quick.update_and_extremes(0.0, zeros.data(), zeros.data(), same.data(), same.data(), 40, f.data(), &largest,
                                  &smallest);
  check(largest.position == 0 && smallest.position == 0, "ties");
}

void test_levels() {
  const auto levels = supported_levels();
  check(!levels.empty() && levels.front()->name == "baseline");
  check(&find_level("") == levels.back());
  for (const Level* level : levels) check(&find_level(level->name) == level);
  check(throws<std::invalid_argument>([] { find_level("avx1024"); }));
}

// --- linear algebra --------------------------------------------------------------------------------------------

void test_algebra(const Level& level) {
  std::mt19937 random(61);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  std::vector<std::size_t> sizes = all_positions(41);
  sizes.insert(sizes.end(), {63, 64, 65, 200, 257});
  for (const std::size_t n : sizes) {
    std::vector<double> x(n), y(n);
    double sum = 0.0;
    for (std::size_t k = 0; k < n; ++k) {
      x[k] = uniform(random);
      y[k] = uniform(random);
      sum += x[k] * y[k];
    }
    check(close(level.algebra.inner(x.data(), y.data(), n), sum, 1e-13), "inner " + std::to_string(n));

    std::vector<double> difference = y;
    level.algebra.subtract(0.75, x.data(), n, difference.data());
    bool good = true;
    for (std::size_t k = 0; k < n; ++k) good = good && close(difference[k], y[k] - 0.75 * x[k], 1e-15);
    check(good, "subtract " + std::to_string(n));

    // Rows of their own length: a sanitizer sees what is read behind the diagonal.
    std::vector<std::vector<double>> L(n);
    std::vector<const double*> rows(n);
    std::vector<double> solution(n * solve_group), b(n * solve_group);
    for (double& value : solution) value = uniform(random);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < i; ++j) L[i].push_back(uniform(random) / std::sqrt(double(n)));
      L[i].push_back(1.5 + 0.5 * uniform(random));
      rows[i] = L[i].data();
      for (std::size_t j = 0; j <= i; ++j) {
        for (std::size_t g = 0; g < solve_group; ++g) b[i * solve_group + g] += L[i][j] * solution[j * solve_group + g];
      }
    }
    level.algebra.forward_solve(rows.data(), n, b.data());
    good = true;
    for (std::size_t k = 0; k < b.size(); ++k) good = good && close(b[k], solution[k], 1e-11);
    check(good, "forward_solve " + std::to_string(n));
  }
}

// A factor beside what it is the factor of: the inner products of the points `kept`. A combination of points is then a
// row that depends on others. Points in many dimensions are nearly orthogonal, the matrix well conditioned.
struct WatchedFactor {
  static constexpr std::size_t dimension = 256;
  std::vector<std::vector<double>> points;
  std::vector<std::size_t> kept;
  Factor factor;
  std::mt19937 random{62};

  WatchedFactor(const Level& level, std::size_t n) : factor(level) {
    std::normal_distribution<double> normal;
    for (std::size_t i = 0; i < n; ++i) {
      points.emplace_back(dimension);
      for (double& x : points.back()) x = normal(random) / 16.0;
    }
  }

  // A further point, x times one plus y times another; returns its number.
  std::size_t combine(double x, std::size_t i, double y, std::size_t j) {
    std::vector<double> point(dimension);
    for (std::size_t f = 0; f < dimension; ++f) point[f] = x * points[i][f] + y * points[j][f];
    points.push_back(point);
    return points.size() - 1;
  }

  double value(std::size_t i, std::size_t j) const {
    double sum = 0.0;
    for (std::size_t f = 0; f < dimension; ++f) sum += points[i][f] * points[j][f];
    return sum;
  }

  std::vector<char> append(const std::vector<std::size_t>& which) {
    std::vector<double> with_kept(kept.size() * Factor::group, 0.0);
    for (std::size_t k = 0; k < kept.size(); ++k) {
      for (std::size_t g = 0; g < which.size(); ++g) with_kept[k * Factor::group + g] = value(kept[k], which[g]);
    }
    const std::vector<char> taken = factor.append(
        std::move(with_kept), which.size(), [&](std::size_t g, std::size_t h) { return value(which[g], which[h]); });
    for (std::size_t g = 0; g < which.size(); ++g) {
      if (taken[g]) kept.push_back(which[g]);
    }
    return taken;
  }

  void remove(std::size_t place) {
    factor.remove(place);
    kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(place));
  }

  // A^-1 (A x) = x, x at random: where A is well conditioned, L L' = A to the same accuracy.
  bool solves() {
    if (factor.size() != kept.size()) return false;
    std::uniform_real_distribution<double> uniform(-1.0, 1.0);
    std::vector<double> x(kept.size()), b(kept.size());
    for (double& entry : x) entry = uniform(random);
    for (std::size_t i = 0; i < kept.size(); ++i) {
      for (std::size_t j = 0; j < kept.size(); ++j) b[i] += value(kept[i], kept[j]) * x[j];
    }
    factor.solve(b.data());
    for (std::size_t i = 0; i < kept.size(); ++i) {
      if (!close(b[i], x[i], 1e-10)) return false;
    }
    return true;
  }
};

void test_factor(const Level& level) {
  WatchedFactor watched(level, 30);
  check(watched.solves(), "nothing");
  check(watched.append({}).empty() && watched.solves(), "nothing new");
  check(watched.append({0}) == std::vector<char>{1} && watched.solves(), "one");
  check(watched.append({1, 2, 3, 4, 5, 6, 7, 8}) == std::vector<char>(8, 1) && watched.solves(), "a whole group");
  check(watched.append({9, 10, 11}) == std::vector<char>(3, 1) && watched.solves(), "a part of one");
  watched.remove(0);
  check(watched.solves(), "without the first");
  watched.remove(5);
  check(watched.solves(), "without one in the middle");
  watched.remove(watched.kept.size() - 1);
  check(watched.solves(), "without the last");
  check(watched.append({0, 11}) == std::vector<char>(2, 1) && watched.solves(), "again");
  while (!watched.kept.empty()) watched.remove(watched.kept.size() / 2);
  check(watched.solves(), "without any");
  check(watched.append({3}) == std::vector<char>{1} && watched.solves(), "one after none");
}

// Rows that depend on others would have a pivot of rounding errors, and the solution be made of them.
void test_factor_leaves_dependent_rows_out(const Level& level) {
  WatchedFactor watched(level, 12);
  const std::size_t zero = watched.combine(0.0, 0, 0.0, 0), copy = watched.combine(1.0, 1, 0.0, 1);
  const std::size_t copy_within = watched.combine(1.0, 4, 0.0, 4), sum = watched.combine(2.0, 0, -1.0, 4);
  check(watched.append({0, 1, 2}) == std::vector<char>({1, 1, 1}));
  check(watched.append({zero, 3, copy, 4, copy_within, sum, 5}) == std::vector<char>({0, 1, 0, 1, 0, 0, 1}),
        "of those before and of the same group");
  check(watched.kept == std::vector<std::size_t>({0, 1, 2, 3, 4, 5}) && watched.solves());
  watched.remove(1);
  check(watched.append({copy}) == std::vector<char>{1} && watched.solves(), "the copy in place of what has left");
  // Squared distances from the span of the others, over the squared norm: far above rounding, and within it.
  const std::size_t near = watched.combine(1.0, 2, 1e-3, 6), too_near = watched.combine(1.0, 3, 1e-6, 7);
  check(watched.append({near, too_near}) == std::vector<char>({1, 0}), "nearly dependent");
  const double not_a_number = std::numeric_limits<double>::quiet_NaN();
  Factor factor(level);
  const auto only = [&](double diagonal) {
    return factor.append({}, 1, [=](std::size_t, std::size_t) { return diagonal; })[0];
  };
  check(!only(-1.0) && !only(not_a_number) && factor.size() == 0, "no square root of these");
}

void test_factor_after_many_changes(const Level& level) {
  WatchedFactor watched(level, 50);
  std::vector<std::size_t> which;
  bool good = true;
  for (int change = 0; change < 2000; ++change) {
    if (watched.random() % 5 == 0) {
      which.clear();
      for (std::size_t tries = watched.random() % (2 * Factor::group); tries > 0; --tries) {
        const std::size_t i = watched.random() % watched.points.size();
        const auto is_in = [i](const std::vector<std::size_t>& list) {
          return std::find(list.begin(), list.end(), i) != list.end();
        };
        if (which.size() < Factor::group && !is_in(which) && !is_in(watched.kept)) which.push_back(i);
      }
      good = good && watched.append(which) == std::vector<char>(which.size(), 1);
    } else if (!watched.kept.empty()) {
      watched.remove(watched.random() % watched.kept.size());
    }
    if (change % 20 == 0) good = good && watched.solves();
  }
  check(good && watched.solves(), "rounding does not add up");
}

// --- threads ---------------------------------------------------------------------------------------------------

void test_team() {
  for (const std::size_t n_threads : {0, 1, 2, 3, 8}) {
    Team team(n_threads);
    check(team.size() == std::max<std::size_t>(1, n_threads));
    bool good = true;
    for (std::size_t job = 0; job < 300; ++job) {
      const std::size_t n = job % 41;
      std::vector<std::atomic<int>> visits(n);
      std::atomic<bool> in_range{true};
      team.for_each(n, [&](std::size_t tile, std::size_t worker) {
        if (tile >= n || worker >= team.size()) in_range = false;
        visits[tile].fetch_add(1);
      });
      good = good && in_range;
      for (const auto& count : visits) good = good && count == 1;
    }
    check(good, "every tile once");
  }
}

void test_team_writes_are_seen() {
  Team team(4);
  std::vector<double> values(1000);
  double total = 0.0;
  for (int job = 0; job < 200; ++job) {
    team.for_each(values.size(), [&](std::size_t tile, std::size_t) { values[tile] = double(tile) + job; });
    for (std::size_t i = 0; i < values.size(); ++i) total += values[i] - double(i) - job;
  }
  check(total == 0.0);
}

void test_team_sleeps_and_wakes() {
  Team team(3);
  std::atomic<int> count{0};
  for (int job = 0; job < 20; ++job) {
    team.for_each(5, [&](std::size_t, std::size_t) { ++count; });
    std::this_thread::sleep_for(std::chrono::microseconds(100));  // longer than helpers spin
  }
  check(count == 100);
}

void test_team_exceptions() {
  for (const std::size_t n_threads : {1, 2, 4}) {
    Team team(n_threads);
    for (int job = 0; job < 50; ++job) {
      check(throws<std::runtime_error>([&] {
        team.for_each(20, [&](std::size_t tile, std::size_t) {
          if (tile % 7 == 3) throw std::runtime_error("tile");
        });
      }));
      std::atomic<int> count{0};
      team.for_each(20, [&](std::size_t, std::size_t) { ++count; });
      check(count == 20, "usable afterwards");
    }
  }
}

void test_team_polls() {
  for (const std::size_t n_threads : {1, 3}) {
    const std::thread::id here = std::this_thread::get_id();
    std::atomic<bool> elsewhere{false};
    int calls = 0;
    {
      Team team(n_threads, [&] {
        ++calls;
        if (std::this_thread::get_id() != here) elsewhere = true;
      });
      for (int job = 0; job < 50; ++job) team.for_each(10, [](std::size_t, std::size_t) {});
    }
    check(calls > 0 && !elsewhere, "on the calling thread only");
    bool armed = true;
    Team team(n_threads, [&] {
      if (armed) throw std::runtime_error("signal");
    });
    check(throws<std::runtime_error>([&] { team.for_each(1000, [](std::size_t, std::size_t) {}); }), "ends the job");
    armed = false;
    std::atomic<int> count{0};
    team.for_each(1000, [&](std::size_t, std::size_t) { ++count; });
    check(count == 1000, "usable afterwards");
  }
  // Also while the caller waits for a helper that is at a long tile.
  std::atomic<bool> interrupted{false}, started{false};
  Team team(2, [&] {
    if (started && !interrupted) {
      interrupted = true;
      throw std::runtime_error("signal");
    }
  });
  check(throws<std::runtime_error>([&] {
    team.for_each(2, [&](std::size_t, std::size_t worker) {
      if (worker == 0) {
        while (!started) std::this_thread::yield();
      } else {
        started = true;
        while (!interrupted) std::this_thread::yield();
      }
    });
  }));
}

void test_teams_within_teams() {
  Team outer(2);
  std::atomic<int> count{0};
  outer.for_each(6, [&](std::size_t, std::size_t) {
    Team inner(2);
    inner.for_each(10, [&](std::size_t, std::size_t) { ++count; });
  });
  check(count == 60);
}

// --- caches and rows -------------------------------------------------------------------------------------------

void test_row_cache() {
  RowCache<float> cache(5, 3, 2 * 3 * sizeof(float));
  check(cache.capacity() == 2);
  check(cache.find(0) == nullptr);
  float* row = cache.insert(0);
  row[0] = 10.0f;
  cache.insert(1)[0] = 11.0f;
  check(cache.find(0) != nullptr && cache.find(0)[0] == 10.0f);
  cache.insert(2)[0] = 12.0f;  // row 1 is the oldest
  check(cache.find(1) == nullptr && cache.find(0)[0] == 10.0f && cache.find(2)[0] == 12.0f);
  cache.insert(3);  // row 0 was used before row 2
  check(cache.find(0) == nullptr && cache.find(2) != nullptr && cache.find(3) != nullptr);
  cache.insert(0)[2] = 1.0f;
  check(cache.find(2) == nullptr && cache.find(0)[2] == 1.0f);
  check(RowCache<double>(0, 0, 1000).capacity() == 0);
  check(RowCache<double>(10, 100, 799).capacity() == 0);
  check(RowCache<float>(1, 1 << 20, std::size_t{6} << 30).capacity() == 1536, "sizes above 4 GB");
}

// The three sources of rows give the same sums, whatever is stored and whatever is left out.
template <class T>
void test_rows(const Level& level) {
  constexpr std::size_t n = 90;
  const Table<T> x(n, 6, 14);
  const KernelSpec spec = gaussian(0.7);
  for (const bool sparse : {false, true}) {
    const std::vector<T> K = matrix_of<T>(spec, level, x.view(sparse), x.view(sparse));
    std::vector<std::size_t> points;
    for (std::size_t i = 0; i < n; i += 2) points.push_back(i);
    for (const std::size_t n_threads : {1, 2}) {
      Team team(n_threads);
      VectorRows<T> vectors(spec, level, x.view(sparse), points, true, team);
      VectorRows<T> unpacked(spec, level, x.view(sparse), points, false, team);
      MatrixRows<T, T> matrix(level, K.data(), n, points, team);
      auto maker = std::make_shared<VectorRows<T>>(spec, level, x.view(sparse), points, true, team);
      const auto fill = [maker](const std::size_t* which, std::size_t m, T* const* out) { maker->rows(which, m, out); };
      CachedRows<T> large(level, points.size(), 1 << 20, 8, fill, team);
      CachedRows<T> small(level, points.size(), 1, 3, fill, team);
      std::vector<Rows<T>*> sources{&vectors, &unpacked, &matrix, &large, &small};
      const std::vector<std::size_t> which{4, 0, 44, 17, 18, 19, 20, 3};
      const std::vector<double> coefficients{1.0, -2.0, 0.5, 0.25, -1.0, 3.0, 1e-3, 7.0};
      for (int round = 0; round < 3; ++round) {
        const std::size_t columns = sources[0]->n_active();
        std::vector<double> expected(columns, 1.0);
        std::vector<T> square(which.size() * which.size());
        sources[0]->add(which.data(), coefficients.data(), which.size(), expected.data());
        sources[0]->square(which.data(), which.size(), square.data());
        check(square[1] == K[8 * n + 0] && square[2 * which.size() + 7] == K[88 * n + 6], "square");
        for (Rows<T>* rows : sources) {
          std::vector<double> sum(columns, 1.0);
          std::vector<T> other(square.size());
          rows->add(which.data(), coefficients.data(), which.size(), sum.data());
          rows->square(which.data(), which.size(), other.data());
          check(sum == expected, "sum, to the last bit");
          // Three sums at once: with all coefficients, with none, and with those of the second half.
          std::vector<double> several(3 * which.size(), 0.0), sums(3 * columns, 1.0), half(columns, 1.0);
          std::copy(coefficients.begin(), coefficients.end(), several.begin());
          std::copy_n(coefficients.begin() + 4, 4, several.begin() + std::ptrdiff_t(2 * which.size() + 4));
          rows->add_many(which.data(), several.data(), which.size(), 3, sums.data());
          rows->add(which.data() + 4, coefficients.data() + 4, 4, half.data());
          check(std::equal(expected.begin(), expected.end(), sums.begin()), "the first of several sums");
          check(std::all_of(sums.begin() + std::ptrdiff_t(columns), sums.begin() + std::ptrdiff_t(2 * columns),
                            [](double value) { return value == 1.0; }),
                "a sum of nothing");
          check(std::equal(half.begin(), half.end(), sums.begin() + std::ptrdiff_t(2 * columns)), "the last one");
          check(other == square, "square, to the last bit");
          rows->restrict_to(round == 0 ? std::vector<std::size_t>{1, 5, 6, 40} : all_positions(points.size()));
        }
      }
      check(large.evaluations() == which.size() * points.size(), "a large cache computes every row once");
      check(small.evaluations() > large.evaluations(), "a small one does not");
      std::vector<double> nothing;
      vectors.add(nullptr, nullptr, 0, nothing.data());
    }
  }
}

// Sums at some columns, and among the rows themselves: enough rows and columns for several strips, runs and threads.
template <class T>
void test_sums_at_columns(const Level& level) {
  constexpr std::size_t n_samples = 1250, n = 1100, d = 6;
  const double tolerance = sizeof(T) == sizeof(double) ? 1e-12 : 1e-5;
  const KernelSpec spec = gaussian(0.3);
  const Table<T> x(n_samples, d, 81);
  std::vector<std::size_t> points, order = all_positions(n), some{3, 1099, 7, 500, 2};
  for (std::size_t i = 0; points.size() < n; ++i) {
    if (i % 9 != 4) points.push_back(i);
  }
  std::mt19937 random(82);
  std::shuffle(order.begin(), order.end(), random);
  std::vector<double> coefficients(n);
  for (double& c : coefficients) c = double(random() % 1001) / 500.0 - 1.0;
  std::vector<double> exact(n_samples * n_samples);
  for (const std::size_t i : points) {
    for (const std::size_t j : points) exact[i * n_samples + j] = scalar_kernel(spec, x, i, x, j);
  }
  const auto is_the_sum = [&](const std::vector<std::size_t>& columns, std::size_t m, const std::vector<double>& sums) {
    for (std::size_t c = 0; c < columns.size(); ++c) {
      double sum = 0.25, size = 0.25;  // what was there before
      for (std::size_t i = 0; i < m; ++i) {
        const double term = coefficients[i] * exact[points[order[i]] * n_samples + points[columns[c]]];
        sum += term;
        size += std::abs(term);
      }
      if (!(std::abs(sums[c] - sum) <= tolerance * size)) return false;
    }
    return true;
  };
  for (const bool sparse : {false, true}) {
    const std::vector<T> K = matrix_of<T>(spec, level, x.view(sparse), x.view(sparse));
    std::vector<std::vector<std::vector<double>>> alone;  // the results on one thread, by source and case
    for (const std::size_t n_threads : {1, 2, 3}) {
      Team team(n_threads);
      const auto vectors = [&](bool packed) {
        return std::make_shared<VectorRows<T>>(spec, level, x.view(sparse), points, packed, team);
      };
      const auto cached = [&](std::size_t n_rows, bool with_direct) {
        const auto maker = vectors(true);
        const auto fill = [maker](const std::size_t* which, std::size_t m, T* const* out) {
          maker->rows(which, m, out);
        };
        return std::make_shared<CachedRows<T>>(level, n, n_rows * n * sizeof(T), 64, fill, team,
                                               with_direct ? maker : nullptr);
      };
      const std::vector<std::shared_ptr<Rows<T>>> sources{
          vectors(true),
          vectors(false),
          cached(400, true),
          cached(400, false),
          cached(64, false),
          std::make_shared<MatrixRows<T, T>>(level, K.data(), n_samples, points, team),
          std::make_shared<MatrixRows<T, double>>(level, exact.data(), n_samples, points, team)};
      std::vector<std::vector<std::vector<double>>> results;
      for (const auto& rows : sources) {
        std::vector<std::vector<double>>& of_source = results.emplace_back();
        rows->restrict_to({5, 6, 7});  // of `add` only
        for (const std::size_t m : {std::size_t{0}, std::size_t{1}, std::size_t{6}, n}) {
          for (const auto& columns : {std::vector<std::size_t>{}, some, order}) {
            std::vector<double> sums(columns.size(), 0.25);
            rows->add_at(columns.data(), columns.size(), order.data(), coefficients.data(), m, sums.data());
            if (n_threads == 1) check(is_the_sum(columns, m, sums), "add_at");
            of_source.push_back(sums);
          }
        }
        const std::size_t before = rows->evaluations();
        for (const std::size_t m : {std::size_t{0}, std::size_t{1}, std::size_t{6}, std::size_t{257}, n}) {
          std::vector<double> sums(m, 0.25);
          rows->add_among(order.data(), coefficients.data(), m, sums.data());
          const std::vector<std::size_t> columns(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(m));
          if (n_threads == 1) check(is_the_sum(columns, m, sums), "add_among");
          of_source.push_back(sums);
        }
        const bool halves = &rows - sources.data() < 3 && !sparse;
        if (halves) check(rows->evaluations() - before < 3 * (n * n + 257 * 257) / 4, "half of the matrix will do");
      }
      if (alone.empty()) alone = results;
      check(results == alone, "any number of threads, to the last bit");
      check(results[1] == results[0] && results[2] == results[0], "packed or direct, to the last bit");
      check(results[4] == results[3] && results[5] == results[3], "rows from any memory, to the last bit");
      for (std::size_t k = 0; k < 12; ++k) check(results[3][k] == results[0][k], "stored or fresh, to the last bit");
    }
  }
}

// Strips that are wider than usual, because there are many rows.
template <class T>
void test_sums_among_many_rows(const Level& level) {
  constexpr std::size_t n = 8300;
  const KernelSpec spec = gaussian(0.3);
  const Table<T> x(n, 2, 83);
  std::vector<double> coefficients(n), sums(n, 0.0), again(n, 0.0);
  for (std::size_t i = 0; i < n; ++i) coefficients[i] = std::sin(double(i));
  Team one(1), two(2);
  const auto which = all_positions(n);
  VectorRows<T>(spec, level, x.view(false), which, true, one)
      .add_among(which.data(), coefficients.data(), n, sums.data());
  VectorRows<T>(spec, level, x.view(false), which, true, two)
      .add_among(which.data(), coefficients.data(), n, again.data());
  check(sums == again, "threads");
  bool good = true;
  for (std::size_t c = 0; c < n; c += c < 600 ? 23 : 317) {
    double sum = 0.0;
    for (std::size_t i = 0; i < n; ++i) sum += coefficients[i] * scalar_kernel(spec, x, i, x, c);
    good = good && close(sums[c], sum, sizeof(T) == sizeof(double) ? 1e-11 : 1e-2);
  }
  check(good, "the sums");
}

// Of a square, some rows are in memory and the rest is computed: the same values.
template <class T>
void test_square_of_stored_and_fresh_rows(const Level& level) {
  constexpr std::size_t n = 150;
  const Table<T> x(n, 7, 84);
  const auto points = all_positions(n);
  std::vector<std::size_t> which = all_positions(n);
  std::mt19937 random(85);
  std::shuffle(which.begin(), which.end(), random);
  which.resize(90);
  std::vector<std::size_t> in_turn = which;  // stored in another order than asked for
  std::shuffle(in_turn.begin(), in_turn.end(), random);
  const std::vector<double> ones(n, 1.0);
  for (const Measure measure : {Measure::dot, Measure::l2, Measure::l1}) {
    const KernelSpec spec = kernel(measure, Transform::exp);
    for (const bool sparse : {false, true}) {
      Team team(2);
      VectorRows<T> vectors(spec, level, x.view(sparse), points, true, team);
      std::vector<T> expected(which.size() * which.size());
      vectors.square(which.data(), which.size(), expected.data());
      const auto maker = std::make_shared<VectorRows<T>>(spec, level, x.view(sparse), points, true, team);
      const auto fill = [maker](const std::size_t* rows, std::size_t m, T* const* out) { maker->rows(rows, m, out); };
      CachedRows<T> cached(level, n, n * n * sizeof(T), 16, fill, team, maker);
      std::size_t stored = 0;
      for (const std::size_t more : {0, 1, 30, 59}) {
        std::vector<double> sum(n);
        cached.add(in_turn.data() + stored, ones.data(), more, sum.data());
        stored += more;
        const std::size_t before = cached.evaluations(), missing = which.size() - stored;
        std::vector<T> square(expected.size(), T(-1));
        cached.square(which.data(), which.size(), square.data());
        check(square == expected, std::to_string(stored) + " rows stored");
        check(cached.evaluations() - before == missing * missing, "only what is missing is computed");
      }
    }
  }
}

void test_rows_that_fail() {
  Team team(2);
  CachedRows<double> rows(
      find_level(""), 4, 1000, 2,
      [](const std::size_t*, std::size_t, double* const*) { throw std::runtime_error("rows"); }, team);
  const std::size_t which[] = {2, 3};
  const double coefficients[] = {1.0, 1.0};
  double sum[4] = {};
  check(throws<std::runtime_error>([&] { rows.add(which, coefficients, 2, sum); }));
  check(rows.evaluations() == 0);
}

// --- the solver ------------------------------------------------------------------------------------------------

struct Problem {
  std::vector<std::int64_t> point;
  std::vector<double> sign, linear, upper, ridge, start, matrix;
  std::size_t n_points = 0;
  Equality equality = Equality::total;

  DualView view() const {
    return {point.size(), n_points,     point.data(), sign.data(), linear.data(),
            upper.data(), ridge.data(), start.data(), equality};
  }
  std::vector<double> gradient(const std::vector<double>& a) const {
    std::vector<double> g(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      g[i] = linear[i] + ridge[i] * a[i];
      for (std::size_t j = 0; j < a.size(); ++j) {
        if (a[j] != 0.0) g[i] += sign[i] * sign[j] * matrix[point[i] * n_points + point[j]] * a[j];
      }
    }
    return g;
  }
  double objective(const std::vector<double>& a) const {
    const std::vector<double> g = gradient(a);
    double sum = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += 0.5 * a[i] * (g[i] + linear[i]);
    return sum;
  }
  // [CY eq 1.61], by its definition.
  double violation(const std::vector<double>& a) const {
    const std::vector<double> g = gradient(a);
    double worst = 0.0;
    for (const double side : {1.0, -1.0}) {
      double largest = -infinity, smallest = infinity;
      for (std::size_t i = 0; i < a.size(); ++i) {
        if (equality == Equality::per_sign && sign[i] != side) continue;
        const bool below = a[i] < upper[i], above = a[i] > 0.0;
        if (sign[i] > 0 ? below : above) largest = std::max(largest, -sign[i] * g[i]);
        if (sign[i] > 0 ? above : below) smallest = std::min(smallest, -sign[i] * g[i]);
      }
      if (equality == Equality::none) {
        worst = std::max({worst, largest, -smallest});
      } else if (largest > -infinity && smallest < infinity) {
        worst = std::max(worst, largest - smallest);
      }
    }
    return worst;
  }
};

SmoResult solve(const Problem& problem, const SmoOptions& options, const Level& level, std::size_t n_threads = 1,
                bool with_single = true, Watch watch = Watch(infinity, {}, {})) {
  Team team(n_threads);
  const auto points = all_positions(problem.n_points);
  MatrixRows<float, double> single(level, problem.matrix.data(), problem.n_points, points, team);
  MatrixRows<double, double> full(level, problem.matrix.data(), problem.n_points, points, team);
  const DualView view = problem.view();
  return smo::Solver(view, options, level, with_single ? &single : nullptr, full, watch).solve();
}

// Two points at -1 and 1 with the linear kernel: a = 1/2 each, w = 1.
Problem two_points(double upper) {
  Problem problem;
  problem.n_points = 2;
  problem.point = {0, 1};
  problem.sign = {-1.0, 1.0};
  problem.linear = {-1.0, -1.0};
  problem.upper = {upper, upper};
  problem.ridge = problem.start = {0.0, 0.0};
  problem.matrix = {1.0, -1.0, -1.0, 1.0};
  return problem;
}

void test_two_points(const Level& level) {
  for (const bool with_single : {false, true}) {
    SmoResult result = solve(two_points(10.0), {}, level, 1, with_single);
    check(result.status == Status::solved && result.a == std::vector<double>({0.5, 0.5}), "free");
    check(close(result.objective, -0.5, 1e-15) && result.violation == 0.0);
    result = solve(two_points(infinity), {}, level, 1, with_single);
    check(result.status == Status::solved && result.a == std::vector<double>({0.5, 0.5}), "hard");
    result = solve(two_points(0.25), {}, level, 1, with_single);
    check(result.status == Status::solved && result.a == std::vector<double>({0.25, 0.25}), "at the bound");

    Problem problem = two_points(infinity);  // squared errors: (K_ii + r) a = 1 with the offset free
    problem.ridge = {0.5, 0.5};
    result = solve(problem, {}, level, 1, with_single);
    check(close(result.a[0], 1.0 / 2.5, 1e-12) && close(result.a[1], 1.0 / 2.5, 1e-12), "ridge");

    problem = two_points(10.0);  // no offset: each on its own, a_0 + a_1 = 1
    problem.equality = Equality::none;
    result = solve(problem, {}, level, 1, with_single);
    check(result.status == Status::solved && close(result.a[0] + result.a[1], 1.0, 1e-12), "no equality");

    problem = two_points(1.0);  // nu: both sums are 0.5
    problem.equality = Equality::per_sign;
    problem.linear = {0.0, 0.0};
    problem.start = {0.5, 0.5};
    result = solve(problem, {}, level, 1, with_single);
    check(result.status == Status::solved && result.a == std::vector<double>({0.5, 0.5}), "per sign");
    check(close(result.objective, 0.5, 1e-15));
  }
}

void test_one_and_no_point(const Level& level) {
  Problem problem;
  SmoResult result = solve(problem, {}, level);
  check(result.status == Status::solved && result.a.empty() && result.objective == 0.0, "none");
  problem.n_points = 1;
  problem.point = {0};
  problem.sign = {1.0};
  problem.linear = {-1.0};
  problem.upper = {3.0};
  problem.ridge = {0.0};
  problem.start = {0.0};
  problem.matrix = {0.5};
  result = solve(problem, {}, level);
  check(result.status == Status::solved && result.a[0] == 0.0, "one, with s'a = 0");
  problem.equality = Equality::none;
  result = solve(problem, {}, level);
  check(result.status == Status::solved && close(result.a[0], 2.0, 1e-12), "one, alone");
  problem.matrix = {0.0};
  result = solve(problem, {}, level);
  check(result.status == Status::solved && result.a[0] == 3.0, "one, without curvature");
}

// A random problem with the kernel exp(-|x - y|) on a line; `twice` gives every point two variables (regression).
Problem random_problem(std::size_t n, Equality equality, bool twice, bool ridge, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> x(n);
  for (double& value : x) value = 3.0 * normal(random);
  Problem problem;
  problem.n_points = n;
  problem.equality = equality;
  problem.matrix.resize(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) problem.matrix[i * n + j] = std::exp(-std::abs(x[i] - x[j]));
  }
  for (std::size_t k = 0; k < (twice ? 2 * n : n); ++k) {
    const std::size_t i = k % n;
    problem.point.push_back(static_cast<std::int64_t>(i));
    const double label = x[i] + normal(random) > 0.0 ? 1.0 : -1.0;
    problem.sign.push_back(twice ? (k < n ? 1.0 : -1.0) : label);
    const double target = std::sin(x[i]) + 0.1 * label;
    problem.linear.push_back(twice ? (k < n ? 0.1 - target : 0.2 - problem.linear[i])
                                   : (equality == Equality::per_sign ? 0.0 : -1.0));
    problem.ridge.push_back(ridge ? 0.3 : 0.0);
    problem.upper.push_back(ridge ? infinity : 0.5 + 0.5 * double(i % 3));
    problem.start.push_back(0.0);
  }
  if (equality == Equality::per_sign) {  // both sums are n / 10
    for (const double side : {1.0, -1.0}) {
      double left = double(n) / 10.0;
      for (std::size_t k = 0; k < problem.sign.size(); ++k) {
        if (problem.sign[k] != side) continue;
        problem.start[k] = std::min(left, problem.upper[k]);
        left -= problem.start[k];
      }
    }
  }
  return problem;
}

void check_solution(const Problem& problem, const SmoResult& result, double tol, std::string_view what) {
  bool feasible = true;
  double total = 0.0, wanted = 0.0, plus = 0.0, wanted_plus = 0.0, size = 0.0;
  for (std::size_t k = 0; k < result.a.size(); ++k) {
    feasible = feasible && result.a[k] >= 0.0 && result.a[k] <= problem.upper[k];
    size += result.a[k];
    total += problem.sign[k] * result.a[k];
    wanted += problem.sign[k] * problem.start[k];
    if (problem.sign[k] > 0) {
      plus += result.a[k];
      wanted_plus += problem.start[k];
    }
  }
  check(feasible, what);
  const double rounding = 1e-9 + 1e-13 * size;
  if (problem.equality != Equality::none) check(std::abs(total - wanted) <= rounding, what);
  if (problem.equality == Equality::per_sign) check(std::abs(plus - wanted_plus) <= rounding, what);
  check(result.status == Status::solved, what);
  const double violation = problem.violation(result.a);
  check(violation <= tol * (1 + 1e-9), what);
  check(std::abs(violation - result.violation) <= rounding, what);
  check(close(problem.objective(result.a), result.objective, 1e-9), what);
  check(!result.history.empty() && result.history.back().n_iter == result.n_iter, what);
  check(result.objective <= problem.objective(problem.start) + 1e-12, what);
}

void test_random_problems(const Level& level) {
  unsigned seed = 20;
  for (const Equality equality : {Equality::none, Equality::total, Equality::per_sign}) {
    for (const bool twice : {false, true}) {
      for (const bool ridge : {false, true}) {
        if (ridge && equality == Equality::per_sign) continue;
        for (const PairRule rule : {PairRule::gain, PairRule::violation}) {
          for (const std::size_t n : {5, 60, 600}) {
            const Problem problem = random_problem(n, equality, twice, ridge, ++seed);
            SmoOptions options;
            options.rule = rule;
            const SmoResult result = solve(problem, options, level);
            check_solution(problem, result, options.tol, std::string(level.name) + " " + std::to_string(n));
            options.full_precision = true;
            const SmoResult full = solve(problem, options, level, 2);
            check_solution(problem, full, options.tol, "full precision");
            check(close(result.objective, full.objective, 1e-3), "both precisions");
          }
        }
      }
    }
  }
}

// More points than the whole problem may have in one block: shrinking, several rounds, float32 rows.
void test_blocks(const Level& level) {
  for (const Equality equality : {Equality::none, Equality::total, Equality::per_sign}) {
    for (const bool twice : {false, true}) {
      const Problem problem = random_problem(2300, equality, twice, false, 99);
      SmoOptions options;
      options.block = 256;
      const SmoResult result = solve(problem, options, level);
      check_solution(problem, result, options.tol, "blocks");
      const SmoResult threaded = solve(problem, options, level, 3);
      check(result.a == threaded.a && result.gradient == threaded.gradient && result.n_iter == threaded.n_iter,
            "any number of threads, to the last bit");
      options.shrinking = false;
      const SmoResult everything = solve(problem, options, level);
      check_solution(problem, everything, options.tol, "without shrinking");
      check(close(result.objective, everything.objective, 1e-3));
    }
  }
}

// Vectors in place of a matrix: the solver on rows that are made when they are used.
void test_vectors_in_the_solver(const Level& level) {
  constexpr std::size_t n = 2200;
  const Table<double> x(n, 12, 31);
  const KernelSpec spec = gaussian(0.2);
  Problem problem = random_problem(n, Equality::total, false, false, 32);
  problem.matrix = matrix_of<double>(spec, level, x.view(false), x.view(false));
  SmoOptions options;
  std::vector<double> before;
  for (const std::size_t n_threads : {1, 2}) {
    for (const bool cached : {false, true}) {
      Team team(n_threads);
      const auto points = all_positions(n);
      const auto rows = [&]<class T>(T) -> std::unique_ptr<Rows<T>> {
        auto vectors = std::make_unique<VectorRows<T>>(spec, level, x.view(false), points, true, team);
        if (!cached) return vectors;
        std::shared_ptr<VectorRows<T>> maker = std::move(vectors);
        return std::make_unique<CachedRows<T>>(
            level, n, 400 * n * sizeof(T), 64,
            [maker](const std::size_t* which, std::size_t m, T* const* out) { maker->rows(which, m, out); }, team);
      };
      const auto single = rows(float{});
      const auto full = rows(double{});
      Watch watch(infinity, {}, {});
      const DualView view = problem.view();
      const SmoResult result = smo::Solver(view, options, level, single.get(), *full, watch).solve();
      check_solution(problem, result, options.tol, "vectors");
      check(result.evaluations > 0);
      if (!before.empty()) check(result.a == before, "threads and caches do not show");
      before = result.a;
    }
  }
}

void test_warm_start(const Level& level) {
  Problem problem = random_problem(300, Equality::total, false, false, 41);
  const SmoResult cold = solve(problem, {}, level);
  problem.start = cold.a;
  const SmoResult warm = solve(problem, {}, level);
  check(warm.status == Status::solved && warm.n_iter <= 1 + cold.n_iter / 10);
  check(close(warm.objective, cold.objective, 1e-9));
}

void test_limits(const Level& level) {
  const Problem problem = random_problem(600, Equality::total, true, false, 51);
  SmoOptions options;
  options.tol = 1e-10;
  options.max_iter = 10;
  SmoResult result = solve(problem, options, level);
  check(result.status == Status::max_iter && result.n_iter <= 10 && result.violation > options.tol, "max_iter");
  options.max_iter = std::numeric_limits<std::size_t>::max();
  result = solve(problem, options, level, 1, true, Watch(-1.0, {}, {}));
  check(result.status == Status::max_seconds, "max_seconds");
  std::vector<Progress> told;
  result = solve(problem, options, level, 1, true, Watch(infinity, {}, [&](const Progress& progress) {
                   told.push_back(progress);
                   return told.size() == 3;
                 }));
  check(result.status == Status::stopped && told.size() == 3, "stopped");
  check(told[0].n_iter <= told[1].n_iter && told[2].objective <= told[0].objective, "progress");
  int polls = 0;
  check(throws<std::runtime_error>([&] {
          solve(problem, options, level, 2, true,
                Watch(infinity,
                      [&] {
                        if (++polls == 4) throw std::runtime_error("Ctrl-C");
                      },
                      {}));
        }),
        "poll");
  check(throws<std::runtime_error>([&] {
          solve(problem, options, level, 2, true,
                Watch(infinity, {}, [](const Progress&) -> bool { throw std::runtime_error("callback"); }));
        }),
        "report");
}

void test_watch() {
  const Watch silent(infinity, {}, {});
  silent.poll();
  check(!silent.out_of_time() && !silent.asks_to_stop({0, 0.0, 0.0, 0.0}) && silent.seconds() >= 0.0);
  check(Watch(-1.0, {}, {}).out_of_time());
  check(Watch(infinity, {}, [](const Progress& progress) { return progress.n_iter == 5; }).asks_to_stop({5, 0, 0, 0}));
}

void test_no_hard_margin(const Level& level) {
  Problem problem = two_points(infinity);  // the same point with both labels
  problem.matrix = {1.0, 1.0, 1.0, 1.0};
  SmoResult result = solve(problem, {}, level);
  check(result.status == Status::unbounded, "a flat direction");
  problem.n_points = 3;  // -1, 0, 1 on a line with labels + - +
  problem.point = {0, 1, 2};
  problem.sign = {1.0, -1.0, 1.0};
  problem.linear = {-1.0, -1.0, -1.0};
  problem.upper = {infinity, infinity, infinity};
  problem.ridge = problem.start = {0.0, 0.0, 0.0};
  problem.matrix = {1.0, 0.0, -1.0, 0.0, 0.0, 0.0, -1.0, 0.0, 1.0};
  SmoOptions options;
  options.unbounded_ratio = 1e-2;
  result = solve(problem, options, level);
  check(result.status == Status::unbounded, "multipliers without end");
}

void test_indefinite(const Level& level) {
  Problem problem = two_points(1.0);
  problem.matrix = {0.0, 1.0, 1.0, 0.0};
  problem.sign = {1.0, -1.0};  // K_ii + K_jj - 2 K_ij = -2
  const SmoResult result = solve(problem, {}, level);
  check(result.status == Status::indefinite);
  check(result.a == std::vector<double>({1.0, 1.0}), "to the bound");
}

// --- Newton steps ----------------------------------------------------------------------------------------------

// The whole problem as one block, in layers like those of the solver: a point has one variable in each, and with one
// equality per sign a layer has one sign.
struct WholeBlock {
  const Problem& problem;
  std::vector<smo::Layer> layers;
  std::vector<std::size_t> groups;
  std::vector<double> f;

  explicit WholeBlock(const Problem& whole) : problem(whole) {
    const bool separate = problem.equality == Equality::per_sign;
    for (std::size_t k = 0; k < problem.point.size(); ++k) {
      const std::size_t at = separate ? (problem.sign[k] > 0 ? 0 : 1) : k / problem.n_points;
      const std::size_t i = static_cast<std::size_t>(problem.point[k]);
      while (layers.size() <= at) {
        groups.push_back(separate ? layers.size() : 0);
        layers.emplace_back().resize(problem.n_points);
      }
      smo::Layer& layer = layers[at];
      layer.variable[i] = static_cast<std::int64_t>(k);
      layer.a[i] = problem.start[k];
      layer.sign[i] = problem.sign[k];
      layer.linear[i] = problem.linear[k];
      layer.upper[i] = problem.upper[k];
      layer.ridge[i] = problem.ridge[k];
      layer.classify(i);
    }
    f = exact_f();
  }

  smo::ActiveSet active_set(const Level& level) {
    const std::size_t n_groups = problem.equality == Equality::none ? 0 : (problem.equality == Equality::total ? 1 : 2);
    return smo::ActiveSet(level, problem.matrix.data(), problem.n_points, layers, f, groups, n_groups);
  }

  std::vector<double> a() const {
    std::vector<double> values(problem.point.size());
    for (const smo::Layer& layer : layers) {
      for (std::size_t i = 0; i < layer.a.size(); ++i) {
        if (layer.variable[i] >= 0) values[static_cast<std::size_t>(layer.variable[i])] = layer.a[i];
      }
    }
    return values;
  }

  bool has_two_at_a_point() const {
    for (std::size_t i = 0; i < problem.n_points && layers.size() == 2; ++i) {
      if (layers[0].a[i] > 0.0 && layers[1].a[i] > 0.0) return true;
    }
    return false;
  }

  // K (s a)
  std::vector<double> exact_f() const {
    std::vector<double> sums(problem.n_points, 0.0);
    for (const smo::Layer& layer : layers) {
      for (std::size_t i = 0; i < sums.size(); ++i) {
        for (std::size_t j = 0; j < sums.size(); ++j) {
          sums[i] += problem.matrix[i * sums.size() + j] * layer.sign[j] * layer.a[j];
        }
      }
    }
    return sums;
  }

  bool f_is_exact() const {
    const std::vector<double> exact = exact_f();
    for (std::size_t i = 0; i < exact.size(); ++i) {
      if (!close(f[i], exact[i], 1e-9)) return false;
    }
    return true;
  }

  // In the box, with the sums of the start, and marked as what they are.
  bool is_feasible() const {
    const std::vector<double> now = a();
    double of_sign[2] = {}, size = 1.0;
    for (std::size_t k = 0; k < now.size(); ++k) {
      if (!(now[k] >= 0.0 && now[k] <= problem.upper[k])) return false;
      of_sign[problem.sign[k] > 0] += now[k] - problem.start[k];
      size += now[k];
    }
    for (smo::Layer layer : layers) {
      const smo::Layer before = layer;
      for (std::size_t i = 0; i < layer.a.size(); ++i) layer.classify(i);
      if (layer.up != before.up || layer.low != before.low) return false;
    }
    if (problem.equality == Equality::none) return true;
    if (problem.equality == Equality::total) return std::abs(of_sign[1] - of_sign[0]) <= 1e-9 * size;
    return std::abs(of_sign[0]) <= 1e-9 * size && std::abs(of_sign[1]) <= 1e-9 * size;
  }
};

// Steps until nothing can enter any more, with what each of them owes; false where the steps did not come to an end.
// Bringing f up to date more often than needed (`often`) changes nothing.
bool run_active_set(WholeBlock& block, const Level& level, double eps, std::string_view what, bool often = false) {
  const Problem& problem = block.problem;
  const auto slope_of = [&](const std::vector<double>& a) {
    double sum = 0.0;
    for (std::size_t k = 0; k < a.size(); ++k) sum += problem.linear[k] * a[k];
    return sum;
  };
  smo::ActiveSet set = block.active_set(level);
  double objective = problem.objective(problem.start), slope = slope_of(problem.start);
  bool descends = true, counts = true, feasible = true, exact = true, ended = false;
  for (std::size_t steps = 0; steps < 50 * problem.point.size() && !ended; ++steps) {
    const smo::ActiveSet::Step step = set.step();
    if (!step.made) break;
    objective += step.objective;
    slope += step.slope;
    const std::vector<double> a = block.a();
    descends = descends && step.objective <= 1e-12 * (1.0 + std::abs(objective));
    counts = counts && close(objective, problem.objective(a), 1e-9) && close(slope, slope_of(a), 1e-9);
    feasible = feasible && block.is_feasible();
    if (often) set.update_f();
    if (step.whole || often) exact = exact && block.f_is_exact();
    ended = step.whole && !set.enter_violating(eps);
  }
  set.update_f();
  check(descends, std::string(what) + ": never up");
  check(counts, std::string(what) + ": objective and slope of the steps add up");
  check(feasible, std::string(what) + ": feasible");
  check(exact && block.f_is_exact(), std::string(what) + ": f = K (s a)");
  return ended;
}

// Starts of a problem: its own, every variable at a bound, and values inside the box. Of the two variables of a point,
// one is zero, as in every solution; so are most where their sum is fixed, or no solution would be like that.
std::vector<Problem> with_starts(const Problem& problem, unsigned seed) {
  std::vector<Problem> problems(3, problem);
  std::mt19937 random(seed);
  const bool twice = problem.point.size() > problem.n_points, few = twice && problem.equality == Equality::per_sign;
  for (std::size_t k = 0; k < problem.point.size(); ++k) {
    const std::size_t i = static_cast<std::size_t>(problem.point[k]);
    const bool zero = (twice && (i % 2 == 0) == (k < problem.n_points)) || (few && i % 20 > 1);
    const double upper = zero ? 0.0 : std::min(problem.upper[k], 1.5);
    if (few) problems[0].start[k] = 0.5 * upper;
    problems[1].start[k] = upper;
    problems[2].start[k] = upper * double(random() % 5) / 4.0;
  }
  return problems;
}

void test_active_set(const Level& level) {
  constexpr double eps = 1e-8;
  unsigned seed = 110;
  for (const Equality equality : {Equality::none, Equality::total, Equality::per_sign}) {
    for (const bool twice : {false, true}) {
      for (const double ridge : {0.0, 0.3, 0.01}) {
        Problem given = random_problem(40, equality, twice, ridge > 0.0, ++seed);
        if (ridge == 0.01) {  // a ridge inside a box
          for (double& upper : given.upper) upper = 0.7;
          for (double& r : given.ridge) r = ridge;
          for (double& a : given.start) a = std::min(a, 0.7);
        }
        for (const Problem& problem : with_starts(given, seed)) {
          const std::string what = std::string(level.name) + " equality " + std::to_string(static_cast<int>(equality)) +
                                   (twice ? " twice" : "") + " ridge " + std::to_string(ridge);
          WholeBlock block(problem), other(problem);
          check(run_active_set(block, level, eps, what), what + ": ends");
          check(run_active_set(other, level, eps, what, true), what + ": ends");
          const std::vector<double> a = block.a();
          // Two positive variables of a point, of different equalities, do not come apart here; see below.
          if (equality == Equality::per_sign && twice && (block.has_two_at_a_point() || other.has_two_at_a_point()))
            continue;
          check(problem.violation(a) <= eps, what + ": optimal");
          check(problem.violation(other.a()) <= eps, what + ": optimal");
          SmoOptions options;
          options.tol = eps;
          const SmoResult result = solve(problem, options, level, 1, false);
          check(close(problem.objective(a), result.objective, 1e-9), what + ": the optimum of the solver");
        }
      }
    }
  }
}

// Two variables enter, and the step would push the one at its upper bound beyond it: nothing moves, and it must still
// be there when it has left.
void test_active_set_steps_of_length_zero(const Level& level) {
  for (const double sign : {1.0, -1.0}) {
    Problem problem;
    problem.n_points = 2;
    problem.equality = Equality::none;
    problem.point = {0, 1};
    problem.sign = {sign, sign};
    problem.matrix = {1.0, -0.9, -0.9, 1.0};
    problem.upper = {1.0, 10.0};
    problem.start = {1.0, 0.0};
    problem.ridge = {0.0, 0.0};
    problem.linear = {-0.9, -0.1};  // the first would shrink by itself, the second grows and takes the first along
    WholeBlock block(problem);
    smo::ActiveSet set = block.active_set(level);
    check(set.step().whole && set.enter_violating(1e-6), "all at bounds: a step of nothing, and both enter");
    smo::ActiveSet::Step step = set.step();
    check(step.made && !step.whole && step.objective == 0.0 && step.slope == 0.0, "no room");
    check(block.a() == std::vector<double>({1.0, 0.0}), "nothing has moved");
    step = set.step();
    check(step.whole && close(step.objective, -0.5, 1e-12) && close(step.slope, -0.1, 1e-12), "the second alone");
    check(!set.enter_violating(1e-6) && block.a()[0] == 1.0 && close(block.a()[1], 1.0, 1e-12), "the optimum");
    check(block.f_is_exact() && problem.violation(block.a()) <= 1e-12);
  }
}

// Copies of points make K singular, and two positive variables of one point do not fit into F together: the steps may
// then end early, but do no harm, and the solver goes on from there.
void test_active_set_without_a_unique_solution(const Level& level) {
  constexpr std::size_t n = 40;
  for (const Equality equality : {Equality::none, Equality::total, Equality::per_sign}) {
    for (const bool twice : {false, true}) {
      Problem problem = random_problem(n, equality, twice, false, 131);
      const std::vector<double> before = problem.matrix;
      const auto original = [](std::size_t i) { return i % 3 == 0 ? i : i - i % 3; };
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) problem.matrix[i * n + j] = before[original(i) * n + original(j)];
      }
      problem.start = problem.upper;
      for (double& a : problem.start) a *= 0.5;
      WholeBlock block(problem);
      check(run_active_set(block, level, 1e-8, "copies"), "ends");
      SmoOptions options;
      options.tol = 1e-6;
      const SmoResult cold = solve(problem, options, level, 1, false);
      check_solution(problem, cold, options.tol, "copies");
      Problem from_there = problem;
      from_there.start = block.a();
      const SmoResult result = solve(from_there, options, level, 1, false);
      check(close(result.objective, cold.objective, 1e-6), "the same optimum from there");
    }
  }
}

// As many free variables as equalities: these leave nothing to choose, and a step of rounding errors is one that has
// been made. The others enter then.
void test_active_set_with_nothing_to_choose(const Level& level) {
  std::size_t solved = 0;
  for (unsigned seed = 150; seed < 170; ++seed) {
    for (const Equality equality : {Equality::total, Equality::per_sign}) {
      Problem problem = random_problem(10, equality, false, false, seed);
      std::fill(problem.start.begin(), problem.start.end(), 0.0);
      for (std::size_t k = 0; k < 10; ++k) problem.sign[k] = k % 2 == 0 ? 1.0 : -1.0;
      problem.start[0] = problem.start[1] = 0.3;
      if (equality == Equality::total) problem.start[1] = 0.0;
      WholeBlock block(problem);
      solved += run_active_set(block, level, 1e-8, "nothing to choose") && problem.violation(block.a()) <= 1e-8;
    }
  }
  check(solved == 40, std::to_string(solved) + " of 40 solved");
}

void test_active_set_of_nothing(const Level& level) {
  Problem problem;
  WholeBlock block(problem);
  smo::ActiveSet set = block.active_set(level);
  check(set.step().whole && !set.enter_violating(1e-6));
}

// Wide kernels and large bounds, where pairs crawl: the free variables are many and nearly dependent.
Problem wide_problem(std::size_t n, Equality equality, bool twice, unsigned seed) {
  constexpr std::size_t d = 5;
  Problem problem = random_problem(n, equality, twice, false, seed);
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> x(n * d);
  for (double& value : x) value = normal(random);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      double squared = 0.0;
      for (std::size_t f = 0; f < d; ++f) squared += (x[i * d + f] - x[j * d + f]) * (x[i * d + f] - x[j * d + f]);
      problem.matrix[i * n + j] = std::exp(-0.05 * squared);
    }
    const double label = x[i * d] * x[i * d + 1] + 0.3 * normal(random) > 0.0 ? 1.0 : -1.0;
    if (!twice) problem.sign[i] = label;
  }
  std::fill(problem.upper.begin(), problem.upper.end(), 1e4);
  for (double& a : problem.start) a = 1e4 * std::min(a, 1.0);
  return problem;
}

// Pairs alone take some ten times as many steps or more here; those of the solver are counted, Newton's among them.
void test_newton_steps_in_the_solver(const Level& level) {
  for (const Equality equality : {Equality::none, Equality::total, Equality::per_sign}) {
    for (const bool twice : {false, true}) {
      for (const std::size_t n : {200, 700}) {
        const Problem problem = wide_problem(n, equality, twice, 141);
        SmoOptions options;
        options.max_iter = 1000 * n;
        const SmoResult result = solve(problem, options, level);
        check_solution(problem, result, options.tol, "wide kernel");
        // From a start with two positive variables at many a point, pairs have to do most of the work.
        if (equality != Equality::per_sign || !twice) check(result.n_iter <= 200 * n, "few steps");
        const SmoResult threaded = solve(problem, options, level, 2);
        check(threaded.a == result.a && threaded.n_iter == result.n_iter, "any number of threads, to the last bit");
      }
    }
  }
}

template <class T>
void test_all(const Level& level) {
  test_kernel_values<T>(level);
  test_shapes<T>(level);
  test_locality<T>(level);
  test_weights_and_centre<T>(level);
  test_products<T>(level);
  test_exponential<T>(level);
  test_solver_loops<T>(level);
  test_tiles_used_up_at_once<T>(level);
  test_dot<T>(level);
  test_sparse_tile<T>(level);
  test_rows<T>(level);
  test_square_of_stored_and_fresh_rows<T>(level);
}

// Does `check` count failures? The one place where one is wanted.
// --- several classes at once -----------------------------------------------------------------------------------

// a is optimal where no multiplier, nor the sum of all, can move against the slope of the objective.
bool is_best_block(const std::vector<double>& v, double rho, double upper, double total, const std::vector<double>& a) {
  double sum = 0.0;
  for (const double value : a) sum += value;
  if (sum > total * (1.0 + 1e-12)) return false;
  const bool full = sum > total * (1.0 - 1e-12);
  // The slope, minus which the multiplier of the total is the largest of the multipliers between their bounds.
  double price = 0.0;
  for (std::size_t k = 0; k < v.size() && full; ++k) {
    if (a[k] > 0.0) price = std::max(price, v[k] - a[k] - rho * sum);
  }
  for (std::size_t k = 0; k < v.size(); ++k) {
    const double slope = a[k] + rho * sum - v[k] + price;
    if (a[k] < 0.0 || a[k] > upper) return false;
    if (a[k] > 0.0 && slope > 1e-10) return false;
    if (a[k] < upper && slope < -1e-10) return false;
  }
  return true;
}

void test_best_blocks() {
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  for (int trial = 0; trial < 3000; ++trial) {
    const std::size_t n = 2 + random() % 12;
    const double scale = std::pow(10.0, static_cast<double>(random() % 7) - 3.0),
                 cost = 0.1 + double(random() % 100) / 20;
    std::vector<double> v(n), a(n);
    for (double& value : v) value = random() % 5 == 0 ? scale : scale * normal(random);
    const double rho = trial % 2 == 0 ? 1.0 : -1.0 / static_cast<double>(n + 1);
    const bool summed = trial % 3 != 0;
    constexpr double unlimited = std::numeric_limits<double>::max();
    const double upper = summed ? cost : unlimited, total = summed ? unlimited : cost;
    const double guess = trial % 5 == 0 ? 0.0 : scale * std::abs(normal(random));
    const double sum = optimise_block(v.data(), n, rho, upper, total, guess, a.data());
    check(is_best_block(v, rho, upper, total, a), "the best block");
    check(close(sum, std::accumulate(a.begin(), a.end(), 0.0), 1e-12));
    if (a[0] > 0.0) {
      a[0] *= 0.9;
      check(!is_best_block(v, rho, upper, total, a), "another one is not");
    }
    v[0] = -infinity;
    optimise_block(v.data(), n, rho, upper, total, guess, a.data());
    check(a[0] == 0.0, "a class that takes no part");
  }
  // The projection onto a simplex: (2, 1, -1) goes to (1, 0, 0), (1, 1, -1) to (1/2, 1/2, 0).
  double a[3];
  const double one[] = {2.0, 1.0, -1.0}, two[] = {1.0, 1.0, -1.0};
  optimise_block(one, 3, 0.0, 1e300, 1.0, 0.0, a);
  check(a[0] == 1.0 && a[1] == 0.0 && a[2] == 0.0);
  optimise_block(two, 3, 0.0, 1e300, 1.0, 0.0, a);
  check(a[0] == 0.5 && a[1] == 0.5 && a[2] == 0.0);
}

void test_block_views() {
  const std::vector<double> a{0.0, 0.5, 2.0}, slope{9.0, 0.25, -0.5};
  const BlockView box{a.data(), slope.data(), 3, 0, 2.0, Errors::sum};
  check(box.violation() == 0.25, "0.5 could go down");
  check(close(box.gap(), 0.5 * 0.25 - 2.0 * 0.5 + 2.0 * 0.5, 1e-15));
  check(!box.settled(0.0));
  const BlockView simplex{a.data(), slope.data(), 3, 0, 2.5, Errors::largest};
  check(simplex.spare() == 0.0 && simplex.violation() == 0.75, "0.5 could go to the other");
  check(close(simplex.gap(), 0.5 * 0.25 - 2.0 * 0.5 + 2.5 * 0.5, 1e-15));
  const std::vector<double> none(3, 0.0), far{0.0, 1.0, 2.0};
  for (const Errors errors : {Errors::sum, Errors::largest}) {
    const BlockView quiet{none.data(), far.data(), 3, 0, 2.0, errors};
    check(quiet.violation() == 0.0 && quiet.gap() == 0.0 && quiet.settled(0.4) && !quiet.settled(1.0));
  }
  const std::vector<double> all{0.0, 2.0, 0.0}, wrong{0.0, -3.0, 1.0};
  const BlockView stuck{all.data(), wrong.data(), 3, 0, 2.0, Errors::largest};
  check(stuck.violation() == 0.0 && stuck.settled(1.0) && !stuck.settled(2.0));
}

struct JointProblem {
  std::size_t n_classes;
  std::vector<std::int64_t> label;
  std::vector<double> cost, start, matrix;

  JointView view(Margin margin, Errors errors, bool bias) const {
    const double target = margin == Margin::relative ? 1.0 : 1.0 / (static_cast<double>(n_classes) - 1.0);
    return {label.size(), n_classes, label.data(), cost.data(), start.data(), margin, errors, target, bias};
  }
};

JointResult solve(const JointProblem& problem, const JointView& view, const JointOptions& options, const Level& level,
                  std::size_t n_threads, Watch watch = Watch(infinity, {}, {})) {
  Team team(n_threads);
  const auto points = all_positions(problem.label.size());
  MatrixRows<float, double> single(level, problem.matrix.data(), points.size(), points, team);
  MatrixRows<double, double> full(level, problem.matrix.data(), points.size(), points, team);
  return joint::Solver(view, options, level, &single, full, watch).solve();
}

JointProblem random_classes(std::size_t n, std::size_t n_classes, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  JointProblem problem{n_classes, {}, {}, std::vector<double>(n * n_classes, 0.0), std::vector<double>(n * n)};
  std::vector<double> x;
  for (std::size_t i = 0; i < n; ++i) {
    problem.label.push_back(static_cast<std::int64_t>(i % n_classes));
    problem.cost.push_back(0.5 + static_cast<double>(random() % 4));
    x.push_back(normal(random) + static_cast<double>(i % n_classes));
    x.push_back(normal(random));
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const double dx = x[2 * i] - x[2 * j], dy = x[2 * i + 1] - x[2 * j + 1];
      problem.matrix[i * n + j] = std::exp(-0.5 * (dx * dx + dy * dy));
    }
  }
  return problem;
}

void test_joint_machines(const Level& level) {
  for (const std::size_t n : {12, 200}) {
    const JointProblem problem = random_classes(n, 4, 3);
    for (const Margin margin : {Margin::relative, Margin::absolute}) {
      for (const Errors errors : {Errors::sum, Errors::largest}) {
        for (const bool bias : {false, true}) {
          const JointView view = problem.view(margin, errors, bias);
          for (const bool blocks : {false, true}) {
            JointOptions options;
            options.tol = 1e-4;
            if (blocks) options.block = options.largest_block = 32, options.whole = 32, options.exact = 1;
            const JointResult result = solve(problem, view, options, level, 1);
            check(result.status == Status::solved && result.violation <= 1e-4, "solved");
            check(result.a == solve(problem, view, options, level, 3).a, "whatever the number of threads");
            double excess = 0.0, sum = 0.0;
            for (std::size_t k = 0; k < 4 && bias; ++k) {
              double z = 0.0;
              for (std::size_t i = 0; i < n; ++i) {
                double all = 0.0;
                for (std::size_t l = 0; l < 4; ++l) all += result.a[i * 4 + l];
                sum += all;
                if (margin == Margin::relative) z += std::size_t(problem.label[i]) == k ? all : -result.a[i * 4 + k];
                if (margin == Margin::absolute) z += all / 4.0 - result.a[i * 4 + k];
              }
              excess = std::max(excess, std::abs(z));
            }
            check(excess <= 1e-12 * std::max(1.0, sum), "balanced");
          }
        }
      }
    }
  }
}

// Two points at -1 and 1, two classes: w_1 - w_0 = 1, so that the multipliers add up to 1/2 with relative margins, to 2
// with absolute ones; offsets make them equal.
void test_two_classes(const Level& level) {
  const JointProblem problem{2, {0, 1}, {10.0, 10.0}, std::vector<double>(4, 0.0), {1.0, -1.0, -1.0, 1.0}};
  JointOptions options;
  options.tol = 1e-10;
  for (const bool bias : {false, true}) {
    for (const Errors errors : {Errors::sum, Errors::largest}) {
      for (const Margin margin : {Margin::relative, Margin::absolute}) {
        const JointResult result = solve(problem, problem.view(margin, errors, bias), options, level, 1);
        check(close(result.a[1] + result.a[2], margin == Margin::relative ? 0.5 : 2.0, 1e-9));
        check(!bias || close(result.a[1], result.a[2], 1e-12));
        check(result.a[0] == 0.0 && result.a[3] == 0.0);
      }
    }
  }
}

void test_joint_limits(const Level& level) {
  const JointProblem problem = random_classes(150, 3, 4);
  const JointView view = problem.view(Margin::relative, Errors::sum, true);
  JointOptions options;
  options.max_iter = 5;
  check(solve(problem, view, options, level, 1).status == Status::max_iter);
  options.max_iter = JointOptions().max_iter;
  check(solve(problem, view, options, level, 1, Watch(0.0, {}, {})).status == Status::max_seconds);
  check(solve(problem, view, options, level, 1, Watch(infinity, {}, [](const Progress&) { return true; })).status ==
        Status::stopped);
  check(throws<std::runtime_error>(
      [&] { solve(problem, view, options, level, 1, Watch(infinity, [] { throw std::runtime_error(""); }, {})); }));
}

// --- linear machines --------------------------------------------------------------------------------------

// The same random rows, dense or sparse, in T.
template <class T>
struct LinearData {
  std::vector<double> full;
  std::vector<T> values;
  std::vector<std::int32_t> columns;
  std::vector<std::int64_t> starts{0};
  Samples samples;

  LinearData(std::size_t n, std::size_t d, bool sparse) : full(n * d, 0.0) {
    std::mt19937 random(static_cast<unsigned>(n + d));
    std::normal_distribution<float> normal;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < d; ++j) {
        if (sparse && random() % 3 != 0) continue;
        full[i * d + j] = normal(random);
        if (!sparse) continue;
        values.push_back(T(full[i * d + j]));
        columns.push_back(static_cast<std::int32_t>(j));
      }
      starts.push_back(static_cast<std::int64_t>(values.size()));
    }
    if (!sparse) values.assign(full.begin(), full.end());
    const Precision precision = sizeof(T) == sizeof(double) ? Precision::full : Precision::single;
    samples = {values.data(), columns.data(), starts.data(), n, d, precision, sparse};
  }
};

template <class T>
void test_linear_map(const Level& level, bool sparse) {
  for (const auto& [n, d] : {std::pair<std::size_t, std::size_t>{1, 1}, {7, 3}, {70, 33}, {300, 17}}) {
    const LinearData<T> data(n, d, sparse);
    const LinearMap map(level, data.samples);
    std::vector<std::int64_t> some;
    for (std::size_t i = 0; i < n; i += 2) some.push_back(static_cast<std::int64_t>(i));
    for (const bool all : {true, false}) {
      const RowChoice rows{data.samples, all ? nullptr : some.data(), all ? n : some.size()};
      std::vector<double> w(d), c(rows.n), products(rows.n), sums(d), moments(d * d), squares(d);
      for (std::size_t j = 0; j < d; ++j) w[j] = std::sin(static_cast<double>(j));
      for (std::size_t k = 0; k < rows.n; ++k) c[k] = std::cos(static_cast<double>(k));
      for (const std::size_t threads : {1, 3}) {
        Team team(threads);
        map.products(rows, w.data(), team, products.data());
        map.sums(rows, c.data(), team, sums.data());
        map.moments(rows, c.data(), team, moments.data());
        map.squares(rows, c.data(), squares.data());
        std::vector<double> expected_sums(d, 0.0), expected_moments(d * d, 0.0);
        for (std::size_t k = 0; k < rows.n; ++k) {
          const double* x = data.full.data() + rows[k] * d;
          double product = 0.0;
          for (std::size_t i = 0; i < d; ++i) {
            product += x[i] * w[i];
            expected_sums[i] += c[k] * x[i];
            for (std::size_t j = 0; j < d; ++j) expected_moments[i * d + j] += c[k] * x[i] * x[j];
          }
          check(close(products[k], product, 1e-12), "x . w");
        }
        for (std::size_t i = 0; i < d; ++i) {
          check(close(sums[i], expected_sums[i], 1e-12), "X' c");
          check(close(squares[i], expected_moments[i * d + i], 1e-12), "diagonal of X' C X");
          for (std::size_t j = 0; j < d; ++j) {
            check(close(moments[i * d + j], expected_moments[i * d + j], 1e-12), "X' C X");
          }
        }
      }
    }
  }
}

void test_newton_step(const Level& level) {
  // (I + 0.5 u u', u; u', 4) for u = (1, 2): by hand.
  const std::vector<double> moments{0.5, 1.0, 1.0, 2.0}, border{1.0, 2.0}, right{1.0, 0.0, 2.0};
  const std::vector<double> x = newton_step(level.algebra, moments.data(), border.data(), 4.0, right.data(), 2);
  check(close(1.5 * x[0] + 1.0 * x[1] + 1.0 * x[2], 1.0, 1e-12), "first row");
  check(close(1.0 * x[0] + 3.0 * x[1] + 2.0 * x[2], 0.0, 1e-12), "second row");
  check(close(1.0 * x[0] + 2.0 * x[1] + 4.0 * x[2], 2.0, 1e-12), "border");
}

// Descent on the plane between -1 and 1 (twice each): w = 1, b = 0, and a sums to w.
void test_dual_descent(const Level& level) {
  const std::vector<double> values{-1.0, 1.0, -1.0, 1.0}, sign{-1.0, 1.0, -1.0, 1.0}, linear(4, -1.0), upper(4, 10.0);
  const std::vector<double> zeros(4, 0.0);
  const std::vector<std::int64_t> index{0, 1, 2, 3};
  const Samples samples{values.data(), nullptr, nullptr, 4, 1, Precision::full, false};
  const LinearMap map(level, samples);
  const DualView view{
      4, 4, index.data(), sign.data(), linear.data(), upper.data(), zeros.data(), zeros.data(), Equality::total};
  DescentOptions options;
  options.tol = 1e-9;
  options.equality = true;
  const Watch watch(infinity, {}, {});
  const DescentResult result = DualDescent(map, view, options, 1).run(watch);
  double w = 0.0, total = 0.0;
  for (std::size_t i = 0; i < 4; ++i) {
    w += sign[i] * result.a[i] * values[i];
    total += sign[i] * result.a[i];
  }
  check(result.settled && close(w, 1.0, 1e-7) && std::abs(total) < 1e-7 && std::abs(result.offset) < 1e-6,
        "the plane between -1 and 1");
  options.max_epochs = 1;
  check(DualDescent(map, view, options, 1).run(watch).epochs == 1, "one epoch");
}

void test_check_can_fail() {
  const int before = failed;
  std::printf("(one failure on purpose) ");
  check(false, "this line");
  const bool counted = failed == before + 1;
  failed = before;
  check(counted);
  check(!close(1.0, 1.0 + 1e-6, 1e-7) && close(1.0, 1.0 + 1e-8, 1e-7) && close(infinity, infinity, 0.0));
  check(!throws<std::runtime_error>([] {}));
}

}  // namespace

int main() {
  test_check_can_fail();
  test_levels();
  test_team();
  test_team_writes_are_seen();
  test_team_sleeps_and_wakes();
  test_team_exceptions();
  test_team_polls();
  test_teams_within_teams();
  test_row_cache();
  test_rows_that_fail();
  test_watch();
  test_best_blocks();
  test_block_views();
  for (const Level* level : supported_levels()) {
    for (const bool sparse : {false, true}) {
      test_linear_map<float>(*level, sparse);
      test_linear_map<double>(*level, sparse);
    }
    test_newton_step(*level);
    test_dual_descent(*level);
    test_all<float>(*level);
    test_all<double>(*level);
    test_quick_search(*level);
    test_algebra(*level);
    test_machines(*level);
    test_factor(*level);
    test_factor_leaves_dependent_rows_out(*level);
    test_factor_after_many_changes(*level);
    test_two_points(*level);
    test_one_and_no_point(*level);
    test_random_problems(*level);
    test_warm_start(*level);
    test_limits(*level);
    test_no_hard_margin(*level);
    test_indefinite(*level);
    test_active_set(*level);
    test_active_set_steps_of_length_zero(*level);
    test_active_set_without_a_unique_solution(*level);
    test_active_set_with_nothing_to_choose(*level);
    test_active_set_of_nothing(*level);
    test_two_classes(*level);
  }
  for (const std::string_view name : {"", "baseline"}) {
    test_sums_at_columns<float>(find_level(name));
    test_sums_at_columns<double>(find_level(name));
    test_blocks(find_level(name));
    test_joint_machines(find_level(name));
    test_joint_limits(find_level(name));
    test_newton_steps_in_the_solver(find_level(name));
  }
  test_sums_among_many_rows<float>(find_level(""));
  test_sums_among_many_rows<double>(find_level(""));
  test_vectors_in_the_solver(find_level(""));
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
