// Advice is followed: every piece of advice for generated programs is applied as the user would apply it, and the program is planned again.
// The promise must come true: a mark silences its own cause and no other, and an edit saves the promised time.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "graph/base/diagnostic_text.h"
#include "graph/base/units.h"
#include "models/fixes.h"
#include "models/model.h"
#include "partitioner/compile.h"
#include "tests/support/namespaces.h"
#include "tests/support/planted.h"
#include "tests/support/sanitized.h"
#include "tests/support/seeds.h"

namespace cleave::testing {
namespace {

Plan plan_text(const std::string& text, const PlanOptions& options) {
  Plan plan = planner::plan(parse_model(text, "planted.yaml"), options);
  EXPECT_TRUE(plan.ok()) << to_text(plan.diagnostics);
  return plan;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) lines.push_back(text.substr(at, text.find('\n', at) - at));
  return lines;
}
std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

/// Inserts a mark at a location: `f(x)` becomes `f(to_host(x))`, `if: x` becomes `if: to_host(x)`, and `while: x > 0` becomes `while:
/// to_host(x) > 0`.
std::string with_mark(const std::string& text, const SourceLocation& at) {
  std::vector<std::string> lines = lines_of(text);
  std::string& line = lines[static_cast<std::size_t>(at.line - 1)];
  if (line.compare(static_cast<std::size_t>(at.column - 1), 4, "if: ") == 0) {
    line.insert(static_cast<std::size_t>(at.column + 3), "to_host(");
    line += ")";
    return joined(lines);
  }
  if (line[static_cast<std::size_t>(at.column - 1)] == '>') {
    line.insert(static_cast<std::size_t>(at.column - 2), ")");
    line.insert(line.find(": ") + 2, "to_host(");
    return joined(lines);
  }
  const std::size_t open = line.find('(', static_cast<std::size_t>(at.column - 1));
  std::size_t close = open;
  for (int depth = 0; close < line.size(); ++close) {
    depth += line[close] == '(' ? 1 : line[close] == ')' ? -1 : 0;
    if (depth == 0) break;
  }
  line.insert(close, ")");
  line.insert(open + 1, "to_host(");
  return joined(lines);
}

std::string without_pin(const std::string& text, int line) {
  std::vector<std::string> lines = lines_of(text);
  EXPECT_NE(lines[static_cast<std::size_t>(line)].find("place: host"), std::string::npos) << lines[static_cast<std::size_t>(line)];
  lines.erase(lines.begin() + line);
  return joined(lines);
}

using Warned = std::multiset<std::string>;
/// The warnings without their lines, which edits move.
Warned warned(const Plan& plan) {
  Warned result;
  for (const Diagnostic& d : plan.diagnostics) {
    if (d.kind == DiagnosticKind::round_trip) result.insert(d.message + " " + d.price->cause + " " + d.price->how_often);
  }
  return result;
}

std::optional<std::string> promised(const Diagnostic& d, const std::string& edit) {
  for (const Note& note : d.notes) {
    std::smatch found;
    const std::regex wanted(edit + " \\(saves about (.*)\\)");
    if (std::regex_search(note.message, found, wanted)) return found[1];
  }
  return std::nullopt;
}

struct Followed {
  int marks = 0, pins = 0, kernels = 0, fixes = 0;
};

/// The location at which the advice offers to mark a value.
std::optional<SourceLocation> offered_mark(const Diagnostic& d) {
  const auto offered = std::find_if(d.notes.begin(), d.notes.end(), [](const Note& n) { return n.message.starts_with("mark "); });
  return offered == d.notes.end() ? std::nullopt : std::optional(offered->location);
}

/// Checks that a mark at the offered location silences this cause, and no others except those that the same decision starts.
void follow_mark(const Planted& planted, const PlanOptions& options, const Plan& before, const Diagnostic& d, Followed& followed) {
  const std::optional<SourceLocation> offered = offered_mark(d);
  if (!offered) return;
  const Plan after = plan_text(with_mark(planted.text(), *offered), options);
  Warned rest;
  for (const Diagnostic& other : before.diagnostics) {
    if (other.kind != DiagnosticKind::round_trip || offered_mark(other) == offered) continue;
    rest.insert(other.message + " " + other.price->cause + " " + other.price->how_often);
  }
  EXPECT_EQ(warned(after), rest) << to_text(d);
  ++followed.marks;
}

void follow_savings(const Planted& planted, const PlanOptions& options, const Plan& before, const Diagnostic& d, Followed& followed) {
  const auto expect_saved = [&](const Plan& after, const std::string& promise) {
    EXPECT_EQ(format_seconds(before.predicted_seconds - after.predicted_seconds), promise) << to_text(d);
  };
  if (const auto promise = promised(d, "remove the pin")) {
    expect_saved(plan_text(without_pin(planted.text(), d.location.line), options), *promise);
    ++followed.pins;
  }
  if (const auto promise = promised(d, "give it an accelerator kernel(?: at its [0-9]+ places)?");
      promise && d.message.starts_with("`sort`")) {
    PlanOptions with_kernel = options;
    with_kernel.costs.supported = nullptr;
    expect_saved(plan_text(planted.text(), with_kernel), *promise);
    ++followed.kernels;
  }
}

/// Checks that the edit of `cleave apply` has the same effect as the user's edit by hand.
void follow_fixes(const Planted& planted, const PlanOptions& options, const Plan& before, const Diagnostic& d, Followed& followed) {
  const std::vector<Fix> fixes = find_fixes(before.advice, planted.text(), "planted.yaml");
  for (const Fix* fix : fixes_of(d, fixes)) {
    SCOPED_TRACE(fix->title);
    const Plan after = plan_text(edited(planted.text(), fix->edits), options);
    const std::string message = d.message + " " + d.price->cause + " " + d.price->how_often;
    EXPECT_LT(warned(after).count(message), warned(before).count(message)) << to_text(d);
    EXPECT_NEAR(before.predicted_seconds - after.predicted_seconds, fix->saved_seconds, 1e-3 * before.predicted_seconds) << to_text(d);
    ++followed.fixes;
  }
}

TEST(Advice, IsTrueWhenFollowed) {
  Followed followed;
  const std::uint64_t seeds = testing::seeds(kSanitized ? 150 : 300);  // each is planned about eight times; CLEAVE_TEST_SEEDS for more
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const PlanOptions options = planted_options(seed % 4 == 0 ? Policy::optimal : Policy::accelerator);
    const Planted planted(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + planted.text());
    const Plan plan = plan_text(planted.text(), options);
    for (const Diagnostic& d : plan.diagnostics) {
      if (d.kind != DiagnosticKind::round_trip) continue;
      follow_mark(planted, options, plan, d, followed);
      follow_savings(planted, options, plan, d, followed);
      if (seed % 4 < 2) follow_fixes(planted, options, plan, d, followed);
      if (::testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(followed.marks, 2 * static_cast<int>(seeds));
  EXPECT_GT(followed.fixes, static_cast<int>(seeds));
  EXPECT_GT(followed.pins, static_cast<int>(seeds) / 10);
  EXPECT_GT(followed.kernels, static_cast<int>(seeds) / 10);
}

}  // namespace
}  // namespace cleave::testing
