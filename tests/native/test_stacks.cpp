// Stacks of kernel matrices: lower halves of several kernels, their sums and their energies.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "check.hpp"
#include "mercer/level.hpp"
#include "mercer/parallel.hpp"
#include "mercer/stack.hpp"
#include "samples.hpp"
#include "tests.hpp"

namespace mercer::tests {
namespace {

template <class T>
using Halves = std::vector<std::vector<T>>;

template <class T>
std::vector<const T*> pointers(const Halves<T>& halves, std::size_t skip = 0) {
  std::vector<const T*> found;
  for (const auto& half : halves) found.push_back(half.data() + skip);
  return found;
}

struct Kernels {
  std::vector<KernelSpec> kernels;
  std::vector<double> factors;

  Family family() const { return Family(kernels, factors); }
};

template <class T>
Halves<T> halves_of(const Kernels& given, const Level& level, const Samples& samples, HalfRows rows,
                    std::size_t n_threads) {
  Halves<T> halves(given.kernels.size(), std::vector<T>(rows.size()));
  std::vector<T*> out;
  for (auto& half : halves) out.push_back(half.data());
  Team team(n_threads);
  family_halves(given.family(), level, samples, rows, team, out.data());
  return halves;
}

Kernels widths() {
  Kernels family;
  for (const double gamma : {0.1, 0.5, 2.0, 4.0, 8.0}) family.kernels.push_back(gaussian(gamma));
  family.kernels.push_back(gaussian(0.3));
  family.kernels.back().transform = Transform::matern32;
  family.factors = {1.0, 2.0, 0.5, 1.0, 3.0, 1.0};
  return family;
}

// Kernels together and alone, on any rows, are the kernel by its definition.
void test_families(const Level& level) {
  const Table<double> x(600, 5, 3);  // more than one strip of columns and one group of rows
  for (const bool sparse : {false, true}) {
    const Samples samples = x.view(sparse);
    const Kernels family = widths();
    const Halves<double> all = halves_of<double>(family, level, samples, {0, x.rows}, 1);
    bool good = true;
    for (std::size_t k = 0; k < family.kernels.size(); ++k) {
      for (std::size_t i = 0; i < x.rows; i += 7) {
        for (std::size_t j = 0; j <= i; ++j) {
          const double wanted = family.factors[k] * scalar_kernel(family.kernels[k], x, i, x, j);
          good = good && close(all[k][Triangle::start_of(i) + j], wanted, 1e-12);
        }
      }
    }
    check(good, "halves of a family");
    const HalfRows rows{100, 371};
    const Halves<double> some = halves_of<double>(family, level, samples, rows, 3);
    good = true;
    for (std::size_t k = 0; k < family.kernels.size(); ++k) {
      const double* from = all[k].data() + Triangle::start_of(rows.first);
      good = good && std::equal(some[k].begin(), some[k].end(), from);
      const Kernels alone{{family.kernels[k]}, {family.factors[k]}};
      good = good && halves_of<double>(alone, level, samples, {0, x.rows}, 2)[0] == all[k];
    }
    check(good, "some rows, kernels alone, threads: the same to the last bit");
    check(close(halves_of<float>(family, level, samples, rows, 2)[2][17], some[2][17], 1e-6), "halves in float32");

    const std::vector<std::size_t> which{5, 599, 0, 5};
    std::vector<double> sums(which.size() * x.rows, 1.0);
    Team team(2);
    add_family_rows(family.family(), level, samples, which, team, sums.data());
    good = true;
    for (std::size_t r = 0; r < which.size(); ++r) {
      for (std::size_t j = 0; j < x.rows; ++j) {
        const std::size_t place = Triangle::start_of(std::max(which[r], j)) + std::min(which[r], j);
        double sum = 1.0;
        for (std::size_t k = 0; k < family.kernels.size(); ++k) sum += all[k][place];
        good = good && close(sums[r * x.rows + j], sum, 1e-13);
      }
    }
    check(good, "rows of the sum of a family");

    KernelSpec cosine;
    cosine.transform = Transform::cosine;
    const Halves<double> angles = halves_of<double>({{cosine}, {2.0}}, level, samples, {0, x.rows}, 1);
    check(close(angles[0][Triangle::start_of(9) + 4], 2.0 * scalar_kernel(cosine, x, 9, x, 4), 1e-12),
          "a kernel that needs norms");
  }
}

template <class T>
void test_sums(const Level& level, std::size_t n) {
  const Table<double> x(n, 3, 5);
  const Halves<T> halves = halves_of<T>(widths(), level, x.view(false), {0, n}, 1);
  const std::vector<double> weights{0.1, 0.4, 0.25, 2.0, 1.0, 0.5};
  const double ridge = 0.125;
  std::vector<T> sum(n * n, T(-1));
  Team one(1), three(3);
  combine_halves(level, pointers(halves), weights.data(), {0, n}, ridge, n, one, sum.data());
  bool good = true;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double wanted = i == j ? ridge : 0.0;
      for (std::size_t k = 0; k < halves.size(); ++k) {
        wanted += weights[k] * double(halves[k][Triangle::start_of(i) + j]);
      }
      good = good && close(double(sum[i * n + j]), wanted, sizeof(T) == sizeof(float) ? 1e-7 : 1e-14);
      good = good && sum[i * n + j] == sum[j * n + i];
    }
  }
  check(good, "sums of " + std::to_string(n));

  std::vector<T> parts(n * n, T(-1));
  for (std::size_t first = 0; first < n; first += 29) {
    combine_halves(level, pointers(halves, Triangle::start_of(first)), weights.data(), {first, std::min(n, first + 29)},
                   ridge, n, three, parts.data());
  }
  check(parts == sum, "some rows at a time: the same to the last bit");

  // Two machines, one of them with few entries, over the samples whose number is 1 modulo 3.
  std::vector<std::size_t> support;
  for (std::size_t i = 1; i < n; i += 3) support.push_back(i);
  const std::size_t m = support.size();
  std::vector<double> values;
  std::vector<std::int32_t> columns;
  std::vector<std::int64_t> starts{0};
  for (const std::size_t step : {1, 5}) {
    for (std::size_t a = step - 1; a < m; a += step) {
      values.push_back(std::sin(double(a + step)));
      columns.push_back(static_cast<std::int32_t>(a));
    }
    starts.push_back(static_cast<std::int64_t>(values.size()));
  }
  const Machines machines{values.data(), columns.data(), starts.data(), 2};
  std::vector<double> energies(halves.size() * m), again(halves.size() * m), some(halves.size() * m);
  row_energies(level, pointers(halves), Picked(support), machines, {0, m}, true, one, energies.data());
  row_energies(level, pointers(halves), Picked(support), machines, {0, m}, true, three, again.data());
  check(again == energies, "energies by threads");
  good = true;
  for (std::size_t k = 0; k < halves.size(); ++k) {
    double wanted = 0.0, found = 0.0;
    for (std::size_t t = 0; t < 2; ++t) {
      for (std::size_t e = machines.begin(t); e < machines.begin(t + 1); ++e) {
        for (std::size_t f = machines.begin(t); f < machines.begin(t + 1); ++f) {
          const std::size_t i = support[static_cast<std::size_t>(columns[std::max(e, f)])];
          const std::size_t j = support[static_cast<std::size_t>(columns[std::min(e, f)])];
          wanted += 0.5 * values[e] * values[f] * double(halves[k][Triangle::start_of(i) + j]);
        }
      }
    }
    for (std::size_t a = 0; a < m; ++a) found += energies[k * m + a];
    good = good && close(found, wanted, 1e-11);
  }
  check(good, "energies of " + std::to_string(n));

  // The halves of the support alone, some rows at a time.
  Halves<T> alone(halves.size());
  for (std::size_t k = 0; k < halves.size(); ++k) {
    for (const std::size_t i : support) {
      for (const std::size_t j : support) {
        if (j <= i) alone[k].push_back(halves[k][Triangle::start_of(i) + j]);
      }
    }
  }
  for (std::size_t first = 0; first < m; first += 6) {
    const HalfRows rows{first, std::min(m, first + 6)};
    std::vector<double> part(halves.size() * (rows.last - rows.first));
    row_energies(level, pointers(alone, Triangle::start_of(first)), Picked(all_positions(m)), machines, rows, false,
                 three, part.data());
    for (std::size_t k = 0; k < halves.size(); ++k) {
      std::copy_n(part.data() + k * (rows.last - rows.first), rows.last - rows.first, some.data() + k * m + first);
    }
  }
  check(some == energies, "energies of some rows at a time: the same to the last bit");

  std::vector<double> c(m), products(halves.size() * m, 1.0), in_parts(halves.size() * m, 1.0);
  for (std::size_t a = 0; a < m; ++a) c[a] = std::cos(double(a));
  add_products(level, pointers(halves), Picked(support), c.data(), {0, m}, true, one, products.data());
  good = true;
  for (std::size_t k = 0; k < halves.size(); ++k) {
    for (std::size_t a = 0; a < m; ++a) {
      double wanted = 1.0;
      for (std::size_t b = 0; b < m; ++b) {
        const std::size_t i = support[std::max(a, b)], j = support[std::min(a, b)];
        wanted += c[b] * double(halves[k][Triangle::start_of(i) + j]);
      }
      good = good && close(products[k * m + a], wanted, 1e-11);
    }
  }
  check(good, "products of " + std::to_string(n));
  for (std::size_t first = 0; first < m; first += 2 * row_group) {
    add_products(level, pointers(alone, Triangle::start_of(first)), Picked(all_positions(m)), c.data(),
                 {first, std::min(m, first + 2 * row_group)}, false, three, in_parts.data());
  }
  check(in_parts == products, "products of some rows at a time: the same to the last bit");
}

}  // namespace

void run_stacks_tests() {
  for (const Level* level : supported_levels()) {
    test_families(*level);
    for (const std::size_t n : {1, 16, 45, 100}) {
      test_sums<float>(*level, n);
      test_sums<double>(*level, n);
    }
    test_sums<float>(*level, 2100);  // more than a stretch of columns
  }
}

}  // namespace mercer::tests
