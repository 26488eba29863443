// Diagnostics as shown to people: equal ones are shown once, the costliest come first, and their number is limited.
#include "graph/base/diagnostic_folding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cleave {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Diagnostic waits(const std::string& what, int line, double seconds, Severity severity = Severity::warning) {
  Diagnostic d{
      DiagnosticKind::round_trip, severity, "`" + what + "` waits", {std::make_shared<const std::string>("m.yaml"), line, 3, nullptr}, 0,
      {{"leaves here", {}, 0}}};
  d.price = Price{seconds, 1024, 512, 10, "once a run", "no-kernel", "machine `m`", 1};
  d.notes.push_back({to_text(*d.price), {}, 0});
  return d;
}

std::vector<std::string> words(const Diagnostics& diagnostics) {
  std::vector<std::string> all;
  for (const Diagnostic& d : diagnostics) all.push_back(d.message);
  return all;
}

TEST(DiagnosticFolding, SaysEqualOnesOnceWithWhatTheyCostTogether) {
  Diagnostics many;
  for (int i = 0; i < 200; ++i) many.add(waits("sort", 8, 0.01));
  const Diagnostics folded = fold(many, 20);
  ASSERT_EQ(folded.size(), 1u);
  EXPECT_EQ(folded.begin()->message, "`sort` waits (\u00D7200)");
  EXPECT_EQ(folded.begin()->notes[1].message,
            "each once a run; together: 200 KiB out, 100 KiB back, about 2.0 s of 10 s predicted (machine `m`)");
}

TEST(DiagnosticFolding, KeepsApartWhatDiffersInLineWordsSeverityOrCause) {
  Diagnostics many;
  many.add(waits("sort", 8, 0.01));
  many.add(waits("sort", 9, 0.01));
  many.add(waits("f", 8, 0.01));
  many.add(waits("sort", 8, 0.01, Severity::remark));
  Diagnostic other = waits("sort", 8, 0.01);
  other.price->cause = "pinned";
  many.add(other);
  EXPECT_EQ(fold(many, 0).size(), 5u);
}

TEST(DiagnosticFolding, PutsTheCostliestOfAKindFirstAndLeavesOthersInPlace) {
  Diagnostics mixed;
  mixed.add(waits("a", 1, 1));
  mixed.add({DiagnosticKind::limit, Severity::error, "a limit", {}, 0, {}});
  mixed.add(waits("b", 2, 3));
  mixed.add(waits("c", 3, 2));
  EXPECT_THAT(words(fold(mixed, 0)), ElementsAre("`b` waits", "a limit", "`c` waits", "`a` waits"));
}

TEST(DiagnosticFolding, SaysWhatTheRestCosts) {
  Diagnostics many;
  for (int i = 1; i <= 30; ++i) many.add(waits("f" + std::to_string(i), i, 0.001 * i));
  many.add({DiagnosticKind::limit, Severity::error, "a limit", {}, 0, {}});
  const Diagnostics folded = fold(many, 28);
  ASSERT_EQ(folded.size(), 30u);
  EXPECT_THAT(words(folded)[28], "a limit") << "errors are always kept";
  EXPECT_THAT(words(folded)[29], HasSubstr("2 more of this kind are not shown; together about 3.0 ms a run"));
  EXPECT_EQ(fold(many, 0).size(), 31u);
}

}  // namespace
}  // namespace cleave
