// Ring channels and control streams: generations, back-pressure, wake-ups on errors in program order, deadlines; and the watchdog.
#include "executor/run/transport/ring.h"

#include <gtest/gtest.h>

#include <semaphore>
#include <thread>

#include "executor/run/transport/control_stream.h"
#include "executor/run/watchdog.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {
namespace {

using std::chrono::milliseconds;

Origin at(std::int64_t order) {
  return {NodeId(), {order}};
}
Error machine(std::string message) {
  return {std::move(message), {}, ErrorKind::machine};
}

TEST(Ring, HandsOutGenerationsInOrderAndNeverMoreThanItsCapacity) {
  for (std::size_t capacity : {1U, 2U, 5U}) {
    constexpr std::uint64_t kGenerations = 500;
    std::vector<std::uint64_t> memory(capacity);
    std::vector<std::byte*> slots;
    for (std::uint64_t& word : memory) slots.push_back(reinterpret_cast<std::byte*>(&word));
    Ring ring(slots);
    RunState run;
    std::thread producer([&] {
      for (std::uint64_t g = 0; g < kGenerations; ++g) {
        Ring::Slot* slot = ring.next(run, kHost, at(0));
        ASSERT_TRUE(slot);
        *reinterpret_cast<std::uint64_t*>(slot->data) = g;
        slot->ready.time = static_cast<double>(g);
        ring.publish(run);
      }
    });
    for (std::uint64_t g = 0; g < kGenerations; ++g) {
      Ring::Slot* slot = ring.front(run, kAccelerator, at(0));
      ASSERT_TRUE(slot);
      EXPECT_EQ(*reinterpret_cast<std::uint64_t*>(slot->data), g);
      EXPECT_EQ(slot->ready.time, static_cast<double>(g));
      ring.release(run);
    }
    producer.join();
    EXPECT_EQ(ring.sent(), kGenerations);
    EXPECT_EQ(ring.taken(), kGenerations);
  }
}

TEST(Ring, PartsAreTakenWhileOthersAreStaged) {
  std::byte memory[4] = {};
  Ring ring({memory});
  RunState run;
  std::binary_semaphore taken(0);
  std::thread producer([&] {
    Ring::Slot* slot = ring.next(run, kHost, at(0));
    slot->in_parts = true;
    ring.publish(run);
    for (std::size_t i = 0; i < std::size(memory); ++i) {
      slot->data[i] = std::byte(i + 1);
      Ring::stage(run, *slot);
      taken.acquire();  // the next one does not begin before this one is taken
    }
  });
  const Ring::Slot* slot = ring.front(run, kAccelerator, at(1));
  ASSERT_TRUE(slot);
  for (std::size_t i = 0; i < std::size(memory); ++i) {
    ASSERT_TRUE(Ring::wait_for_part(run, kAccelerator, at(1), *slot, i));
    EXPECT_EQ(slot->data[i], std::byte(i + 1));
    taken.release();
  }
  producer.join();
  run.fail(at(0), machine("gone"));
  EXPECT_FALSE(Ring::wait_for_part(run, kAccelerator, at(1), *slot, std::size(memory))) << "an error ends the wait";
}

TEST(Ring, AFullRingHoldsItsProducerUntilTheConsumerTakes) {
  std::byte memory[2];
  Ring ring({&memory[0], &memory[1]});
  RunState run;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(ring.next(run, kHost, at(0)));
    ring.publish(run);
  }
  std::atomic<bool> went_on = false;
  std::thread producer([&] {
    EXPECT_TRUE(ring.next(run, kHost, at(0)));
    went_on = true;
  });
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_FALSE(went_on);
  ASSERT_TRUE(ring.front(run, kAccelerator, at(0)));
  ring.release(run);
  producer.join();
  EXPECT_TRUE(went_on);
}

TEST(RunState, AnErrorWakesOnlyWhoIsNotBeforeIt) {
  RunState run;
  bool there = false;
  std::atomic<int> woken = 0;
  std::thread later([&] {
    EXPECT_EQ(run.wait(kHost, at(9), [&] { return there; }), RunState::Waited::stopped);
    ++woken;
  });
  std::thread earlier([&] {
    EXPECT_EQ(run.wait(kAccelerator, at(3), [&] { return there; }), RunState::Waited::ready);
    ++woken;
  });
  run.fail(at(5), machine("broken"));
  later.join();
  EXPECT_EQ(woken, 1);
  run.update([&] { there = true; });
  earlier.join();
  EXPECT_EQ(run.error()->message, "broken");
}

TEST(RunState, TheEarliestErrorOfTheProgramWins) {
  RunState run;
  run.fail(at(7), machine("late"));
  run.fail(at(2), machine("early"));
  run.fail(at(4), machine("between"));
  EXPECT_EQ(run.error()->message, "early");
  EXPECT_TRUE(run.stops({2}));
  EXPECT_TRUE(run.stops({2, 0, 1}));
  EXPECT_FALSE(run.stops({1, 99, 99}));
  run.end(machine("given up"));
  EXPECT_EQ(run.error()->message, "early");
  EXPECT_TRUE(run.stops({}));
}

TEST(RunState, LoopsComeInTheOrderOfTheirTrips) {
  const Position first_trip_late = {4, 0, 9}, second_trip_early = {4, 1, 5}, behind = {5};
  EXPECT_LT(first_trip_late, second_trip_early);
  EXPECT_LT(second_trip_early, behind);
}

TEST(RunState, AWaitEndsAtItsDeadline) {
  RunState run;
  const auto deadline = RunState::Clock::now() + milliseconds(10);
  EXPECT_EQ(run.wait(
                kHost, at(0), [] { return false; }, deadline),
            RunState::Waited::late);
  EXPECT_GE(RunState::Clock::now(), deadline);
  EXPECT_EQ(run.wait(
                kHost, at(0), [] { return true; }, deadline),
            RunState::Waited::ready);
}

TEST(ControlStream, KeepsOrderAndStopsWithTheRun) {
  ControlStream control;
  RunState run;
  std::thread host([&] {
    for (int i = 0; i < 10000; ++i) ASSERT_TRUE(control.put(run, kHost, at(0), {i, 0.5 * i}));
  });
  for (int i = 0; i < 10000; ++i) {
    const auto decision = control.take(run, kAccelerator, at(0));
    ASSERT_TRUE(decision);
    EXPECT_EQ(decision->value, i);
    EXPECT_EQ(decision->time, 0.5 * i);
  }
  host.join();
  run.end(machine("over"));
  EXPECT_FALSE(control.take(run, kAccelerator, at(0)));
}

constexpr auto kPatience = milliseconds(50);

/// Waits with a timeout that suffices on a busy machine.
void wait_for(const std::atomic<int>& fired, int count) {
  const auto deadline = RunState::Clock::now() + std::chrono::seconds(60);
  while (fired < count && RunState::Clock::now() < deadline) std::this_thread::sleep_for(milliseconds(5));
}

TEST(Watchdog, FiresOnceNothingExecutesAndNeverBefore) {
  RunState run;
  std::atomic<int> fired = 0;
  const Position at;
  auto executing = std::make_unique<RunState::Executing>(run, at);
  const std::unique_ptr<Watch> watch = *Watch::create(std::chrono::duration<double>(kPatience).count());
  watch->begin(run, [&] { ++fired; });
  std::this_thread::sleep_for(milliseconds(200));
  EXPECT_EQ(fired, 0);  // a step may take long
  executing.reset();
  wait_for(fired, 1);
  EXPECT_EQ(fired, 1);
  std::this_thread::sleep_for(milliseconds(100));
  watch->end();
  EXPECT_EQ(fired, 1);
}

TEST(Watchdog, WatchesOneRunAfterTheOther) {
  const std::unique_ptr<Watch> watch = *Watch::create(std::chrono::duration<double>(kPatience).count());
  std::atomic<int> fired = 0;
  int short_runs = 0;
  for (int i = 0; i < 200 || (short_runs == 0 && i < 10000); ++i) {  // each is too short, unless the machine is busy
    RunState run;
    const auto start = RunState::Clock::now();
    watch->begin(run, [&] { ++fired; });
    std::this_thread::sleep_for(std::chrono::microseconds(i % 200 * 10));
    watch->end();
    const bool fast = RunState::Clock::now() - start < kPatience;
    short_runs += fast ? 1 : 0;
    if (fast) {
      EXPECT_EQ(fired, 0);
    }
    fired = 0;
  }
  EXPECT_GT(short_runs, 0);
  for (int round = 1; round <= 2; ++round) {
    std::this_thread::sleep_for(milliseconds(30 * round));  // idle, or about to be
    RunState run;
    watch->begin(run, [&] { ++fired; });
    wait_for(fired, round);
    watch->end();
    EXPECT_EQ(fired, round);
  }
}

}  // namespace
}  // namespace cleave::testing
