// What every native test is made of: checks that are counted, and never end the program.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <source_location>
#include <string_view>

namespace mercer::tests {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

inline int passed = 0, failed = 0;

inline void check(bool ok, std::string_view what = "", std::source_location where = std::source_location::current()) {
  if (ok) {
    ++passed;
    return;
  }
  ++failed;
  std::printf("%s:%u: %s failed: %.*s\n", where.file_name(), static_cast<unsigned>(where.line()), where.function_name(),
              static_cast<int>(what.size()), what.data());
}

inline bool close(double x, double y, double tolerance) {
  return x == y || std::abs(x - y) <= tolerance * std::max({1.0, std::abs(x), std::abs(y)});
}

template <class Error, class Action>
bool throws(Action action) {
  try {
    action();
  } catch (const Error&) {
    return true;
  }
  return false;
}

}  // namespace mercer::tests
