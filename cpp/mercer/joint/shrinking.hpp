// Shrinking: samples that stay at their bounds are left out for a while. Their f is not kept, and is made anew before
// they take part again.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "../blocks.hpp"
#include "../rows.hpp"
#include "state.hpp"

namespace mercer::joint {

// Leave out the samples that stay where they are while no slope moves by more than `change`, where that is worth it.
template <class T>
void shrink(State& state, Rows<T>& rows, double change) {
  std::vector<std::size_t> kept;
  for (const std::size_t i : state.active) {
    state.find_slopes(i);
    if (!state.view(i).settled(change)) kept.push_back(i);
  }
  if (kept.size() > 0.8 * static_cast<double>(state.active.size())) return;
  state.activate(std::move(kept));
  rows.restrict_to(state.active);
}

// Samples that were left out take part again.
template <class T>
void take_all_in(State& state, Rows<T>& rows) {
  if (state.active.size() == state.size()) return;
  std::vector<char> in(state.size(), 0);
  for (const std::size_t i : state.active) in[i] = 1;
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < state.size(); ++i) {
    if (!in[i]) out.push_back(i);
  }
  state.compute_f(rows, out);
  state.activate(all_positions(state.size()));
  rows.restrict_to(state.active);
  state.find_violations();
}

}  // namespace mercer::joint
