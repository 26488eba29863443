// Programs that once were warned of at the wrong line, or not at all: what waits, at which line, through what, and with which bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "graph/base/diagnostic_folding.h"
#include "graph/base/diagnostic_text.h"
#include "models/model.h"
#include "partitioner/compile.h"
#include "tests/support/namespaces.h"
#include "tests/support/places.h"

namespace cleave::testing {
namespace {

constexpr double kMatrix = 1024.0 * 1024 * 4, kVector = 1024.0 * 4;

struct Waits {
  int line;
  std::string via;
  double frequency, out_bytes, back_bytes;  ///< a run
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

}  // namespace
}  // namespace cleave::testing
