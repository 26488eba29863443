// For arbitrary bytes, the reader gives a valid graph or an error message.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "graph/base/diagnostic_text.h"
#include "graph/base/file.h"
#include "graph/base/units.h"
#include "graph/passes/verify.h"
#include "models/model.h"
#include "tests/support/namespaces.h"
#include "tests/support/places.h"
#include "tests/support/seeds.h"

namespace cleave::testing {
namespace {

namespace fs = std::filesystem;

/// All models of the project, the fuzzer's initial corpus, and a few of the malformed models.
std::vector<std::string> samples() {
  std::vector<fs::path> paths;
  for (const char* folder : {"models", "tests/fuzz/corpus/model"}) {
    for (const auto& entry : fs::directory_iterator(fs::path(source_dir()) / folder)) {
      if (entry.path().extension() == ".yaml") paths.push_back(entry.path());
    }
  }
  for (const char* name : {"functions_calls", "host_functions", "statement_carried_type", "section_parameters"}) {
    paths.push_back(fs::path(source_dir()) / "tests" / "golden" / "model_errors" / (std::string(name) + ".yaml"));
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> texts;
  for (const fs::path& path : paths) {
    std::ifstream stream(path, std::ios::binary);
    texts.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  return texts;
}

void check(const std::string& text) {
  const Graph graph = parse_model(text, "mutant.yaml");
  if (graph.ok()) {
    ASSERT_TRUE(verify(graph).empty()) << text;
  } else {
    ASSERT_FALSE(to_text(graph.diagnostics, {.color = false, .source = false}).empty()) << text;
  }
}

TEST(Robustness, EveryPrefixIsReadOrRefused) {
  for (const std::string& text : samples()) {
    for (std::size_t size = 0; size < text.size(); size += testing::kSanitized ? 150 : 3) check(text.substr(0, size));
  }
}

TEST(Robustness, EveryMutantIsReadOrRefused) {
  const char* given = std::getenv("CLEAVE_SEED");
  const unsigned seed = given ? static_cast<unsigned>(std::strtoul(given, nullptr, 10)) : std::random_device()();
  RecordProperty("seed", static_cast<int>(seed));
  SCOPED_TRACE("CLEAVE_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  const std::vector<std::string> texts = samples();
  const std::string alphabet = "[]{}():,-#&*!|>'\"%@`\\ \n\t.0159eaxw=<~\x80\xff";
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  for (int round = 0; round < draws(1500); ++round) {
    std::string text = texts[below(texts.size())];
    for (std::size_t edits = 1 + below(4); edits > 0 && !text.empty(); --edits) {
      const std::size_t at = below(text.size());
      switch (below(4)) {
        case 0: text[at] = alphabet[below(alphabet.size())]; break;
        case 1: text.insert(at, 1, alphabet[below(alphabet.size())]); break;
        case 2: text.erase(at, 1 + below(8)); break;
        default: text.insert(below(text.size()), text.substr(at, 1 + below(40))); break;
      }
    }
    check(text);
    if (HasFatalFailure()) return;
  }
}

TEST(Robustness, TextThatIsNoUtf8IsRefusedWhereItStands) {
  for (const std::string bytes : {"\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\x80", "\xc3",
                                  "\x1b", "\x7f", "\xc2\x9b"}) {
    const Graph graph = parse_model("cleave: 1\nmodel: a" + bytes + "b\nprogram: []\n", "m.yaml");
    ASSERT_EQ(graph.diagnostics.size(), 1u) << bytes;
    EXPECT_EQ(to_text(graph.diagnostics), "m.yaml:2:9: error: this byte is no text; a model is UTF-8 without control characters\n");
  }
  const Graph cut = parse_model("cleave: 1\nmodel: a\xe2\x82", "m.yaml");
  EXPECT_EQ(to_text(cut.diagnostics), "m.yaml:2:9: error: the file ends within a character\n");
  EXPECT_TRUE(parse_model("cleave: 1\nmodel: caf\xc3\xa9 \xf0\x9f\x98\x80\nprogram:\n  - print(\"x\", 1.0)\n", "m.yaml").ok());
}

TEST(Robustness, SizeAndDepthAreBounded) {
  for (const std::string unit : {"[", "{", "- ", "a: [", "? ", "!", "&a ", "*a ", "'", "\"", "{a: ", "[a, ", "x: y\n", "- - "}) {
    std::string text;
    while (text.size() < 100'000) text += unit;
    check(text);
    check("program:\n  - y: " + text);
  }
  const Graph graph = parse_model(std::string(file_limit::kModel + 1, ' '), "large.yaml");
  ASSERT_EQ(graph.diagnostics.size(), 1u);
  EXPECT_EQ(graph.diagnostics.begin()->kind, DiagnosticKind::limit);
  EXPECT_EQ(parse_model(std::string(file_limit::kModel, ' '), "large.yaml").diagnostics.begin()->kind, DiagnosticKind::syntax) << "empty";
}

TEST(Robustness, TheGuideSaysWhatIsRead) {
  std::string guide = *read_file(source_dir() + "/docs/guide/models.md");
  std::replace(guide.begin(), guide.end(), '\n', ' ');
  const auto says = [&](std::int64_t limit, const std::string& what) {
    const std::string words = format_bytes(static_cast<double>(limit)) + " for " + what;
    EXPECT_NE(guide.find(words), std::string::npos) << "not in docs/guide/models.md: " << words;
  };
  says(file_limit::kModel, "a model in YAML");
  says(file_limit::kText, "a machine file or a profile");
  says(file_limit::kGraph, "a `.graph`");
  says(file_limit::kProblem, "a placement problem");
}

}  // namespace
}  // namespace cleave::testing
