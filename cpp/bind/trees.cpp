#include "../mercer/trees.hpp"

#include "arrays.hpp"
#include "signals.hpp"

namespace mercer::bind {

namespace {

struct TreesIn {
  Vector<std::uint64_t> labels;
  Vector<std::int64_t> arities, starts;
  LabelledTrees view;
};

TreesIn trees_in(Vector<std::uint64_t> labels, Vector<std::int64_t> arities, Vector<std::int64_t> starts) {
  const std::size_t nodes = labels.shape(0);
  bool fits = arities.shape(0) == nodes && starts.shape(0) > 0 && starts.data()[0] == 0;
  for (std::size_t i = 0; fits && i + 1 < starts.shape(0); ++i) fits = starts.data()[i] < starts.data()[i + 1];
  for (std::size_t v = 0; fits && v < nodes; ++v) fits = arities.data()[v] >= 0;
  if (!fits || static_cast<std::size_t>(starts.data()[starts.shape(0) - 1]) != nodes) {
    throw nb::value_error("labels, arities and starts do not fit together");
  }
  TreesIn in{labels, arities, starts, {}};
  in.view = {labels.data(), arities.data(), starts.data(), starts.shape(0) - 1};
  return in;
}

std::vector<std::uint64_t> checked_subtree_keys(const LabelledTrees& trees) {
  std::vector<std::uint64_t> keys(trees.rows == 0 ? 0 : static_cast<std::size_t>(trees.starts[trees.rows]));
  if (!subtree_keys(trees, keys.data())) throw nb::value_error("the numbers of children do not make trees");
  return keys;
}

nb::object subtrees(Vector<std::uint64_t> labels, Vector<std::int64_t> arities, Vector<std::int64_t> starts) {
  return nb::cast(own(checked_subtree_keys(trees_in(labels, arities, starts).view)));
}

nb::object pack(Vector<std::uint64_t> labels, Vector<std::int64_t> arities, Vector<std::int64_t> starts) {
  const TreesIn in = trees_in(labels, arities, starts);
  const std::vector<std::uint64_t> keys = checked_subtree_keys(in.view);
  const Productions found = productions(in.view, keys.data());
  return nb::make_tuple(own(found.keys), own(found.sorted), own(found.order), own(found.starts), own(found.children),
                        own(found.child_starts), own(found.tree_keys));
}

// Productions as `pack` gives them, and the numbers of the trees that are wanted.
struct ProductionsIn {
  Vector<std::uint64_t> keys, sorted, tree_keys;
  Vector<std::int32_t> order, children;
  Vector<std::int64_t> starts, child_starts, wanted;
  ProductionsView view;
};

ProductionsIn productions_in(nb::handle source) {
  ProductionsIn in;
  if (!nb::isinstance<nb::tuple>(source) || nb::len(source) != 8) {
    throw nb::type_error("packed trees are the tuple of trees_pack and the numbers of the trees");
  }
  const auto parts = nb::borrow<nb::tuple>(source);
  if (!nb::try_cast(parts[0], in.keys, false) || !nb::try_cast(parts[1], in.sorted, false) ||
      !nb::try_cast(parts[2], in.order, false) || !nb::try_cast(parts[3], in.starts, false) ||
      !nb::try_cast(parts[4], in.children, false) || !nb::try_cast(parts[5], in.child_starts, false) ||
      !nb::try_cast(parts[6], in.tree_keys, false) || !nb::try_cast(parts[7], in.wanted, false)) {
    throw nb::type_error("packed trees have other types");
  }
  const std::int64_t trees = static_cast<std::int64_t>(in.tree_keys.shape(0));
  bool fits = in.starts.shape(0) == in.tree_keys.shape(0) + 1 && in.order.shape(0) == in.keys.shape(0) &&
              in.sorted.shape(0) == in.keys.shape(0) && in.child_starts.shape(0) == in.keys.shape(0) + 1;
  for (std::size_t i = 0; i < in.wanted.shape(0); ++i) {
    fits = fits && in.wanted.data()[i] >= 0 && in.wanted.data()[i] < trees;
  }
  if (!fits) throw nb::value_error("packed trees do not fit together");
  in.view = {in.keys.data(),         in.sorted.data(),    in.order.data(),  in.starts.data(),  in.children.data(),
             in.child_starts.data(), in.tree_keys.data(), in.wanted.data(), in.wanted.shape(0)};
  return in;
}

SubsetTrees::Want want_in(const std::string& name) {
  if (name == "value") return SubsetTrees::Want::value;
  if (name == "logarithm") return SubsetTrees::Want::logarithm;
  if (name == "derivative") return SubsetTrees::Want::derivative;
  throw nb::value_error(("unknown quantity '" + name + "'").c_str());
}

nb::object matrix(const std::string& want, double decay, nb::handle x, nb::handle y, std::size_t n_threads) {
  const ProductionsIn xs = productions_in(x), ys = productions_in(y);
  const SubsetTrees::Want wanted = want_in(want);
  auto out = room_for<double>(xs.view.rows * ys.view.rows);
  {
    nb::gil_scoped_release unlocked;
    Team team(n_threads, SignalPoll());
    const bool same = xs.view.keys == ys.view.keys && xs.view.wanted == ys.view.wanted && xs.view.rows == ys.view.rows;
    subset_tree_matrix(xs.view, ys.view, same, decay, wanted, team, out.get());
  }
  return nb::cast(own(std::move(out), {xs.view.rows, ys.view.rows}));
}

nb::object diagonal(const std::string& want, double decay, nb::handle x, std::size_t n_threads) {
  const ProductionsIn xs = productions_in(x);
  const SubsetTrees::Want wanted = want_in(want);
  auto out = std::make_unique_for_overwrite<double[]>(xs.view.rows);
  {
    nb::gil_scoped_release unlocked;
    Team team(n_threads, SignalPoll());
    subset_tree_diagonal(xs.view, decay, wanted, team, out.get());
  }
  return nb::cast(own(std::move(out), {xs.view.rows}));
}

}  // namespace

void bind_trees(nb::module_& m) {
  using namespace nb::literals;
  m.def("trees_subtrees", &subtrees, "labels"_a.noconvert(), "arities"_a.noconvert(), "starts"_a.noconvert(),
        "Keys of the complete subtrees below all nodes. Trees are keys of labels and numbers of children in preorder.");
  m.def("trees_pack", &pack, "labels"_a.noconvert(), "arities"_a.noconvert(), "starts"_a.noconvert(),
        "Productions of trees: (keys, sorted keys, order by key, starts, children, starts of the children, keys of "
        "whole trees).");
  m.def("subset_tree_matrix", &matrix, "want"_a, "decay"_a, "X"_a, "Y"_a, "n_threads"_a,
        "The subset-tree kernel (\"value\"), its \"logarithm\" or its \"derivative\" by the decay, shape (n, m).\n"
        "Trees are the tuple of trees_pack and the numbers of those that are wanted.");
  m.def("subset_tree_diag", &diagonal, "want"_a, "decay"_a, "X"_a, "n_threads"_a,
        "The diagonal of subset_tree_matrix(want, decay, X, X, ...), shape (n,).");
}

}  // namespace mercer::bind
