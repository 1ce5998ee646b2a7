#include <nanobind/nanobind.h>
namespace mercer::bind {
void bind_models(nanobind::module_&) {}
}  // namespace mercer::bind
