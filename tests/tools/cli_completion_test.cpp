// Shell completions and the manual page: well formed, and they contain every command and flag that --help shows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "tests/support/command.h"
#include "tests/support/places.h"

namespace cleave::testing {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> kCommands{"run",   "compile", "explain", "check",     "apply",     "dot",
                                         "print", "plan",    "devices", "calibrate", "completion"};

CommandResult cleave_command(const std::string& arguments) {
  return run_command("cleave " + arguments);
}

/// The flags that `cleave COMMAND --help` shows.
std::set<std::string> flags_of(const std::string& command) {
  const std::string help = cleave_command(command + " --help").out;
  const std::regex first(R"(\n  (-[^ \n]+))");
  std::set<std::string> flags;
  for (std::sregex_iterator it(help.begin(), help.end(), first), end; it != end; ++it) {
    const std::string names = (*it)[1];
    for (std::size_t at = 0; at < names.size();) {
      const std::size_t comma = std::min(names.find(',', at), names.size());
      flags.insert(names.substr(at, comma - at));
      at = comma + 1;
    }
  }
  return flags;
}

/// The completions that bash offers for `line`.
std::set<std::string> offered(const TemporaryFolder& folder, const std::string& line) {
  write_file(folder.path("ask"), "source " + folder.path("bash") + "\nCOMP_WORDS=(" + line + ")\n[[ '" + line +
                                     "' == *' ' ]] && COMP_WORDS+=('')\n" +
                                     "COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_cleave\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n");
  const std::string out = run_command("bash " + folder.path("ask")).out;
  std::set<std::string> words;
  for (std::size_t at = 0; at < out.size();) {
    const std::size_t end = std::min(out.find('\n', at), out.size());
    if (end > at) words.insert(out.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

TEST(Completion, OfBashOffersCommandsFlagsAndValues) {
  const TemporaryFolder folder;
  write_file(folder.path("bash"), cleave_command("completion bash").out);
  EXPECT_EQ(run_command("bash -n " + folder.path("bash")).code, 0);
  std::set<std::string> commands(kCommands.begin(), kCommands.end());
  commands.insert({"-h", "--help", "--version"});
  EXPECT_EQ(offered(folder, "cleave "), commands);
  EXPECT_EQ(offered(folder, "cleave ex"), std::set<std::string>{"explain"});
  for (const std::string& command : kCommands) {
    std::set<std::string> flags = flags_of(command);
    ASSERT_GT(flags.size(), 1u) << command;
    const std::set<std::string> words = offered(folder, "cleave " + command + " -");
    for (const std::string& flag : flags) {
      const bool attached = flag == "-W" || flag == "-R";
      EXPECT_TRUE(words.contains(attached ? flag + "round-trip" : flag)) << command << " " << flag;
    }
  }
  EXPECT_EQ(offered(folder, "cleave run --placement "),
            (std::set<std::string>{"optimal", "fastest", "accelerator", "host", "onnxruntime"}));
  EXPECT_EQ(offered(folder, "cleave run m.yaml --color = al"), std::set<std::string>{"always"});
  EXPECT_EQ(offered(folder, "cleave print --stage pa"), std::set<std::string>{"partitioned"});
  EXPECT_EQ(offered(folder, "cleave check -Werror=fa"), std::set<std::string>{"-Werror=fallback"});
  EXPECT_EQ(offered(folder, "cleave completion z"), std::set<std::string>{"zsh"});
  EXPECT_TRUE(offered(folder, "cleave run --use-profile ").empty()) << "files are bash's own business";
  EXPECT_TRUE(offered(folder, "cleave run mod").empty());
}

TEST(Completion, OfOtherShellsNamesEverything) {
  for (const std::string shell : {"zsh", "fish"}) {
    const CommandResult result = cleave_command("completion " + shell);
    ASSERT_EQ(result.code, 0);
    if (run_command("command -v " + shell).code == 0) {
      const TemporaryFolder folder;
      write_file(folder.path("script"), result.out);
      EXPECT_EQ(run_command(shell + " -n " + folder.path("script")).code, 0);
    }
    for (const std::string& command : kCommands) {
      EXPECT_THAT(result.out, HasSubstr(command)) << shell;
      for (const std::string& flag : flags_of(command)) {
        const std::string shown = shell == "zsh"                 ? flag
                                  : flag == "-W" || flag == "-R" ? flag + "round-trip"
                                                                 : " " + flag.substr(flag.find_first_not_of('-'));
        EXPECT_THAT(result.out, HasSubstr(shown)) << shell << " " << command;
      }
    }
  }
}

TEST(Manual, NamesEverythingAndIsWellFormed) {
  const CommandResult page = cleave_command("completion man");
  ASSERT_EQ(page.code, 0);
  for (const std::string& command : kCommands) {
    EXPECT_THAT(page.out, HasSubstr(".SS " + command + "\n"));
    for (const std::string& flag : flags_of(command))
      EXPECT_THAT(page.out, HasSubstr("\\fB" + std::regex_replace(flag, std::regex("-"), "\\-") + "\\fR")) << command;
  }
  if (run_command("command -v groff").code != 0) GTEST_SKIP() << "groff is not there";
  const TemporaryFolder folder;
  write_file(folder.path("cleave.1"), page.out);
  const CommandResult shown = run_command("groff -man -ww -z -Tutf8 " + folder.path("cleave.1"));
  EXPECT_EQ(shown.code, 0);
  EXPECT_EQ(shown.err, "");
}

TEST(Manual, IsInstalledWithTheCompletions) {
  EXPECT_EQ(read_file(binary_dir() + "/tools/share/man/cleave.1"), cleave_command("completion man").out);
  EXPECT_EQ(read_file(binary_dir() + "/tools/share/cleave.bash"), cleave_command("completion bash").out);
  EXPECT_EQ(read_file(binary_dir() + "/tools/share/_cleave"), cleave_command("completion zsh").out);
  EXPECT_EQ(read_file(binary_dir() + "/tools/share/cleave.fish"), cleave_command("completion fish").out);
}

}  // namespace
}  // namespace cleave::testing
