// Shortest paths compared node by node: the GraphHopper kernel for graphs whose nodes have attributes.
//
//   k(G, G') = sum over shortest paths p of G and p' of G' with equally many nodes of sum_j k_node(p_j, p'_j)
//            = sum over nodes v, v' of k_node(v, v') <M(v), M(v')>
//
// with M(v)[l, j] the number of shortest paths of l + 1 nodes that have v at place j.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "graph.hpp"
#include "graph_walks.hpp"

namespace mercer {

struct HopperParameters {
  double gamma = 0.0;  // k_node = exp(-gamma |a - a'|^2), times whether the labels are equal
  std::size_t dimension = 0;
};

// One graph: for every node the entries [l, j], j <= l, of M at l (l + 1) / 2 + j.
class HopperGraph {
 public:
  HopperGraph() = default;
  HopperGraph(const Graphs& graphs, const double* attributes, std::size_t dimension, std::size_t g)
      : key(graph_key(graphs, g)), n(graphs.n_nodes(g)), attributes(attributes + graphs.first(g) * dimension) {
    const std::size_t first = graphs.first(g);
    for (std::size_t v = 0; v < n; ++v) labels.push_back(graphs.node_key(first + v));
    for (std::size_t v = 0; v < n * dimension; ++v) {
      key = pair_key(key, std::bit_cast<std::uint64_t>(this->attributes[v]));
    }
    std::vector<std::size_t> order, depth(n);
    std::size_t longest = 0;
    const auto search = [&](std::size_t source) {
      std::fill(depth.begin(), depth.end(), n);
      order.assign(1, source);
      depth[source] = 0;
      for (std::size_t q = 0; q < order.size(); ++q) {
        const std::size_t v = first + order[q];
        for (std::size_t e = graphs.first_arc(v); e < graphs.first_arc(v + 1); ++e) {
          const std::size_t w = graphs.target(e);
          if (depth[w] < n) continue;
          depth[w] = depth[order[q]] + 1;
          order.push_back(w);
        }
      }
    };
    for (std::size_t source = 0; source < n; ++source) {
      search(source);
      longest = std::max(longest, depth[order.back()]);
    }
    entries = (longest + 1) * (longest + 2) / 2;
    counts.assign(n * entries, 0.0);

    std::vector<double> here(n), below(n * (longest + 1));
    for (std::size_t source = 0; source < n; ++source) {
      search(source);
      // here[v]: shortest paths from the source to v; below[v, l]: those that go on from v for l steps
      std::fill(here.begin(), here.end(), 0.0);
      std::fill(below.begin(), below.end(), 0.0);
      here[source] = 1.0;
      const auto for_each_next = [&](std::size_t v, auto body) {
        for (std::size_t e = graphs.first_arc(first + v); e < graphs.first_arc(first + v + 1); ++e) {
          if (depth[graphs.target(e)] == depth[v] + 1) body(graphs.target(e));
        }
      };
      for (const std::size_t v : order) for_each_next(v, [&](std::size_t w) { here[w] += here[v]; });
      const std::size_t deepest = depth[order.back()];
      for (std::size_t q = order.size(); q-- > 0;) {
        const std::size_t v = order[q], j = depth[v];
        double* mine = below.data() + v * (longest + 1);
        mine[0] = 1.0;
        for_each_next(v, [&](std::size_t w) {
          const double* theirs = below.data() + w * (longest + 1);
          for (std::size_t l = 0; l + j < deepest; ++l) mine[l + 1] += theirs[l];
        });
        double* count = counts.data() + v * entries;
        for (std::size_t l = 0; l + j <= deepest; ++l) count[(l + j) * (l + j + 1) / 2 + j] += here[v] * mine[l];
      }
    }
  }

  std::uint64_t key = 0;
  std::size_t n = 0, entries = 0;
  const double* attributes = nullptr;
  std::vector<std::uint64_t> labels;
  std::vector<double> counts;
};

// The sum over pairs of nodes, or its derivative by gamma.
inline double hopper_sum(const HopperGraph& one, const HopperGraph& other, const HopperParameters& parameters,
                         bool slope) {
  const HopperGraph& x = one.key <= other.key ? one : other;
  const HopperGraph& y = one.key <= other.key ? other : one;
  const std::size_t entries = std::min(x.entries, y.entries), d = parameters.dimension;
  double sum = 0.0;
  for (std::size_t v = 0; v < x.n; ++v) {
    for (std::size_t w = 0; w < y.n; ++w) {
      if (x.labels[v] != y.labels[w]) continue;
      const double *a = x.attributes + v * d, *b = y.attributes + w * d;
      double distance = 0.0;
      for (std::size_t f = 0; f < d; ++f) distance += (a[f] - b[f]) * (a[f] - b[f]);
      const double *p = x.counts.data() + v * x.entries, *q = y.counts.data() + w * y.entries;
      const double common = sum_of(entries, [&](std::size_t e) { return p[e] * q[e]; });
      sum += common * std::exp(-parameters.gamma * distance) * (slope ? -distance : 1.0);
    }
  }
  return sum;
}

inline std::vector<HopperGraph> hopper_graphs(const Graphs& graphs, const double* attributes, std::size_t dimension,
                                              Team& team) {
  std::vector<HopperGraph> found(graphs.size);
  team.for_each(graphs.size,
                [&](std::size_t g, std::size_t) { found[g] = HopperGraph(graphs, attributes, dimension, g); });
  return found;
}

inline void hopper_matrix(const Graphs& x, const double* x_attributes, const Graphs& y, const double* y_attributes,
                          bool symmetric, const HopperParameters& parameters, bool slope, Team& team, double* out) {
  const std::vector<HopperGraph> xs = hopper_graphs(x, x_attributes, parameters.dimension, team);
  const std::vector<HopperGraph> of_y =
      symmetric ? std::vector<HopperGraph>() : hopper_graphs(y, y_attributes, parameters.dimension, team);
  const std::vector<HopperGraph>& ys = symmetric ? xs : of_y;
  for_each_pair(x.size, y.size, symmetric, team, [&](std::size_t i, std::size_t j, std::size_t) {
    out[i * y.size + j] = hopper_sum(xs[i], ys[j], parameters, slope);
    if (symmetric) out[j * y.size + i] = out[i * y.size + j];
  });
}

inline void hopper_diagonal(const Graphs& x, const double* attributes, const HopperParameters& parameters, Team& team,
                            double* out) {
  team.for_each(x.size, [&](std::size_t i, std::size_t) {
    const HopperGraph graph(x, attributes, parameters.dimension, i);
    out[i] = hopper_sum(graph, graph, parameters, false);
  });
}

}  // namespace mercer
