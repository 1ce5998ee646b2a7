// Graphs as they are packed for the kernels between them, and features counted graph by graph.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "parallel.hpp"

namespace mercer {

// Graph g has the nodes nodes[g] to nodes[g + 1], node v the arcs arcs[v] to arcs[v + 1], sorted by target. Targets are
// counted from the first node of their graph. An edge without direction is two arcs, a loop is one.
struct Graphs {
  const std::int64_t* nodes = nullptr;
  const std::int64_t* arcs = nullptr;
  const std::int32_t* targets = nullptr;
  const std::uint64_t* node_keys = nullptr;  // null: all nodes are alike
  const std::uint64_t* arc_keys = nullptr;   // null: all edges are alike
  const double* weights = nullptr;           // null: all are 1
  const std::uint8_t* directed = nullptr;
  std::size_t size = 0;

  // What is not labelled has this key.
  static constexpr std::uint64_t no_label = 0x6e6f206c6162656cu;

  std::size_t first(std::size_t g) const { return static_cast<std::size_t>(nodes[g]); }
  std::size_t n_nodes(std::size_t g) const { return first(g + 1) - first(g); }
  std::size_t first_arc(std::size_t v) const { return static_cast<std::size_t>(arcs[v]); }
  std::size_t target(std::size_t e) const { return static_cast<std::size_t>(targets[e]); }
  std::uint64_t node_key(std::size_t v) const { return node_keys ? node_keys[v] : no_label; }
  std::uint64_t arc_key(std::size_t e) const { return arc_keys ? arc_keys[e] : no_label; }
  double weight(std::size_t e) const { return weights ? weights[e] : 1.0; }
};

// A bijection in which every bit of the input moves every bit of the output (the finaliser of MurmurHash3).
inline std::uint64_t stirred(std::uint64_t key) {
  key = (key ^ (key >> 33)) * 0xff51afd7ed558ccdu;
  key = (key ^ (key >> 33)) * 0xc4ceb9fe1a85ec53u;
  return key ^ (key >> 33);
}

// A key for a pair of keys; their order matters.
inline std::uint64_t pair_key(std::uint64_t a, std::uint64_t b) {
  return stirred(stirred(a + 0x9e3779b97f4a7c15u) + b);
}

// Counts of keys.
class Counter {
 public:
  Counter() { resize(256); }

  void add(std::uint64_t key, double count = 1.0) {
    std::size_t slot = slot_of(key);
    if (places_[slot] == empty) {
      if (2 * (entries_.size() + 1) > places_.size()) {
        resize(4 * places_.size());
        slot = slot_of(key);
      }
      places_[slot] = static_cast<std::uint32_t>(entries_.size());
      entries_.push_back({key, count});
    } else {
      entries_[places_[slot]].second += count;
    }
  }

  // Append what was counted, by ascending keys, and begin anew.
  void move_to(std::vector<std::uint64_t>& keys, std::vector<double>& counts) {
    std::sort(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [key, count] : entries_) {
      keys.push_back(key);
      counts.push_back(count);
    }
    // A table that one large sample has made is not to be cleared for each of many small ones.
    const std::size_t n = places_.size() > 16 * (entries_.size() + 256) ? 256 : places_.size();
    entries_.clear();
    resize(n);
  }

 private:
  static constexpr std::uint32_t empty = 0xffffffffu;

  std::size_t slot_of(std::uint64_t key) const {
    const std::size_t mask = places_.size() - 1;
    std::size_t slot = stirred(key) & mask;
    while (places_[slot] != empty && entries_[places_[slot]].first != key) slot = (slot + 1) & mask;
    return slot;
  }

  void resize(std::size_t n) {
    places_.assign(n, empty);
    for (std::size_t e = 0; e < entries_.size(); ++e) {
      places_[slot_of(entries_[e].first)] = static_cast<std::uint32_t>(e);
    }
  }

  std::vector<std::uint32_t> places_;
  std::vector<std::pair<std::uint64_t, double>> entries_;
};

// Features of samples as vectors; see SparseFeatures.
struct FeatureRows {
  std::vector<std::uint64_t> keys;
  std::vector<double> values;
  std::vector<std::int64_t> starts{0};
};

// The features that count(i, worker, counter) counts for each sample i.
template <class Count>
FeatureRows count_features(std::size_t n, Team& team, Count count) {
  constexpr std::size_t step = 8;
  const std::size_t n_tiles = (n + step - 1) / step;
  std::vector<FeatureRows> parts(n_tiles);
  std::vector<Counter> counters(team.size());
  team.for_each(n_tiles, [&](std::size_t tile, std::size_t worker) {
    FeatureRows& part = parts[tile];
    for (std::size_t i = tile * step; i < std::min(n, (tile + 1) * step); ++i) {
      count(i, worker, counters[worker]);
      counters[worker].move_to(part.keys, part.values);
      part.starts.push_back(static_cast<std::int64_t>(part.keys.size()));
    }
  });
  FeatureRows all;
  std::size_t entries = 0;
  for (const FeatureRows& part : parts) entries += part.keys.size();
  all.keys.reserve(entries);
  all.values.reserve(entries);
  all.starts.reserve(n + 1);
  for (const FeatureRows& part : parts) {
    const std::int64_t before = static_cast<std::int64_t>(all.keys.size());
    all.keys.insert(all.keys.end(), part.keys.begin(), part.keys.end());
    all.values.insert(all.values.end(), part.values.begin(), part.values.end());
    for (std::size_t i = 1; i < part.starts.size(); ++i) all.starts.push_back(before + part.starts[i]);
  }
  return all;
}

// Keys of graphs as they are stored: equal for equal arrays, whatever graphs are around them. Kernels that are summed
// over pairs of nodes take the graph with the smaller key first, so that k(x, y) and k(y, x) are the same sum.
inline std::uint64_t graph_key(const Graphs& graphs, std::size_t g) {
  std::uint64_t key = pair_key(graphs.n_nodes(g), graphs.directed[g]);
  for (std::size_t v = graphs.first(g); v < graphs.first(g + 1); ++v) {
    key = pair_key(key, graphs.node_key(v));
    for (std::size_t e = graphs.first_arc(v); e < graphs.first_arc(v + 1); ++e) {
      key = pair_key(pair_key(key, graphs.target(e)), graphs.arc_key(e));
      key = pair_key(key, std::bit_cast<std::uint64_t>(graphs.weight(e)));
    }
    key = pair_key(key, 0);
  }
  return key;
}

// body(i, j, worker) for every pair of an (n, m) matrix; with `symmetric` for j <= i alone. In tiles of some pairs.
template <class Body>
void for_each_pair(std::size_t n, std::size_t m, bool symmetric, Team& team, Body body) {
  constexpr std::size_t step = 16;
  const std::size_t across = (m + step - 1) / step;
  team.for_each(n * across, [&](std::size_t tile, std::size_t worker) {
    const std::size_t i = tile / across, begin = tile % across * step;
    const std::size_t end = std::min(begin + step, symmetric ? i + 1 : m);
    for (std::size_t j = begin; j < end; ++j) body(i, j, worker);
  });
}

}  // namespace mercer
