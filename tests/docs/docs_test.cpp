// Every example in the documents is real. A block behind `<!-- file: PATH -->` equals that file of the source tree, word for word. A
// ```console block is run, command by command, from the top of the source tree, and must print the text below each `$ ` line ([...] in a
// line stands for any text; standard error follows standard output). CLEAVE_UPDATE_GOLDEN=1 writes the true output into the documents.
// Also: lines of prose are short, and links lead somewhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "graph/base/diagnostic.h"
#include "tests/support/command.h"
#include "tests/support/namespaces.h"
#include "tests/support/places.h"

namespace cleave::testing {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// Whether `line` matches `pattern`, in which [...] stands for any text.
bool matches(const std::string& pattern, const std::string& line) {
  std::size_t at = 0, from = 0;
  for (std::size_t gap = pattern.find("[...]"); gap != std::string::npos; gap = pattern.find("[...]", from)) {
    const std::string piece = pattern.substr(from, gap - from);
    const std::size_t found = from == 0 ? (line.starts_with(piece) ? 0 : std::string::npos) : line.find(piece, at);
    if (found == std::string::npos) return false;
    at = found + piece.size();
    from = gap + 5;
  }
  const std::string tail = pattern.substr(from);
  return from == 0 ? line == pattern : line.size() >= at + tail.size() && line.ends_with(tail);
}

/// Whether two lines differ at most in the last digits of numbers of seven digits or more, as instruction sets round differently.
bool same_to_six_digits(const std::string& a, const std::string& b) {
  static const std::regex number(R"(\d+\.\d+)");
  const auto digits = [](const std::string& text) { return text.size() - 1 - text.find_first_not_of("0."); };
  std::sregex_iterator in_a(a.begin(), a.end(), number), in_b(b.begin(), b.end(), number);
  if (std::regex_replace(a, number, "#") != std::regex_replace(b, number, "#")) return false;
  for (const std::sregex_iterator end; in_a != end && in_b != end; ++in_a, ++in_b) {
    const std::string x = in_a->str(), y = in_b->str();
    const double close = 2e-6 * std::abs(std::stod(x));
    if (x != y && (std::min(digits(x), digits(y)) < 6 || std::abs(std::stod(x) - std::stod(y)) > close)) return false;
  }
  return true;
}

/// The expected lines if they match, else the true ones.
std::vector<std::string> reconcile(const std::vector<std::string>& expected, const std::vector<std::string>& actual) {
  std::vector<std::string> result = actual;
  for (std::size_t i = 0; i < result.size() && i < expected.size(); ++i)
    if (matches(expected[i], actual[i]) || same_to_six_digits(expected[i], actual[i])) result[i] = expected[i];
  return result;
}

/// The block with the true output of every command.
std::vector<std::string> run_console(const std::vector<std::string>& block) {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < block.size();) {
    std::string command = block[i].starts_with("$ ") ? block[i].substr(2) : "";
    EXPECT_FALSE(command.empty()) << "a console block starts with a command: " << block[i];
    result.push_back(block[i++]);
    while (command.ends_with("\\") && i < block.size()) {
      command += "\n" + block[i];
      result.push_back(block[i++]);
    }
    std::vector<std::string> expected;
    while (i < block.size() && !block[i].starts_with("$ ")) expected.push_back(block[i++]);
    const CommandResult ran = run_command(command);
    EXPECT_LT(ran.code, 126) << "not found, or ended by a signal: " << command << "\n" << ran.err;
    for (const std::string& line : reconcile(expected, lines_of(ran.out + ran.err))) result.push_back(line);
  }
  return result;
}

std::vector<std::string> true_document(const std::vector<std::string>& lines) {
  std::vector<std::string> result;
  std::string file;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    result.push_back(lines[i]);
    if (lines[i].starts_with("<!-- file: ")) {
      file = lines[i].substr(11, lines[i].size() - 11 - 4);
      continue;
    }
    if (!lines[i].starts_with("```") || lines[i] == "```") continue;
    std::vector<std::string> block;
    std::size_t end = i + 1;
    for (; end < lines.size() && lines[end] != "```"; ++end) block.push_back(lines[end]);
    if (!file.empty()) {
      const std::string path = source_dir() + "/" + file;
      EXPECT_TRUE(std::filesystem::exists(path)) << path;
      block = lines_of(read_file(path));
    } else if (lines[i] == "```console") {
      block = run_console(block);
    }
    file.clear();
    result.insert(result.end(), block.begin(), block.end());
    i = end - 1;
    if (end < lines.size()) {
      result.push_back("```");
      i = end;
    }
  }
  return result;
}

class Document : public ::testing::TestWithParam<std::string> {};

/// GCC and clang report different columns of a call in C++; the documents have GCC's.
std::string as_any_compiler(const std::string& line) {
#if defined(__clang__)
  static const std::regex column("(\\.cpp:[0-9]+):[0-9]+");
  return std::regex_replace(line, column, "$1");
#else
  return line;
#endif
}

TEST_P(Document, TellsTheTruth) {
  const std::string path = source_dir() + "/" + GetParam();
  const std::vector<std::string> lines = lines_of(read_file(path));
  ASSERT_FALSE(lines.empty()) << path;
  const std::vector<std::string> truth = true_document(lines);
  if (updating_golden()) {
    std::string text;
    for (const std::string& line : truth) text += line + "\n";
    if (lines != truth) write_file(path, text);
    return;
  }
  for (std::size_t i = 0; i < std::max(lines.size(), truth.size()); ++i) {
    const std::string written = i < lines.size() ? lines[i] : "<end>", is = i < truth.size() ? truth[i] : "<end>";
    ASSERT_EQ(as_any_compiler(written), as_any_compiler(is))
        << GetParam() << ":" << i + 1 << " (CLEAVE_UPDATE_GOLDEN=1 writes what is true)";
  }
}

/// The .md files of `folder` and below, by their path from the top of the tree, without build folders and hidden folders.
void collect(const std::filesystem::path& folder, std::vector<std::string>& found) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const bool ours = !name.starts_with("build") && (!name.starts_with(".") || name == ".github");
    if (entry.is_directory() && ours) collect(entry.path(), found);
    if (entry.is_regular_file() && name.ends_with(".md")) found.push_back(std::filesystem::relative(entry.path(), source_dir()).string());
  }
}

std::vector<std::string> documents() {
  std::vector<std::string> result;
  collect(source_dir(), result);
  std::sort(result.begin(), result.end());
  return result;
}

/// How many characters a line of UTF-8 has.
std::size_t columns(const std::string& line) {
  return static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

TEST_P(Document, HasShortLinesOfProse) {
  bool code = false;
  std::size_t number = 0;
  for (const std::string& line : lines_of(read_file(source_dir() + "/" + GetParam()))) {
    ++number;
    if (line.starts_with("```")) code = !code;
    const bool prose = !code && !line.starts_with("|") && !line.starts_with("    ") && !line.starts_with("![") && !line.starts_with("<!--");
    // A link or a name that cannot be broken may exceed the limit.
    const bool can_break = line.find(' ', line.find_first_not_of(' ')) != std::string::npos;
    EXPECT_TRUE(!prose || !can_break || columns(line) < 120) << GetParam() << ":" << number << " has " << columns(line) << " columns";
  }
}

/// The targets of `[text](target)` outside of code that are files of the tree.
std::vector<std::string> links_of(const std::vector<std::string>& lines) {
  static const std::regex code_in_line("`[^`]*`");
  std::vector<std::string> links;
  bool code = false;
  for (const std::string& written : lines) {
    if (written.starts_with("```")) code = !code;
    const std::string line = std::regex_replace(written, code_in_line, "`");
    for (std::size_t at = line.find("]("); !code && at != std::string::npos; at = line.find("](", at + 2)) {
      const std::string target = line.substr(at + 2, line.find(')', at) - at - 2);
      if (!target.starts_with("http") && !target.starts_with("#")) links.push_back(target.substr(0, target.find('#')));
    }
  }
  return links;
}

TEST_P(Document, LinksToWhatIsThere) {
  const std::filesystem::path path = source_dir() + "/" + GetParam();
  for (const std::string& link : links_of(lines_of(read_file(path.string()))))
    EXPECT_TRUE(std::filesystem::exists(path.parent_path() / link)) << GetParam() << " links to " << link;
}

INSTANTIATE_TEST_SUITE_P(All, Document, ::testing::ValuesIn(documents()), [](const auto& document) {
  std::string name = document.param;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
});

TEST(DocsTest, EveryKindOfDiagnosticHasItsSection) {
  std::vector<std::string> sections, kinds;
  for (const std::string& line : lines_of(read_file(source_dir() + "/docs/diagnostics.md")))
    if (line.starts_with("### ")) sections.push_back(line.substr(4));
  for (const DiagnosticKindInfo& kind : diagnostic_kinds()) kinds.emplace_back(kind.name);
  EXPECT_THAT(sections, ::testing::UnorderedElementsAreArray(kinds));
}

TEST(DocsTest, LinksAreFoundOutsideOfCode) {
  EXPECT_THAT(links_of({"[a](b.md#c), `[d](e.md)` and [`f`](g.md), [h](https://i)", "```", "[j](k.md)", "```"}),
              ::testing::ElementsAre("b.md", "g.md"));
}

TEST(DocsTest, PatternsMatch) {
  EXPECT_TRUE(matches("a [...] c", "a bb c"));
  EXPECT_TRUE(matches("[...]", "anything"));
  EXPECT_FALSE(matches("a [...] c", "a bb d"));
  EXPECT_FALSE(matches("abc", "abcd"));
  EXPECT_FALSE(matches("b[...]", "ab"));
  EXPECT_TRUE(same_to_six_digits("y: 0.6047633, 12", "y: 0.6047629, 12"));
  EXPECT_FALSE(same_to_six_digits("y: 0.6047633", "y: 0.6047733"));
  EXPECT_FALSE(same_to_six_digits("2.5 s", "2.4 s"));
  EXPECT_FALSE(same_to_six_digits("y: 0.6047633", "z: 0.6047633"));
}

}  // namespace
}  // namespace cleave::testing
