// The folder in which the kernel emulator caches compiled texts: each text is compiled once, whatever other texts share its unit and
// whichever process asks again, and the cached kernel is the same kernel.
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <thread>

#include "tests/support/kernel_emulator/kernel_emulator.h"
#include "tests/support/namespaces.h"
#include "tests/support/temporary_folder.h"

namespace cleave::testing {
namespace {

class EmulatorCache : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = KernelEmulator::unavailable(); !why.empty()) GTEST_SKIP() << why;
  }

  /// result[i] = `value` + i, by one thread of 32 each, through shared memory.
  static cuda::KernelSource adding(int value, const std::string& entry = "kernel") {
    cuda::KernelSource source;
    source.text = "extern \"C\" __global__ void " + entry +
                  "(int* result) {\n__shared__ int shared[32];\nshared[threadIdx.x] = " + std::to_string(value) +
                  ";\n__syncthreads();\nresult[threadIdx.x] = shared[31 - threadIdx.x] + threadIdx.x;\n}\n";
    source.launches.push_back({.entry = entry, .grid = {1, 1, 1}, .block = {32, 1, 1}});
    return source;
  }

  static void expect_adds(KernelEmulator& emulator, int value, const std::string& entry = "kernel") {
    std::array<Array, 1> results = {Array(TensorType{DType::i32, {32}})};
    const Status status = emulator.run(adding(value, entry), {}, results);
    ASSERT_TRUE(status.ok()) << status.error().message;
    for (int i = 0; i < 32; ++i) EXPECT_EQ(results[0].data<std::int32_t>()[i], value + i);
  }

  const test::TemporaryFolder folder_;
};

TEST_F(EmulatorCache, CompilesATextOnceWhateverStandsBesideIt) {
  {
    KernelEmulator first(folder_.path("."));
    for (const int value : {1, 2, 3}) first.add(adding(value));
    ASSERT_TRUE(first.compile().ok());
    EXPECT_EQ(first.compiled(), 3U);
  }
  KernelEmulator second(folder_.path("."));
  for (const int value : {3, 4, 1}) second.add(adding(value));
  for (const int value : {4, 3, 1}) expect_adds(second, value);
  EXPECT_EQ(second.compiled(), 1U);
  expect_adds(second, 5, "another");
  EXPECT_EQ(second.compiled(), 2U);
}

TEST_F(EmulatorCache, LetsEmulatorsRunOneUnitAtOnce) {
  { expect_adds(*std::make_unique<KernelEmulator>(folder_.path(".")), 1); }
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      KernelEmulator emulator(folder_.path("."));
      for (int run = 0; run < 20; ++run) expect_adds(emulator, 1);
    });
  }
  for (std::thread& each : threads) each.join();
}

TEST_F(EmulatorCache, CompilesAgainWhatIsGoneOrDoesNotLoad) {
  { expect_adds(*std::make_unique<KernelEmulator>(folder_.path(".")), 1); }
  for (const bool gone : {false, true}) {
    for (const auto& file : std::filesystem::directory_iterator(folder_.path("."))) {
      if (file.is_symlink()) continue;
      std::filesystem::remove(file.path());
      if (!gone) std::ofstream(file.path()) << "no library";
    }
    KernelEmulator emulator(folder_.path("."));
    expect_adds(emulator, 1);
    EXPECT_EQ(emulator.compiled(), 1U);
  }
}

TEST_F(EmulatorCache, KeepsWrongTextsOut) {
  for (int i = 0; i < 2; ++i) {
    KernelEmulator emulator(folder_.path("."));
    cuda::KernelSource source = adding(1);
    source.text += "no text";
    emulator.add(source);
    const Status status = emulator.compile();
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.error().message.find("does not compile"), std::string::npos) << status.error().message;
    EXPECT_NE(status.error().message.find("error:"), std::string::npos) << "what the compiler says: " << status.error().message;
    EXPECT_EQ(folder_.files(), 0U);
  }
}

TEST_F(EmulatorCache, WritesElsewhereWhereItsFolderCannotBeWritten) {
  KernelEmulator emulator(folder_.write("a file", "") + "/below");
  expect_adds(emulator, 1);
  EXPECT_EQ(folder_.files(), 1U);
}

TEST(UnitCache, RemovesWhatWasUsedLongestAgo) {
  const test::TemporaryFolder folder;
  const UnitCache cache(folder.path("."), "", 100);
  for (const char* key : {"a", "b", "c", "d"}) {
    const std::string place = cache.place();
    std::ofstream(place) << std::string(30, 'x');
    ASSERT_NE(cache.put(place, {key, key + std::string("too")}), "");
    std::filesystem::last_write_time(cache.find(key), std::filesystem::file_time_type::clock::now() - std::chrono::hours(1 + 'z' - *key));
  }
  EXPECT_NE(cache.find("a"), "") << "used now";
  cache.prune();
  EXPECT_NE(cache.find("a"), "");
  EXPECT_EQ(cache.find("b"), "");
  EXPECT_EQ(cache.find("c"), "");
  EXPECT_NE(cache.find("dtoo"), "");
  EXPECT_EQ(folder.files(), 6U) << "no link leads nowhere";
}

}  // namespace
}  // namespace cleave::testing
