#include "../mercer/sets.hpp"

#include "arrays.hpp"
#include "signals.hpp"

namespace mercer::bind {

namespace {

// Sums that go on from block to block, written in place.
using Sums = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void check_sets(const Vector<std::int64_t>& sets, std::size_t elements, std::size_t n_sets) {
  bool fits = sets.shape(0) == elements;
  for (std::size_t e = 0; fits && e < elements; ++e) {
    fits = sets.data()[e] >= 0 && static_cast<std::size_t>(sets.data()[e]) < n_sets;
  }
  if (!fits) throw nb::value_error("elements and the numbers of their sets do not fit together");
}

void add_block(Matrix<double> values, Vector<std::int64_t> row_sets, Vector<std::int64_t> column_sets, Sums by_row,
               Sums by_column, std::size_t n_threads) {
  check_sets(row_sets, values.shape(0), by_column.shape(0));
  check_sets(column_sets, values.shape(1), by_row.shape(1));
  if (by_row.shape(0) != values.shape(0) || by_column.shape(1) != values.shape(1)) {
    throw nb::value_error("the sums do not fit to the block");
  }
  const ElementBlock block{values.data(), values.shape(0), values.shape(1), row_sets.data(), column_sets.data()};
  nb::gil_scoped_release unlocked;
  Team team(n_threads, SignalPoll());
  add_to_sums(block, by_row.shape(1), team, by_row.data(), by_column.data());
}

void add_rows(Matrix<double> values, Vector<std::int64_t> sets, Sums out) {
  check_sets(sets, values.shape(0), out.shape(0));
  if (out.shape(1) != values.shape(1)) throw nb::value_error("the sums do not fit to the rows");
  nb::gil_scoped_release unlocked;
  add_rows_by_set(values.data(), values.shape(0), values.shape(1), sets.data(), out.data());
}

}  // namespace

void bind_sets(nb::module_& m) {
  using namespace nb::literals;
  m.def("sets_add_block", &add_block, "values"_a.noconvert(), "row_sets"_a.noconvert(), "column_sets"_a.noconvert(),
        "by_row"_a.noconvert(), "by_column"_a.noconvert(), "n_threads"_a,
        "Add kernel values of elements to by_row[element, set of columns] and by_column[set of rows, element].");
  m.def("sets_add_rows", &add_rows, "values"_a.noconvert(), "sets"_a.noconvert(), "out"_a.noconvert(),
        "out[sets[a]] += values[a], one row after the other.");
}

}  // namespace mercer::bind
