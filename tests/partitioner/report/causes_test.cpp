// Programs whose warnings once were at the wrong line or missing: the waiting operation, its line, the values that it waits for, and their
// bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "graph/base/diagnostic_folding.h"
#include "graph/base/diagnostic_text.h"
#include "graph/base/file.h"
#include "graph/base/units.h"
#include "models/model.h"
#include "partitioner/compile.h"
#include "partitioner/report/account_text.h"
#include "tests/support/namespaces.h"
#include "tests/support/places.h"

namespace cleave::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kMatrix = 1024.0 * 1024 * 4, kVector = 1024.0 * 4;

struct Waits {
  int line;
  std::string via;
  double frequency, out_bytes, back_bytes;  ///< per run
  friend bool operator==(const Waits&, const Waits&) = default;
  friend void PrintTo(const Waits& w, std::ostream* out) {
    *out << "line " << w.line << " via " << w.via << ", " << w.frequency << " times, " << w.out_bytes << " B out, " << w.back_bytes
         << " B back";
  }
};

struct Expected {
  std::string model;
  std::vector<Waits> warned;
  friend void PrintTo(const Expected& e, std::ostream* out) { *out << e.model; }
};

Plan plan_model(const std::string& name) {
  PlanOptions options;
  options.costs.machine = *Machine::shipped("simulated");
  options.costs.policy = Policy::accelerator;
  options.costs.supported = [](const Graph& graph, NodeId id) { return graph.nodes[id].op->name != "sort"; };
  return plan(read_model(source_dir() + "/tests/golden/causes/" + name + ".yaml"), options);
}

class Causes : public ::testing::TestWithParam<Expected> {};

TEST_P(Causes, AreTheseAndNoOthers) {
  const Plan plan = plan_model(GetParam().model);
  ASSERT_TRUE(plan.complete()) << to_text(plan.diagnostics);
  std::vector<Waits> found;
  for (const RoundTrip& trip : plan.round_trips) {
    if (!trip.warned()) continue;
    const int line = plan.graph->nodes[trip.blamed].location.line;
    found.push_back({line, std::string(to_string(trip.via)), trip.frequency, trip.out_bytes, trip.back_bytes});
  }
  EXPECT_EQ(found, GetParam().warned) << to_text(plan.diagnostics);
  const bool limited = plan.graph->limits.round_trips.has_value() && !GetParam().warned.empty();
  EXPECT_EQ(plan.diagnostics.has_errors(), limited) << to_text(plan.diagnostics);
}

INSTANTIATE_TEST_SUITE_P(
    All, Causes,
    ::testing::Values(Expected{"allow_hides_other", {{10, "data", 100, 100 * kMatrix, 100 * kMatrix}}},
                      Expected{"allow_hides_loop", {{13, "data", 500, 500 * kVector, 499 * kVector}}},
                      Expected{"blame_reads_nothing", {{16, "control", 100, 100 * kMatrix, 0}}}, Expected{"dead_initial", {}},
                      Expected{"effects_order", {{14, "effect", 100, 100 * kMatrix / 16, 0}}},
                      Expected{"mark_hides_other", {{9, "control", 11, 10 * kMatrix, 0}}}, Expected{"mark_shared", {}},
                      Expected{"print_orders_nothing", {}},
                      Expected{"merged_control", {{9, "control", 11, 10 * kMatrix, 0}, {12, "data", 10, 10 * kMatrix, 9 * kMatrix}}},
                      Expected{"loop_blamed_on_prologue",
                               {{9, "data", 1, kVector, kVector}, {12, "data", 500, 500 * kVector, 499 * kVector}}},
                      Expected{"cg_wrong_line", {{18, "data", 1, 1600, 1600}, {29, "data", 40, 40 * 1600, 40 * 1600}}},
                      Expected{"cg_allow_hides_loop", {{30, "data", 40, 40 * 1600, 40 * 1600}}}),
    [](const auto& of) { return of.param.model; });

TEST(Folding, OneMessageForOneLineHoweverOftenItIsUnrolled) {
  const Plan plan = plan_model("same_line_200_times");
  ASSERT_EQ(plan.diagnostics.size(), 200u) << "tools get every one";
  const Diagnostics folded = fold(plan.diagnostics, 20);
  ASSERT_EQ(folded.size(), 1u);
  EXPECT_NE(folded.begin()->message.find("(\u00D7200)"), std::string::npos) << folded.begin()->message;
  EXPECT_DOUBLE_EQ(folded.begin()->price->out_bytes, 200 * kMatrix);
  EXPECT_DOUBLE_EQ(folded.begin()->price->back_bytes, 200 * kMatrix);
  const std::string text = to_text(folded);
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 30) << text;
}

struct Invariant {
  std::string model;
  int line = 0, loop = 0;  ///< 0: no message
  friend void PrintTo(const Invariant& i, std::ostream* out) { *out << i.model; }
};

class InvariantWork : public ::testing::TestWithParam<Invariant> {};

TEST_P(InvariantWork, IsNamedWithTheLoopThatRepeatsIt) {
  const Plan plan = plan_model(GetParam().model);
  ASSERT_TRUE(plan.complete()) << to_text(plan.diagnostics);
  const auto found = std::find_if(plan.diagnostics.begin(), plan.diagnostics.end(),
                                  [](const Diagnostic& d) { return d.kind == DiagnosticKind::invariant_host_work; });
  ASSERT_EQ(found != plan.diagnostics.end(), GetParam().line != 0) << to_text(plan.diagnostics);
  if (GetParam().line == 0) return;
  EXPECT_EQ(found->location.line, GetParam().line);
  EXPECT_EQ(found->notes[0].location.line, GetParam().loop);
}

INSTANTIATE_TEST_SUITE_P(All, InvariantWork,
                         ::testing::Values(Invariant{"invariant_host_function", 11, 9}, Invariant{"invariant_under_while", 11, 9},
                                           Invariant{"invariant_in_inner_loop", 13, 11}, Invariant{"invariant_in_an_arm"},
                                           Invariant{"changing_host_function"}),
                         [](const auto& of) { return of.param.model; });

/// The promised saving is reached when the user follows the advice.
TEST(InvariantWorkAdvice, SavesWhatItSays) {
  const Plan before = plan_model("invariant_host_function"), after = plan_model("invariant_moved");
  ASSERT_EQ(before.diagnostics.size(), 1u) << to_text(before.diagnostics);
  EXPECT_EQ(after.diagnostics.size(), 0u) << to_text(after.diagnostics);
  const std::string promise = "once would save about " + format_seconds(before.predicted_seconds - after.predicted_seconds) + " of";
  EXPECT_NE(before.diagnostics.begin()->notes[1].message.find(promise), std::string::npos) << promise << to_text(before.diagnostics);
}

TEST(MemoryFallback, SaysWhatTheMemoryIsFullOf) {
  PlanOptions options;
  options.costs.machine = *Machine::shipped("simulated");
  options.costs.machine.accelerators[0].memory_bytes = 64.0 * (1 << 20);
  const Plan plan = planner::plan(read_model(source_dir() + "/docs/examples/memory_fallback.yaml"), options);
  ASSERT_TRUE(plan.complete()) << to_text(plan.diagnostics);
  const auto said = [](const Diagnostic& d) { return d.kind == DiagnosticKind::memory_fallback; };
  ASSERT_EQ(std::count_if(plan.diagnostics.begin(), plan.diagnostics.end(), said), 1) << to_text(plan.diagnostics);
  options.costs.machine.accelerators[0].memory_bytes = 0;
  const Plan roomy = planner::plan(read_model(source_dir() + "/docs/examples/memory_fallback.yaml"), options);
  EXPECT_EQ(std::count_if(roomy.diagnostics.begin(), roomy.diagnostics.end(), said), 0);
  ASSERT_TRUE(plan.memory_shortage.has_value());
  EXPECT_DOUBLE_EQ(plan.memory_shortage->seconds, roomy.predicted_seconds);
}

/// If an operand of a product does not fit into memory, the advice is to process it by parts of rows, and the program that does so is
/// planned on the accelerator.
TEST(MemoryFallback, SaysInHowManyPartsOfRowsItFits) {
  PlanOptions options;
  options.costs.machine = *Machine::shipped("simulated");
  const auto program = [](const std::string& rows, const std::string& statements) {
    return parse_model("cleave: 1\ninputs: {data: \"f32[" + rows +
                           ", 5000]\"}\nparameters: {w: {type: \"f32[5000, 500]\", normal: [0, 1]}}\n" + "program:\n" + statements +
                           "outputs: [y]\n",
                       "large.yaml");
  };
  const Plan whole = planner::plan(program("1000000", "  - y: matmul(data, w)\n"), options);
  ASSERT_TRUE(whole.complete()) << to_text(whole.diagnostics);
  EXPECT_THAT(to_text(whole.diagnostics), HasSubstr("`data` fits there in 3 parts of its rows"));
  ASSERT_FALSE(whole.account.cures.empty());
  EXPECT_EQ(whole.account.cures[0].kind, planner::Cure::Kind::memory);
  EXPECT_DOUBLE_EQ(whole.account.cures[0].seconds, whole.memory_shortage->seconds);
  EXPECT_THAT(planner::account_line(whole), HasSubstr("; with enough memory there: "));
  const Plan part = planner::plan(program("333334", "  - y: matmul(data, w)\n"), options);
  ASSERT_FALSE(part.memory_shortage.has_value());
  EXPECT_NEAR(3 * part.predicted_seconds, whole.memory_shortage->seconds, 0.1 * whole.memory_shortage->seconds);

  const Plan shared = planner::plan(program("1000000", "  - y: matmul(data, w) + sum(matmul(data, w * 2))\n"), options);
  ASSERT_TRUE(shared.memory_shortage.has_value()) << to_text(shared.diagnostics);
  EXPECT_THAT(to_text(shared.diagnostics), Not(HasSubstr("parts of its rows"))) << "another operation reads `data` too";
}

/// `allow` silences the two kinds as it does the others, and keeps the reason.
TEST(Allowances, HoldForWorkThatIsRepeatedAndForLackOfMemory) {
  const auto allowed = [](std::string text, const std::string& statement, const std::string& kind, const PlanOptions& options) {
    const std::size_t end = text.find('\n', text.find(statement));
    text.insert(
        end, "\n" + std::string(text.find(statement) - text.rfind('\n', text.find(statement)) + 1, ' ') + "allow: {" + kind + ": known}");
    const Plan plan = planner::plan(parse_model(text, "allowed.yaml"), options);
    for (const Diagnostic& d : plan.diagnostics) {
      if (info(d.kind).name == kind) return d.severity == Severity::allowed && d.notes.back().message == "allowed: known";
    }
    return false;
  };
  PlanOptions options;
  options.costs.machine = *Machine::shipped("simulated");
  const std::string folder = source_dir() + "/docs/examples/";
  EXPECT_TRUE(allowed(*cleave::read_file(folder + "invariant_host_work.yaml"), "- back:", "invariant-host-work", options));
  options.costs.machine.accelerators[0].memory_bytes = 64.0 * (1 << 20);
  EXPECT_TRUE(allowed(*cleave::read_file(folder + "memory_fallback.yaml"), "- e:", "memory-fallback", options));
}

}  // namespace
}  // namespace cleave::testing
