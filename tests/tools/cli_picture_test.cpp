// `cleave dot` as a user meets it: the zoo's pictures, the output of --full, and a Graphviz that does not end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <regex>

#include "tests/support/command.h"
#include "tests/support/golden.h"
#include "tests/support/namespaces.h"
#include "tests/support/places.h"

namespace cleave::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::size_t times(const std::string& text, const std::string& word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

TEST(Pictures, OfTheZoo) {
  for (const std::string name :
       {"cpu_only_loop", "kmeans", "linear_regression", "mlp_inference", "naive_transfer", "power_iteration", "simulator_loop"}) {
    const CommandResult picture = run_command("cleave dot models/" + name + ".yaml --device simulated");
    EXPECT_EQ(picture.code, 0) << picture.err;
    expect_golden("pictures/" + name + ".dot", picture.out);
    // Browsers use other fonts than Graphviz, and drop blanks at the beginning of a text: so no text may follow a styled text in a line.
    EXPECT_FALSE(std::regex_search(picture.out, std::regex("</(B|FONT)>[^<>]"))) << name;
    EXPECT_FALSE(std::regex_search(picture.out, std::regex("[^<>]<(B|FONT)[ >]"))) << name;
  }
}

/// The height of a cluster in a picture.
double height_of(const std::string& svg, const std::string& cluster) {
  const std::size_t title = svg.find("<title>" + cluster + "</title>"), begin = svg.find_first_of("0123456789", svg.find("<p", title));
  const std::size_t end = svg.find("</g>", begin);
  static const std::regex kPoint("(-?[0-9.]+),(-?[0-9.]+)");
  double low = 0, high = 0;
  const std::string shape = svg.substr(begin, svg.find("<text", begin) - begin);
  EXPECT_LT(begin, end);
  for (std::sregex_iterator point(shape.begin(), shape.end(), kPoint), none; point != none; ++point) {
    const double y = -std::stod((*point)[2]);
    low = low == 0 ? y : std::min(low, y);
    high = std::max(high, y);
  }
  return high - low;
}

/// Drawn anew with CLEAVE_UPDATE_GOLDEN=1; look at it in a browser that lacks Helvetica.
TEST(Pictures, ThatOfTheReadmeSaysWhatIsPredictedNow) {
  const std::string command = "cleave dot models/kmeans.yaml --device simulated";
  if (updating_golden()) {
    ASSERT_EQ(run_command(command + " -o docs/kmeans.svg").code, 0);
  }
  const std::string text = run_command(command).out, svg = read_file(source_dir() + "/docs/kmeans.svg");
  const std::size_t at = text.find("predicted ");
  ASSERT_NE(at, std::string::npos);
  EXPECT_THAT(svg, HasSubstr(text.substr(at, text.find_first_of(";<", at) - at)));
  EXPECT_FALSE(std::regex_search(svg, std::regex("<text[^>]*>( |\\xc2\\xa0|&#160;)"))) << "browsers leave out blanks there";
  EXPECT_GT(height_of(svg, "cluster_1"), 0.65 * height_of(svg, "cluster_0")) << "the loop on the host is most of the host's box";
}

TEST(Pictures, NumberRoundTripsAsExplainDoes) {
  const std::string model = " docs/examples/round_trip.yaml --device simulated";
  const std::string explained = run_command("cleave explain" + model).out, picture = run_command("cleave dot" + model).out;
  EXPECT_THAT(explained, HasSubstr("1 round trip (1 to be warned of)\n  1  10:17  through sort"));
  EXPECT_THAT(picture, HasSubstr("1 round trip (1 to be warned of)"));
  EXPECT_THAT(picture, HasSubstr("\\nround trip 1\""));
  EXPECT_THAT(picture, HasSubstr(">no-kernel</FONT>"));
}

class PictureTest : public ::testing::Test {
 protected:
  PictureTest() {
    std::string text = "cleave: 1\nmodel: chain\ninputs: {x: \"f32[64]\"}\nprogram:\n  - y: x\n";
    for (int i = 0; i < 40; ++i)
      text += "  - y: cumulative_sum(" + std::string(i % 3 == 0 ? "exp" : "tanh") + "(y + " + std::to_string(i % 7) + "))\n";
    write_file(folder_.path("model.yaml"), text + "outputs: [y]\n");
    std::filesystem::create_directory(folder_.path("bin"));
  }

  /// Replaces Graphviz by a script; `$source` is the input to draw.
  void graphviz(const std::string& script) {
    write_file(folder_.path("bin/dot"), "#!/bin/bash\nsource=$(cat)\necho $$ >>pids\n" + script + "\n");
    std::filesystem::permissions(folder_.path("bin/dot"), std::filesystem::perms::owner_all);
  }
  CommandResult run(const std::string& command) { return run_command("PATH=$PWD/bin:$PATH " + command, folder_.path("")); }
  /// Those processes of `pids` and `sleepers` that are still running after a moment to end.
  std::string alive() {
    return run("sleep 0.2; for pid in $(cat pids sleepers 2>/dev/null); do grep -s 'State:' /proc/$pid/status; done | grep -v 'Z "
               "(zombie)'; true")
        .out;
  }
  TemporaryFolder folder_;
};

TEST_F(PictureTest, FullShowsEveryOperation) {
  const std::string collapsed = run("cleave dot model.yaml").out, full = run("cleave dot model.yaml --full").out;
  EXPECT_EQ(times(full, "<B>tanh</B>"), 26U);
  EXPECT_LE(times(collapsed, " [label=<"), 60U);
  EXPECT_THAT(collapsed, HasSubstr("--full"));
  EXPECT_THAT(full, Not(HasSubstr("--full")));
}

TEST_F(PictureTest, ALayoutHasADeadline) {
  graphviz("if [ $(grep -c '<B>tanh</B>' <<<\"$source\") -gt 20 ]; then sleep 600 & echo $! >>sleepers; wait; fi; echo drawn");
  const CommandResult result = run("cleave dot model.yaml --full --layout-limit 0.5 -o a.svg");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.err, "note: Graphviz did not lay out the picture within 0.50 s; this one shows less\n");
  EXPECT_EQ(read_file(folder_.path("a.svg")), "drawn\n");
  EXPECT_EQ(alive(), "");
  EXPECT_EQ(times(read_file(folder_.path("pids")), "\n"), 2U);
  EXPECT_EQ(run("cleave dot model.yaml --full --layout-limit 0.5 -o a.svg --quiet").err, "");
}

TEST_F(PictureTest, AGraphvizThatNeverEndsIsAnErrorAndGone) {
  graphviz("sleep 600 & echo $! >>sleepers; wait");
  const auto files = folder_.files();
  const CommandResult result = run("cleave dot model.yaml --layout-limit 0.4 -o a.png");
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.err, HasSubstr("error: Graphviz did not lay out the picture within 0.40 s, nor one that shows less"));
  EXPECT_EQ(alive(), "");
  EXPECT_EQ(folder_.files(), files + 2) << "pids and sleepers";
  EXPECT_EQ(run("cleave dot model.yaml --layout-limit 0.4 -o a.svg").code, 0) << "a layout of cleave's own";
  EXPECT_THAT(read_file(folder_.path("a.svg")), HasSubstr("</svg>"));
  EXPECT_EQ(alive(), "");
}

TEST_F(PictureTest, NothingIsLeftOfAPictureThatIsInterrupted) {
  graphviz("sleep 600 & echo $! >>sleepers; wait");
  run("cleave dot model.yaml -o a.svg & for i in $(seq 100); do [ -s sleepers ] && break; sleep 0.1; done; kill $!; wait $!; true");
  EXPECT_NE(read_file(folder_.path("sleepers")), "");
  EXPECT_EQ(alive(), "");
}

TEST_F(PictureTest, OfLayersIsDrawnInTime) {
  if (std::system("dot -V >/dev/null 2>&1") != 0) GTEST_SKIP() << "Graphviz is not installed";
  const CommandResult result = run("cleave dot model.yaml -o a.svg");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(read_file(folder_.path("a.svg")), HasSubstr("<svg"));
}

}  // namespace
}  // namespace cleave::testing
