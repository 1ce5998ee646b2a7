#include <cstddef>
#include <cstdint>
#include <utility>

#include "level.hpp"

namespace mercer::baseline {

inline constexpr std::size_t vector_bytes = 16;
inline constexpr std::size_t tile_vectors = 2;
#include "simd.hpp"
// after the vector types
#include "chain_loops.hpp"
#include "linear_loops.hpp"
#include "loops.hpp"
#include "sequence_loops.hpp"
// after the measures and transforms
#include "elimination_loops.hpp"

extern const Level level{"baseline",   [] { return true; }, loops_of<float>,   loops_of<double>, algebra,    quick,
                         linear_loops, sequence_loops,      elimination_loops, family_loops,     chain_loops};

}  // namespace mercer::baseline
