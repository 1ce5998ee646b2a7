// Teams of threads.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <thread>
#include <vector>

#include "check.hpp"
#include "mercer/parallel.hpp"
#include "tests.hpp"

namespace mercer::tests {
namespace {

void test_team() {
  for (const std::size_t n_threads : {0, 1, 2, 3, 8}) {
    Team team(n_threads);
    check(team.size() == std::max<std::size_t>(1, n_threads));
    bool good = true;
    for (std::size_t job = 0; job < 300; ++job) {
      const std::size_t n = job % 41;
      std::vector<std::atomic<int>> visits(n);
      std::atomic<bool> in_range{true};
      team.for_each(n, [&](std::size_t tile, std::size_t worker) {
        if (tile >= n || worker >= team.size()) in_range = false;
        visits[tile].fetch_add(1);
      });
      good = good && in_range;
      for (const auto& count : visits) good = good && count == 1;
    }
    check(good, "every tile once");
  }
}

void test_team_writes_are_seen() {
  Team team(4);
  std::vector<double> values(1000);
  double total = 0.0;
  for (int job = 0; job < 200; ++job) {
    team.for_each(values.size(), [&](std::size_t tile, std::size_t) { values[tile] = double(tile) + job; });
    for (std::size_t i = 0; i < values.size(); ++i) total += values[i] - double(i) - job;
  }
  check(total == 0.0);
}

void test_team_sleeps_and_wakes() {
  Team team(3);
  std::atomic<int> count{0};
  for (int job = 0; job < 20; ++job) {
    team.for_each(5, [&](std::size_t, std::size_t) { ++count; });
    std::this_thread::sleep_for(std::chrono::microseconds(100));  // longer than helpers spin
  }
  check(count == 100);
}

void test_team_exceptions() {
  for (const std::size_t n_threads : {1, 2, 4}) {
    Team team(n_threads);
    for (int job = 0; job < 50; ++job) {
      check(throws<std::runtime_error>([&] {
        team.for_each(20, [&](std::size_t tile, std::size_t) {
          if (tile % 7 == 3) throw std::runtime_error("tile");
        });
      }));
      std::atomic<int> count{0};
      team.for_each(20, [&](std::size_t, std::size_t) { ++count; });
      check(count == 20, "usable afterwards");
    }
  }
}

void test_team_polls() {
  for (const std::size_t n_threads : {1, 3}) {
    const std::thread::id here = std::this_thread::get_id();
    std::atomic<bool> elsewhere{false};
    int calls = 0;
    {
      Team team(n_threads, [&] {
        ++calls;
        if (std::this_thread::get_id() != here) elsewhere = true;
      });
      for (int job = 0; job < 50; ++job) team.for_each(10, [](std::size_t, std::size_t) {});
    }
    check(calls > 0 && !elsewhere, "on the calling thread only");
    bool armed = true;
    Team team(n_threads, [&] {
      if (armed) throw std::runtime_error("signal");
    });
    check(throws<std::runtime_error>([&] { team.for_each(1000, [](std::size_t, std::size_t) {}); }), "ends the job");
    armed = false;
    std::atomic<int> count{0};
    team.for_each(1000, [&](std::size_t, std::size_t) { ++count; });
    check(count == 1000, "usable afterwards");
  }
  // Also while the caller waits for a helper that is at a long tile.
  std::atomic<bool> interrupted{false}, started{false};
  Team team(2, [&] {
    if (started && !interrupted) {
      interrupted = true;
      throw std::runtime_error("signal");
    }
  });
  check(throws<std::runtime_error>([&] {
    team.for_each(2, [&](std::size_t, std::size_t worker) {
      if (worker == 0) {
        while (!started) std::this_thread::yield();
      } else {
        started = true;
        while (!interrupted) std::this_thread::yield();
      }
    });
  }));
}

void test_teams_within_teams() {
  Team outer(2);
  std::atomic<int> count{0};
  outer.for_each(6, [&](std::size_t, std::size_t) {
    Team inner(2);
    inner.for_each(10, [&](std::size_t, std::size_t) { ++count; });
  });
  check(count == 60);
}

}  // namespace

void run_parallel_tests() {
  test_team();
  test_team_writes_are_seen();
  test_team_sleeps_and_wakes();
  test_team_exceptions();
  test_team_polls();
  test_teams_within_teams();
}

}  // namespace mercer::tests
