#include <nanobind/nanobind.h>

namespace mercer::bind {
void bind_kernels(nanobind::module_& m);
void bind_joint(nanobind::module_& m);
void bind_linear(nanobind::module_& m);
void bind_machines(nanobind::module_& m);
void bind_smo(nanobind::module_& m);
}  // namespace mercer::bind

NB_MODULE(_native, m) {
  m.doc() = "The loops NumPy cannot do. Functions and arrays only; everything is checked in Python first.";
  mercer::bind::bind_kernels(m);
  mercer::bind::bind_joint(m);
  mercer::bind::bind_linear(m);
  mercer::bind::bind_machines(m);
  mercer::bind::bind_smo(m);
}
