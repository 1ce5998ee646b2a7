#include "level.hpp"

#include <stdexcept>
#include <string>

namespace mercer {

namespace baseline {
extern const Level level;
}
#ifdef MERCER_X86
namespace avx2 {
extern const Level level;
}
namespace avx512 {
extern const Level level;
}
#endif

const std::vector<const Level*>& compiled_levels() {
#ifdef MERCER_X86
  static const std::vector<const Level*> levels{&baseline::level, &avx2::level, &avx512::level};
#else
  static const std::vector<const Level*> levels{&baseline::level};
#endif
  return levels;
}

std::vector<const Level*> supported_levels() {
  std::vector<const Level*> supported;
  for (const Level* level : compiled_levels()) {
    if (level->supported()) supported.push_back(level);
  }
  return supported;
}

const Level& find_level(std::string_view name) {
  const auto levels = supported_levels();
  if (name.empty()) return *levels.back();
  for (const Level* level : levels) {
    if (level->name == name) return *level;
  }
  throw std::invalid_argument("level must be one of simd_levels(), got '" + std::string(name) + "'.");
}

}  // namespace mercer
