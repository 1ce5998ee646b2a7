// The block: a small problem whose kernel matrix lies in memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "../dual.hpp"
#include "../rows.hpp"
#include "state.hpp"

namespace mercer::smo {

// T is the type of the matrix, S that of the state which the search for pairs runs over: what has changed since the
// block was made, so that float32 keeps its digits for the violations.
template <class T, class S>
struct Block {
  std::vector<std::size_t> points;  // their positions in the state
  std::vector<std::size_t> ids;     // their numbers
  const T* matrix = nullptr;        // `own`, or where the rows have it
  std::vector<T> own, zeros;
  std::vector<Layer> layers;
  std::vector<double> start, coefficient;  // f and s a when the block was made
  std::vector<S> f;                        // minus `start`
  std::vector<S> curvature;                // K_ii + ridge_i
  double offset = 0.0;

  // The variables that share an equality: of each point the largest `up` and the smallest `low` of its layers, minus
  // start and offset. Points of other groups only lie outside [begin, end).
  struct Group {
    std::size_t begin = 0, end = 0;
    std::vector<S> up, low;
  };
  std::vector<Group> groups;
  std::vector<std::size_t> group_of;  // by layer

  std::size_t size() const { return points.size(); }
  const T* row(std::size_t i) const { return matrix + i * size(); }
  double exact_f(std::size_t c) const { return start[c] + double(f[c]); }

  S up(std::size_t l, std::size_t c) const { return S(layers[l].up[c] - start[c] - offset); }
  S low(std::size_t l, std::size_t c) const { return S(layers[l].low[c] - start[c] - offset); }

  // Call after a variable of point c has changed.
  void merge(std::size_t c) {
    for (Group& group : groups) {
      group.up[c] = S(-infinity);
      group.low[c] = S(infinity);
    }
    for (std::size_t l = 0; l < layers.size(); ++l) {
      Group& group = groups[group_of[l]];
      group.up[c] = std::max(group.up[c], up(l, c));
      group.low[c] = std::min(group.low[c], low(l, c));
    }
  }

  // The layer that the group's `up` (or `low`) of point c comes from.
  std::size_t layer_of(std::size_t g, std::size_t c, bool upwards) const {
    std::size_t l = 0;
    while (group_of[l] != g || (upwards ? up(l, c) != groups[g].up[c] : low(l, c) != groups[g].low[c])) ++l;
    return l;
  }

  // Make the block of `points`, around the offset b.
  void load(State& state, Rows<T>& rows, double b) {
    const std::size_t n = size();
    offset = b;
    // Each group's points side by side.
    if (state.n_groups() > 1) {
      std::stable_sort(points.begin(), points.end(), [&](std::size_t x, std::size_t y) {
        return state.is_in_group(x, 0) && !state.is_in_group(y, 0);
      });
    }
    load_matrix(state, rows);
    zeros.assign(n, T(0));
    f.assign(n, S(0));
    start.resize(n);
    coefficient.resize(n);
    curvature.resize(n);
    layers.resize(state.layers.size());
    group_of.resize(state.layers.size());
    for (std::size_t l = 0; l < layers.size(); ++l) {
      group_of[l] = state.group_of(l);
      layers[l].resize(n);
      for (std::size_t c = 0; c < n; ++c) layers[l].copy_from(state.layers[l], points[c], c);
    }
    for (std::size_t c = 0; c < n; ++c) {
      start[c] = state.f[points[c]];
      coefficient[c] = state.coefficient(points[c]);
      const double diagonal = double(row(c)[c]);
      state.largest_diagonal = std::max(state.largest_diagonal, diagonal);
      double ridge = infinity;  // the same in all layers but for gaps
      for (const Layer& layer : layers) {
        if (layer.variable[c] >= 0) ridge = std::min(ridge, layer.ridge[c]);
      }
      curvature[c] = S(diagonal + ridge);
    }
    groups.resize(state.n_groups());
    for (std::size_t g = 0; g < groups.size(); ++g) {
      Group& group = groups[g];
      group.up.resize(n);
      group.low.resize(n);
      group.begin = 0;
      group.end = n;
      while (group.begin < n && !state.is_in_group(points[group.begin], g)) ++group.begin;
      while (group.end > group.begin && !state.is_in_group(points[group.end - 1], g)) --group.end;
    }
    for (std::size_t c = 0; c < n; ++c) merge(c);
  }

  // Bring the variables of the whole problem up to the block's.
  void write_variables(State& state) const {
    for (std::size_t l = 0; l < layers.size(); ++l) {
      for (std::size_t c = 0; c < size(); ++c) state.layers[l].copy_state_from(layers[l], c, points[c]);
    }
  }

  // The same for f, at the points of the block.
  void write_f(State& state) const {
    for (std::size_t c = 0; c < size(); ++c) state.f[points[c]] = exact_f(c);
  }

  // Of the objective, the part of the ridges.
  double ridge_term() const {
    double sum = 0.0;
    for (const Layer& layer : layers) {
      for (std::size_t c = 0; c < layer.a.size(); ++c) sum += 0.5 * layer.ridge[c] * layer.a[c] * layer.a[c];
    }
    return sum;
  }

 private:
  void load_matrix(const State& state, Rows<T>& rows) {
    const std::size_t n = size();
    ids.resize(n);
    for (std::size_t c = 0; c < n; ++c) ids[c] = state.order[points[c]];
    matrix = n == rows.n_points() && ids == all_positions(n) ? rows.whole() : nullptr;
    if (matrix != nullptr) return;
    own.resize(n * n);
    rows.square(ids.data(), n, own.data());
    matrix = own.data();
  }
};

}  // namespace mercer::smo
