// The check that a program fits into the memory that the process may use: the buffers that are counted, and the text of the Error.
#include "executor/memory/host_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "executor/memory/plan_memory.h"
#include "graph/ops/ops.h"
#include "graph/trace/trace.h"
#include "tests/executor/run_support.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::int64_t kMiB = 1LL << 20;

/// A matrix of 64 MiB, sorted twice, and a sum.
Planned planned_on(Where where) {
  const Graph graph = trace("large", {{"x", "f32[4096, 4096]"}}, [](Tensor x) {
    Tensor a = sort(x);
    return std::tuple(named("b", sort(a + 1)), named("s", sum(a)));
  });
  return plan_for(std::make_shared<const Graph>(graph), where);
}

IdVector<DeviceId, MemoryPlan> memory_of(const Program& program) {
  IdVector<DeviceId, MemoryPlan> plans;
  for (std::size_t d = 0; d < program.devices.size(); ++d) plans.push_back(plan_memory(program, DeviceId(d), d == 0));
  return plans;
}

TEST(HostFit, CountsArenasAndOutputs) {
  const Planned planned = planned_on(Where::host);
  const IdVector<DeviceId, MemoryPlan> plans = memory_of(*planned.program);
  const std::int64_t bytes = host_bytes(plans, true);
  EXPECT_GE(bytes, 128 * kMiB);
  EXPECT_LE(bytes, 256 * kMiB);
  EXPECT_EQ(bytes, host_bytes(plans, false));
}

TEST(HostFit, IsAnErrorThatNamesTheLimit) {
  const Planned planned = planned_on(Where::host);
  const IdVector<DeviceId, MemoryPlan> plans = memory_of(*planned.program);
  const std::int64_t bytes = host_bytes(plans, true);
  EXPECT_TRUE(fits_host(*planned.program, plans, true, {bytes + kMiB, 0, "/sys/fs/cgroup/a/memory.max"}, kMiB).ok());
  EXPECT_TRUE(fits_host(*planned.program, plans, true, {bytes, kMiB, "/sys/fs/cgroup/a/memory.max"}, kMiB).ok());
  const Status limited = fits_host(*planned.program, plans, true, {bytes, 0, "/sys/fs/cgroup/a/memory.max"}, kMiB);
  ASSERT_FALSE(limited.ok());
  EXPECT_EQ(limited.error().kind, ErrorKind::machine);
  EXPECT_THAT(limited.error().message, AllOf(HasSubstr("of the host's memory beside the 1.0 MiB that this process has"),
                                             HasSubstr("the control group allows (`/sys/fs/cgroup/a/memory.max`)")));
  EXPECT_THAT(fits_host(*planned.program, plans, true, {bytes, 0, ""}, kMiB).error().message, HasSubstr("the machine has"));
}

TEST(HostFit, CountsDeepChannelsByTheByte) {
  const Planned planned = planned_on(Where::accelerator);
  EXPECT_EQ(deep_bytes(*planned.program), 0);
  Program deep = *planned.program;
  std::int64_t bytes = 0;
  for (std::size_t c = 0; c < deep.channels.size(); ++c) {
    if (follows(deep, ChannelId(c))) continue;
    set_depth(deep, ChannelId(c), 1 + static_cast<int>(c) * 2);
    bytes += std::max<std::int64_t>(0, 1 + static_cast<std::int64_t>(c) * 2 - kDefaultDepth) * slot_bytes(deep, ChannelId(c));
  }
  ASSERT_GT(bytes, 0);
  EXPECT_EQ(deep_bytes(deep), bytes);
  EXPECT_TRUE(may_use(bytes, {bytes, kMiB, ""}, kMiB));
  EXPECT_FALSE(may_use(bytes, {bytes, kMiB, ""}, kMiB + 1));
}

}  // namespace
}  // namespace cleave::testing
