// The files that each command opens, as the system reports them: the model, and the files that SECURITY.md lists. Needs strace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>

#include "tests/support/command.h"
#include "tests/support/namespaces.h"
#include "tests/support/onnx_builder.h"
#include "tests/support/sanitized.h"

namespace cleave::testing {
namespace {

namespace fs = std::filesystem;
using namespace onnx_file;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

using Files = std::set<std::string>;

class OpenedFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::system("strace -o /dev/null true >/dev/null 2>&1") != 0) GTEST_SKIP() << "strace is not installed, or may not trace here";
    fs::create_directory(folder_.path("model"));
    fs::create_directory(folder_.path("fakes"));
    write_file(folder_.path("secret"), "PASSWORD\nPASSWORD\n");
    for (const char* name : {"libcuda.so.1", "libnvrtc.so.12", "libcublasLt.so.12"})
      write_file(folder_.path("fakes/") + name, "no library");
    own_ = traced("--version");
    ASSERT_FALSE(own_.empty());
  }

  /// The files that `cleave arguments` opens, in folder `model`.
  Files traced(const std::string& arguments, const std::string& environment = "") {
    const std::string log = folder_.path("log");
    last_ = run_command("ASAN_OPTIONS=detect_leaks=0 " + environment +
                            " strace -f -qq -y -e trace=open,openat,openat2,creat -e signal=none -o '" + log + "' cleave " + arguments,
                        folder_.path("model"));
    static const std::regex kOpened(R"raw( = \d+<([^>]*)>)raw");
    Files files;
    std::istringstream lines(read_file(log));
    for (std::string line; std::getline(lines, line);) {
      std::smatch found;
      // The last descriptor of the line is the one that was opened; the first may be the current folder.
      for (std::string rest = line; std::regex_search(rest, found, kOpened); rest = found.suffix()) files.insert(found[1]);
    }
    return files;
  }
  /// The opened files, by their names in the folder, without those that the program and its libraries always open, and without queries of
  /// the number of processors.
  Files opened(const std::string& arguments, const std::string& environment = "") {
    Files files;
    for (const std::string& file : traced(arguments, environment)) {
      if (own_.contains(file) || file.starts_with("/sys/fs/cgroup/") || file.starts_with("/sys/devices/system/cpu")) continue;
      if (kSanitized && file.starts_with("/proc/")) continue;  // opened by the sanitizer
      const std::string here = fs::canonical(folder_.path("model")).string() + "/";
      files.insert(file.starts_with(here) ? file.substr(here.size()) : file);
    }
    return files;
  }

  TemporaryFolder folder_;
  Files own_;
  CommandResult last_;
};

constexpr const char* kReadingCommands[] = {"check", "explain", "dot", "print --stage traced", "print --stage partitioned"};

TEST_F(OpenedFilesTest, PlansOpenTheModelAndNoDataAndNoLibrary) {
  write_file(folder_.path("model/m.yaml"), R"(cleave: 1
inputs:
  x: {type: "f32[4]", file: x.csv}
host_functions:
  step: {library: ./libstep.so, symbol: step, takes: ["f32[4]"], returns: "f32[4]"}
program:
  - y: step(x)
outputs: [y]
)");
  write_file(folder_.path("model/x.csv"), "1,2,3,4\n");
  write_file(folder_.path("model/libstep.so"), "no library");
  for (const std::string command : kReadingCommands) {
    EXPECT_THAT(opened(command + " m.yaml"), UnorderedElementsAre("m.yaml")) << command;
    EXPECT_EQ(last_.code, 0) << last_.err;
  }
  EXPECT_THAT(opened("explain m.yaml --html page.html"), ::testing::IsSupersetOf(Files{"m.yaml"}));
  EXPECT_THAT(opened("run m.yaml"), ::testing::IsSupersetOf(Files{"m.yaml", "libstep.so"})) << "running is not confined";
  EXPECT_EQ(last_.code, 1);
}

/// Whether the machine has a GPU, for which plans load its driver.
bool has_gpu() {
  return fs::exists("/dev/nvidiactl") || fs::exists("/dev/dxg") || fs::exists("/proc/driver/nvidia") || fs::exists("/sys/module/nvidia");
}

TEST_F(OpenedFilesTest, PlansWithoutAGpuLoadNoDriver) {
  write_file(folder_.path("model/m.yaml"), "cleave: 1\ninputs: {x: \"f32[4]\"}\nprogram:\n  - y: exp(x)\noutputs: [y]\n");
  const std::string fakes = "LD_LIBRARY_PATH='" + folder_.path("fakes") + "'";
  for (const std::string command : kReadingCommands) {
    for (const std::string device : {"", " --device simulated", " --device none"}) {
      if (device.empty() && has_gpu()) continue;
      EXPECT_THAT(opened(command + " m.yaml" + device, fakes), UnorderedElementsAre("m.yaml")) << command << device;
      EXPECT_EQ(last_.code, 0) << last_.err;
    }
  }
  write_file(folder_.path("model/p.json"), R"({"regions": [{"parent": null, "frequency": 1}],
    "nodes": [{"name": "a", "region": 0, "host_seconds": 1, "accelerator_seconds": 2, "pin": null, "replicable": false}],
    "values": [], "uses": []})");
  EXPECT_THAT(opened("plan p.json", fakes), UnorderedElementsAre("p.json"));
  EXPECT_EQ(last_.code, 0) << last_.err;
  EXPECT_TRUE(traced("check m.yaml --device cuda", fakes).contains(fs::canonical(folder_.path("fakes/libcuda.so.1")).string()))
      << "who asks for it gets it";
}

/// A model with a node whose location is line 2 of `source`.
std::string named_by(const std::string& source) {
  const Message weights =
      Message().varint(1, 2).varint(2, kFloat).text(8, "w").varint(14, 1).message(13, Message().text(1, "location").text(2, "m.data"));
  return model(
      graph_of({.nodes = {node("Add", {"x", "w"}, {"a"}, {.stack_trace = "File \"" + source + "\", line 2, in forward\n    x"}),
                          node("TopK", {"a", "k"}, {"y", "i"}, {.stack_trace = "File \"" + source + "\", line 2, in forward\n    x"}),
                          node("Exp", {"y"}, {"z"})},
                .inputs = {value_info("x", kFloat, {2})},
                .outputs = {untyped("z")},
                .initializers = {weights, raw_tensor<std::int64_t>("k", kInt64, {1}, {2})}}));
}

TEST_F(OpenedFilesTest, AModelNamesSourceInItsFolderOnly) {
  write_file(folder_.path("model/net.py"), "one\nself.beside(x)\n");
  write_file(folder_.path("model/m.data"), std::string(8, '\0'));
  const std::string outside[] = {folder_.path("secret"), "../secret", "/etc/passwd", "/etc/shadow", "/proc/self/environ", "/proc/kmsg"};
  for (const std::string command : {"check -Wall -Wextra", "explain", "explain --json", "check --diagnostics sarif -Wall",
                                    "check --json -Wall", "explain --html page.html"}) {
    write_file(folder_.path("model/m.onnx"), named_by("net.py"));
    Files files = opened(command + " m.onnx --placement accelerator");
    if (command.find("--json") == std::string::npos && command.find("sarif") == std::string::npos) {  // which have no source lines
      EXPECT_TRUE(files.contains("net.py")) << command;
    }
    for (const std::string& source : outside) {
      write_file(folder_.path("model/m.onnx"), named_by(source));
      files = opened(command + " m.onnx --placement accelerator", "SECRET=PASSWORD");
      const bool page = std::erase_if(files, [](const std::string& file) { return file.find("page.html") != std::string::npos; }) > 0;
      if (page) files.erase(".");
      std::erase_if(files, [](const std::string& file) {
        return file.find("/dot") != std::string::npos || file.find("graphviz") != std::string::npos;
      });
      if (command.find("--html") == std::string::npos) {
        EXPECT_THAT(files, UnorderedElementsAre("m.onnx", "m.data")) << command << " " << source;
      }
      for (const std::string& text : {last_.out, last_.err, read_file(folder_.path("model/page.html"))}) {
        EXPECT_THAT(text, Not(HasSubstr("PASSWORD"))) << command << " " << source;
        EXPECT_THAT(text, Not(HasSubstr("root:"))) << command << " " << source;
      }
    }
  }
}

TEST_F(OpenedFilesTest, AGraphFileNamesSourceInItsFolderOrAStatedOneOnly) {
  fs::create_directory(folder_.path("source"));
  write_file(folder_.path("source/train.cpp"), "first line\nsecond line\n");
  const auto graph = [&](const std::string& source) {
    write_file(folder_.path("model/m.graph"),
               "cleave-graph 1\nname \"g\"\nfile 0 \"" + source + "\"\n" +
                   "%x.0 = input : f32[4] @0:2:1\n%y.1 = sort(%x.0) {axis=0, descending=false} : f32[4] pin accelerator @0:2:1\n" +
                   "output \"y\" %y.1\n");
  };
  graph(folder_.path("source/train.cpp"));
  EXPECT_THAT(opened("check m.graph"), UnorderedElementsAre("m.graph"));
  EXPECT_THAT(last_.err, HasSubstr("train.cpp:2:1: "));
  EXPECT_THAT(last_.err, Not(HasSubstr("second line")));
  const std::string train = fs::canonical(folder_.path("source/train.cpp")).string();
  EXPECT_THAT(opened("check m.graph --source-root ../source"), UnorderedElementsAre("m.graph", train));
  EXPECT_THAT(last_.err, HasSubstr("second line"));
  EXPECT_EQ(opened("check m.graph --source-root /nowhere").size(), 0U);
  EXPECT_EQ(last_.code, 2);
  graph("/proc/kmsg");
  EXPECT_THAT(opened("check m.graph"), UnorderedElementsAre("m.graph"));
}

}  // namespace
}  // namespace cleave::testing
