#include <cstddef>
#include <cstdint>
#include <utility>

#include "level.hpp"

namespace mercer::avx512 {

inline constexpr std::size_t vector_bytes = 64;
inline constexpr std::size_t tile_vectors = 4;
#include "simd.hpp"
// after the vector types
#include "chain_loops.hpp"
#include "linear_loops.hpp"
#include "loops.hpp"
#include "sequence_loops.hpp"
// after the measures and transforms
#include "elimination_loops.hpp"

bool supported() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}

extern const Level level{"avx512",     supported,      loops_of<float>,   loops_of<double>, algebra,    quick,
                         linear_loops, sequence_loops, elimination_loops, family_loops,     chain_loops};

}  // namespace mercer::avx512
