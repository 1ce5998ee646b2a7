// The next working set: which samples promise most.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "state.hpp"

namespace mercer::joint {

class Selection {
 public:
  explicit Selection(const State& state) : state_(state) {}

  // Half of it new samples with the largest violation, the rest from the set before; ties go to the smaller number.
  void select(std::size_t size, std::vector<std::size_t>& points) {
    if (arrangement_ != state_.arrangement) previous_.clear();
    arrangement_ = state_.arrangement;
    points.clear();
    for (const std::size_t i : state_.active) {
      if (state_.violation[i] > 0.0) points.push_back(i);
    }
    const std::size_t wanted = std::min(points.size(), previous_.empty() ? size : size / 2);
    const auto first = [&](std::size_t x, std::size_t y) {
      const double left = state_.violation[x], right = state_.violation[y];
      return left != right ? left > right : x < y;
    };
    std::partial_sort(points.begin(), points.begin() + std::ptrdiff_t(wanted), points.end(), first);
    points.resize(wanted);
    std::vector<char> chosen(state_.size(), 0);
    for (const std::size_t i : points) chosen[i] = 1;
    for (const std::size_t i : previous_) {
      if (points.size() >= size) break;
      if (!chosen[i]) points.push_back(i);
    }
    previous_ = points;
  }

 private:
  const State& state_;
  std::size_t arrangement_ = 0;
  std::vector<std::size_t> previous_;
};

}  // namespace mercer::joint
