// Trees: keys of subtrees and productions, and the subset-tree kernel against its recursion.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "check.hpp"
#include "mercer/parallel.hpp"
#include "mercer/trees.hpp"
#include "tests.hpp"

namespace mercer::tests {
namespace {

struct Forest {
  std::vector<std::uint64_t> labels;
  std::vector<std::int64_t> arities, starts{0};

  LabelledTrees view() const { return {labels.data(), arities.data(), starts.data(), starts.size() - 1}; }
};

void grow(Forest& forest, std::mt19937_64& rng, int depth) {
  const std::int64_t arity = depth == 0 ? 0 : static_cast<std::int64_t>(rng() % 3);
  forest.labels.push_back(rng() % 3);
  forest.arities.push_back(arity);
  for (std::int64_t c = 0; c < arity; ++c) grow(forest, rng, depth - 1);
}

Forest random_forest(std::size_t n, int depth, unsigned seed) {
  std::mt19937_64 rng(seed);
  Forest forest;
  for (std::size_t t = 0; t < n; ++t) {
    grow(forest, rng, depth);
    forest.starts.push_back(static_cast<std::int64_t>(forest.labels.size()));
  }
  return forest;
}

// Where the subtree of node v ends.
std::size_t end_of(const Forest& f, std::size_t v) {
  std::size_t end = v + 1;
  for (std::int64_t c = 0; c < f.arities[v]; ++c) end = end_of(f, end);
  return end;
}

std::vector<std::size_t> children_of(const Forest& f, std::size_t v) {
  std::vector<std::size_t> found;
  std::size_t child = v + 1;
  for (std::int64_t c = 0; c < f.arities[v]; ++c, child = end_of(f, child)) found.push_back(child);
  return found;
}

double common(const Forest& f, std::size_t a, std::size_t b, double decay) {
  const std::vector<std::size_t> of_a = children_of(f, a), of_b = children_of(f, b);
  if (of_a.empty() || of_a.size() != of_b.size() || f.labels[a] != f.labels[b]) return 0.0;
  double value = decay;
  for (std::size_t c = 0; c < of_a.size(); ++c) {
    if (f.labels[of_a[c]] != f.labels[of_b[c]]) return 0.0;
    value *= 1.0 + common(f, of_a[c], of_b[c], decay);
  }
  return value;
}

void test_subset_trees() {
  const Forest forest = random_forest(40, 5, 1);
  const LabelledTrees trees = forest.view();
  std::vector<std::uint64_t> keys(forest.labels.size());
  check(subtree_keys(trees, keys.data()));
  const Productions found = productions(trees, keys.data());
  std::vector<std::int64_t> all(trees.rows);
  for (std::size_t t = 0; t < all.size(); ++t) all[t] = static_cast<std::int64_t>(t);
  const ProductionsView view{
      found.keys.data(),         found.sorted.data(),    found.order.data(), found.starts.data(), found.children.data(),
      found.child_starts.data(), found.tree_keys.data(), all.data(),         all.size()};
  const std::size_t n = all.size();
  for (const std::size_t n_threads : {1u, 3u}) {
    Team team(n_threads);
    std::vector<double> square(n * n), cross(n * n), logs(n * n), diagonal(n), slopes(n * n), ahead(n * n),
        behind(n * n);
    subset_tree_matrix(view, view, true, 0.5, SubsetTrees::Want::value, team, square.data());
    subset_tree_matrix(view, view, false, 0.5, SubsetTrees::Want::value, team, cross.data());
    subset_tree_matrix(view, view, true, 0.5, SubsetTrees::Want::logarithm, team, logs.data());
    subset_tree_matrix(view, view, true, 0.5, SubsetTrees::Want::derivative, team, slopes.data());
    subset_tree_matrix(view, view, true, 0.5 + 1e-6, SubsetTrees::Want::value, team, ahead.data());
    subset_tree_matrix(view, view, true, 0.5 - 1e-6, SubsetTrees::Want::value, team, behind.data());
    subset_tree_diagonal(view, 0.5, SubsetTrees::Want::value, team, diagonal.data());
    check(square == cross, "the two orders of a pair");
    bool right = true;
    for (std::size_t i = 0; i < n; ++i) {
      right = right && diagonal[i] == square[i * n + i];
      for (std::size_t j = 0; j < n; ++j) {
        double sum = 0.0;
        for (auto a = forest.starts[i]; a < forest.starts[i + 1]; ++a) {
          for (auto b = forest.starts[j]; b < forest.starts[j + 1]; ++b) {
            sum += common(forest, static_cast<std::size_t>(a), static_cast<std::size_t>(b), 0.5);
          }
        }
        const std::size_t e = i * n + j;
        right = right && close(square[e], sum, 1e-12) && close(std::exp(logs[e]), sum, 1e-12);
        right = right && close(slopes[e], (ahead[e] - behind[e]) / 2e-6, 1e-7);
      }
    }
    check(right);
  }
}

void test_subtree_keys() {
  const Forest forest = random_forest(30, 4, 2);
  std::vector<std::uint64_t> keys(forest.labels.size());
  check(subtree_keys(forest.view(), keys.data()));
  bool right = true;
  for (std::size_t a = 0; a < keys.size(); ++a) {
    for (std::size_t b = 0; b < keys.size(); ++b) {
      const std::size_t size = end_of(forest, a) - a;
      bool same = end_of(forest, b) - b == size;
      for (std::size_t v = 0; same && v < size; ++v) {
        same = forest.labels[a + v] == forest.labels[b + v] && forest.arities[a + v] == forest.arities[b + v];
      }
      right = right && same == (keys[a] == keys[b]);
    }
  }
  check(right);
  Forest broken = forest;
  broken.arities[0] += 1;
  check(!subtree_keys(broken.view(), keys.data()));
}

}  // namespace

void run_trees_tests() {
  test_subset_trees();
  test_subtree_keys();
}

}  // namespace mercer::tests
