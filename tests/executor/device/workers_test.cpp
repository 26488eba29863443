// The process-wide pool of workers: every piece of a job runs once, on any number of threads, also where pieces start jobs or throw.
#include "executor/device/workers.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <array>
#include <chrono>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "tests/support/namespaces.h"

namespace cleave::testing {
namespace {

TEST(Workers, DoEveryPieceOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    const std::shared_ptr<Workers> workers = Workers::of(threads);
    EXPECT_EQ(workers->threads(), threads);
    for (const std::int64_t pieces : {0, 1, 2, 3, 7, 1000}) {
      std::vector<std::atomic<int>> done(static_cast<std::size_t>(pieces));
      for (int repeat = 0; repeat < 50; ++repeat)
        workers->each(pieces, [&](std::int64_t piece) { ++done[static_cast<std::size_t>(piece)]; });
      for (const auto& count : done) ASSERT_EQ(count, 50);
    }
  }
}

TEST(Workers, CutWorkTheSameWayForAnyNumberOfThreads) {
  for (const int threads : {1, 4}) {
    std::vector<std::int64_t> ends(4);
    Workers::of(threads)->each_part(10, 3, [&](std::int64_t begin, std::int64_t end) { ends[static_cast<std::size_t>(begin / 3)] = end; });
    EXPECT_EQ(ends, (std::vector<std::int64_t>{3, 6, 9, 10}));
  }
}

TEST(Workers, AreSharedByThoseWhoAskForAsMany) {
  EXPECT_EQ(Workers::of(2), Workers::of(2));
  EXPECT_NE(Workers::of(2), Workers::of(3));
  EXPECT_EQ(Workers::of(0)->threads(), Workers::available());
  EXPECT_GE(Workers::available(), 1);
}

TEST(Workers, SeveralCallersAndPiecesWithinPiecesDoTheirOwn) {
  const std::shared_ptr<Workers> workers = Workers::of(3);
  std::atomic<std::int64_t> sum = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int repeat = 0; repeat < 200; ++repeat)
        workers->each(10, [&](std::int64_t i) { workers->each(3, [&](std::int64_t k) { sum += i * k; }); });
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sum, 4 * 200 * 45 * 3);
}

TEST(Workers, WhatAPieceThrowsReachesTheCallerAndTheNextJobIsDone) {
  const std::shared_ptr<Workers> workers = Workers::of(2);
  for (int repeat = 0; repeat < 100; ++repeat) {
    EXPECT_THROW(workers->each(20,
                               [](std::int64_t piece) {
                                 if (piece == 7) throw std::runtime_error("seven");
                               }),
                 std::runtime_error);
    std::atomic<int> done = 0;
    workers->each(20, [&](std::int64_t) { ++done; });
    EXPECT_EQ(done, 20);
  }
}

TEST(Workers, SleepAndWakeUp) {
  const std::shared_ptr<Workers> workers = Workers::of(2);
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::atomic<int> done = 0;
    workers->each(4, [&](std::int64_t) { ++done; });
    EXPECT_EQ(done, 4);
  }
}

/// The calling thread keeps its core, and the threads of the pool use the other cores, if there are any.
TEST(Workers, WorkBesideTheirCaller) {
  if (Workers::available() < 2) GTEST_SKIP() << "one core";
  const std::shared_ptr<Workers> workers = Workers::of(2);
  cpu_set_t all, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  for (int repeat = 0; repeat < 20; ++repeat) {
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);  // so that it cannot move to another core in the meantime
    const auto caller = std::this_thread::get_id();
    std::atomic<int> here = 0, beside = 0, other_core = -1;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    workers->each(2, [&](std::int64_t) {
      if (std::this_thread::get_id() == caller) {
        ++here;
      } else {
        other_core = sched_getcpu();
        ++beside;
      }
      while (here + beside < 2 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    });
    if (beside == 1) {
      EXPECT_NE(other_core, sched_getcpu());
    }
    ASSERT_EQ(sched_setaffinity(0, sizeof all, &all), 0);
  }
}

/// Data in a thread's caches is reused by the next job.
TEST(Workers, BeginWithTheSamePiecesInEveryJob) {
  const std::shared_ptr<Workers> workers = Workers::of(2);
  const auto caller = std::this_thread::get_id();
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::array<std::atomic<int>, 7> by{};  // 1: the caller, 2: another
    std::atomic<int> there = 0;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    workers->each(7, [&](std::int64_t piece) {
      by[static_cast<std::size_t>(piece)] = std::this_thread::get_id() == caller ? 1 : 2;
      if (piece != 0 && piece != 4) return;
      ++there;
      while (there < 2 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    });
    if (there < 2 || std::chrono::steady_clock::now() >= end) continue;  // one of them has not taken part yet
    EXPECT_EQ(by[0], 1);
    EXPECT_EQ(by[4], 2);
  }
}

}  // namespace
}  // namespace cleave::testing
