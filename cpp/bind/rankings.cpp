#include "../mercer/rankings.hpp"

#include <algorithm>
#include <cmath>

#include "arrays.hpp"
#include "signals.hpp"

namespace mercer::bind {

namespace {

Rankings rankings_in(const Matrix<std::int64_t>& ranks) {
  const std::int64_t items = static_cast<std::int64_t>(ranks.shape(1));
  for (std::size_t k = 0; k < ranks.size(); ++k) {
    if (ranks.data()[k] < 0 || ranks.data()[k] >= items)
      throw nb::value_error("ranks are 0 to the number of items - 1");
  }
  return {ranks.data(), ranks.shape(0), ranks.shape(1)};
}

nb::ndarray<nb::numpy, double> discordant(Matrix<std::int64_t> X, Matrix<std::int64_t> Y, std::size_t n_threads) {
  const Rankings x = rankings_in(X), y = rankings_in(Y);
  if (x.items != y.items && x.rows > 0 && y.rows > 0) throw nb::value_error("both sides rank the same items");
  auto out = room_for<double>(x.rows * y.rows);
  {
    nb::gil_scoped_release unlocked;
    Team team(n_threads, SignalPoll());
    discordant_pairs(x, y, x.ranks == y.ranks && x.rows == y.rows, team, out.get());
  }
  return own(std::move(out), {x.rows, y.rows});
}

// The items of several queries, one query after the other.
auto wrong(Vector<double> scores, Vector<std::int64_t> levels, Vector<std::int64_t> starts, double margin,
           bool closed) {
  const std::size_t items = scores.shape(0), queries = starts.shape(0) == 0 ? 0 : starts.shape(0) - 1;
  const std::int64_t* start = starts.data();
  if (levels.shape(0) != items) throw nb::value_error("every item must have a score and a level");
  if (std::any_of(scores.data(), scores.data() + items, [](double s) { return std::isnan(s); })) {
    throw nb::value_error("scores must be numbers");
  }
  if (queries == 0 || start[0] != 0 || start[queries] != static_cast<std::int64_t>(items)) {
    throw nb::value_error("starts must go from 0 to the number of items");
  }
  for (std::size_t q = 0; q < queries; ++q) {
    if (start[q] > start[q + 1]) throw nb::value_error("starts must ascend");
    for (std::int64_t k = start[q]; k < start[q + 1]; ++k) {
      if (levels.data()[k] < 0 || levels.data()[k] >= start[q + 1] - start[q]) {
        throw nb::value_error("levels are 0 to the number of items of the query - 1");
      }
    }
  }
  auto net = room_for<std::int64_t>(items), totals = room_for<std::int64_t>(queries);
  {
    nb::gil_scoped_release unlocked;
    SignalPoll poll;
    WrongPairs pairs;
    for (std::size_t q = 0; q < queries; ++q) {
      const std::int64_t first = start[q];
      totals[q] = pairs.count(scores.data() + first, levels.data() + first,
                              static_cast<std::size_t>(start[q + 1] - first), margin, closed, net.get() + first);
      poll();
    }
  }
  return std::make_pair(own(std::move(net), {items}), own(std::move(totals), {queries}));
}

}  // namespace

void bind_rankings(nb::module_& m) {
  using namespace nb::literals;
  m.def("discordant_pairs", &discordant, "X"_a.noconvert(), "Y"_a.noconvert(), "n_threads"_a,
        "How many pairs of items two rankings, rows of ranks from 0 on, put in different order.");
  m.def(
      "wrong_pairs", &wrong, "scores"_a.noconvert(), "levels"_a.noconvert(), "starts"_a.noconvert(), "margin"_a,
      "closed"_a,
      "Pairs of items of a query, of a level above another, whose scores differ by less than a margin, or by no more\n"
      "than it where it is closed. Returns for every item how often it is the one of the level above minus the other,\n"
      "and the pairs of every query.");
}

}  // namespace mercer::bind
