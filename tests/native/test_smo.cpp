// The solver of dual problems, where the answers are known.
#include <cstddef>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "check.hpp"
#include "mercer/dual.hpp"
#include "mercer/kernels.hpp"
#include "mercer/level.hpp"
#include "mercer/parallel.hpp"
#include "mercer/rows.hpp"
#include "mercer/smo.hpp"
#include "mercer/stop.hpp"
#include "problems.hpp"
#include "samples.hpp"
#include "tests.hpp"

namespace mercer::tests {
namespace {

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

// Each problem begins where the one before has ended: rising, falling and steeply rising bounds, sums that shrink.
void test_paths(const Level& level) {
  for (const Equality equality : {Equality::none, Equality::total, Equality::per_sign}) {
    for (const bool twice : {false, true}) {
      for (const std::size_t n : {40, 700}) {
        Team team(1);
        std::vector<Problem> problems;
        for (const double factor : {1.0, 3.0, 3.0, 0.5, 40.0, 1e4}) {
          problems.push_back(random_problem(n, equality, twice, false, 7));
          // With fixed sums, these shrink in place of the bounds.
          for (double& value : equality == Equality::per_sign ? problems.back().start : problems.back().upper) {
            value *= equality == Equality::per_sign ? 1.0 / (1.0 + factor) : factor;
          }
        }
        const auto points = all_positions(n);
        MatrixRows<float, double> single(level, problems[0].matrix.data(), n, points, team);
        MatrixRows<double, double> full(level, problems[0].matrix.data(), n, points, team);
        for (const bool rough : {false, true}) {
          SmoOptions options;
          options.rough = rough;
          const Watch watch(infinity, {}, {});
          std::vector<DualView> views;
          for (const Problem& problem : problems) views.push_back(problem.view());
          std::unique_ptr<smo::Solver> before;
          for (std::size_t k = 0; k < problems.size(); ++k) {
            auto now =
                std::make_unique<smo::Solver>(views[k], options, level, &single, full, watch, before.get(), true);
            const SmoResult result = now->solve();
            const std::string what = "path " + std::to_string(k);
            if (rough) {  // what it says of itself is rounded
              check(result.status == Status::solved && problems[k].violation(result.a) <= 1.5 * options.tol, what);
            } else {
              check_solution(problems[k], result, options.tol, what);
            }
            before = std::move(now);
          }
        }
      }
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

}  // namespace

void run_smo_tests() {
  test_watch();
  for (const Level* level : supported_levels()) {
    test_two_points(*level);
    test_one_and_no_point(*level);
    test_random_problems(*level);
    test_warm_start(*level);
    test_limits(*level);
    test_no_hard_margin(*level);
    test_indefinite(*level);
  }
  for (const std::string_view name : {"", "baseline"}) test_blocks(find_level(name));
  for (const std::string_view name : {"", "baseline"}) test_paths(find_level(name));
  test_vectors_in_the_solver(find_level(""));
}

}  // namespace mercer::tests
