// Tests of the native core: every SIMD level against scalar loops, threads, caches, and the solver on problems
// whose answers are known. A plain program, built and run under sanitizers by `make sanitize`.
#include <cstdio>
#include <stdexcept>

#include "check.hpp"
#include "tests.hpp"

namespace mercer::tests {
namespace {

// Does `check` count failures? The one place where one is wanted.
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
}  // namespace mercer::tests

int main() {
  using namespace mercer::tests;
  test_check_can_fail();
  run_parallel_tests();
  run_loops_tests();
  run_algebra_tests();
  run_chains_tests();
  run_features_tests();
  run_trees_tests();
  run_models_tests();
  run_cky_tests();
  run_graphs_tests();
  run_kernels_tests();
  run_rankings_tests();
  run_rows_tests();
  run_sequences_tests();
  run_smo_tests();
  run_elimination_tests();
  run_active_set_tests();
  run_machines_tests();
  run_matrices_tests();
  run_stacks_tests();
  run_joint_tests();
  run_landmarks_tests();
  run_linear_tests();
  run_kernel_weights_tests();
  run_planes_tests();
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
