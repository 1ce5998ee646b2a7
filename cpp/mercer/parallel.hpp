// A team of threads that lives for one native call.
//
// Tiles are taken from one atomic ticket, so the caller can finish alone while a helper sleeps or is
// descheduled, and nothing waits for a helper that took no tile. Helpers spin for some 20 microseconds after
// a job, then leave the core to whoever wants it for a millisecond (waking a sleeper takes longer than many a
// job), then sleep in the kernel: a spinning pair beside another spinning pool (BLAS just after a matmul) is
// many times slower than one thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

namespace mercer {

class Team {
 public:
  // `poll`, if there is one, is called on the calling thread between tiles and may throw to end the job.
  explicit Team(std::size_t n_threads, std::function<void()> poll = {})
      : n_threads_(n_threads == 0 ? 1 : n_threads), poll_(std::move(poll)) {}
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  ~Team() {
    if (helpers_.empty()) return;
    closing_.store(true);
    ticket_.fetch_add(one_epoch);
    ticket_.notify_all();
    for (std::thread& helper : helpers_) helper.join();
  }

  std::size_t size() const { return n_threads_; }

  // For bodies that take long over a tile, to be called now and then: lets the caller's thread look at its signals, and
  // ends a tile by an exception when the job has failed on another thread.
  void poll(std::size_t worker) {
    if (worker == 0 && poll_) poll_();
    if (failed_.load(std::memory_order_relaxed)) throw Abandoned{};
  }

  // body(tile, worker) for every tile < n_tiles, worker < size(). The order is free; results must not depend
  // on it.
  void for_each(std::size_t n_tiles, const std::function<void(std::size_t, std::size_t)>& body) {
    if (n_threads_ == 1 || n_tiles <= 1) {
      for (std::size_t tile = 0; tile < n_tiles; ++tile) {
        body(tile, 0);
        if (poll_) poll_();
      }
      return;
    }
    start_helpers();
    for (std::size_t first = 0; first < n_tiles; first += tile_mask) {
      run_batch(n_tiles - first < tile_mask ? n_tiles - first : tile_mask, first, body);
    }
  }

 private:
  struct Abandoned {};

  // ticket = epoch << 32 | tiles left
  static constexpr std::uint64_t one_epoch = std::uint64_t{1} << 32;
  static constexpr std::uint64_t tile_mask = one_epoch - 1;

  void start_helpers() {
    while (helpers_.size() + 1 < n_threads_) {
      const std::size_t worker = helpers_.size() + 1;
      helpers_.emplace_back([this, worker] { help(worker); });
    }
  }

  void run_batch(std::size_t n_tiles, std::size_t first, const std::function<void(std::size_t, std::size_t)>& body) {
    // A helper reads these only after it has taken a tile of this epoch, and the batch ends only when every
    // tile has.
    body_ = &body;
    first_ = first;
    finished_.store(0, std::memory_order_relaxed);
    const std::uint64_t epoch = (ticket_.load(std::memory_order_relaxed) & ~tile_mask) + one_epoch;
    ticket_.store(epoch | n_tiles, std::memory_order_release);
    ticket_.notify_all();
    take_tiles(epoch, 0);
    // Helpers are still at work: usually for microseconds, but a tile may be a whole problem.
    const auto patience = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
    while (finished_.load(std::memory_order_acquire) < n_tiles) {
      if (std::chrono::steady_clock::now() < patience) {
        std::this_thread::yield();
        continue;
      }
      std::this_thread::sleep_for(std::chrono::microseconds(100));
      guarded([&] {
        if (poll_) poll_();
      });
    }
    if (failure_) {
      const std::exception_ptr failure = failure_;
      failure_ = nullptr;
      failed_.store(false);
      std::rethrow_exception(failure);
    }
  }

  void take_tiles(std::uint64_t epoch, std::size_t worker) {
    std::uint64_t ticket = ticket_.load(std::memory_order_acquire);
    while ((ticket & ~tile_mask) == epoch && (ticket & tile_mask) > 0) {
      if (!ticket_.compare_exchange_weak(ticket, ticket - 1, std::memory_order_acq_rel)) continue;
      guarded([&] {
        if (!failed_.load()) (*body_)(first_ + (ticket & tile_mask) - 1, worker);
        if (worker == 0 && poll_) poll_();
      });
      finished_.fetch_add(1, std::memory_order_acq_rel);
      ticket = ticket_.load(std::memory_order_acquire);
    }
  }

  // The first exception of a job is kept for the caller; what is left of the job is skipped.
  template <class Action>
  void guarded(Action action) {
    try {
      action();
    } catch (...) {
      if (!failed_.exchange(true)) failure_ = std::current_exception();
    }
  }

  void help(std::size_t worker) {
    std::uint64_t seen = 0;
    while (!closing_.load()) {
      const std::uint64_t ticket = wait_for_epoch_after(seen);
      seen = ticket & ~tile_mask;
      take_tiles(seen, worker);
    }
  }

  std::uint64_t wait_for_epoch_after(std::uint64_t seen) {
    const auto began = std::chrono::steady_clock::now();
    while (true) {
      const std::uint64_t ticket = ticket_.load(std::memory_order_acquire);
      if ((ticket & ~tile_mask) != seen) return ticket;
      const auto waited = std::chrono::steady_clock::now() - began;
      if (waited > std::chrono::milliseconds(1)) {
        ticket_.wait(ticket, std::memory_order_acquire);
      } else if (waited > std::chrono::microseconds(20)) {
        std::this_thread::yield();
      }
    }
  }

  std::size_t n_threads_;
  std::function<void()> poll_;
  std::vector<std::thread> helpers_;
  std::atomic<std::uint64_t> ticket_{0};
  std::atomic<std::size_t> finished_{0};
  std::atomic<bool> closing_{false}, failed_{false};
  const std::function<void(std::size_t, std::size_t)>* body_ = nullptr;
  std::size_t first_ = 0;
  std::exception_ptr failure_;
};

}  // namespace mercer
