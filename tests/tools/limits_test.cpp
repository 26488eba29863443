// The command line where the system gives little: the machine failed (exit code 3), in one line, and nothing crashes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/command.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {
namespace {

using ::testing::HasSubstr;

/// As a user whom limits bind: another one, where this is root.
std::string as_user(const std::string& command) {
  const std::string user = geteuid() == 0 ? "setpriv --reuid=65534 --regid=65534 --clear-groups " : "";
  return user + "bash -c '" + command + "'";
}

TEST(Limits, NoThreadIsAnErrorOfTheMachine) {
  const std::string run = "exec cleave run models/linear_regression.yaml --device simulated --placement accelerator";
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

}  // namespace
}  // namespace cleave::testing
