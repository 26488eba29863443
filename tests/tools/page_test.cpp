// `cleave explain --html` as a user calls it, and the page in use in headless Chromium (tests/tools/page_in_browser.py).
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

TEST(PageCommand, HasAPictureWithoutGraphviz) {
  const TemporaryFolder folder;
  const std::string call = "tool=$(command -v cleave); PATH=" + folder.path("") + " $tool";
  const CommandResult result = run_command(call + kExplain.substr(6) + " --html " + folder.path("plan.html"));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(folder.read("plan.html"), HasSubstr("cannot run Graphviz (<code>dot</code>, package graphviz): laid out without it"));
  EXPECT_THAT(folder.read("plan.html"), HasSubstr("<div class=\"picture\" tabindex=\"0\"><svg"));
  EXPECT_EQ(run_command(kExplain + " --html " + folder.path("plan.html")).code, 0);
  EXPECT_THAT(folder.read("plan.html"), HasSubstr("<div class=\"picture\" tabindex=\"0\"><svg"));
}

TEST(PageCommand, ShowsWhatAProfileObserved) {
  const TemporaryFolder folder;
  const std::string profile = folder.path("seen.json");
  ASSERT_EQ(run_command("cleave run models/kmeans.yaml --device simulated --quiet --profile " + profile).code, 0);
  const std::string flags = " --use-profile " + profile + " --html " + folder.path("plan.html");
  ASSERT_EQ(run_command("cleave explain models/kmeans.yaml --device simulated" + flags).code, 0);
  EXPECT_THAT(folder.read("plan.html"), HasSubstr("by what the profile observed"));
  EXPECT_THAT(folder.read("plan.html"), HasSubstr(">measured</th>"));
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

/// The path of Chromium (Debian's package `chromium`); empty if it is not installed.
std::string chromium() {
  const std::string found = run_command("command -v chromium || command -v chromium-browser || command -v google-chrome").out;
  return found.substr(0, found.find('\n'));
}

class PageInBrowser : public ::testing::TestWithParam<const char*> {};

TEST_P(PageInBrowser, LinksLeadSomewhereColumnsSortAndNothingIsAskedFor) {
  const std::string browser = chromium();
  if (browser.empty()) GTEST_SKIP() << "there is no Chromium; `tools/install-packages check` installs it";
  const TemporaryFolder folder;
  const std::string page = folder.path("page <&#'.html");
  const std::string flags = " --machine simulated --device none --placement accelerator --quiet --html \"" + page + "\"";
  ASSERT_EQ(run_command("cleave explain " + std::string(GetParam()) + flags).code, 0);
  const CommandResult result = run_command("python3 tests/tools/page_in_browser.py " + browser + " \"" + page + "\"");
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_THAT(result.err, ::testing::ContainsRegex("[1-9][0-9]* links, .* [1-9][0-9]* columns"));
}

INSTANTIATE_TEST_SUITE_P(Zoo, PageInBrowser,
                         ::testing::Values("models/kmeans.yaml", "models/simulator_loop.yaml", "models/mlp_inference.yaml",
                                           "docs/examples/round_trip.yaml"));

}  // namespace
}  // namespace cleave::testing
