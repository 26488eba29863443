// The command line where the system gives little: the machine failed (exit code 3), in one line, and nothing crashes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/command.h"
#include "tests/support/namespaces.h"
#include "tests/support/places.h"

namespace cleave::testing {
namespace {

using ::testing::HasSubstr;

/// As a user whom limits bind: another one, where this is root.
std::string as_user(const std::string& command) {
  const std::string user = geteuid() == 0 ? "setpriv --reuid=65534 --regid=65534 --clear-groups " : "";
  return user + "bash -c '" + command + "'";
}

TEST(Limits, NoThreadIsAnErrorOfTheMachine) {
  // Looking for leaks takes a thread too.
  const std::string run =
      "export ASAN_OPTIONS=detect_leaks=0; exec cleave run models/linear_regression.yaml --device simulated --placement accelerator";
  if (run_command(as_user(run)).code != 0) GTEST_SKIP() << "another user cannot run the built program where it lies";
  // Other processes of that user count too: how many threads are left is not known, but for the two ends.
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
  /// The host function sleeps for so long in every call.
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

}  // namespace
}  // namespace cleave::testing
