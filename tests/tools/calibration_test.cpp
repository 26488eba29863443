// What `cleave calibrate` measures, on the simulated accelerator (whose wall-clock times mean little, but whose calls are all checked), and
// the file that it writes.
#include "tools/calibration/calibration.h"
#include "tests/support/namespaces.h"

#include <gmock/gmock.h>

#include "executor/simulated/faults.h"
#include "executor/simulated/simulated_device.h"

namespace cleave::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

CalibrationOptions small_options(const std::string& inject = "") {
  CalibrationOptions options;
  options.given = *Machine::shipped("simulated");
  options.seconds_a_point = 0;
  options.largest_copy = 1 << 18;
  options.largest_matrix = 128;
  options.memory_bytes = 1 << 18;
  options.open = [inject]() -> Result<std::unique_ptr<Device>> {
    ExecutorOptions executor;
    executor.check_memory = true;
    Result<Faults> faults = Faults::parse(inject);
    if (!faults) return faults.error();
    return SimulatedDevice::open(executor, *faults);
  };
  return options;
}

void expect_same(const DeviceRates& a, const DeviceRates& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.flops, b.flops);
  EXPECT_EQ(a.tf32_flops, b.tf32_flops);
  EXPECT_EQ(a.bytes_per_second, b.bytes_per_second);
  EXPECT_EQ(a.overhead_seconds, b.overhead_seconds);
  EXPECT_EQ(a.memory_bytes, b.memory_bytes);
  EXPECT_EQ(a.control_flow, b.control_flow);
  EXPECT_EQ(a.points, b.points);
  for (const auto link : {&DeviceRates::host_to_accelerator, &DeviceRates::accelerator_to_host}) {
    EXPECT_EQ((a.*link).latency_seconds, (b.*link).latency_seconds);
    EXPECT_EQ((a.*link).bytes_per_second, (b.*link).bytes_per_second);
    EXPECT_EQ((a.*link).points, (b.*link).points);
    EXPECT_EQ((a.*link).pageable_points, (b.*link).pageable_points);
  }
}

void expect_reads_back(const Machine& machine) {
  const std::string text = to_yaml(machine);
  const Result<Machine> read = Machine::parse(text, "machine.yaml");
  ASSERT_TRUE(read.ok()) << read.error().message << "\n" << text;
  EXPECT_EQ(read->name, machine.name);
  EXPECT_EQ(read->provenance, machine.provenance);
  expect_same(read->host, machine.host);
  ASSERT_EQ(read->accelerators.size(), machine.accelerators.size());
  expect_same(read->accelerators[0], machine.accelerators[0]);
}

TEST(MachineFile, ReadsBackWhatWasWritten) {
  for (const std::string& name : Machine::shipped_names()) expect_reads_back(*Machine::shipped(name));
  Machine odd = *Machine::shipped("simulated");
  odd.name = "a \"machine\": #1 \\";
  odd.accelerators[0].name = "- NVIDIA {x}";
  odd.accelerators[0].tf32_flops = 1.0 / 3e-14;
  odd.accelerators[0].points["matmul/tf32"] = {{1, 0.1}};
  odd.accelerators[0].points["matmul/f32"] = {{1, 0.1}, {3, 1.0 / 3}};
  odd.accelerators[0].host_to_accelerator.pageable_points = {{4096, 1e-20}, {8192, 2.5e-6}};
  expect_reads_back(odd);
}

TEST(Calibration, FillsTheTablesOfHostAndAccelerator) {
  const CalibrationOptions options = small_options();
  const Result<Calibration> result = calibrate(options);
  ASSERT_TRUE(result.ok()) << result.error().message;
  const Machine& machine = result->machine;
  expect_reads_back(machine);
  EXPECT_EQ(machine.provenance, "assumed") << "nobody is to take a simulated accelerator's times for measured ones";
  for (const DeviceRates* rates : {&machine.host, &machine.accelerators[0]}) {
    for (const char* key : {"matmul/f32", "matmul/f64", "matmul/i32", "matmul/i64"}) {
      ASSERT_TRUE(rates->points.contains(key)) << key;
      const PointTable& points = rates->points.at(key);
      ASSERT_EQ(points.size(), 2U);  // 64 and 128 rows
      EXPECT_EQ(points[1].first, 2.0 * 128 * 128 * 128);
      EXPECT_GT(points[0].second, 0);
    }
    for (const char* key : {"add/f32", "add/f64", "add/i32", "add/i64"}) {
      ASSERT_TRUE(rates->points.contains(key)) << key;
      EXPECT_EQ(rates->points.at(key).size(), 3U) << "4 KiB, 32 KiB and a third of the memory";
    }
    EXPECT_GT(rates->bytes_per_second, 0);
    EXPECT_LT(rates->overhead_seconds, 0.01);
    EXPECT_NE(rates->bytes_per_second, options.given.host.bytes_per_second);
  }
  for (const LinkDirection* link : {&machine.accelerators[0].host_to_accelerator, &machine.accelerators[0].accelerator_to_host}) {
    EXPECT_THAT(link->points, ElementsAre(Pair(4096, ::testing::Gt(0)), Pair(16384, ::testing::Gt(0)), Pair(65536, ::testing::Gt(0)),
                                          Pair(262144, ::testing::Gt(0))));
    EXPECT_EQ(link->pageable_points.size(), 4U);
  }
  ASSERT_EQ(result->latencies.size(), 4U);
  for (const auto& [what, seconds] : result->latencies) EXPECT_GT(seconds, 0) << what;
}

TEST(Calibration, WithoutAcceleratorKeepsTheGivenOne) {
  CalibrationOptions options = small_options();
  options.open = nullptr;
  const Result<Calibration> result = calibrate(options);
  ASSERT_TRUE(result.ok());
  expect_same(result->machine.accelerators[0], options.given.accelerators[0]);
  EXPECT_TRUE(result->latencies.empty());
  EXPECT_EQ(result->machine.provenance, "assumed");
}

TEST(Calibration, AFailureOfTheDeviceIsOneError) {
  for (const char* fault : {"kernel:3", "transfer:2", "lost:20", "oom"}) {
    const Result<Calibration> result = calibrate(small_options(fault));
    ASSERT_FALSE(result.ok()) << fault;
    EXPECT_EQ(result.error().kind, ErrorKind::machine) << result.error().message;
  }
}

}  // namespace
}  // namespace cleave::testing
