// `cleave calibrate` through the CUDA back end, on the fake driver: measurements that only a GPU has (graphs), and every failing call.
#include <gmock/gmock.h>

#include <chrono>
#include <thread>

#include "tests/support/fake_driver.h"
#include "tests/support/json_schema.h"
#include "tests/support/namespaces.h"
#include "tools/calibration/calibration.h"
#include "tools/calibration/calibration_json.h"

namespace cleave::testing {
namespace {

CalibrationOptions small_cuda_options(FakeDriver& driver) {
  CalibrationOptions options;
  options.given = *Machine::shipped("h200");
  options.seconds_a_point = 0;
  options.least_core_share = 0;  // tests run concurrently
  options.largest_copy = 1 << 14;
  options.memory_bytes = 1 << 15;
  options.open = [&driver] { return driver.opener()(0, {}); };
  return options;
}

TEST(CudaCalibration, MeasuresGraphsToo) {
  FakeDriver driver(FakeDriver::Schedule::eager);
  {
    const Result<Calibration> result = calibrate(small_cuda_options(driver));
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_EQ(result->machine.provenance, "measured");
    ASSERT_EQ(result->latencies.size(), 5U);
    EXPECT_EQ(result->latencies.back().first, "graph_of_100_launches_and_wait");
    std::int64_t points = 0;
    for (const auto& [key, table] : result->machine.accelerators[0].points) points += static_cast<std::int64_t>(table.size());
    EXPECT_EQ(result->kernels.size(), result->machine.accelerators[0].points.size()) << "each table has a rate";
    const nlohmann::json document = nlohmann::json::parse(calibration::to_json(*result, "m.yaml"));
    EXPECT_THAT(JsonSchema("calibrate").faults(document), ::testing::IsEmpty());
    EXPECT_GT(document["kernels"].size(), 10U);
    EXPECT_EQ(document["copies"].size(), 2U * 2 * 2) << "both ways, both kinds of memory, 4 and 16 KiB";
    EXPECT_GT(driver.count("cuGraphLaunch"), 3 * points / 2) << "points are of graphs, where kernels can be part of one";
  }
  EXPECT_EQ(driver.leaks(), "");
  EXPECT_THAT(driver.misuses(), ::testing::IsEmpty());
}

TEST(CudaCalibration, LeavesTimeToMeasureWhereKernelsTakeLongToMake) {
  FakeDriver driver(FakeDriver::Schedule::eager);
  CalibrationOptions options = small_cuda_options(driver);
  options.most_seconds = 4;
  options.progress = [](std::string_view what, double) {
    if (what.starts_with("kernels")) std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the time of a compiler
  };
  const Result<Calibration> result = calibrate(options);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_GT(result->left_out, 0);
  EXPECT_GT(result->kernels.size(), 5U);
}

TEST(CudaCalibration, MakesOneErrorOfAFailingCall) {
  for (const std::int64_t call : {2, 20, 60, 120, 300}) {
    SCOPED_TRACE(call);
    FakeDriver driver(FakeDriver::Schedule::eager);
    driver.fail_call(call, CUDA_ERROR_OUT_OF_MEMORY);
    const Result<Calibration> result = calibrate(small_cuda_options(driver));
    if (result.ok()) {
      EXPECT_NE(driver.failed(), "") << "the call was never reached";
      continue;  // releasing a resource may fail silently
    }
    EXPECT_EQ(result.error().kind, ErrorKind::machine) << result.error().message;
    EXPECT_EQ(driver.leaks(), "") << driver.failed();
  }
}

}  // namespace
}  // namespace cleave::testing
