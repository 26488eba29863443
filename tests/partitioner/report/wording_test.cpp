// Messages about a plan use the names in the user's program, and state their assumptions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/base/diagnostic_text.h"
#include "models/model.h"
#include "partitioner/compile.h"
#include "partitioner/report/explain.h"
#include "partitioner/report/wording.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Plan plan_of(const std::string& program, const char* flag = "Wall") {
  const Graph graph = parse_model(
      "cleave: 1\nmodel: m\nhost_functions:\n  probe: {library: none.so, takes: [\"f32[512, 512]\"], returns: \"i32[]\", seconds: 1.0e-3}\n"
      "inputs: {enough: \"f32[]\"}\nparameters:\n  w: {type: \"f32[512, 512]\", value: 1}\nprogram:\n  - print(\"enough\", enough)\n" +
          program,
      "m.yaml");
  EXPECT_TRUE(graph.ok()) << to_text(graph.diagnostics);
  PlanOptions options;
  options.costs.machine = *Machine::shipped("simulated");
  options.costs.policy = Policy::accelerator;
  options.costs.supported = [](const Graph& of, NodeId node) { return of.op_name(node) != "sort"; };
  EXPECT_TRUE(options.diagnostics.parse(flag));
  return plan(graph, options);
}

TEST(Wording, AnOperatorStandsAsItWasWritten) {
  const std::string text =
      to_text(plan_of("  - for: i in 20\n    do:\n      - u: 0.5 * enough - i\n        place: host\n      - w: matmul(w, w) * u\n"
                      "outputs: [w]\n",
                      "Wimplicit-copy")
                  .diagnostics);
  EXPECT_THAT(text, Not(HasSubstr("`subtract`")));
  EXPECT_THAT(text, Not(HasSubstr("`multiply`")));
  const std::string pinned = to_text(plan_of("  - for: i in 20\n    do:\n      - w: matmul(w, w)\n      - v: w / 255\n        place: "
                                             "host\n      - w: matmul(v, w)\noutputs: [w]\n")
                                         .diagnostics);
  EXPECT_THAT(pinned, HasSubstr("warning: `w / 255` makes the accelerator wait for the host in every iteration"));
}

TEST(Wording, AnAssumedTripCountIsSaidWithItsRemedy) {
  const std::string text =
      to_text(plan_of("  - while: sum(w) > enough\n    do:\n      - w: matmul(w, w)\n      - s: sort(w, axis=1)\n      - w: matmul(s, w)\n"
                      "outputs: [w]\n")
                  .diagnostics);
  EXPECT_THAT(text, HasSubstr("note: about 10 times a run, if the loop runs 10 times (assumed; `expect` says otherwise): "));
}

TEST(Wording, TheDecisionThatIsWaitedForIsNamed) {
  const std::string text =
      to_text(plan_of("  - for: i in 20\n    do:\n      - w: matmul(w, w)\n      - flag: probe(w)\n      - if: flag == 0\n"
                      "        place: host\n        then:\n          - w: tanh(w)\noutputs: [w]\n",
                      "Wtransfer-bound")
                  .diagnostics);
  EXPECT_THAT(text, HasSubstr("longest for the host's decision `flag == 0`, made of `probe`"));
}

TEST(Wording, ExplainSaysWhatEachWayOfARoundTripIs) {
  const std::string text = explain_text(
      plan_of("  - for: i in 20\n    do:\n      - w: matmul(w, w)\n      - if: probe(w) == 0\n        then:\n          - w: tanh(w)\n"
              "outputs: [w]\n"));
  EXPECT_THAT(text, HasSubstr("\n  via control: the host's result decides a loop or branch with accelerator work in it, "
                              "or the accelerator's decision starts the host's work\n"));
  EXPECT_THAT(text, Not(HasSubstr("via effect")));
}

TEST(Wording, OrdinalsEndAsTheyAreSpoken) {
  const std::vector<std::string> spoken = {"1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "22nd", "103rd", "111th"};
  std::vector<std::string> written;
  for (const std::size_t number : {1, 2, 3, 4, 11, 12, 13, 21, 22, 103, 111}) written.push_back(ordinal(number));
  EXPECT_EQ(written, spoken);
}

}  // namespace
}  // namespace cleave::testing
