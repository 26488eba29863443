// The command line under tight system limits: it reports a machine failure (exit code 3) in one line and does not crash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <sstream>

#include "tests/support/command.h"
#include "tests/support/namespaces.h"
#include "tests/support/places.h"
#include "tests/support/sanitized.h"

namespace cleave::testing {
namespace {

using ::testing::HasSubstr;

/// Runs the command as a user who is subject to limits: as another user if this one is root.
std::string as_user(const std::string& command) {
  const std::string user = geteuid() == 0 ? "setpriv --reuid=65534 --regid=65534 --clear-groups " : "";
  return user + "bash -c '" + command + "'";
}

TEST(Limits, NoThreadIsAnErrorOfTheMachine) {
  // The leak checker needs a thread, too.
  const std::string run =
      "export ASAN_OPTIONS=detect_leaks=0; exec cleave run models/linear_regression.yaml --device simulated --placement accelerator -w";
  if (run_command(as_user(run)).code != 0) GTEST_SKIP() << "another user cannot run the built program where it lies";
  // Other processes of that user count as well, so the number of available threads is unknown except at both ends.
  for (const int processes : {1, 2, 3, 4, 5, 6, 7, 8, 4000}) {
    const CommandResult result = run_command(as_user("ulimit -u " + std::to_string(processes) + "; " + run));
    EXPECT_TRUE(result.code == 0 || result.code == 3) << processes << ": " << result.code << result.err;
    if (processes == 1) {
      EXPECT_EQ(result.code, 3);
    }
    if (result.code != 3) continue;
    EXPECT_THAT(result.err, HasSubstr("error: the system gives no further thread"));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_EQ(result.out, "");
  }
}

// --- time --------------------------------------------------------------------------------------------------------------------------------

/// A model of which a run takes as long as its host function sleeps; on the accelerator around it.
constexpr const char* kSleeper = R"(cleave: 1
model: sleeper
parameters:
  x: {type: "f32[]", value: 1}
host_functions:
  nap: {library: ./libnap.so, takes: ["f32[]"], returns: "f32[]"}
program:
  - for: i in 1000000
    do:
      - x: nap(x)
outputs: [x]
)";

class TimeLimit : public ::testing::Test {
 protected:
  /// Builds the host function, which sleeps for the given seconds in every call.
  void build(const std::string& seconds) {
    write_file(folder_.path("model.yaml"), kSleeper);
    write_file(folder_.path("nap.c"),
               "#include <unistd.h>\n#include <cleave/host_function.h>\n"
               "int nap(int v, const cleave_array* i, int n, cleave_array* o, int m, char* e, size_t s) {\n"
               "  (void)v, (void)n, (void)m, (void)e, (void)s;\n"
               "  usleep(" +
                   seconds +
                   " * 1000000);\n"
                   "  *(float*)o[0].data = *(float*)i[0].data;\n  return 0;\n}\n");
    const CommandResult built =
        run_command("cc -shared -fPIC -I '" + source_dir() + "/executor/host/include' nap.c -o libnap.so", folder_.path(""));
    ASSERT_EQ(built.code, 0) << built.err;
  }
  CommandResult run(const std::string& flags) { return run_command("timeout -s KILL 60 cleave run model.yaml " + flags, folder_.path("")); }
  TemporaryFolder folder_;
};

TEST_F(TimeLimit, EndsARunThatTakesLonger) {
  build("0.001");
  for (const char* device : {"none", "simulated"}) {
    const CommandResult result = run(std::string("--time-limit 0.3 --device ") + device);
    EXPECT_EQ(result.code, 3) << result.err;
    EXPECT_THAT(result.err, HasSubstr("error: "));
    EXPECT_THAT(result.err, HasSubstr("the time limit of 0.30 s (`--time-limit`) is over"));
    EXPECT_EQ(result.out, "");
  }
}

TEST_F(TimeLimit, EndsTheProcessWhereAHostFunctionDoesNotComeBack) {
  build("1000");
  for (const char* flags : {"--time-limit 0.3", "--time-limit 0.3 --json"}) {
    const CommandResult result = run(flags);
    EXPECT_EQ(result.code, 3) << result.err;
    EXPECT_THAT(result.err + result.out, HasSubstr("model.yaml"));
    EXPECT_THAT(result.err + result.out,
                HasSubstr("the time limit of 0.30 s (`--time-limit`) is over, and the host function `nap` does not come back"));
  }
  EXPECT_THAT(run("--time-limit 0.3").err, HasSubstr("model.yaml:10:"));
}

TEST_F(TimeLimit, CountsForAllRunsTogetherAndNotWhatIsFasterThanIt) {
  const std::string run = "timeout -s KILL 60 cleave run models/linear_regression.yaml --quiet --device simulated ";
  EXPECT_EQ(run_command(run + "--time-limit 50").code, 0);
  EXPECT_EQ(run_command(run + "--time-limit 0.5 --runs 1000000").code, 3);
  for (const char* wrong : {"0", "-1", "soon"}) EXPECT_EQ(run_command(run + "--time-limit " + wrong).code, 2) << wrong;
}
// --- memory ---------------------------------------------------------------------------------------------------------------------------

struct Ended {
  int code = -1;    ///< exit status; 128 + signal if one ended it
  std::string out;  ///< standard output and error, as they came
};

/// Runs `cleave arguments` in `folder` with `bytes` of address space, without a shell, which needs memory itself.
Ended run_within(std::size_t bytes, const std::vector<std::string>& arguments, const std::string& folder) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    std::vector<char*> argv;
    std::string program = binary_dir() + "/tools/cleave";
    argv.push_back(program.data());
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    ::dup2(ends[1], 1);
    ::dup2(ends[1], 2);
    const rlimit limit{bytes, bytes}, no_core{0, 0};
    if (::chdir(folder.c_str()) != 0 || ::setrlimit(RLIMIT_CORE, &no_core) != 0 || ::setrlimit(RLIMIT_AS, &limit) != 0) ::_exit(126);
    ::execv(program.c_str(), argv.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  Ended ended;
  std::array<char, 4096> block;
  for (ssize_t n = 0; (n = ::read(ends[0], block.data(), block.size())) > 0;) ended.out.append(block.data(), static_cast<std::size_t>(n));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ended;
}

constexpr std::size_t kMiB = 1 << 20;

/// The address space, in bytes, that is needed to load and start the program.
std::size_t needed_to_start(const std::string& folder) {
  std::size_t bytes = 2 * kMiB;
  while (bytes < 4096 * kMiB && run_within(bytes, {"--version"}, folder).code != 0) bytes += kMiB / 2;
  return bytes + kMiB;
}

int count(const std::string& text, const std::string& word) {
  int found = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

struct Case {
  const char* line;
  int code = 0;            ///< with enough memory
  bool needs_more = true;  ///< more than the program needs to start
};
class MemoryLimits : public ::testing::TestWithParam<Case> {};

TEST_P(MemoryLimits, EndWellOrWithOneErrorOfTheMachine) {
  if (kSanitized) GTEST_SKIP() << "sanitizers reserve more address space than there is";
  const TemporaryFolder folder;
  write_file(folder.path("small.yaml"),
             "cleave: 1\nmodel: small\ninputs: {x: \"f32[64]\"}\nparameters: {w: {type: \"f32[64]\", uniform: [-1, 1], seed: 1}}\n"
             "program:\n  - for: i in 20\n    do:\n      - w: tanh(w * x) + 0.5\n      - if: i % 5 == 0\n        then:\n"
             "          - print(\"w\", sum(w))\noutputs: [w]\n");
  write_file(folder.path("concat.yaml"),
             "cleave: 1\nmodel: c\ndims: {n: 2000}\ninputs: {x: \"f32[]\"}\nprogram:\n"
             "  - y: \"concat([zeros([n, n]) + x, zeros([n, n])])\"\n  - s: sum(y)\noutputs: [s]\n");
  write_file(folder.path("unique.yaml"),
             "cleave: 1\nmodel: u\ndims: {n: 1000}\nparameters: {w: {type: \"f32[n, n]\", normal: [0, 1], seed: 1}}\nprogram:\n"
             "  - \"u, c\": unique(w)\n  - k: cumulative_sum(sort(w, axis=1), axis=0)\n  - s: sum(c) + sum(argsort(w))\noutputs: [s]\n");
  std::string items = "{\"region\": 0, \"host_seconds\": 1, \"accelerator_seconds\": 2}", nodes = items;
  for (int i = 1; i < 20000; ++i) nodes += ", " + items;
  write_file(folder.path("problem.json"),
             "{\"regions\": [{\"parent\": null, \"frequency\": 1}], \"values\": [], \"uses\": [], \"nodes\": [" + nodes + "]}");
  std::string statements;
  for (int i = 0; i < 3000; ++i) statements += "  - x: x + 1.5\n";
  write_file(folder.path("long.yaml"), "cleave: 1\nmodel: l\ninputs: {x: \"f32[4]\"}\nprogram:\n" + statements + "outputs: [x]\n");
  ASSERT_EQ(run_command("cleave print long.yaml --stage traced > long.graph", folder.path("")).code, 0);

  const auto& [line, done, needs_more] = GetParam();
  std::vector<std::string> arguments;
  std::istringstream words{std::string(line)};
  for (std::string word; words >> word;) arguments.push_back(word);
  const bool as_json = std::find(arguments.begin(), arguments.end(), "--json") != arguments.end();
  int enough = 0, short_of_memory = 0;
  for (double bytes = static_cast<double>(needed_to_start(folder.path(""))); enough < 2; bytes *= 1.09) {
    ASSERT_LT(bytes, 8e9) << "it never has enough";
    const Ended ended = run_within(static_cast<std::size_t>(bytes), arguments, folder.path(""));
    const std::string where = std::string(line) + " within " + std::to_string(static_cast<long>(bytes) / 1024) + " KiB:\n" + ended.out;
    if (ended.code == done) {
      ++enough;
      continue;
    }
    enough = 0;
    ++short_of_memory;
    ASSERT_EQ(ended.code, 3) << where;
    ASSERT_EQ(ended.out.find("bug"), std::string::npos) << where;
    ASSERT_EQ(count(ended.out, as_json ? "\"severity\"" : "error: "), 1) << where;
  }
  EXPECT_TRUE(short_of_memory > 0 || !needs_more) << line << " was never short of memory";
}

INSTANTIATE_TEST_SUITE_P(Commands, MemoryLimits,
                         ::testing::Values(Case{"run small.yaml --input x=1", 0, false},
                                           Case{"run small.yaml --input x=1 --device none --json", 0, false},
                                           Case{"run small.yaml --input x=1 --verify --profile --placement accelerator --trace t.json"},
                                           Case{"run concat.yaml --input x=1 --device none"}, Case{"run concat.yaml --input x=1"},
                                           Case{"run unique.yaml"}, Case{"run long.graph --input x=1"}, Case{"explain long.yaml --json"},
                                           Case{"explain long.yaml"}, Case{"check long.graph"}, Case{"dot long.yaml -o long.dot"},
                                           Case{"print long.graph --stage partitioned"}, Case{"plan problem.json"},
                                           Case{"devices", 0, false}, Case{"completion bash", 0, false},
                                           Case{"calibrate --device none -o none/machine.yaml", 1, false}),
                         [](const auto& test) {
                           std::string name;
                           for (const char c : std::string(test.param.line))
                             if (std::isalnum(static_cast<unsigned char>(c)) != 0) name += c;
                           return name;
                         });

}  // namespace
}  // namespace cleave::testing
