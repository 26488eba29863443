// Every kind of mistake in a model and its diagnostics: tests/golden/model_errors/*.yaml beside the rendered text in *.txt.
// CLEAVE_UPDATE_GOLDEN=1 rewrites the texts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "graph/base/diagnostic_text.h"
#include "models/model.h"
#include "tests/support/namespaces.h"
#include "tests/support/places.h"
#include "tests/support/sanitized.h"

namespace cleave::testing {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = fs::path(source_dir()) / "tests" / "golden" / "model_errors";

std::string read_bytes(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::vector<fs::path> models() {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(kFolder)) {
    if (testing::kSanitized && entry.path().stem() == "functions_explode") continue;  // it is refused after a million nodes
    if (entry.path().extension() == ".yaml") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// The diagnostics with paths as seen from the folder.
std::string rendered(const fs::path& path) {
  std::string text = to_text(read_model(path.string()).diagnostics);
  const std::string prefix = kFolder.string() + "/";
  for (std::size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix, at)) text.erase(at, prefix.size());
  return text;
}

TEST(ModelErrors, AreSaidAsWrittenDown) {
  const bool update = std::getenv("CLEAVE_UPDATE_GOLDEN") != nullptr;
  ASSERT_GE(models().size(), 60u);
  for (const fs::path& path : models()) {
    SCOPED_TRACE(path.filename().string());
    const std::string text = rendered(path);
    EXPECT_FALSE(text.empty()) << "a malformed model was accepted";
    fs::path golden = path;
    golden.replace_extension(".txt");
    if (update) std::ofstream(golden, std::ios::binary) << text;
    EXPECT_EQ(text, read_bytes(golden)) << "CLEAVE_UPDATE_GOLDEN=1 writes it anew";
  }
}

TEST(ModelErrors, HavePlacesAndLengthsInTheFile) {
  for (const fs::path& path : models()) {
    SCOPED_TRACE(path.filename().string());
    std::istringstream stream(read_bytes(path));
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    for (const Diagnostic& diagnostic : read_model(path.string()).diagnostics) {
      EXPECT_EQ(diagnostic.severity, Severity::error);
      ASSERT_TRUE(diagnostic.location.known() && diagnostic.location.column > 0) << diagnostic.message;
      if (lines.empty() || *diagnostic.location.file != path.string()) continue;  // it is in an included file
      ASSERT_LE(diagnostic.location.line, static_cast<int>(lines.size())) << diagnostic.message;
      const auto width = static_cast<int>(lines[static_cast<std::size_t>(diagnostic.location.line - 1)].size());
      EXPECT_LE(diagnostic.location.column - 1 + diagnostic.length, std::max(width, 1)) << diagnostic.message;
    }
  }
}

/// Each key of the zoo's models without its `:`, each section misspelled: one mistake is one error, at its line.
TEST(ModelErrors, OneMistakeIsOneError) {
  const std::regex key("^( *(?:- )*)([A-Za-z_0-9]+):(?: |$)");
  std::size_t tried = 0;
  const auto expect_one = [&](std::vector<std::string> lines, std::size_t at, const std::string& line) {
    lines[at] = line;
    std::string text;
    for (const std::string& each : lines) text += each + "\n";
    const Graph graph = parse_model(text, source_dir() + "/models/model.yaml");
    ++tried;
    EXPECT_EQ(graph.diagnostics.size(), 1u) << line << "\n" << to_text(graph.diagnostics);
    if (!graph.diagnostics.empty()) {
      EXPECT_EQ(graph.diagnostics.begin()->location.line, static_cast<int>(at) + 1) << line;
    }
  };
  for (const auto& entry : fs::directory_iterator(fs::path(source_dir()) / "models")) {
    if (entry.path().extension() != ".yaml" || (testing::kSanitized && tried >= 60)) continue;
    SCOPED_TRACE(entry.path().filename().string());
    std::istringstream stream(read_bytes(entry.path()));
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      std::smatch found;
      if (!std::regex_search(lines[i], found, key)) continue;
      const auto end = static_cast<std::size_t>(found.length(1) + found.length(2));
      std::string line = lines[i];
      if (line.compare(end, 3, ": (") != 0) expect_one(lines, i, line.erase(end, 1));  // `y (x)` is a call
      line = lines[i];
      std::swap(line[end - 1], line[end - 2]);
      if (found.length(1) == 0 && found.length(2) > 3 && line != lines[i]) expect_one(lines, i, line);
    }
  }
  EXPECT_GE(tried, testing::kSanitized ? 60u : 150u);
}

TEST(ModelErrors, AMissingFileIsAnErrorWithItsName) {
  const Graph graph = read_model("/nowhere/model.yaml");
  ASSERT_EQ(graph.diagnostics.size(), 1u);
  EXPECT_EQ(graph.diagnostics.begin()->kind, DiagnosticKind::file);
  EXPECT_EQ(graph.diagnostics.begin()->message, "cannot read `/nowhere/model.yaml`: No such file or directory");
  EXPECT_FALSE(read_model(kFolder.string()).ok());
}

TEST(ModelErrors, AnUnknownDimOfTheCallerIsOne) {
  const std::string text = "dims: {batch: 4}\nprogram:\n  - y: batch\n";
  EXPECT_TRUE(parse_model(text, "m.yaml", {{{"batch", 8}}}).ok());
  const Graph graph = parse_model(text, "m.yaml", {{{"bacth", 8}}});
  ASSERT_EQ(graph.diagnostics.size(), 1u);
  EXPECT_EQ(graph.diagnostics.begin()->message, "the model has no dim `bacth`; did you mean `batch`?");
  EXPECT_FALSE(parse_model(text, "m.yaml", {{{"batch", -8}}}).ok());
}

}  // namespace
}  // namespace cleave::testing
