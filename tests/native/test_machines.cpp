// The machines of all pairs of classes: votes and walks.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "check.hpp"
#include "mercer/kernels.hpp"
#include "mercer/level.hpp"
#include "mercer/machines.hpp"
#include "mercer/parallel.hpp"
#include "mercer/products.hpp"
#include "samples.hpp"
#include "tests.hpp"

namespace mercer::tests {
namespace {

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
    const std::vector<double> K = matrix_of<double>(spec, level, y.view(false), y.view(false));
    for (const std::size_t at_once : {0, 1, 70}) {  // samples of the matrix, again and again
      std::vector<std::int64_t> at;
      for (std::size_t i = 0; i < at_once && m > 0; ++i) at.push_back(static_cast<std::int64_t>(i * 3 % m));
      std::vector<double> found(n_pairs * at.size(), -1.0);
      Team team(2);
      matrix_dot_rows(level, K.data(), m, at.data(), at.size(), machines, team, found.data());
      bool good = true;
      for (std::size_t k = 0; k < n_pairs; ++k) {
        for (std::size_t c = 0; c < at.size(); ++c) {
          double sum = 0.0;
          for (std::size_t e = machines.begin(k); e < machines.begin(k + 1); ++e) {
            sum += values[e] * K[static_cast<std::size_t>(columns[e]) * m + static_cast<std::size_t>(at[c])];
          }
          good = good && close(found[k * at.size() + c], sum, 1e-11);
        }
      }
      check(good, "sums at samples of a matrix");
    }
    KernelSpec distance = spec;
    distance.transform = Transform::identity;
    distance.p0 = 1.0;
    const std::vector<double> D = matrix_of<double>(distance, level, y.view(false), y.view(false));
    std::vector<double> transformed(D.size());
    Team pair(2);
    transform_values(spec, level, D.data(), D.size(), pair, transformed.data());
    check(transformed == K, "a kernel is the transform of its measure, to the last bit");
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

}  // namespace

void run_machines_tests() {
  for (const Level* level : supported_levels()) test_machines(*level);
}

}  // namespace mercer::tests
