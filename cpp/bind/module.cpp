#include <nanobind/nanobind.h>

#include "signals.hpp"

namespace mercer::bind {
void bind_chains(nanobind::module_& m);
void bind_cky(nanobind::module_& m);
void bind_elimination(nanobind::module_& m);
void bind_features(nanobind::module_& m);
void bind_graphs(nanobind::module_& m);
void bind_kernel_weights(nanobind::module_& m);
void bind_kernels(nanobind::module_& m);
void bind_joint(nanobind::module_& m);
void bind_joint_linear(nanobind::module_& m);
void bind_landmarks(nanobind::module_& m);
void bind_linear(nanobind::module_& m);
void bind_machines(nanobind::module_& m);
void bind_matrices(nanobind::module_& m);
void bind_models(nanobind::module_& m);
void bind_planes(nanobind::module_& m);
void bind_rankings(nanobind::module_& m);
void bind_sets(nanobind::module_& m);
void bind_smo(nanobind::module_& m);
void bind_stacks(nanobind::module_& m);
void bind_strings(nanobind::module_& m);
void bind_trees(nanobind::module_& m);
}  // namespace mercer::bind

NB_MODULE(_native, m) {
  m.doc() =
      "The loops NumPy cannot do. Functions and arrays, and a class where state is kept; everything is checked in "
      "Python first.";
  mercer::bind::bind_chains(m);
  mercer::bind::bind_cky(m);
  mercer::bind::bind_elimination(m);
  mercer::bind::bind_features(m);
  mercer::bind::bind_graphs(m);
  mercer::bind::bind_kernel_weights(m);
  mercer::bind::bind_kernels(m);
  mercer::bind::bind_joint(m);
  mercer::bind::bind_joint_linear(m);
  mercer::bind::bind_landmarks(m);
  mercer::bind::bind_linear(m);
  mercer::bind::bind_machines(m);
  mercer::bind::bind_matrices(m);
  mercer::bind::bind_models(m);
  mercer::bind::bind_planes(m);
  mercer::bind::bind_rankings(m);
  mercer::bind::bind_sets(m);
  mercer::bind::bind_smo(m);
  mercer::bind::bind_stacks(m);
  mercer::bind::bind_strings(m);
  mercer::bind::bind_trees(m);
  m.def(
      "listen_to", [](nanobind::object stop) { mercer::bind::unwanted = stop.is_none() ? nullptr : stop.ptr(); },
      nanobind::arg("stop").none(),
      "Native loops of this thread end with KeyboardInterrupt once stop() is true; None: they do not ask.\n"
      "The function is borrowed: it must live until it is replaced.");
}
