// The tests of every room, each in the file of its name.
#pragma once

namespace mercer::tests {

void run_parallel_tests();
void run_loops_tests();
void run_algebra_tests();
void run_chains_tests();
void run_features_tests();
void run_trees_tests();
void run_models_tests();
void run_cky_tests();
void run_graphs_tests();
void run_kernels_tests();
void run_rankings_tests();
void run_rows_tests();
void run_sequences_tests();
void run_smo_tests();
void run_elimination_tests();
void run_active_set_tests();
void run_machines_tests();
void run_matrices_tests();
void run_stacks_tests();
void run_joint_tests();
void run_landmarks_tests();
void run_linear_tests();
void run_kernel_weights_tests();
void run_planes_tests();

}  // namespace mercer::tests
