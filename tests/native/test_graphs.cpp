// Graphs: features counted, subgraphs found once, and sums over walks against known numbers.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "check.hpp"
#include "mercer/graph.hpp"
#include "mercer/graph_counts.hpp"
#include "mercer/graph_hopper.hpp"
#include "mercer/graph_walks.hpp"
#include "mercer/parallel.hpp"
#include "tests.hpp"

namespace mercer::tests {
namespace {

// Graphs without directions, packed.
struct Owned {
  std::vector<std::int64_t> nodes{0}, arcs{0};
  std::vector<std::int32_t> targets;
  std::vector<std::uint64_t> keys;
  std::vector<std::uint8_t> directed;

  void add(std::size_t n, const std::vector<std::pair<int, int>>& edges, const std::vector<std::uint64_t>& labels) {
    for (std::size_t v = 0; v < n; ++v) {
      for (std::size_t w = 0; w < n; ++w) {
        for (const auto& [a, b] : edges) {
          const bool joined = (a == static_cast<int>(v) && b == static_cast<int>(w)) ||
                              (b == static_cast<int>(v) && a == static_cast<int>(w));
          if (joined) targets.push_back(static_cast<std::int32_t>(w));
        }
      }
      arcs.push_back(static_cast<std::int64_t>(targets.size()));
      keys.push_back(labels[v]);
    }
    nodes.push_back(nodes.back() + static_cast<std::int64_t>(n));
    directed.push_back(0);
  }

  Graphs view(bool labelled) const {
    return {nodes.data(), arcs.data(), targets.data(),  labelled ? keys.data() : nullptr,
            nullptr,      nullptr,     directed.data(), directed.size()};
  }
};

// A triangle with a tail, nothing, one node, a path of four nodes.
Owned some_graphs() {
  Owned graphs;
  graphs.add(4, {{0, 1}, {1, 2}, {0, 2}, {2, 3}}, {7, 7, 8, 7});
  graphs.add(0, {}, {});
  graphs.add(1, {}, {9});
  graphs.add(4, {{0, 1}, {1, 2}, {2, 3}}, {7, 8, 8, 7});
  return graphs;
}

void test_counter() {
  Counter counter;
  std::vector<std::uint64_t> keys;
  std::vector<double> counts;
  for (std::uint64_t i = 0; i < 5000; ++i) counter.add(i % 1000);
  counter.move_to(keys, counts);
  bool right = keys.size() == 1000;
  for (std::size_t i = 0; i < keys.size(); ++i) right = right && keys[i] == i && counts[i] == 5.0;
  check(right);
  counter.add(3, 2.0);
  counter.move_to(keys, counts);
  check(keys.size() == 1001 && keys.back() == 3 && counts.back() == 2.0);
}

void test_counts() {
  const Owned owned = some_graphs();
  const Graphs graphs = owned.view(true);
  for (const std::size_t n_threads : {1u, 3u}) {
    Team team(n_threads);
    const FeatureRows labels = count_labels(graphs, 0, team);
    check(labels.starts == std::vector<std::int64_t>{0, 2, 2, 3, 5});
    check(labels.keys == std::vector<std::uint64_t>{7, 8, 9, 7, 8});
    check(labels.values == std::vector<double>{3, 1, 1, 2, 2});
    const FeatureRows rounds = count_labels(graphs, 1, team);
    check(rounds.starts == std::vector<std::int64_t>{0, 5, 5, 7, 11});
    std::vector<std::uint64_t> refined(2 * 9);
    refined_labels(graphs, 1, team, refined.data());
    check(refined[9] == refined[10] && refined[9] != refined[12] && refined[14] == refined[17]);
    const FeatureRows edges = count_edges(graphs, true, team);
    check(edges.values == std::vector<double>{1, 3, 1, 2} || edges.values == std::vector<double>{3, 1, 1, 2} ||
          edges.values == std::vector<double>{1, 3, 2, 1} || edges.values == std::vector<double>{3, 1, 2, 1});
    double pairs = 0.0;
    for (const double count : count_paths(graphs, 0.0, team).values) pairs += count;
    check(pairs == 24.0);
  }
}

void test_subgraphs() {
  const Owned owned = some_graphs();
  const Graphs graphs = owned.view(false);
  Team team(2);
  // types of three nodes by their number of edges
  const std::vector<std::int64_t> type_of{0, 1, 1, 2, 1, 2, 2, 3};
  std::vector<std::int64_t> counts(4 * 4);
  count_subgraphs(graphs, 3, type_of.data(), 4, team, counts.data());
  check(counts == std::vector<std::int64_t>{0, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0});
}

void test_walks() {
  Owned owned;
  owned.add(2, {{0, 1}}, {1, 1});
  owned.add(2, {{0, 1}}, {1, 2});
  owned.add(0, {}, {});
  Team team(2);
  // Two nodes with the same label: four pairs, each with one arc: 4 / (1 - decay). Otherwise two pairs joined by
  // nothing, and with itself two pairs joined to one another.
  const Graphs graphs = owned.view(true);
  std::vector<double> K(9), radii(3), diagonal(3);
  walk_matrix(graphs, {}, graphs, {}, true, {0.5, false}, false, team, K.data());
  const std::vector<double> expected{8, 2, 0, 2, 4, 0, 0, 0, 0};
  bool right = true;
  for (std::size_t i = 0; i < 9; ++i) right = right && close(K[i], expected[i], 1e-14);
  check(right);
  walk_diagonal(graphs, {}, {0.5, false}, team, diagonal.data());
  check(diagonal[0] == K[0] && diagonal[1] == K[4] && diagonal[2] == K[8]);
  walk_matrix(graphs, {}, graphs, {}, true, {0.5, false}, true, team, K.data());
  check(close(K[0], 16.0, 1e-10) && close(K[4], 8.0, 1e-10));
  diverging_radii(graphs, {}, 0.99, team, radii.data());
  check(radii == std::vector<double>{0, 0, 0});
  diverging_radii(graphs, {}, 1.01, team, radii.data());
  check(close(radii[0], 1.0, 1e-9) && close(radii[1], 1.0, 1e-9) && radii[2] == 0.0);
}

void test_hopper() {
  Owned owned;
  owned.add(2, {{0, 1}}, {1, 1});
  owned.add(0, {}, {});
  Team team(2);
  const std::vector<double> attributes{0.0, 0.0};
  std::vector<double> K(4), diagonal(2);
  const Graphs graphs = owned.view(false);
  hopper_matrix(graphs, attributes.data(), graphs, attributes.data(), true, {1.0, 1}, false, team, K.data());
  hopper_diagonal(graphs, attributes.data(), {1.0, 1}, team, diagonal.data());
  // Two paths of one node and two of two: 2 * 2 + 2 * 2 * 2.
  check(K == std::vector<double>{12, 0, 0, 0} && diagonal[0] == 12 && diagonal[1] == 0);
}

}  // namespace

void run_graphs_tests() {
  test_counter();
  test_counts();
  test_subgraphs();
  test_walks();
  test_hopper();
}

}  // namespace mercer::tests
