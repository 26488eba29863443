// The output of `cleave run` besides its results: statistics of several runs, verification, progress on a terminal, host functions that
// crash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "tests/support/command.h"
#include "tests/support/places.h"

namespace cleave::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kLoop = R"(cleave: 1
inputs: {x: "f32[4]"}
program:
  - for: i in 3
    do:
      - x: x * 2
outputs: [x]
)";

/// A loop of a host function from tests/support/faulty_functions.c.
std::string calling(const std::string& symbol, const std::string& trips) {
  return "cleave: 1\nhost_functions:\n  f: {library: " + binary_dir() + "/tests/libcleave_faulty_functions.so, symbol: " + symbol +
         ", takes: [\"f32[]\"], returns: \"f32[]\"}\nprogram:\n  - y: 1.0\n  - for: i in " + trips +
         "\n    do:\n      - y: f(y)\noutputs: [y]\n";
}

struct OnTerminal {
  int code = -1;
  std::string text;  ///< the terminal's whole output
};

/// The command with a terminal of 100 columns as its standard streams.
OnTerminal on_terminal(const std::string& command, const std::string& folder) {
  winsize size{30, 100, 0, 0};
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) {
    const std::string line = "cd '" + folder + "' && PATH='" + binary_dir() + "/tools':$PATH NO_COLOR=1 exec " + command;
    execl("/bin/bash", "bash", "-c", line.c_str(), nullptr);
    _exit(127);
  }
  OnTerminal result;
  char block[4096];
  for (ssize_t count; (count = read(terminal, block, sizeof block)) > 0;) result.text.append(block, static_cast<std::size_t>(count));
  int status = 0;
  waitpid(child, &status, 0);
  close(terminal);
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

/// The final content of the screen: lines that were cleared are gone.
std::string remaining(std::string text) {
  for (std::size_t cleared; (cleared = text.find("\r\033[K")) != std::string::npos;) {
    const std::size_t line = cleared == 0 ? std::string::npos : text.rfind('\n', cleared);
    const std::size_t begin = line == std::string::npos ? 0 : line + 1;
    text.erase(begin, cleared + 4 - begin);
  }
  return text;
}

class CliRunTest : public ::testing::Test {
 protected:
  void model(const std::string& text) { write_file(folder_.path("model.yaml"), text); }
  CommandResult run(const std::string& arguments) { return run_command("cleave run model.yaml " + arguments, folder_.path("")); }
  TemporaryFolder folder_;
};

TEST_F(CliRunTest, TextAndSavedStatesAreDataOfOtherPrograms) {
  model(R"(cleave: 1
inputs: {text: "u8[3]"}
parameters:
  net: {w: {type: "i32[2]", value: 1}, b: {type: "u8[1]", value: 2}}
  step: {type: "i32[]", value: 0}
program:
  - net.w: net.w * 5
  - step: step + 1
  - text: text + net.b
outputs: [text]
resident: [net, step]
)");
  write_file(folder_.path("in.txt"), "abc");
  ASSERT_EQ(run("--input text=in.txt --output text=out.txt --save states --quiet --device none").code, 0);
  EXPECT_EQ(read_file(folder_.path("out.txt")), "cde");
  EXPECT_THAT(run("--input text=in.txt --output net.w=w.txt").err, HasSubstr("text is bytes (u8), and `net.w` is i32[2]"));

  model(R"(cleave: 1
inputs: {x: {type: "u8[3]", file: out.txt}}
parameters: {net: {w: {type: "f32[2]", file: states/state.safetensors}, b: "u8[1]"}}
program:
  - print("x", x)
  - print("w", net.w * net.b)
)");
  EXPECT_EQ(run("--param net=states/state.safetensors --quiet --device none").out, "x: [99, 100, 101]\nw: [10.0, 10.0]\n");
  EXPECT_EQ(run("--param net.b=3 --quiet --device none").out, "x: [99, 100, 101]\nw: [15.0, 15.0]\n");
  EXPECT_EQ(run("--param net=3").err,
            "error: `net` is a group, for which a .safetensors file may be given, or a value for each member, such as `net.b`\n");
  EXPECT_EQ(run("--param net.b=3 --input x=states/state.safetensors").err,
            "error: `x` (u8[3]): states/state.safetensors: it has no array `x`\n");
}

TEST_F(CliRunTest, SeveralRunsReportTheirSpread) {
  model(kLoop);
  const CommandResult text = run("--input x=1 --runs 5");
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, ::testing::ContainsRegex("5 runs: min [0-9.]+ [a-z]+, median [0-9.]+ [a-z]+, max [0-9.]+ [a-z]+ of wall clock"));
  EXPECT_THAT(run("--input x=1").out, Not(HasSubstr("runs:")));
  EXPECT_THAT(run("--input x=1 --runs 5 --quiet").out, Not(HasSubstr("runs:")));
  const json document = json::parse(run("--input x=1 --runs 4 --json --device simulated --placement accelerator").out);
  EXPECT_EQ(document["runs"]["count"], 4);
  for (const char* clock : {"seconds", "simulated_seconds"}) {
    const json& spread = document["runs"][clock];
    EXPECT_GT(spread["min"].get<double>(), 0) << clock;
    EXPECT_LE(spread["min"], spread["median"]);
    EXPECT_LE(spread["median"], spread["max"]);
    EXPECT_GE(document[clock].get<double>(), spread["min"].get<double>());
    EXPECT_LE(document[clock].get<double>(), spread["max"].get<double>());
  }
  EXPECT_FALSE(json::parse(run("--input x=1 --json").out).contains("runs"));
}

TEST_F(CliRunTest, VerifyingSaysWhatWasCompared) {
  model(kLoop);
  const CommandResult text = run("--input x=1 --verify --device none");
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(
      text.out,
      HasSubstr("verified: 3 executions of operations, each against its reference implementation: all agree, integers and bool exactly"));
  const json document = json::parse(run("--input x=1 --verify --json --device none").out);
  EXPECT_EQ(document["verified"], json({{"executions", 3}}));
  EXPECT_FALSE(json::parse(run("--input x=1 --json").out).contains("verified"));
}

TEST_F(CliRunTest, LongRunsShowProgressOnATerminalAndLeaveNothing) {
  model(calling("nap", "100"));
  const OnTerminal run = on_terminal("cleave run model.yaml --device none", folder_.path(""));
  EXPECT_EQ(run.code, 0) << run.text;
  EXPECT_THAT(run.text, ::testing::ContainsRegex("step [0-9]+ of 100, [0-9.]+ a second, 0 transfers a step, [0-9]+ s left"));
  const std::string left = remaining(run.text);
  EXPECT_THAT(left, HasSubstr("y: 1"));
  EXPECT_THAT(left, Not(HasSubstr("step ")));
  EXPECT_EQ(left.find('\033'), std::string::npos) << left;
  for (const char* flag : {"--quiet", "--json"}) {
    const OnTerminal silent = on_terminal(std::string("cleave run model.yaml --device none ") + flag, folder_.path(""));
    EXPECT_EQ(silent.text.find('\033'), std::string::npos) << flag;
    EXPECT_THAT(silent.text, Not(HasSubstr("step "))) << flag;
  }
  const CommandResult pipe = CliRunTest::run("--device none");
  EXPECT_EQ(without_account(pipe.err), "");
  EXPECT_THAT(pipe.out, Not(HasSubstr("step ")));
}

TEST_F(CliRunTest, ShortRunsShowNothing) {
  model(kLoop);
  const OnTerminal run = on_terminal("cleave run model.yaml --input x=1 --device none", folder_.path(""));
  EXPECT_EQ(run.code, 0);
  EXPECT_EQ(run.text.find('\033'), std::string::npos) << run.text;
}

TEST_F(CliRunTest, PrintedLinesAndProgressKeepApart) {
  std::string text = calling("nap", "90");
  text.insert(text.find("outputs:"), "      - if: i % 30 == 29\n        then:\n          - print(\"seen\", i)\n");
  model(text);
  const std::string left = remaining(on_terminal("cleave run model.yaml --device none", folder_.path("")).text);
  for (const char* line : {"\nseen: 59\r\n", "\nseen: 89\r\n"}) EXPECT_THAT("\n" + left, HasSubstr(line));
}

TEST_F(CliRunTest, AHostFunctionThatCrashesIsNamed) {
  model(calling("crash", "2"));
  const CommandResult crash = run("--device none");
  EXPECT_EQ(crash.code, 128 + 11) << crash.err;
  EXPECT_THAT(crash.err, HasSubstr("model.yaml:8:12: error: the host function `f`, which makes `y`, crashed (SIGSEGV)\n"));
  model(calling("give_up", "2"));
  const CommandResult abort = run("--device simulated");
  EXPECT_EQ(abort.code, 128 + 6) << abort.err;
  EXPECT_THAT(abort.err, HasSubstr("model.yaml:8:12: error: the host function `f`, which makes `y`, crashed (SIGABRT)\n"));
}

TEST_F(CliRunTest, AHostFunctionThatNeverComesBackIsNamed) {
  for (const char* device : {"none", "simulated"}) {
    model(calling("leave", "2"));
    const CommandResult left = run(std::string("--device ") + device);
    EXPECT_EQ(left.code, 1) << left.err;
    EXPECT_THAT(left.err, HasSubstr("model.yaml:8:12: error: the host function `f` called exit(0), which ends the whole program"));
    model(calling("end_thread", "2"));
    const CommandResult ended = run(std::string("--device ") + device);
    EXPECT_EQ(ended.code, 1) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("model.yaml:8:12: error: the host function `f` ended its thread (pthread_exit)"));
  }
}

}  // namespace
}  // namespace cleave::testing
