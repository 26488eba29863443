// docs/machine-files.md lists exactly the keys of a machine file that the reader knows. Keys that it calls required are required, and its
// defaults are the reader's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "partitioner/machine/machine.h"
#include "partitioner/machine/machine_keys.h"
#include "tests/support/command.h"
#include "tests/support/places.h"

namespace cleave::testing {
namespace {

using ::testing::UnorderedElementsAreArray;

struct Row {
  std::string key, unit, fallback;
};

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

/// The tables whose first column is `key`, by the heading above them.
std::map<std::string, std::vector<Row>> tables() {
  std::map<std::string, std::vector<Row>> result;
  std::istringstream document(read_file(source_dir() + "/docs/machine-files.md"));
  std::string heading;
  for (std::string line; std::getline(document, line);) {
    if (line.starts_with("## ")) heading = line.substr(3);
    if (!line.starts_with("| `")) continue;
    std::istringstream cells(line.substr(1));
    Row row;
    for (std::string* cell : {&row.key, &row.unit, &row.fallback}) {
      std::getline(cells, *cell, '|');
      *cell = trimmed(*cell);
    }
    row.key = row.key.substr(1, row.key.size() - 2);
    result[heading].push_back(row);
  }
  return result;
}

void expect_same_keys(const std::vector<Row>& rows, const MachineKeys& keys) {
  std::vector<std::string> known, required;
  for (const Row& row : rows) {
    known.push_back(row.key);
    if (row.fallback == "required") required.push_back(row.key);
  }
  EXPECT_THAT(known, UnorderedElementsAreArray(keys.known));
  // A file must have `accelerators` or `accelerator`: the table marks the former as required, the list of keys does not.
  required.erase(std::remove(required.begin(), required.end(), "accelerators"), required.end());
  EXPECT_THAT(required, UnorderedElementsAreArray(keys.required));
}

TEST(MachineFiles, EveryKeyIsInTheDocumentAndInTheReader) {
  auto table = tables();
  expect_same_keys(table["The file"], machine_file_keys());
  expect_same_keys(table["host"], host_keys());
  expect_same_keys(table["accelerators"], accelerator_keys());
  expect_same_keys(table["flops"], accelerator_flops_keys());
  EXPECT_FALSE(std::ranges::count(flops_keys().known, "tf32"));
  expect_same_keys(table["efficiency"], efficiency_keys());
  expect_same_keys(table["A class in efficiency"], class_efficiency_keys());
  expect_same_keys(table["link"], link_keys());
  expect_same_keys(table["host_to_accelerator and accelerator_to_host"], link_direction_keys());
  expect_same_keys(table["peers"], peer_keys());
  EXPECT_EQ(table.size(), 9U) << "a table of keys that this test does not compare";
}

TEST(MachineFiles, DefaultsAreThoseOfTheReader) {
  const std::string path = source_dir() + "/docs/examples/machine.yaml";
  const Result<Machine> machine = Machine::find(path);
  ASSERT_TRUE(machine.ok()) << machine.error().message;
  const std::map<std::string, std::string> defaults = {
      {"overhead_seconds", std::to_string(static_cast<int>(machine->host.overhead_seconds))},
      {"memory_bytes", std::to_string(static_cast<int>(machine->host.memory_bytes))},
      {"count", std::to_string(machine->accelerators.size())},
      {"control_flow", "`" + machine->accelerators[0].control_flow + "`"}};
  auto table = tables();
  for (const char* device : {"host", "accelerators"}) {
    const std::string name = device == std::string("host") ? machine->host.name : machine->accelerators[0].name;
    for (const Row& row : table[device]) {
      if (row.key == "name") {
        EXPECT_EQ(row.fallback, "`" + name + "`");
      } else if (defaults.contains(row.key)) {
        EXPECT_EQ(row.fallback, defaults.at(row.key)) << device << ": " << row.key;
      }
    }
  }
}

/// A file in which `flops` gives one type beside f32.
double rate(DType given, DType wanted) {
  std::string text = read_file(source_dir() + "/docs/examples/machine.yaml");
  const std::string flops = "f32: 2.0e11";
  text.replace(text.find(flops), flops.size(), flops + ", " + std::string(to_string(given)) + ": 7");
  const Result<Machine> machine = Machine::parse(text, "machine.yaml");
  return machine.ok() ? machine->host.flops[static_cast<std::size_t>(wanted)] : 0;
}

TEST(MachineFiles, TypesWithoutARateTakeTheRateThatTheDocumentSays) {
  EXPECT_EQ(rate(DType::f64, DType::f16), 2e11);
  EXPECT_EQ(rate(DType::f64, DType::u8), 2e11);
  auto table = tables();
  for (const Row& row : table["flops"]) {
    if (row.fallback == "required" || row.key == to_string(Precision::tf32)) continue;  // tf32 is no type
    const std::string near = row.fallback.substr(1, row.fallback.find('`', 1) - 1);
    if (near != "f32") {
      EXPECT_EQ(rate(*parse_dtype(near), *parse_dtype(row.key)), 7) << row.key;
    }
    EXPECT_EQ(rate(*parse_dtype(row.key), *parse_dtype(row.key)), 7) << row.key;
  }
}

}  // namespace
}  // namespace cleave::testing
