// Machine files: the shipped ones, the keys that are read, and each mistake at its line and column.
#include "partitioner/machine/machine.h"
#include "tests/support/namespaces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace cleave::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kGood = R"(machine: box
provenance: measured
host:
  flops: {f32: 1.0e11, i32: 4e10}
  bytes_per_second: 1e10
  memory_bytes: 16GiB
  points: {matmul/f32: [[1000, 1e-6], [100000, 1e-4]]}
accelerators:
  - name: card
    flops: {f32: 1.0e13, bf16: 1.0e14}
    bytes_per_second: 1.0e12
    overhead_seconds: 5.0e-6
    memory_bytes: 141GB
    link:
      host_to_accelerator: {latency_seconds: 1.0e-5, bytes_per_second: 1.0e10}
      accelerator_to_host: {latency_seconds: 2.0e-5, bytes_per_second: 2.0e10, points: [[1000, 1e-5], [1000000, 1e-4]]}
)";

double rate(const DeviceRates& rates, DType type) {
  return rates.flops[static_cast<std::size_t>(type)];
}

TEST(Machine, ShippedOnesAreRead) {
  EXPECT_THAT(Machine::shipped_names(), ElementsAre("h200", "h200-8", "simulated", "simulated-4"));
  const auto simulated = Machine::shipped("simulated");
  ASSERT_TRUE(simulated.ok()) << simulated.error().message;
  EXPECT_EQ(simulated->provenance, "assumed");
  EXPECT_DOUBLE_EQ(rate(simulated->host, DType::f32), 1e11);
  EXPECT_DOUBLE_EQ(simulated->link(kHost, kAccelerator).seconds(1.2e10), 1 + 1e-5);
  EXPECT_DOUBLE_EQ(simulated->accelerators[0].memory_bytes, 17179869184.0);
  const auto h200 = Machine::find("h200");
  ASSERT_TRUE(h200.ok()) << h200.error().message;
  EXPECT_EQ(h200->provenance, "measured");
  EXPECT_EQ(h200->accelerators[0].product_flops(Precision::tf32), 3.6e14);
  EXPECT_EQ(h200->accelerators[0].product_flops(Precision::bf16), rate(h200->accelerators[0], DType::bf16));
  EXPECT_EQ(h200->accelerators[0].product_flops(Precision::f32), rate(h200->accelerators[0], DType::f32));
  EXPECT_GT(rate(h200->accelerators[0], DType::f32), rate(h200->host, DType::f32));
}

TEST(Machine, ReadsWhatAFileSays) {
  const auto machine = Machine::parse(kGood, "box.yaml");
  ASSERT_TRUE(machine.ok()) << machine.error().message;
  EXPECT_EQ(machine->name, "box");
  EXPECT_DOUBLE_EQ(machine->host.overhead_seconds, 0);
  EXPECT_DOUBLE_EQ(machine->host.memory_bytes, 16 * 1073741824.0);
  EXPECT_EQ(machine->accelerators[0].name, "card");
  EXPECT_DOUBLE_EQ(machine->accelerators[0].memory_bytes, 141e9);
  EXPECT_EQ(machine->accelerators[0].control_flow, "none");
  EXPECT_DOUBLE_EQ(machine->link(kHost, kAccelerator).latency_seconds, 1e-5);
  EXPECT_DOUBLE_EQ(machine->link(kAccelerator, kHost).latency_seconds, 2e-5);
  EXPECT_EQ(machine->host.points.at("matmul/f32").size(), 2u);
}

TEST(Machine, TypesNotGivenTakeThatOfANearOne) {
  const auto machine = Machine::parse(kGood, "box.yaml");
  EXPECT_DOUBLE_EQ(rate(machine->host, DType::f64), 1e11);
  EXPECT_DOUBLE_EQ(rate(machine->host, DType::i64), 4e10);
  EXPECT_DOUBLE_EQ(rate(machine->host, DType::boolean), 4e10);
  EXPECT_DOUBLE_EQ(rate(machine->accelerators[0], DType::f16), 1e14);
  EXPECT_DOUBLE_EQ(rate(machine->accelerators[0], DType::i32), 1e13);
}

TEST(Machine, OneAcceleratorNeedsNoListAndTheLinkMayStandOutside) {
  std::string text = kGood;
  text.replace(text.find("accelerators:"), std::string("accelerators:\n  - name").size(), "accelerator:\n    name");
  const std::size_t link = text.find("    link:");
  std::string outside = text.substr(link);
  text.erase(link);
  for (const std::string deep : {"    link", "      host", "      acc"}) {
    outside.replace(outside.find(deep), deep.size(), deep.substr(4));
  }
  const auto machine = Machine::parse(text + outside, "box.yaml");
  ASSERT_TRUE(machine.ok()) << machine.error().message << text << outside;
  EXPECT_DOUBLE_EQ(machine->link(kAccelerator, kHost).latency_seconds, 2e-5);
}

TEST(Machine, TablesAreReadInStraightLines) {
  const PointTable table = {{100, 1e-6}, {10000, 1e-4}, {1000000, 1e-3}};
  EXPECT_DOUBLE_EQ(seconds_at(table, 100), 1e-6);
  EXPECT_DOUBLE_EQ(seconds_at(table, 10000), 1e-4);
  EXPECT_NEAR(seconds_at(table, 5050), 5.05e-5, 1e-12);
  EXPECT_NEAR(seconds_at(table, 505000), 5.5e-4, 1e-9);
  EXPECT_NEAR(seconds_at(table, 10), 1e-7, 1e-14);  // extrapolated at the rate of the outermost pair
  EXPECT_NEAR(seconds_at(table, 1990000), 1.9e-3, 1e-9);
  const PointTable started = {{100, 2e-6}, {200, 2.5e-6}, {300, 2.5e-6}};
  EXPECT_NEAR(seconds_at(started, 50), 1.75e-6, 1e-12) << "what is there for nothing stays";
  EXPECT_DOUBLE_EQ(seconds_at(started, 1e6), 2.5e-6);
  EXPECT_DOUBLE_EQ(seconds_at({{100, 1e-6}, {110, 1e-3}}, 50), 5e-7) << "never less than at the rate of the first point";
  EXPECT_DOUBLE_EQ(seconds_at(table, 0), 1e-6);
  EXPECT_DOUBLE_EQ(seconds_at({{10, 2}}, 5), 1);
  const auto machine = Machine::parse(kGood, "box.yaml");
  EXPECT_DOUBLE_EQ(machine->link(kAccelerator, kHost).seconds(1000), 1e-5);
  EXPECT_DOUBLE_EQ(machine->link(kHost, kAccelerator).seconds(1000), 1e-5 + 1e-7);
}

struct Mistake {
  const char* what;
  const char* with;
  const char* message;
  int line, column;
};

TEST(Machine, EveryMistakeHasItsPlace) {
  const Mistake mistakes[] = {
      {"provenance: measured", "provenence: measured", "unknown key `provenence` in the machine file; did you mean `provenance`?", 2, 1},
      {"provenance: measured\n", "", "the machine file lacks `provenance`", 1, 1},
      {"measured", "guessed", "`provenance` must be `measured`, `datasheet` or `assumed`, not `guessed`", 2, 13},
      {"  bytes_per_second: 1e10\n", "", "`host` lacks `bytes_per_second`", 4, 3},
      {"bytes_per_second: 1e10", "bytes_per_second: 0", "`bytes_per_second` must be a positive number, not `0`", 5, 21},
      {"bytes_per_second: 1e10", "bytes_per_second: .inf", "`bytes_per_second` must be a positive number", 5, 21},
      {"bytes_per_second: 1e10", "bytes_per_second: 1e999", "`bytes_per_second` must be a positive number", 5, 21},
      {"bytes_per_second: 1e10", "bytes_per_second: 1e10x", "`bytes_per_second` must be a positive number", 5, 21},
      {"16GiB", "16GB iB", "`GB iB` is no unit of bytes", 6, 17},
      {"16GiB", "16Gib", "`Gib` is no unit of bytes; did you mean `GiB`?", 6, 17},
      {"16GiB", "16lots", "`lots` is no unit of bytes; units are `B`, `kB`", 6, 17},
      {"16GiB", "many", "`memory_bytes` must be a number that is not negative, as in `16GiB`", 6, 17},
      {"16GiB", "-1", "`memory_bytes`", 6, 17},
      {"{f32: 1.0e11, i32: 4e10}", "{f23: 1.0e11}", "unknown key `f23` in `flops`", 4, 11},
      {"{f32: 1.0e11, i32: 4e10}", "{i32: 1.0e11}", "`flops` lacks `f32`", 4, 10},
      {"{f32: 1.0e11, i32: 4e10}", "{f32: 1, f32: 2}", "`f32` is given twice", 4, 19},
      {"{f32: 1.0e11, i32: 4e10}", "[1, 2]", "`flops` must be a map", 4, 10},
      {"{f32: 1.0e11, i32: 4e10}", "{f32: 1, tf32: 2}", "unknown key `tf32` in `flops`", 4, 19},
      {"matmul/f32:", "matmul/tf32:", "`matmul/tf32` is not of the form `op/type`", 7, 12},
      {"matmul/f32:", "matmull/f32:", "`matmull/f32`: there is no operation `matmull`; did you mean `matmul`?", 7, 12},
      {"matmul/f32:", "matmul:", "`matmul` is not of the form `op/type`", 7, 12},
      {"matmul/f32:", "matmul/f32/rows:", "`matmul/f32/rows`: there is no variant `rows`; there are `rows_N`", 7, 12},
      {"matmul/f32:", "matmul/f32/rows_4_columns_0:", "there is no variant `rows_4_columns_0`", 7, 12},
      {"matmul/f32:", "matmul/f32/columns_4_rows_4:", "there is no variant `columns_4_rows_4`", 7, 12},
      {"matmul/f32:", "matmul/f32/rows_0:", "there is no variant `rows_0`", 7, 12},
      {"matmul/f32:", "matmul/f32/rows_8/x:", "there is no variant `rows_8/x`", 7, 12},
      {"memory_bytes: 16GiB", "threads: 1.5", "`threads` must be a whole number", 6, 12},
      {"memory_bytes: 16GiB", "efficiency: {sorting: {flops: 1}}", "unknown key `sorting` in `efficiency`; did you mean", 6, 16},
      {"memory_bytes: 16GiB", "efficiency: {sort: {flop: 1}}", "unknown key `flop` in `sort`; did you mean `flops`?", 6, 23},
      {"memory_bytes: 16GiB", "efficiency: {sort: {flops: 0}}", "`flops` must be a positive number, not `0`", 6, 30},
      {"[100000, 1e-4]", "[10, 1e-4]", "the sizes of `matmul/f32` must grow", 7, 39},
      {"[100000, 1e-4]", "[10]", "`matmul/f32` must hold pairs", 7, 39},
      {"[[1000, 1e-6], [100000, 1e-4]]", "[]", "`matmul/f32` must be a list", 7, 24},
      {"    overhead_seconds: 5.0e-6", "    overhead_seconds: -5.0e-6", "`overhead_seconds` must be a number that is not negative", 12, 23},
      {"    memory_bytes: 141GB", "    control_flow: loops", "`control_flow` must be `none` or `device_loops`", 13, 19},
      {"accelerator_to_host: {lat", "accelerator_to_hots: {lat", "did you mean `accelerator_to_host`?", 16, 7},
      {"  - name: card", "  - name: a\n  - name: card", "an accelerator lacks `flops`", 9, 5},
      {"  - name: card", "  - count: 0\n    name: card", "`count` must be a positive number, not `0`", 9, 12},
      {"  - name: card", "  - count: 1.5\n    name: card", "`count` must be a whole number, at most 63", 9, 12},
      {"  - name: card", "  - count: 64\n    name: card", "`count` must be a whole number, at most 63", 9, 12},
      {"accelerators:", "peers: {between: all}\naccelerators:", "`peers` must be a list", 8, 8},
      {"accelerators:", "peers: [{between: all}]\naccelerators:", "a peer lacks `latency_seconds`", 8, 9},
      {"accelerators:", "peers: [{between: [0, 1], latency_seconds: 0, bytes_per_second: 1}]\naccelerators:",
       "there is no accelerator `1`; the machine has one", 8, 23},
      {"accelerators:", "peers: [{between: some, latency_seconds: 0, bytes_per_second: 1}]\naccelerators:",
       "`between` must be two accelerators, as in `[0, 1]`, or `all`", 8, 18},
      {"machine: box", "machine: [box", "", 3, 5},
      {"machine: box", "machine: {a: b}", "`machine` must be a text", 1, 10},
  };
  for (const Mistake& mistake : mistakes) {
    std::string text = kGood;
    ASSERT_NE(text.find(mistake.what), std::string::npos) << mistake.what;
    text.replace(text.find(mistake.what), std::string(mistake.what).size(), mistake.with);
    const auto machine = Machine::parse(text, "box.yaml");
    ASSERT_FALSE(machine.ok()) << mistake.message;
    EXPECT_THAT(machine.error().message, HasSubstr(mistake.message));
    EXPECT_EQ(machine.error().location.file_name(), "box.yaml");
    if (*mistake.message == 0) continue;  // yaml-cpp's own message and position
    EXPECT_EQ(machine.error().location.line, mistake.line) << mistake.message;
    EXPECT_EQ(machine.error().location.column, mistake.column) << mistake.message;
  }
  for (const std::string text : {"", "7", "[1, 2]", "{", "host: *x", "\t", "a: b: c", "? [a]\n: b"}) {
    EXPECT_FALSE(Machine::parse(text, "box.yaml").ok()) << text;
  }
  EXPECT_FALSE(Machine::parse(std::string(100000, '['), "box.yaml").ok());
}

/// `kGood` with two kinds of accelerators, three in all.
std::string three_accelerators(const std::string& peers) {
  std::string text = kGood;
  const std::size_t list = text.find("accelerators:\n") + std::string("accelerators:\n").size();
  const std::string card = text.substr(list);
  text += card;
  text.replace(text.rfind("name: card"), 10, "name: other");
  text.insert(list + std::string("  - name: card\n").size(), "    count: 2\n");
  return text + peers;
}

TEST(Machine, SeveralAcceleratorsAreCountedAndJoined) {
  const auto machine = Machine::parse(three_accelerators("peers:\n"
                                                         "  - {between: [2, 0], latency_seconds: 1e-6, bytes_per_second: 1e9}\n"
                                                         "  - {between: all, latency_seconds: 0, bytes_per_second: 2e9}\n"),
                                      "box.yaml");
  ASSERT_TRUE(machine.ok()) << machine.error().message;
  ASSERT_EQ(machine->accelerators.size(), 3u);
  EXPECT_EQ(machine->accelerators[1].name, "card");
  EXPECT_EQ(machine->accelerators[2].name, "other");
  EXPECT_EQ(machine->peers.size(), 3u);
  const DeviceId first(1), third(3);
  EXPECT_DOUBLE_EQ(machine->link(first, third).seconds(1e9), 1 + 1e-6);
  EXPECT_DOUBLE_EQ(machine->link(third, first).seconds(1e9), 1 + 1e-6);
  EXPECT_DOUBLE_EQ(machine->link(first, DeviceId(2)).seconds(1e9), 0.5);
  EXPECT_DOUBLE_EQ(machine->link(third, kHost).latency_seconds, 2e-5);
  const auto unjoined = Machine::parse(three_accelerators(""), "box.yaml");
  ASSERT_TRUE(unjoined.ok()) << unjoined.error().message;
  EXPECT_FALSE(unjoined->has_peer(first, third));
}

TEST(Machine, ShippedMachinesOfSeveralAcceleratorsAreTheSingleOneManyTimes) {
  const Machine one = *Machine::shipped("simulated"), four = *Machine::shipped("simulated-4");
  ASSERT_EQ(four.accelerators.size(), 4u);
  EXPECT_EQ(four.peers.size(), 6u);
  Machine alone = four;
  alone.name = one.name;
  alone.accelerators.resize(1);
  alone.peers.clear();
  EXPECT_EQ(to_yaml(alone), to_yaml(one)) << "the files must not drift apart";
  const double link = one.link(kHost, kAccelerator).bytes_per_second;
  EXPECT_DOUBLE_EQ(four.link(DeviceId(2), DeviceId(4)).bytes_per_second, 2 * link);
  const Machine eight = *Machine::shipped("h200-8");
  EXPECT_EQ(eight.provenance, "datasheet");
  EXPECT_EQ(eight.accelerators.size(), 8u);
  EXPECT_EQ(eight.peers.size(), 28u);
}

TEST(Machine, MistakesInPeersHaveTheirPlace) {
  const std::string numbers = ", latency_seconds: 0, bytes_per_second: 1}\n";
  for (const auto& [peers, message] : std::initializer_list<std::pair<std::string, std::string>>{
           {"  - {between: [0, 0]" + numbers, "`between` must name two accelerators, not 0 twice"},
           {"  - {between: [0, 3]" + numbers, "there is no accelerator `3`; they are 0 to 2"},
           {"  - {between: [0, 0.5]" + numbers, "there is no accelerator `0.5`; they are 0 to 2"},
           {"  - {between: [0, x]" + numbers, "an accelerator of `between` must be a number that is not negative, not `x`"},
           {"  - {between: [0, 1]" + numbers + "  - {between: [1, 0]" + numbers, "the link between these accelerators is given twice"},
           {"  - {between: all" + numbers + "  - {between: all" + numbers, "`between: all` is given twice"},
           {"  - {between: all, latency_seconds: 0, bytes_per_second: 0}\n", "`bytes_per_second` must be a positive number, not `0`"},
           {"  - {between: all, pageable_points: []" + numbers, "unknown key `pageable_points` in a peer"}}) {
    const auto machine = Machine::parse(three_accelerators("peers:\n" + peers), "box.yaml");
    ASSERT_FALSE(machine.ok()) << peers;
    EXPECT_THAT(machine.error().message, HasSubstr(message));
    EXPECT_GE(machine.error().location.line, 28);
  }
}

TEST(Machine, UnknownNamesGetASuggestion) {
  EXPECT_THAT(Machine::shipped("h20").error().message, HasSubstr("did you mean `h200"));
  EXPECT_THAT(Machine::find("simulatd").error().message, HasSubstr("did you mean `simulated`?"));
  EXPECT_FALSE(Machine::find("/").ok());
}

}  // namespace
}  // namespace cleave::testing
