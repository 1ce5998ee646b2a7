#include "../mercer/rankings.hpp"

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

}  // namespace

void bind_rankings(nb::module_& m) {
  using namespace nb::literals;
  m.def("discordant_pairs", &discordant, "X"_a.noconvert(), "Y"_a.noconvert(), "n_threads"_a,
        "How many pairs of items two rankings, rows of ranks from 0 on, put in different order.");
}

}  // namespace mercer::bind
