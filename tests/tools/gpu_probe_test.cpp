// The probe of a GPU's limits, on the fake driver: it measures everything with valid driver calls, and ends after any failure or hang. The
// real NVRTC compiles its kernels if it is installed.
#include <gmock/gmock.h>

#include <chrono>
#include <set>
#include <thread>

#include "executor/cuda/compiler.h"
#include "tests/support/fake_probe.h"
#include "tests/support/namespaces.h"
#include "tools/gpu/probe/probe.h"

namespace cleave::testing {
namespace {

using nlohmann::ordered_json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A fake driver that knows the probe's kernels. The kernel that answers the host runs on a separate thread.
class ProbedDriver {
 public:
  explicit ProbedDriver(bool answers = true) {
    driver.allow_pageable();
    driver.keep_page_locked();  // after a failed probe, the answering thread may still read it
    teach_probe(driver, [this, answers](const std::vector<std::uint64_t>& values) {
      if (answers) threads_.emplace_back([values] { answer_probe(values); });
    });
  }
  ~ProbedDriver() {
    for (std::thread& thread : threads_) thread.join();
  }
  ProbedDriver(const ProbedDriver&) = delete;
  ProbedDriver& operator=(const ProbedDriver&) = delete;

  FakeDriver driver{FakeDriver::Schedule::eager};

 private:
  std::vector<std::thread> threads_;
};

probe::ProbeOptions small_probe_options() {
  probe::ProbeOptions options;
  options.seconds = 200;  // limits: everything is measured even on a busy machine
  options.patience = 100;
  options.largest_copy = 1 << 20;
  options.memory_bytes = 1;  // the amount that the widest kernel reads at once
  options.round_trips = 20;
  options.products = {{8, 4, 2}};
  return options;
}

TEST(GpuProbe, MeasuresEverything) {
  ProbedDriver probed;
  ordered_json document;
  int kept = 0;
  probe::ProbeOptions options = small_probe_options();
  options.keep = [&](const ordered_json& so_far) { kept += so_far.contains("launch") ? 1 : 0; };
  const Status status = probe::probe(FakeDriver::api(), options, document);
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(document["launch"].size(), 1U);
  EXPECT_EQ(document["graph"].size(), 3U);
  EXPECT_GT(document["graph"][2]["seconds"], 0);
  ASSERT_EQ(document["ping_pong"].size(), 1U);
  EXPECT_GT(document["ping_pong"][0]["seconds"], 0);
  EXPECT_EQ(document["memory"].size(), 10U);
  EXPECT_EQ(document["products"].size(), 4U);
  std::set<std::string> kinds;
  for (const ordered_json& row : document["link"]) {
    kinds.insert(row["memory"].get<std::string>() + " " + row["direction"].get<std::string>());
    EXPECT_GT(row["seconds_in_a_row"], 0);
  }
  EXPECT_EQ(kinds.size(), 6U);
  EXPECT_EQ(document["link"].size(), 3U * 6 + 2 * 6 + 1);  // 1 KiB to 1 MiB; from two threads only the largest
  EXPECT_FALSE(document.contains("left_out")) << document["left_out"];
  EXPECT_EQ(kept, static_cast<int>(1 + 3 + 1 + 31 + 10 + 4));
  EXPECT_EQ(probed.driver.leaks(), "");
  EXPECT_THAT(probed.driver.misuses(), IsEmpty());
}

TEST(GpuProbe, EndsInTimeAndSaysWhatItLeftOut) {
  ProbedDriver probed;
  ordered_json document;
  probe::ProbeOptions options = small_probe_options();
  options.seconds = 1e-6;
  ASSERT_TRUE(probe::probe(FakeDriver::api(), options, document).ok());
  EXPECT_GE(document["left_out"], 5);
  EXPECT_EQ(probed.driver.leaks(), "");
}

TEST(GpuProbe, AFailingPartIsToldAndTheRestIsMeasured) {
  ProbedDriver probed(false);
  ordered_json document;
  probe::ProbeOptions options = small_probe_options();
  options.patience = 0.1;
  const Status status = probe::probe(FakeDriver::api(), options, document);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(document["errors"][0].get<std::string>(), HasSubstr("ping_pong: a kernel and the host do not see"));
  EXPECT_THAT(document["ping_pong"], IsEmpty());
  EXPECT_EQ(document["memory"].size(), 10U);
  EXPECT_EQ(probed.driver.leaks(), "");
}

TEST(GpuProbe, AGpuThatHangsEndsIt) {
  ProbedDriver probed;
  probed.driver.stall_command(2000);
  ordered_json document;
  probe::ProbeOptions options = small_probe_options();
  options.patience = 0.1;
  const auto start = std::chrono::steady_clock::now();
  ASSERT_FALSE(probe::probe(FakeDriver::api(), options, document).ok());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  EXPECT_THAT(document["errors"].dump(), HasSubstr("did not end its work"));
  EXPECT_EQ(document["errors"].size(), 1U) << "nothing is tried on a GPU that hangs";
}

TEST(GpuProbe, EveryFailingCallIsAnError) {
  for (const std::int64_t call : {1, 2, 5, 9, 20, 60, 200, 1000}) {
    SCOPED_TRACE(call);
    ProbedDriver probed;
    probed.driver.fail_call(call, CUDA_ERROR_OUT_OF_MEMORY);
    ordered_json document;
    probe::ProbeOptions options = small_probe_options();
    options.seconds = 1;
    options.patience = 0.1;
    const Status status = probe::probe(FakeDriver::api(), options, document);
    EXPECT_NE(probed.driver.failed(), "") << "the call was never reached";
    EXPECT_EQ(probed.driver.leaks(), "") << probed.driver.failed();
    if (status.ok() && probed.driver.failed_without_harm()) continue;
    EXPECT_FALSE(status.ok()) << probed.driver.failed();
    EXPECT_THAT(document["errors"], Not(IsEmpty()));
  }
}

TEST(GpuProbe, ItsKernelsCompile) {
  const Result<cuda::CompilerApi> api = cuda::CompilerApi::load();
  if (!api) GTEST_SKIP() << api.error().message;
  for (const cuda::Architecture& architecture : {cuda::Architecture{8, 0, 108}, cuda::Architecture{9, 0, 132}}) {
    const Result<cuda::Compiler> compiler = cuda::Compiler::open(*api, architecture, {});
    ASSERT_TRUE(compiler.ok());
    const Result<std::string> image = compiler->image(probe::kernels_text());
    ASSERT_TRUE(image.ok()) << image.error().message;
    for (const char* entry : {"nothing", "fill", "answer", "read_4", "write_8", "copy_16"}) EXPECT_THAT(*image, HasSubstr(entry));
  }
}

}  // namespace
}  // namespace cleave::testing
