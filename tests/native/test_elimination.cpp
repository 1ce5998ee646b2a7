// Recursive feature elimination: the kernel of what is left, the losses by their definition, and which are smallest.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "check.hpp"
#include "mercer/elimination.hpp"
#include "mercer/parallel.hpp"
#include "samples.hpp"
#include "tests.hpp"

namespace mercer::tests {
namespace {

using elimination::Eliminated;
using elimination::Elimination;
using elimination::Features;
using elimination::Losses;
using elimination::Machine;

std::vector<double> transposed(const Table<double>& table) {
  std::vector<double> columns(table.rows * table.features);
  for (std::size_t i = 0; i < table.rows; ++i) {
    for (std::size_t j = 0; j < table.features; ++j) columns[j * table.rows + i] = table.dense[i * table.features + j];
  }
  return columns;
}

Table<double> without(const Table<double>& table, const std::vector<std::size_t>& gone) {
  Table<double> rest(table.rows, table.features - gone.size(), 0);
  std::size_t place = 0;
  for (std::size_t i = 0; i < table.rows; ++i) {
    for (std::size_t j = 0; j < table.features; ++j) {
      if (std::find(gone.begin(), gone.end(), j) == gone.end())
        rest.dense[place++] = table.dense[i * table.features + j];
    }
  }
  return rest;
}

void test_kernels_and_losses() {
  const std::size_t n = 11, d = 9;
  const Table<double> table(n, d, 1);
  const std::vector<double> columns = transposed(table);
  std::mt19937 random(2);
  std::normal_distribution<double> normal;
  std::vector<double> c(2 * n);
  for (double& value : c) value = normal(random);
  c[3] = c[n + 3] = 0.0;  // no support vector
  Team team(2);
  for (const Level* level : supported_levels()) {
    for (const Measure measure : measures) {
      for (const Transform transform : transforms) {
        const KernelSpec spec = kernel(measure, transform);
        if (spec.needs_norms()) continue;
        Features features(spec, *level, columns.data(), d, n, all_positions(n), false, team);
        const std::vector<std::size_t> gone{4, 0, 7};
        features.remove({4});
        features.remove({0, 7});
        const Table<double> rest = without(table, gone);
        for (std::size_t i = 0; i < n; ++i) {
          for (std::size_t k = 0; k < n; ++k) {
            check(close(features.kernel(i)[k], scalar_kernel(spec, rest, i, rest, k), 1e-12));
          }
        }
        Losses losses(features);
        losses.follow(c, 2);
        for (const std::size_t j : {1, 8}) {
          const Table<double> fewer = without(table, {4, 0, 7, j});
          double loss = 0.0;
          for (std::size_t m = 0; m < 2; ++m) {
            for (std::size_t i = 0; i < n; ++i) {
              for (std::size_t k = 0; k < n; ++k) {
                const double change = features.kernel(i)[k] - scalar_kernel(spec, fewer, i, fewer, k);
                loss += 0.5 * c[m * n + i] * c[m * n + k] * change;
              }
            }
          }
          check(close(losses.loss(losses.value(j)), loss, 1e-10));
        }
      }
    }
  }
}

// A feature that is much larger than the others: what is left when it goes is not what rounding has left of them.
void test_rounding() {
  const std::size_t n = 20, d = 6;
  Table<double> table(n, d, 3, true);
  for (double& value : table.dense) value /= 3.0;  // eighths would be added up without rounding
  const Table<double> rest = without(table, {0});
  Team team(1);
  for (const double size : {1e6, 1e8}) {
    std::vector<double> columns = transposed(table);
    for (std::size_t i = 0; i < n; ++i) columns[i] *= size;
    for (const Measure measure : {Measure::dot, Measure::l2, Measure::l1}) {
      KernelSpec spec = kernel(measure, Transform::identity);
      spec.p0 = 1.0;
      Features features(spec, find_level(""), columns.data(), d, n, all_positions(n), false, team);
      features.remove({0});
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t k = 0; k < n; ++k) {
          check(close(features.kernel(i)[k], scalar_kernel(spec, rest, i, rest, k), 1e-12));
        }
      }
    }
  }
}

// The loss of a feature moves by its reach for a unit of the path at most, also where the coefficients move to where
// its loss grows fastest.
void test_values_move_within_their_bounds() {
  const std::size_t n = 7, d = 5;
  Table<double> table(n, d, 7);
  for (std::size_t i = 0; i < n; ++i) table.dense[i * d] += 3.0;  // its mean is large
  const std::vector<double> columns = transposed(table);
  KernelSpec laplacian = kernel(Measure::l1, Transform::exp);
  laplacian.p0 = 0.1;
  std::mt19937 random(8);
  std::normal_distribution<double> normal;
  Team team(1);
  for (const KernelSpec& spec : {KernelSpec{}, gaussian(0.02), gaussian(0.5), laplacian}) {
    Features features(spec, find_level(""), columns.data(), d, n, all_positions(n), false, team);
    for (int trial = 0; trial < 300; ++trial) {
      const std::size_t j = std::size_t(trial) % d;
      const double* const x = features.column(j);
      std::vector<double> c(n);
      double along = 0.0, squares = 0.0;
      for (std::size_t i = 0; i < n; ++i) {
        c[i] = normal(random);
        along += c[i] * x[i];
        squares += x[i] * x[i];
      }
      for (std::size_t i = 0; i < n; ++i) c[i] -= along / squares * x[i];  // w_j = 0
      Losses losses(features);
      losses.follow(c, 1);
      const double before = losses.value(j), path = losses.path();
      for (std::size_t i = 0; i < n; ++i) c[i] += 0.1 * x[i];
      losses.follow(c, 1);
      check(std::abs(losses.value(j) - before) <= losses.reach(j) * (losses.path() - path) + 1e-12);
    }
  }
}

struct Genes {
  std::size_t n, d;
  std::vector<double> columns, sign, linear, upper, ridge;

  Genes(std::size_t samples, std::size_t features, unsigned seed) : n(samples), d(features), columns(n * d) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    for (std::size_t i = 0; i < n; ++i) sign.push_back(i % 2 == 0 ? 1.0 : -1.0);
    for (std::size_t j = 0; j < d; ++j) {
      const double size = 0.2 + 0.1 * double(random() % 20), shift = j < 5 ? 0.5 : 0.0;
      for (std::size_t i = 0; i < n; ++i) columns[j * n + i] = size * (normal(random) + shift * sign[i]);
    }
    linear.assign(n, -1.0);
    upper.assign(n, 1.0);
    ridge.assign(n, 0.0);
  }

  // Samples beyond the first `n_taught` take no part.
  std::vector<Machine> machines(std::size_t n_taught) const {
    std::vector<Machine> machines(1);
    Machine& machine = machines[0];
    machine.samples = all_positions(n_taught);
    machine.places.assign(machine.samples.begin(), machine.samples.end());
    machine.a.assign(n_taught, 0.0);
    machine.view = {n_taught,     n_taught,     machine.places.data(), sign.data(),    linear.data(),
                    upper.data(), ridge.data(), machine.a.data(),      Equality::total};
    return machines;
  }

  Eliminated run(const KernelSpec& spec, std::size_t n_taught, const std::vector<std::size_t>& batches,
                 std::size_t n_threads, bool one_by_one = false) const {
    Team team(n_threads);
    std::vector<Machine> all = machines(n_taught);
    const elimination::Options options;
    Features features(spec, find_level(""), columns.data(), d, n, elimination::samples_of(all, n), true, team);
    std::vector<std::size_t> tests;
    for (std::size_t i = n_taught; i < n; ++i) tests.push_back(i);
    if (!one_by_one) return Elimination(features, all, options, team).run(batches, tests);
    // An elimination that has just begun looks at all losses.
    Eliminated out;
    for (const std::size_t batch : batches) {
      const Eliminated step = Elimination(features, all, options, team).run({batch}, tests);
      out.order.insert(out.order.end(), step.order.begin(), step.order.end());
      out.losses.insert(out.losses.end(), step.losses.begin(), step.losses.end());
      out.decisions.insert(out.decisions.end(), step.decisions.begin(), step.decisions.end());
    }
    return out;
  }
};

bool near(const std::vector<double>& x, const std::vector<double>& y, double tolerance) {
  return std::equal(x.begin(), x.end(), y.begin(), y.end(), [&](double a, double b) { return close(a, b, tolerance); });
}

void test_bounds_choose_as_all_losses_do() {
  const Genes genes(19, 300, 4);
  KernelSpec laplacian = kernel(Measure::l1, Transform::exp);
  laplacian.p0 = 1e-3;
  KernelSpec narrow = gaussian(1.0);
  for (const KernelSpec& spec : {KernelSpec{}, gaussian(1e-3), narrow, laplacian}) {
    const std::vector<std::size_t> one_each(299, 1), several{7, 1, 30, 100, 2, 2, 150};
    for (const auto& batches : {one_each, several}) {
      const Eliminated lazy = genes.run(spec, 16, batches, 1), all = genes.run(spec, 16, batches, 1, true);
      check(lazy.order == all.order);
      check(near(lazy.losses, all.losses, 1e-9));
      check(near(lazy.decisions, all.decisions, 1e-9));
      check(lazy.decisions.size() == 3 * batches.size());
    }
  }
}

void test_threads() {
  const Genes genes(40, 200, 5);
  for (const KernelSpec& spec : {KernelSpec{}, gaussian(1e-3), kernel(Measure::l2, Transform::rational)}) {
    const std::vector<std::size_t> batches{5, 1, 1, 20, 0};
    const Eliminated one = genes.run(spec, 40, batches, 1), three = genes.run(spec, 40, batches, 3);
    check(one.order == three.order && one.losses == three.losses);
  }
}

void test_extremes() {
  const Genes genes(4, 3, 6);
  const Eliminated nothing = genes.run({}, 4, {}, 1);
  check(nothing.order.empty() && nothing.fits.empty() && nothing.decisions.empty());
  const Eliminated everything = genes.run({}, 2, {3}, 1);
  check(everything.order.size() == 3 && everything.fits.size() == 1 && everything.decisions.size() == 2);
}

}  // namespace

void run_elimination_tests() {
  test_kernels_and_losses();
  test_rounding();
  test_values_move_within_their_bounds();
  test_bounds_choose_as_all_losses_do();
  test_threads();
  test_extremes();
}

}  // namespace mercer::tests
