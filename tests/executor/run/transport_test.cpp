// Transports deliver what was sent, generation by generation, whatever their kind: each kind in both directions, between a thread of the
// host and the driver thread of a simulated device.
#include "executor/run/transport/transport.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "executor/run/transport/chunks_to_device.h"
#include "executor/run/transport/chunks_to_host.h"
#include "tests/executor/run_support.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {
namespace {

constexpr std::int64_t kBytes = 1000;
constexpr Chunks kSmallChunks{256};
const ValueId kSent{std::size_t{0}}, kReceived{std::size_t{1}};

/// A plan of two values, on the host apart, on the device in one storage.
MemoryPlan two_values(bool apart) {
  MemoryPlan plan;
  plan.storages.push_back({{0, kBytes}, false, false, {kSent}});
  if (apart) plan.storages.push_back({{1024, kBytes}, false, false, {kReceived}});
  plan.storage_of.push_back(0);
  plan.storage_of.push_back(apart ? 1 : 0);
  plan.arena_bytes = 2048;
  return plan;
}

Origin step_of(std::int64_t generation, std::int64_t order) {
  return {NodeId(), {0, generation, order}};
}

struct TransportTest : ::testing::TestWithParam<int> {
  const MemoryPlan host_plan = two_values(true), device_plan = two_values(false);
  std::unique_ptr<runtime::Device> device = *simulated::back_end().open(0, {});
  RunState run;
  HostEnd host{host_plan};
  CommandQueue queue{kAccelerator, *device, Hazards(device_plan, {0}), true};
  std::vector<std::unique_ptr<Transport>> transports;

  void SetUp() override {
    ASSERT_TRUE(device->allocate(device_plan.arena_bytes, {}).ok());
    ASSERT_TRUE(host.storage.allocate());
  }
  [[nodiscard]] Ring ring() const {
    std::vector<std::byte*> slots;
    for (int i = 0; i < GetParam(); ++i) slots.push_back(*device->allocate_staging(kBytes));
    return Ring(slots);
  }
  static std::vector<TransferredValue> values(ValueId value) { return {{value, NodeId(), kBytes, 0, 1}}; }
  /// Takes ownership of a transport.
  template <class T>
  T& add(std::unique_ptr<T> transport) {
    transport->place(kAccelerator, {{{0}, {{device_plan.range(0), 0}}, {}}});
    T& added = *transport;
    transports.push_back(std::move(transport));
    return added;
  }

  /// Sends numbered values to the device, which sends each back.
  void expect_echo(Transport& to_device, Transport& to_host) {
    constexpr int kGenerations = 40;
    host.begin(run);
    host.clock.begin({}, true, 0);
    queue.begin(run, {});
    for (const auto& transport : transports) transport->begin({}, {});
    ASSERT_TRUE(device->begin_run(run).ok());
    std::thread driver([&] {
      for (int g = 0; g < kGenerations; ++g) {
        ASSERT_TRUE(to_device.device_step(queue, step_of(g, 1)));
        ASSERT_TRUE(to_host.device_step(queue, step_of(g, 2)));
      }
      queue.drain();
    });
    for (int g = 0; g < kGenerations; ++g) {
      for (std::int64_t i = 0; i < kBytes; ++i) host.storage.of(kSent)[i] = std::byte(g * 7 + i * 13);
      ASSERT_TRUE(to_device.host_step(host, step_of(g, 0)));
      ASSERT_TRUE(to_host.host_step(host, step_of(g, 3)));
      ASSERT_EQ(std::memcmp(host.storage.of(kReceived), host.storage.of(kSent), kBytes), 0) << "generation " << g;
    }
    driver.join();
    device->end_run();
    EXPECT_FALSE(run.error());
    for (const auto& transport : transports) {
      EXPECT_EQ(transport->moved().count, kGenerations);
      EXPECT_EQ(transport->moved().bytes, kGenerations * kBytes);
    }
    EXPECT_GE(host.clock.now(), 2 * kGenerations) << "each value takes a second in each direction";
  }
};

TEST_P(TransportTest, ARingReturnsWhatItIsGiven) {
  Transport& to_device = add(std::make_unique<RingToDevice>(values(kSent), ring(), *device));
  expect_echo(to_device, add(std::make_unique<RingToHost>(values(kReceived), ring(), *device, ReceivedUse())));
}

TEST_P(TransportTest, ChunksAreTheWholeValue) {
  Transport& to_device = add(std::make_unique<ChunksToDevice>(values(kSent), ring(), *device, kSmallChunks));
  expect_echo(to_device, add(std::make_unique<ChunksToHost>(values(kReceived), ring(), *device, ReceivedUse(), kSmallChunks)));
}

/// The device needs a slot besides the one that the host reads.
struct DeepTransportTest : TransportTest {};

TEST_P(DeepTransportTest, AValueThatIsReadInItsSlotStaysThereUntilTheNext) {
  ReceivedUse use;
  use.in_slot = true;
  Transport& to_device = add(std::make_unique<RingToDevice>(values(kSent), ring(), *device));
  expect_echo(to_device, add(std::make_unique<RingToHost>(values(kReceived), ring(), *device, use)));
  EXPECT_NE(host.storage.of(kReceived), host.storage.home(1));
}

TEST_P(TransportTest, AResultIsComputedInASlotThatIsFree) {
  RingToDevice& to_device = add(std::make_unique<RingToDevice>(values(kSent), ring(), *device));
  host.begin(run);
  for (const auto& transport : transports) transport->begin({}, {});
  to_device.place_result(host);
  const std::byte* const slot = host.storage.of(kSent);
  EXPECT_NE(slot, host.storage.home(0));
  ASSERT_TRUE(to_device.host_step(host, step_of(0, 0)));
  for (int sent = 1; sent < GetParam(); ++sent) {
    to_device.place_result(host);
    EXPECT_NE(host.storage.of(kSent), slot) << "a slot under way is not written to";
    ASSERT_TRUE(to_device.host_step(host, step_of(sent, 0)));
  }
  to_device.place_result(host);
  EXPECT_EQ(host.storage.of(kSent), host.storage.home(0)) << "no slot is free, and the host does not wait for one";
}

TEST_P(TransportTest, AnErrorEndsTheWaitsOfBothSides) {
  RingToDevice& to_device = add(std::make_unique<RingToDevice>(values(kSent), ring(), *device));
  RingToHost& to_host = add(std::make_unique<RingToHost>(values(kReceived), ring(), *device, ReceivedUse()));
  host.begin(run);
  queue.begin(run, {});
  for (const auto& transport : transports) transport->begin({}, {});
  ASSERT_TRUE(device->begin_run(run).ok());
  std::thread driver([&] { EXPECT_FALSE(to_device.device_step(queue, step_of(0, 1))); });
  std::thread reader([&] { EXPECT_EQ(to_host.first(run, step_of(0, 2)), nullptr); });
  run.end({"gone", {}, ErrorKind::machine});
  EXPECT_FALSE(to_host.host_step(host, step_of(0, 3)));
  driver.join();
  reader.join();
  device->end_run();
}

INSTANTIATE_TEST_SUITE_P(Capacities, TransportTest, ::testing::Values(1, 2, 3));
INSTANTIATE_TEST_SUITE_P(Capacities, DeepTransportTest, ::testing::Values(2, 3));

}  // namespace
}  // namespace cleave::testing
