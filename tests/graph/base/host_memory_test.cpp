// The amount of memory that a process may use, on folder trees like those of control groups, versions 1 and 2.
#include "graph/base/host_memory.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/namespaces.h"
#include "tests/support/temporary_folder.h"

namespace cleave::testing {
namespace {

class HostMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override { put("proc/meminfo", "MemTotal:       16777216 kB\nMemFree:  1 kB\nSwapTotal:        2097152 kB\n"); }
  void put(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(folder_.path(path)).parent_path());
    folder_.write(path, text);
  }
  [[nodiscard]] HostMemory found() const { return host_memory(folder_.path("")); }

  static constexpr std::int64_t kGiB = 1LL << 30;
  test::TemporaryFolder folder_;
};

TEST_F(HostMemoryTest, IsTheMachinesWithoutALimit) {
  EXPECT_EQ(found().bytes, 16 * kGiB);
  EXPECT_EQ(found().swap_bytes, 2 * kGiB);
  put("proc/self/cgroup", "0::/user.slice\n");
  put("sys/fs/cgroup/user.slice/memory.max", "max\n");
  put("sys/fs/cgroup/user.slice/memory.swap.max", "max\n");
  EXPECT_EQ(found().bytes, 16 * kGiB);
  EXPECT_EQ(found().swap_bytes, 2 * kGiB);
  EXPECT_EQ(found().limited_by, "");
}

TEST_F(HostMemoryTest, IsTheSmallestLimitOfAllGroupsAroundTheProcess) {
  put("proc/self/cgroup", "0::/a/b/c\n");
  put("sys/fs/cgroup/a/b/c/memory.max", "max\n");
  put("sys/fs/cgroup/a/b/memory.max", "4294967296\n");
  put("sys/fs/cgroup/a/memory.max", "1073741824\n");
  put("sys/fs/cgroup/a/memory.swap.max", "0\n");
  EXPECT_EQ(found().bytes, kGiB);
  EXPECT_EQ(found().swap_bytes, 0);
  EXPECT_TRUE(found().limited_by.ends_with("/sys/fs/cgroup/a/memory.max")) << found().limited_by;
}

TEST_F(HostMemoryTest, InAContainerTheGroupIsTheRootOfWhatItSees) {
  put("proc/self/cgroup", "0::/\n");
  put("sys/fs/cgroup/memory.max", "2147483648\n");
  EXPECT_EQ(found().bytes, 2 * kGiB);
  put("proc/self/cgroup", "0::/docker/of/the/host\n");  // a path that the container does not see
  EXPECT_EQ(found().bytes, 2 * kGiB);
}

TEST_F(HostMemoryTest, KnowsVersionOne) {
  put("proc/self/cgroup", "12:pids:/x\n5:cpuset,memory:/docker/1\n1:name=systemd:/y\n0::/z\n");
  put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(found().bytes, 16 * kGiB);
  put("sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes", "3221225472\n");
  put("sys/fs/cgroup/memory/docker/1/memory.memsw.limit_in_bytes", "4294967296\n");
  EXPECT_EQ(found().bytes, 3 * kGiB);
  EXPECT_EQ(found().swap_bytes, kGiB);
}

TEST_F(HostMemoryTest, FilesThatHoldNoNumbersAreNoLimits) {
  put("proc/self/cgroup", "nonsense\n0::\n::\n5:memory:relative\n");
  put("sys/fs/cgroup/memory.max", "many\n");
  EXPECT_EQ(found().bytes, 16 * kGiB);
}

TEST(HostMemory, HoldsThisProcess) {
  EXPECT_GT(host_memory().bytes, 0);
  EXPECT_GT(private_memory(), 0);
  EXPECT_LT(private_memory(), host_memory().bytes);
}

}  // namespace
}  // namespace cleave::testing
