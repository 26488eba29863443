// The benchmark on a stub of a GPU: its report is complete, and the executor makes the expected number of driver calls. No test here checks
// a time.
#include <gmock/gmock.h>

#include "tools/bench/rendezvous_report.h"

namespace cleave::bench {
namespace {

using nlohmann::ordered_json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

StubSetting few(int trips, bool waits_for_words = true) {
  StubSetting setting;
  setting.traits.waits_for_words = waits_for_words;
  setting.trips = trips;
  setting.runs = 2;
  setting.lane_seconds = 1e-4;
  return setting;
}

std::int64_t calls(const RunCosts& costs, const std::string& name) {
  const auto found = costs.calls.find(name);
  return found == costs.calls.end() ? 0 : found->second;
}

/// An iteration has one kernel launch, and one launch for each transferred value.
TEST(Rendezvous, ByMailboxesCostsThreeLaunchesATrip) {
  const RunCosts few_trips = run_trips(few(20)), more = run_trips(few(50));
  EXPECT_EQ(calls(more, "cuLaunchKernel") - calls(few_trips, "cuLaunchKernel"), 3 * 30);
  EXPECT_LE(calls(more, "cuStreamWaitValue64"), 50 + 1);
  for (const char* copy : {"cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync"}) EXPECT_EQ(calls(more, copy), calls(few_trips, copy)) << copy;
  EXPECT_LE(calls(more, "cuStreamWaitEvent"), 4);
}

TEST(Rendezvous, ByEventsCostsACopyEachWayATrip) {
  const RunCosts few_trips = run_trips(few(20, false)), more = run_trips(few(50, false));
  for (const char* each : {"cuLaunchKernel", "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync"})
    EXPECT_EQ(calls(more, each) - calls(few_trips, each), 30) << each;
  EXPECT_EQ(calls(more, "cuStreamWaitValue64"), 0);
  // Each stream may wait for each other stream once per iteration. Half of these waits find the event already completed, unless the
  // processors are busy.
  EXPECT_LE(calls(more, "cuStreamWaitEvent"), 6 * 50);
  EXPECT_LE(calls(more, "cuEventRecord"), 3 * 50 + 10);
}

TEST(Rendezvous, AGraphIsOneLaunch) {
  const RunCosts graph = run_segment(few(1), 32, true), single = run_segment(few(1), 32, false);
  EXPECT_EQ(calls(graph, "cuGraphLaunch"), 1);
  EXPECT_EQ(calls(single, "cuGraphLaunch"), 0);
  EXPECT_EQ(calls(single, "cuLaunchKernel") - calls(graph, "cuLaunchKernel"), 32);
}

TEST(Rendezvous, ALaneHasAllThatItDoes) {
  const double each = 1e-4;
  const RunCosts beside = run_side_by_side(each, 1), pipeline = run_pipeline(each, 5, 1), back = run_pipeline_back(each, 5, 1);
  EXPECT_NEAR(beside.lanes.at("compute"), 4 * each, each / 10);
  EXPECT_NEAR(beside.lanes.at("to_device"), each, each / 10);
  EXPECT_NEAR(pipeline.lanes.at("compute"), 5 * each, each / 10);
  EXPECT_NEAR(pipeline.lanes.at("to_device"), (5 + 1) * each, each / 10);  // and the input
  EXPECT_NEAR(pipeline.lanes.at("to_host"), each, each / 10);
  EXPECT_NEAR(back.lanes.at("compute"), 5 * each, each / 10);
  EXPECT_NEAR(back.lanes.at("to_host"), 5 * each, each / 10);
}

TEST(Rendezvous, ReportIsComplete) {
  StubSetting setting = few(10);
  setting.traits.launch_seconds = 1e-6;
  const ordered_json report = rendezvous_report(setting);
  std::vector<std::string> names;
  for (const ordered_json& row : report["rows"]) {
    names.push_back(row["name"]);
    for (const char* number : {"wall_us", "processor_us", "processor_of_host_us", "processor_of_stub_us"})
      EXPECT_TRUE(row[number].is_number()) << row;
    EXPECT_FALSE(row["calls"].empty()) << row;
  }
  for (const ordered_json& row : report["overlap"]) {
    names.push_back(row["name"]);
    EXPECT_EQ(row["lanes_ms"].size(), 4U) << row;
    EXPECT_GT(row["of_ideal"], 0) << row;
  }
  EXPECT_THAT(names, ElementsAre("loop by mailboxes", "loop by copies and events", "32 kernels as a graph", "32 kernels by themselves",
                                 "side by side", "pipeline", "pipeline back", "large values in parts", "large values as wholes"));
  const std::string table = rendezvous_table(report);
  for (const std::string& name : names) EXPECT_THAT(table, HasSubstr(name));
  EXPECT_THAT(table, HasSubstr("cuLaunchKernel 3."));
  EXPECT_TRUE(rendezvous_report(few(1), "no such row")["rows"].empty());
}

}  // namespace
}  // namespace cleave::bench
