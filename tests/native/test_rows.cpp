// Rows of the kernel matrix: kept, made again, or read from a matrix, they give the same sums.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "check.hpp"
#include "mercer/cache.hpp"
#include "mercer/kernels.hpp"
#include "mercer/level.hpp"
#include "mercer/parallel.hpp"
#include "mercer/rows.hpp"
#include "samples.hpp"
#include "tests.hpp"

namespace mercer::tests {
namespace {

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
    // Every second one, or all but some neighbours.
    for (const std::size_t threads_and_points : {1, 2, 11, 12}) {
      std::vector<std::size_t> points;
      for (std::size_t i = 0; i < n; ++i) {
        if (threads_and_points > 10 ? i < 20 || i >= 40 : i % 2 == 0) points.push_back(i);
      }
      Team team(threads_and_points % 10);
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
        const auto entry = [&](std::size_t i, std::size_t j) { return K[points[which[i]] * n + points[which[j]]]; };
        check(square[1] == entry(0, 1) && square[2 * which.size() + 7] == entry(2, 7), "square");
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
          std::vector<T> all(points.size() * points.size());
          rows->square(all_positions(points.size()).data(), points.size(), all.data());
          check(all[points.size() + 2] == K[points[1] * n + points[2]], "the whole square");
        }
      }
      check(large.evaluations() == points.size() * points.size(), "a large cache computes every row once");
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

}  // namespace

void run_rows_tests() {
  test_row_cache();
  test_rows_that_fail();
  for (const Level* level : supported_levels()) {
    test_rows<float>(*level);
    test_rows<double>(*level);
    test_square_of_stored_and_fresh_rows<float>(*level);
    test_square_of_stored_and_fresh_rows<double>(*level);
  }
  for (const std::string_view name : {"", "baseline"}) {
    test_sums_at_columns<float>(find_level(name));
    test_sums_at_columns<double>(find_level(name));
  }
  test_sums_among_many_rows<float>(find_level(""));
  test_sums_among_many_rows<double>(find_level(""));
}

}  // namespace mercer::tests
