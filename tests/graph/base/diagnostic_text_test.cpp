// Diagnostics: the printed text, character for character; SARIF; the -W flags; suggestions.
#include "graph/base/diagnostic_text.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "graph/base/spelling.h"
#include "tests/support/places.h"
#include "tests/support/temporary_folder.h"

namespace cleave {
namespace {

using test::TemporaryFolder;

SourceLocation at(const std::string& file, int line, int column, std::shared_ptr<const SourceFrame> via = nullptr) {
  return {std::make_shared<const std::string>(file), line, column, std::move(via)};
}

/// The printed text of `diagnostic`, without the file's folder.
std::string text(const TemporaryFolder& folder, const Diagnostic& diagnostic, const TextStyle& style = {}) {
  std::string result = to_text(diagnostic, style);
  const std::string prefix = folder.path("");
  for (std::size_t found; (found = result.find(prefix)) != std::string::npos;) result.erase(found, prefix.size());
  return result;
}

TEST(DiagnosticText, ShowsLineCaretAndNotes) {
  const TemporaryFolder folder;
  const std::string file = folder.write(
      "train.cpp", std::string(38, '\n') + "      weights = start();\n\n\n" + "    auto flag = host_call(\"cpu_only\", weights);\n");
  const Diagnostic diagnostic{DiagnosticKind::round_trip,
                              Severity::warning,
                              "`cpu_only` makes the accelerator wait for the host in every iteration",
                              at(file, 42, 17),
                              0,
                              {{"`weights` (f32[1024, 1024], 4.0 MiB) leaves the accelerator here", at(file, 39, 7), 0},
                               {"1000 times a run: 4.0 GiB out, 1000 B back", {}, 0}}};
  EXPECT_EQ(text(folder, diagnostic),
            "train.cpp:42:17: warning: `cpu_only` makes the accelerator wait for the host in every iteration [-Wround-trip]\n"
            "   42 |     auto flag = host_call(\"cpu_only\", weights);\n"
            "      |                 ^~~~~~~~~\n"
            "train.cpp:39:7: note: `weights` (f32[1024, 1024], 4.0 MiB) leaves the accelerator here\n"
            "   39 |       weights = start();\n"
            "      |       ^~~~~~~\n"
            "note: 1000 times a run: 4.0 GiB out, 1000 B back\n");
}

TEST(DiagnosticText, FollowsTheChainOfScopes) {
  const auto outer = std::make_shared<const SourceFrame>(SourceFrame{"network", at("main.cpp", 90, 3)});
  const auto inner = std::make_shared<const SourceFrame>(SourceFrame{"layer3", at("net.cpp", 20, 5, outer)});
  const SourceLocation location = at("relu.cpp", 7, 9, inner);
  const Diagnostic diagnostic{
      DiagnosticKind::shape, Severity::error, "shapes do not fit", location, 0, {{"declared here", at("relu.cpp", 2, 1, inner), 0}}};
  const std::string chain =
      "net.cpp:20:5: note: in `layer3`, from here\n"
      "main.cpp:90:3: note: in `network`, from here\n";
  EXPECT_EQ(to_text(diagnostic), "relu.cpp:7:9: error: shapes do not fit\n" + chain + "relu.cpp:2:1: note: declared here\n");
  Diagnostic elsewhere = diagnostic;
  elsewhere.location = at("relu.cpp", 7, 9);
  EXPECT_EQ(to_text(elsewhere), "relu.cpp:7:9: error: shapes do not fit\nrelu.cpp:2:1: note: declared here\n" + chain);
  EXPECT_EQ(to_text(Error{"data lost", location}), "relu.cpp:7:9: error: data lost\n" + chain);
}

TEST(DiagnosticText, ALongChainIsCut) {
  std::shared_ptr<const SourceFrame> chain;
  for (int i = 0; i < 1000; ++i) chain = std::make_shared<const SourceFrame>(SourceFrame{"f", at("a.cpp", 1, 1, chain)});
  const std::string result = to_text(Diagnostic{DiagnosticKind::shape, Severity::error, "no", at("a.cpp", 1, 1, chain), 0, {}});
  EXPECT_EQ(std::count(result.begin(), result.end(), '\n'), 18);
  EXPECT_TRUE(result.ends_with("note: further scopes are not shown\n"));
}

TEST(DiagnosticText, UnderlinesWhatIsMeant) {
  const TemporaryFolder folder;
  const std::string file = folder.write("m.yaml", "\tx: a +\xc3\xa4 b\r\nlast");
  const auto snippet = [&](int line, int column, int length) {
    const std::string all = text(folder, {DiagnosticKind::syntax, Severity::error, "m", at(file, line, column), length, {}});
    return all.substr(all.find('\n') + 1);
  };
  EXPECT_EQ(snippet(1, 5, 3), "    1 |  x: a +\xc3\xa4 b\n      |     ^~~\n");
  EXPECT_EQ(snippet(1, 7, 0), "    1 |  x: a +\xc3\xa4 b\n      |       ^\n");      // no word there: one character
  EXPECT_EQ(snippet(1, 11, 1), "    1 |  x: a +\xc3\xa4 b\n      |          ^\n");  // behind a character of two bytes
  EXPECT_EQ(snippet(1, 11, 99), "    1 |  x: a +\xc3\xa4 b\n      |          ^\n");
  EXPECT_EQ(snippet(2, 1, 0), "    2 | last\n      | ^~~~\n");
  EXPECT_EQ(snippet(2, 99, 0), "    2 | last\n      |     ^\n");  // behind the end
  EXPECT_EQ(snippet(2, 0, 0), "    2 | last\n");
  EXPECT_EQ(snippet(3, 1, 0), "");
}

TEST(DiagnosticText, TerminalsAreSafe) {
  const TemporaryFolder folder;
  const std::string file = folder.write("m.yaml", "a\033[2J\xff b\n");
  EXPECT_EQ(text(folder, {DiagnosticKind::syntax, Severity::error, "m", at(file, 1, 8), 1, {}}),
            "m.yaml:1:8: error: m\n    1 | a [2J\xef\xbf\xbd b\n      |        ^\n");
}

TEST(DiagnosticText, LongLinesAreCutRoundTheMark) {
  const TemporaryFolder folder;
  const std::string file = folder.write("m.yaml", std::string(500, 'a') + " here " + std::string(100000, 'b'));
  const std::string result = text(folder, {DiagnosticKind::syntax, Severity::error, "m", at(file, 1, 502), 0, {}});
  EXPECT_EQ(result, "m.yaml:1:502: error: m\n    1 | " + std::string(79, 'a') + " here " + std::string(155, 'b') + "\n      | " +
                        std::string(80, ' ') + "^~~~\n");
  const std::string wide = folder.write("w.yaml", std::string(100000, 'x'));
  const std::string marked = text(folder, {DiagnosticKind::syntax, Severity::error, "m", at(wide, 1, 1), 0, {}});
  EXPECT_LT(marked.size(), 600u);
}

TEST(DiagnosticText, FlagsFollowTheSeverity) {
  const auto line = [](DiagnosticKind kind, Severity severity) { return to_text(Diagnostic{kind, severity, "m", {}, 0, {}}); };
  EXPECT_EQ(line(DiagnosticKind::round_trip, Severity::warning), "warning: m [-Wround-trip]\n");
  EXPECT_EQ(line(DiagnosticKind::round_trip, Severity::error), "error: m [-Werror=round-trip]\n");
  EXPECT_EQ(line(DiagnosticKind::round_trip, Severity::remark), "remark: m [-Rround-trip]\n");
  EXPECT_EQ(line(DiagnosticKind::round_trip, Severity::allowed), "allowed: m [-Wround-trip]\n");
  EXPECT_EQ(line(DiagnosticKind::limit, Severity::error), "error: m\n");
}

TEST(DiagnosticText, Colour) {
  const TemporaryFolder folder;
  const std::string file = folder.write("a.yaml", "x\n");
  EXPECT_EQ(text(folder, {DiagnosticKind::syntax, Severity::error, "m", at(file, 1, 1), 0, {{"n", {}, 0}}}, {.color = true}),
            "\033[1ma.yaml:1:1:\033[0m \033[1;31merror:\033[0m m\n    1 | x\n      | \033[1;32m^\033[0m\n\033[1;36mnote:\033[0m n\n");
  EXPECT_EQ(text(folder, {DiagnosticKind::syntax, Severity::error, "m", at(file, 1, 1), 0, {}}, {.source = false}),
            "a.yaml:1:1: error: m\n");
}

TEST(DiagnosticText, ListsAreInOrderAndSortIsStable) {
  Diagnostics list;
  list.error(DiagnosticKind::type, at("b.yaml", 1, 1), "third");
  list.error(DiagnosticKind::type, at("a.yaml", 2, 2), "first");
  list.error(DiagnosticKind::type, at("a.yaml", 2, 2), "second");
  list.sort();
  EXPECT_EQ(to_text(list), "a.yaml:2:2: error: first\na.yaml:2:2: error: second\nb.yaml:1:1: error: third\n");
  EXPECT_TRUE(list.has_errors());
}

// --- SARIF ----------------------------------------------------------------------------------------------------------------------------

TEST(Sarif, HoldsRulesResultsAndLocations) {
  const TemporaryFolder folder;
  const std::string file = folder.write("a b.yaml", "x: \xc3\xa4 + matmull(b)\n");
  Diagnostics list;
  const auto frame = std::make_shared<const SourceFrame>(SourceFrame{"layer", at("outer.yaml", 3, 4)});
  list.add({DiagnosticKind::unknown,
            Severity::error,
            "unknown op \xff",
            at(file, 1, 9, frame),
            7,
            {{"here", at("c.yaml", 2, 0), 0}, {"advice", {}, 0}}});
  list.add({DiagnosticKind::round_trip, Severity::allowed, "slow", {}, 0, {}});
  list.add({DiagnosticKind::round_trip, Severity::warning, "slow", at("r.yaml", 1, 2), 0, {}});
  const nlohmann::json document = nlohmann::json::parse(to_sarif(list));
  EXPECT_EQ(document["version"], "2.1.0");
  const nlohmann::json& run = document["runs"][0];
  const nlohmann::json& rules = run["tool"]["driver"]["rules"];
  EXPECT_EQ(rules.size(), diagnostic_kinds().size());
  const nlohmann::json& first = run["results"][0];
  EXPECT_EQ(first["ruleId"], "unknown");
  EXPECT_EQ(rules[first["ruleIndex"].get<std::size_t>()]["id"], "unknown");
  EXPECT_EQ(first["level"], "error");
  EXPECT_EQ(first["message"]["text"], "unknown op \\xff\nadvice");
  const nlohmann::json& place = first["locations"][0]["physicalLocation"];
  EXPECT_EQ(place["artifactLocation"]["uri"], "file://" + folder.path("a%20b.yaml"));
  EXPECT_EQ(place["region"], (nlohmann::json{{"startLine", 1}, {"startColumn", 8}, {"endColumn", 15}}));  // in characters
  ASSERT_EQ(first["relatedLocations"].size(), 2u) << "the advice has no place";
  EXPECT_EQ(first["relatedLocations"][0]["message"]["text"], "in `layer`, from here");
  EXPECT_EQ(first["relatedLocations"][1]["physicalLocation"]["region"], (nlohmann::json{{"startLine", 2}}));
  EXPECT_EQ(run["results"][1]["level"], "note");
  EXPECT_EQ(run["results"][1]["suppressions"][0]["kind"], "inSource");
  EXPECT_FALSE(run["results"][1].contains("locations"));
  EXPECT_EQ(run["results"][2]["level"], "warning");
  EXPECT_EQ(nlohmann::json::parse(to_sarif({}))["runs"][0]["results"], nlohmann::json::array());
}

// --- kinds and flags -------------------------------------------------------------------------------------------------

TEST(Kinds, TableIsInOrderAndNamesAreUnique) {
  for (const DiagnosticKindInfo& entry : diagnostic_kinds()) {
    EXPECT_EQ(&info(entry.kind), &entry);
    EXPECT_EQ(parse_diagnostic_kind(entry.name), entry.kind);
    EXPECT_TRUE(!entry.always_error || entry.severity == Severity::error);
  }
  EXPECT_EQ(parse_diagnostic_kind("endless-loop"), DiagnosticKind::endless_loop);
  EXPECT_EQ(parse_diagnostic_kind("round_trip"), std::nullopt);
}

TEST(Kinds, EachHasASectionInTheReference) {
  std::ifstream stream(testing::source_dir() + "/docs/diagnostics.md");
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  for (const DiagnosticKindInfo& entry : diagnostic_kinds())
    EXPECT_NE(text.find("\n### " + std::string(entry.name) + "\n"), std::string::npos) << entry.name;
}

std::optional<Severity> with(std::initializer_list<const char*> flags, DiagnosticKind kind) {
  DiagnosticOptions options;
  for (const char* flag : flags) EXPECT_TRUE(options.parse(flag)) << flag;
  return options.severity_of(kind);
}

TEST(Flags, SwitchKindsOnAndOff) {
  using enum DiagnosticKind;
  EXPECT_EQ(with({}, round_trip), Severity::warning);
  EXPECT_EQ(with({}, implicit_copy), std::nullopt);
  EXPECT_EQ(with({}, fallback), std::nullopt);
  EXPECT_EQ(with({"Wno-round-trip"}, round_trip), std::nullopt);
  EXPECT_EQ(with({"Wno-round-trip", "Wround-trip"}, round_trip), Severity::warning);
  EXPECT_EQ(with({"Wno-round-trip", "Wall"}, round_trip), std::nullopt);
  EXPECT_EQ(with({"Wall"}, fallback), std::nullopt);
  EXPECT_EQ(with({"Wextra"}, fallback), Severity::warning);
  EXPECT_EQ(with({"Wextra"}, transfer_bound), Severity::warning);
  EXPECT_EQ(with({"Wextra"}, implicit_copy), std::nullopt);
  EXPECT_EQ(with({"Wno-fallback", "Wextra"}, fallback), std::nullopt);
  EXPECT_EQ(with({"Wimplicit-copy"}, implicit_copy), Severity::warning);
}

TEST(Flags, RaiseWarningsToErrors) {
  using enum DiagnosticKind;
  EXPECT_EQ(with({"Werror"}, round_trip), Severity::error);
  EXPECT_EQ(with({"Werror"}, fallback), std::nullopt);
  EXPECT_EQ(with({"Werror=fallback"}, fallback), Severity::error);
  EXPECT_EQ(with({"Werror=round-trip", "Wno-round-trip"}, round_trip), std::nullopt);
  EXPECT_EQ(with({"Wno-round-trip", "Werror=round-trip"}, round_trip), Severity::error) << "the last word counts";
  EXPECT_EQ(with({"Wno-round-trip", "Wno-error=round-trip"}, round_trip), std::nullopt);
  EXPECT_EQ(with({"Werror=round-trip", "Wno-round-trip", "Wround-trip"}, round_trip), Severity::warning);
  EXPECT_EQ(with({"Werror=fallback", "Wno-error=fallback"}, fallback), Severity::warning) << "it stays on";
  EXPECT_EQ(with({"Werror", "Wno-error=round-trip", "Wno-round-trip", "Wround-trip"}, round_trip), Severity::warning);
  EXPECT_EQ(with({"Werror", "Wno-error=round-trip"}, round_trip), Severity::warning);
  EXPECT_EQ(with({"Werror", "Wno-error"}, round_trip), Severity::warning);
  EXPECT_EQ(with({"w", "Werror"}, round_trip), std::nullopt);
}

TEST(Flags, ErrorsStayErrors) {
  EXPECT_EQ(with({"w"}, DiagnosticKind::limit), Severity::error);
  DiagnosticOptions options;
  for (const char* flag :
       {"Wno-shape", "Wshape", "Werror=limit", "Wno-error=syntax", "W", "", "Wno-", "Wnonsense", "Rfallback", "Wimplicit-copy=up",
        "Wround-trip=to-host", "wall", "Werror=", "Werror=no-fallback", "Wno-no-fallback", "Wno-all"}) {
    EXPECT_FALSE(options.parse(flag)) << flag;
  }
  EXPECT_TRUE(options.enabled.empty() && options.as_error.empty());
}

TEST(Flags, DirectionsAndRemarks) {
  DiagnosticOptions options;
  EXPECT_TRUE(options.parse("Wimplicit-copy=to-accelerator"));
  EXPECT_EQ(options.implicit_copy_direction, "to-accelerator");
  EXPECT_EQ(options.severity_of(DiagnosticKind::implicit_copy), Severity::warning);
  EXPECT_TRUE(options.parse("Wimplicit-copy"));
  EXPECT_EQ(options.implicit_copy_direction, "");
  EXPECT_TRUE(options.parse("Rround-trip"));
  EXPECT_TRUE(options.round_trip_remarks);
  EXPECT_TRUE(options.parse("Rno-round-trip"));
  EXPECT_FALSE(options.round_trip_remarks);
}

// --- suggestions ------------------------------------------------------------------------------------------------------------------------

TEST(Nearest, SuggestsWhatIsNear) {
  const std::vector<std::string> ops{"matmul", "max", "mean", "min", "sum", "transpose", "softmax", "exp"};
  EXPECT_EQ(nearest_name("matmull", ops), "matmul");
  EXPECT_EQ(nearest_name("mtamul", ops), "matmul");
  EXPECT_EQ(nearest_name("transopse", ops), "transpose");
  EXPECT_EQ(nearest_name("sfotmxa", ops), "softmax");  // two swaps
  EXPECT_EQ(nearest_name("smu", ops), "sum");
  for (const std::vector<std::string>& order : {std::vector<std::string>{"tan", "tanh", "atan"}, {"atan", "tanh", "tan"}})
    EXPECT_EQ(nearest_name("tahn", order), "tanh") << "a swap, not a letter too many";
  EXPECT_EQ(nearest_name("wehre", {"where", "here"}), "where");
  EXPECT_EQ(nearest_name("slef", {"sle", "self", "slew", "elfs"}), "self");
  EXPECT_EQ(nearest_name("tann", {"tan", "tanh"}), "tan") << "no swap: the first";
  EXPECT_EQ(nearest_name("mox", ops), std::nullopt) << "another word as likely as a misspelt one";
  EXPECT_EQ(nearest_name("f33", {"f16", "f32", "for"}), "f32");
  EXPECT_EQ(nearest_name("meam", {"max", "mean", "beam"}), "mean") << "the first of several as near";
  EXPECT_EQ(nearest_name("convolution", ops), std::nullopt);
  EXPECT_EQ(nearest_name("x", {"y"}), std::nullopt);
  EXPECT_EQ(nearest_name("", ops), std::nullopt);
  EXPECT_EQ(nearest_name("sum", {}), std::nullopt);
  EXPECT_EQ(nearest_name(std::string(1000, 'a'), {std::string(1000, 'a')}), std::nullopt);
  EXPECT_EQ(did_you_mean("smu", ops), "; did you mean `sum`?");
  EXPECT_EQ(did_you_mean("convolution", ops), "");
  EXPECT_EQ(did_you_mean_or_has("smu", ops), "; did you mean `sum`?");
  EXPECT_EQ(did_you_mean_or_has("convolution", ops), "") << "too many to list";
  EXPECT_EQ(did_you_mean_or_has("convolution", {"x", "w"}), "; it has `x`, `w`");
  EXPECT_EQ(did_you_mean_or_has("x", {}), "");
}

}  // namespace
}  // namespace cleave
