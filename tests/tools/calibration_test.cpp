// Measurements of `cleave calibrate` on the simulated accelerator (whose wall-clock times mean little, but whose calls are all checked),
// and the machine file that it writes.
#include "tools/calibration/calibration.h"
#include "tests/support/namespaces.h"

#include <gmock/gmock.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "executor/host/kernels.h"
#include "executor/simulated/faults.h"
#include "executor/simulated/simulated_device.h"
#include "partitioner/machine/op_costs.h"
#include "tests/support/op_samples.h"
#include "tests/support/temporary_folder.h"
#include "tools/calibration/family_rates.h"
#include "tools/calibration/number_sources.h"
#include "tools/calibration/points.h"
#include "tools/calibration/samples.h"

namespace cleave::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

CalibrationOptions small_options(const std::string& inject = "") {
  CalibrationOptions options;
  options.given = *Machine::shipped("simulated");
  options.seconds_a_point = 0;
  options.least_core_share = 0;  // tests run concurrently
  options.largest_copy = 1 << 18;
  options.memory_bytes = 1 << 18;
  options.simulates = true;
  options.open = [inject]() -> Result<std::unique_ptr<Device>> {
    ExecutorOptions executor;
    executor.check_memory = true;
    Result<Faults> faults = Faults::parse(inject);
    if (!faults) return faults.error();
    return std::unique_ptr<Device>(std::make_unique<SimulatedDevice>(executor, *faults));
  };
  return options;
}

void expect_same(const DeviceRates& a, const DeviceRates& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.flops, b.flops);
  EXPECT_EQ(a.tf32_flops, b.tf32_flops);
  EXPECT_EQ(a.bytes_per_second, b.bytes_per_second);
  EXPECT_EQ(a.overhead_seconds, b.overhead_seconds);
  EXPECT_EQ(a.run_seconds, b.run_seconds);
  EXPECT_EQ(a.trip_seconds, b.trip_seconds);
  EXPECT_EQ(a.memory_bytes, b.memory_bytes);
  EXPECT_EQ(a.threads, b.threads);
  for (std::size_t i = 0; i < a.efficiency.size(); ++i) {
    EXPECT_EQ(a.efficiency[i].flops, b.efficiency[i].flops);
    EXPECT_EQ(a.efficiency[i].bytes, b.efficiency[i].bytes);
  }
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
  for (std::size_t i = 0; i < machine.accelerators.size(); ++i) expect_same(read->accelerators[i], machine.accelerators[i]);
  ASSERT_EQ(read->peers.size(), machine.peers.size());
  for (std::size_t i = 0; i < machine.peers.size(); ++i) {
    EXPECT_EQ(read->peers[i].first, machine.peers[i].first);
    EXPECT_EQ(read->peers[i].second, machine.peers[i].second);
    EXPECT_EQ(read->peers[i].link.latency_seconds, machine.peers[i].link.latency_seconds);
    EXPECT_EQ(read->peers[i].link.bytes_per_second, machine.peers[i].link.bytes_per_second);
    EXPECT_EQ(read->peers[i].link.points, machine.peers[i].link.points);
  }
}

TEST(MachineFile, ReadsBackWhatWasWritten) {
  for (const std::string& name : Machine::shipped_names()) expect_reads_back(*Machine::shipped(name));
  Machine odd = *Machine::shipped("simulated");
  odd.name = "a \"machine\": #1 \\";
  odd.accelerators[0].name = "- NVIDIA {x}";
  odd.accelerators[0].tf32_flops = 1.0 / 3e-14;
  odd.host.threads = 3;
  odd.host.run_seconds = 1.0 / 3e6;
  odd.host.trip_seconds = 1e-9;
  odd.host.efficiency[1] = {1, 0.5};
  odd.host.points["sum/f32/inner_8"] = {{1, 0.1}};
  odd.host.points["matmul/f32/rows_4_columns_16"] = {{1, 0.1}};
  odd.host.points["sum/f32/one_thread"] = {{1, 0.1}};
  odd.accelerators[0].points["matmul/tf32"] = {{1, 0.1}};
  odd.accelerators[0].points["matmul/f32"] = {{1, 0.1}, {3, 1.0 / 3}};
  odd.accelerators[0].host_to_accelerator.pageable_points = {{4096, 1e-20}, {8192, 2.5e-6}};
  expect_reads_back(odd);
  Machine unlike = *Machine::shipped("simulated-4");
  unlike.accelerators[2].overhead_seconds = 1;
  unlike.peers.erase(unlike.peers.begin() + 1);
  unlike.peers[0].link.points = {{10, 1.0 / 3}, {20, 1}};
  expect_reads_back(unlike);
}

TEST(Calibration, FillsTheTablesOfHostAndAccelerator) {
  const CalibrationOptions options = small_options();
  const Result<Calibration> result = calibrate(options);
  ASSERT_TRUE(result.ok()) << result.error().message;
  const Machine& machine = result->machine;
  expect_reads_back(machine);
  EXPECT_EQ(machine.provenance, "assumed") << "nobody is to take a simulated accelerator's times for measured ones";
  for (const DeviceRates* rates : {&machine.host, &machine.accelerators[0]}) {
    for (const char* key : {"matmul/f32", "matmul/f64", "matmul/i32", "matmul/f32/rows_1", "add/f32", "add/u8", "exp/f32",
                            "sum/f32/inner_8", "transpose/f32/run_1", "sort/f32", "bitwise_and/i32", "logical_not/bool", "take/i64"}) {
      ASSERT_TRUE(rates->points.contains(key)) << key;
      const PointTable& points = rates->points.at(key);
      EXPECT_GE(points.size(), 2U) << key;
      EXPECT_TRUE(std::is_sorted(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.second < b.second; })) << key;
      EXPECT_GT(points[0].second, 0) << key;
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
  for (const char* key : {"add/f32/fused", "logical_not/bool/fused"}) EXPECT_TRUE(machine.host.points.contains(key)) << key;
  EXPECT_EQ(machine.host.points.contains("exp/f32/one_thread"), machine.host.threads > 1);
  for (const char* key : {"matmul/f32/rows_1_columns_1", "matmul/f32/rows_256_columns_4", "print/f32", "print/bool", "write_npy/f32"})
    EXPECT_TRUE(machine.host.points.contains(key)) << key;
  EXPECT_GT(machine.host.run_seconds, 0);
  EXPECT_LT(machine.host.trip_seconds, machine.host.run_seconds);
  EXPECT_EQ(machine.host.threads, Workers::available());
  EXPECT_LT(machine.host.points.size(), 600U) << "a file for people too";
  ASSERT_EQ(result->latencies.size(), 4U);
  for (const auto& [what, seconds] : result->latencies) EXPECT_GT(seconds, 0) << what;
}

TEST(Calibration, LeavesNoKernelOfTheHostWithoutACost) {
  CalibrationOptions options = small_options();
  options.open = nullptr;
  std::vector<double> parts;
  options.progress = [&](std::string_view, double done) { parts.push_back(done); };
  const Result<Calibration> result = calibrate(options);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_TRUE(std::is_sorted(parts.begin(), parts.end()));
  EXPECT_EQ(result->left_out, 0);
  EXPECT_GT(result->fit.calls, 20);
  EXPECT_GE(result->fit.worst, result->fit.median);
  std::set<std::string> measured;
  for (const auto& [key, points] : result->machine.host.points) measured.insert(key.substr(0, key.find('/')));
  for (const OpDef* op : all_ops()) {
    if (op->moves_to != Side::none || host::kernel_row(*op).kernel == run_reference) continue;
    EXPECT_TRUE(measured.contains(std::string(op->name))) << op->name;
  }
  const OpCosts costs(result->machine.host);
  for (const OpSample& sample : op_samples()) {
    if (sample.op->cost_class == CostClass::bookkeeping) continue;
    std::vector<TensorType> inputs, results;
    for (const Array& input : sample.inputs) inputs.push_back(input.type());
    const TypeResult types = sample.op->type_rule(inputs, sample.attributes);
    if (std::holds_alternative<TypeError>(types)) continue;
    const OpCost cost = costs.cost(work_of(*sample.op, inputs, std::get<0>(types), sample.attributes));
    EXPECT_TRUE(cost.source != CostSource::by_rate) << describe(sample);
    EXPECT_TRUE(std::isfinite(cost.seconds) && cost.seconds >= 0) << describe(sample);
  }
}

TEST(KernelRates, AreOfFamilies) {
  using calibration::FamilyRate;
  const std::vector<KernelRate> kernels = {{"sum/f32", CostClass::reduction, 300, 0, 1},
                                           {"add/f32", CostClass::arithmetic, 1000, 0, 2},
                                           {"add/f64", CostClass::arithmetic, 400, 0, 1},
                                           {"sub/f32", CostClass::arithmetic, 100, 0, 1}};
  const std::vector<FamilyRate> rates = calibration::family_rates(kernels);
  ASSERT_EQ(rates.size(), 2U);
  EXPECT_EQ(rates[0].family, CostClass::arithmetic);
  EXPECT_EQ(rates[0].tables, 3);
  EXPECT_EQ(rates[0].median, 400);
  EXPECT_EQ(rates[0].best, 500);
  EXPECT_EQ(rates[0].worst, 100);
  EXPECT_EQ(rates[0].worst_table, "sub/f32");
  EXPECT_DOUBLE_EQ(rates[0].share_of_peak, 0.8);
  EXPECT_DOUBLE_EQ(rates[1].share_of_peak, 0.6);
  EXPECT_TRUE(calibration::family_rates({}).empty());
}

TEST(CopyRates, AreSharesOfTheBestOfTheirDirection) {
  DeviceRates rates;
  rates.host_to_accelerator.points = {{100, 1}, {1000, 2}};
  rates.host_to_accelerator.pageable_points = {{1000, 4}};
  rates.accelerator_to_host.points = {{100, 0.5}};
  const std::vector<calibration::CopyRate> copies = calibration::copy_rates(rates);
  ASSERT_EQ(copies.size(), 4U);
  EXPECT_DOUBLE_EQ(copies[0].share_of_link, 0.2);
  EXPECT_DOUBLE_EQ(copies[1].share_of_link, 1);
  EXPECT_TRUE(copies[2].pageable);
  EXPECT_DOUBLE_EQ(copies[2].share_of_link, 0.5);
  EXPECT_FALSE(copies[3].to_accelerator);
  EXPECT_DOUBLE_EQ(copies[3].share_of_link, 1);
}

TEST(Calibration, TakesTheTablesFirstThatTellMost) {
  const std::vector<calibration::Table> tables = calibration::tables(4, 1 << 20, false);
  std::map<std::string, std::size_t> at;
  for (std::size_t i = 0; i < tables.size(); ++i) at.emplace(tables[i].key(), i);
  EXPECT_EQ(at.size(), tables.size());
  for (const auto& [before, after] :
       std::vector<std::pair<const char*, const char*>>{{"print/f32", "matmul/f32/rows_1_columns_1024"},
                                                        {"write_npy/f32", "matmul/f32/rows_1_columns_1024"},
                                                        {"zeros/f32", "matmul/f32/rows_1_columns_1024"},
                                                        {"matmul/f32/rows_1_columns_4096", "matmul/f32/rows_64_columns_64"},
                                                        {"matmul/f32/rows_4096_columns_1", "matmul/f32/rows_64_columns_64"},
                                                        {"matmul/f32/rows_64_columns_64", "add/f32/one_thread"},
                                                        {"sum/f32/outer_512", "add/f32/fused"},
                                                        {"add/f32/fused", "add/f64"}})
    EXPECT_LT(at.at(before), at.at(after)) << before << " before " << after;
}

TEST(Calibration, MeasuresProductsOfAllTypesFirstOnAnAccelerator) {
  const std::vector<calibration::Table> tables = calibration::tables(4, 1 << 20, true);
  std::set<std::string> first;
  for (const calibration::Table& table : tables) {
    if (table.op->cost_class != CostClass::product) break;
    first.insert(table.key());
  }
  for (const char* key : {"matmul/f32", "matmul/bf16", "matmul/f16", "matmul/f64", "matmul/i32", "conv/f32"})
    EXPECT_TRUE(first.contains(key)) << key;
}

/// On a GPU, `non_max_suppression` took 64 times as long for eight times the boxes, and calibration went on for a minute after its end.
TEST(Calibration, ATableEndsWhereItsNextSizeWouldTakeLong) {
  const std::vector<calibration::Table> tables = calibration::tables(1, 1 << 24, true);
  const auto table = std::find_if(tables.begin(), tables.end(), [](const calibration::Table& t) { return t.key() == "add/f32"; });
  ASSERT_NE(table, tables.end());
  double seconds = 1e-3, most = 0;
  const calibration::SecondsOf growing = [&](const calibration::Sample&, const calibration::Table&) -> Result<std::optional<double>> {
    most = seconds;
    seconds *= 64;
    return std::optional(most);
  };
  DeviceRates rates;
  ASSERT_TRUE(calibration::measure_table(*table, growing, 0, rates).ok());
  EXPECT_DOUBLE_EQ(most, 0.064);
  EXPECT_EQ(rates.points.at("add/f32").size(), 2U);
}

TEST(Calibration, ALongCallIsMadeTwice) {
  int calls = 0;
  static double time;
  time = 0;
  const auto take = [&](int count) -> Status {
    calls += count;
    time += calls == 1 ? 2.0 : 0.7;
    return {};
  };
  const Result<double> seconds = calibration::seconds_of_call(0.01, take, [] { return time; });
  ASSERT_TRUE(seconds.ok());
  EXPECT_DOUBLE_EQ(*seconds, 0.7);
  EXPECT_EQ(calls, 2);
}

TEST(Calibration, WritesAndRemovesItsScratchFile) {
  CalibrationOptions options = small_options();
  options.open = nullptr;
  // A folder of this test's own, as other tests calibrate at the same time.
  const test::TemporaryFolder temporary;
  const char* usual = std::getenv("TMPDIR");
  const std::optional<std::string> before = usual ? std::optional<std::string>(usual) : std::nullopt;
  ::setenv("TMPDIR", temporary.path("").c_str(), 1);
  const Result<Calibration> result = calibrate(options);
  before ? ::setenv("TMPDIR", before->c_str(), 1) : ::unsetenv("TMPDIR");
  ASSERT_TRUE(result.ok()) << result.error().message;
  const auto& points = result->machine.host.points;
  ASSERT_TRUE(points.contains("write_npy/f32"));
  EXPECT_GT(points.at("write_npy/f32").front().second, points.at("add/f32").front().second) << "a file takes calls of the system";
  EXPECT_EQ(temporary.files(), 0U) << "a scratch folder is left";
}

TEST(Calibration, EndsWhenTimeIsUp) {
  CalibrationOptions options = small_options();
  options.most_seconds = 0;
  const Result<Calibration> result = calibrate(options);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_GT(result->left_out, 100);
  expect_reads_back(result->machine);
}

TEST(Calibration, ABusyMachineIsRefused) {
  CalibrationOptions options = small_options();
  options.open = nullptr;
  options.most_seconds = 0.2;
  options.least_core_share = 1.5;  // no thread can have that share
  const Result<Calibration> refused = calibrate(options);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::machine);
  EXPECT_THAT(
      refused.error().message,
      ::testing::ContainsRegex("^the machine is busy: measuring gets [0-9]+ % of a core, and needs at least 150 %; calibrate when "));
  EXPECT_EQ(CalibrationOptions().least_core_share, 0.6);
}

TEST(Calibration, KnowsItsShareOfACore) {
  cpu_set_t all, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  CPU_ZERO(&one);
  for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++core)
    if (CPU_ISSET(core, &all)) CPU_SET(core, &one);
  const auto compute = [](double seconds) {
    for (const double end = calibration::now() + seconds; calibration::now() < end;) {
    }
  };
  double share = 1;
  std::thread measuring([&] {
    sched_setaffinity(0, sizeof one, &one);
    std::thread other([&] { compute(0.4); });  // on the same core
    compute(0.02);
    const calibration::CoreShare of;
    compute(0.3);
    share = of.value();
    other.join();
  });
  measuring.join();
  EXPECT_LT(share, 0.6);
  EXPECT_GT(share, 0);
}

TEST(Calibration, SaysWhichNumbersAreDefaults) {
  CalibrationOptions options = small_options();
  options.open = nullptr;
  options.most_seconds = 0;  // no table is measured
  const Result<Calibration> result = calibrate(options);
  ASSERT_TRUE(result.ok()) << result.error().message;
  for (const calibration::NumberSource& number : calibration::number_sources(*result)) {
    const bool measured = number.name == "host.overhead_seconds" || number.name == "host.memory_bytes" ||
                          number.name == "host.run_seconds" || number.name == "host.trip_seconds" ||
                          (number.name == "host.bytes_per_second" && result->machine.host.points.contains("add/f32"));
    EXPECT_EQ(number.measured, measured) << number.name;
  }
  options.most_seconds = 110;
  const Result<Calibration> whole = calibrate(options);
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  EXPECT_EQ(calibration::source_of(*whole, "host.flops.f32"), "measured");
  EXPECT_EQ(calibration::source_of(*whole, "host.bytes_per_second"), "measured");
  EXPECT_EQ(calibration::source_of(*whole, "accelerator.flops.f32"), "default");
  EXPECT_GT(whole->core_share, 0);
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
