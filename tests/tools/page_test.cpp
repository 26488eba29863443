// `cleave explain --html` as a user calls it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/command.h"

namespace cleave::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

const std::string kExplain = "cleave explain models/kmeans.yaml --machine simulated --device none --placement accelerator";

TEST(PageCommand, WritesThePageInPlaceOfTheText) {
  const TemporaryFolder folder;
  const std::string file = folder.path("plan.html");
  const CommandResult result = run_command(kExplain + " --html " + file);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, IsEmpty());
  const std::string page = folder.read("plan.html");
  EXPECT_THAT(page, StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(page, HasSubstr("models/kmeans.yaml"));
  EXPECT_EQ(run_command(kExplain + " --html " + file).code, 0);
  EXPECT_EQ(folder.read("plan.html"), page);
}

TEST(PageCommand, GivesTheJsonTooWhereItIsAskedFor) {
  const TemporaryFolder folder;
  const CommandResult result = run_command(kExplain + " --json --html " + folder.path("plan.html"));
  EXPECT_EQ(result.out, run_command(kExplain + " --json").out);
  EXPECT_EQ(folder.files(), 1u);
}

TEST(PageCommand, LeavesNothingOfAModelThatCannotBeRead) {
  const TemporaryFolder folder;
  folder.write("model.yaml", "cleave: 1\nprogram:\n  - y: sin(x)\noutputs: [y]\n");
  EXPECT_EQ(run_command("cleave explain model.yaml --html plan.html", folder.path("")).code, 1);
  EXPECT_EQ(folder.files(), 1u);
}

TEST(PageCommand, SaysWhereAPageCannotBeWritten) {
  const CommandResult nowhere = run_command(kExplain + " --html no/such/folder/plan.html");
  EXPECT_EQ(nowhere.code, 1);
  EXPECT_THAT(nowhere.err, HasSubstr("`no/such/folder/plan.html`"));
  EXPECT_THAT(nowhere.err, Not(HasSubstr("warning")));
}

}  // namespace
}  // namespace cleave::testing
