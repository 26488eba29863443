// The twelve cases of the diagnostics reference under `--placement accelerator`: their transfers, their warnings, and every word of these.
// The programs and the texts are in tests/golden/cases.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "graph/base/diagnostic_text.h"
#include "models/model.h"
#include "partitioner/compile.h"
#include "partitioner/report/explain.h"
#include "tests/support/golden.h"
#include "tests/support/namespaces.h"
#include "tests/support/places.h"

namespace cleave::testing {
namespace {

Plan plan_case(const std::string& name) {
  // Messages name the file as the user would: without a path, from its own folder.
  std::filesystem::current_path(source_dir() + "/tests/golden/cases");
  PlanOptions options;
  options.costs.machine = *Machine::shipped("simulated");
  options.costs.policy = Policy::accelerator;
  return plan(read_model(name + ".yaml"), options);
}

struct Counts {
  std::size_t to_host = 0, to_accelerator = 0;  ///< number of sends in each direction
  std::size_t warnings = 0;
  friend bool operator==(const Counts&, const Counts&) = default;
  friend void PrintTo(const Counts& c, std::ostream* out) {
    *out << c.to_host << " to the host, " << c.to_accelerator << " to the accelerator, " << c.warnings << " warnings";
  }
};

Counts counts(const Plan& plan) {
  Counts counts;
  for (const Transfer& t : plan.transfers.items) {
    if (t.kind == TransferKind::send) ++(t.to == kHost ? counts.to_host : counts.to_accelerator);
  }
  for (const Diagnostic& d : plan.diagnostics)
    counts.warnings += d.kind == DiagnosticKind::round_trip && d.severity == Severity::warning ? 1 : 0;
  return counts;
}

void expect_case(const std::string& name, const Plan& plan, const Counts& expected) {
  EXPECT_TRUE(plan.ok()) << to_text(plan.diagnostics);
  EXPECT_TRUE(verify(plan.program).empty());
  EXPECT_EQ(counts(plan), expected);
  testing::expect_golden("cases/" + name + ".txt", to_text(plan.diagnostics) + (plan.diagnostics.empty() ? "" : "\n") + explain_text(plan));
}

TEST(Cases, Regression) {
  const Plan plan = plan_case("01_regression");
  expect_case("01_regression", plan, {1, 0, 0});
  for (const Transfer& t : plan.transfers.items) {
    if (t.kind == TransferKind::send) {
      EXPECT_EQ(t.frequency, 10) << "sunk into the branch";
    }
  }
}

TEST(Cases, HostInTheUpdate) {
  const Plan plan = plan_case("02_host_in_the_update");
  expect_case("02_host_in_the_update", plan, {1, 1, 1});
  for (const Transfer& t : plan.transfers.items) {
    if (t.kind == TransferKind::send) {
      EXPECT_EQ(t.frequency, 1000);
    }
  }
  ASSERT_EQ(plan.round_trips.size(), 1u);
  EXPECT_EQ(plan.round_trips[0].blamed, plan.round_trips[0].through[0]);
}

TEST(Cases, ThroughControl) {
  const Plan plan = plan_case("03_through_control");
  expect_case("03_through_control", plan, {1, 1, 1});  // the predicate's operand goes back too: `==` has a copy on both sides
  ASSERT_EQ(plan.round_trips.size(), 1u);
  EXPECT_EQ(plan.round_trips[0].via, Via::control);
  EXPECT_EQ(plan.round_trips[0].controls.size(), 1u);
}

TEST(Cases, IndependentWork) {
  const Plan plan = plan_case("04_independent_work");
  expect_case("04_independent_work", plan, {1, 1, 1});
  EXPECT_LT(plan.predicted_seconds, plan.placement.objective_seconds) << "`another` overlaps `f`";
}

TEST(Cases, KeyPressed) {
  expect_case("05_key_pressed", plan_case("05_key_pressed"), {0, 1, 0});
}
TEST(Cases, OneSendServesBoth) {
  expect_case("06_one_send_serves_both", plan_case("06_one_send_serves_both"), {2, 1, 1});
}
TEST(Cases, Counter) {
  expect_case("07_counter", plan_case("07_counter"), {0, 0, 0});
}

TEST(Cases, LoopInvariant) {
  const Plan plan = plan_case("08_loop_invariant");
  expect_case("08_loop_invariant", plan, {0, 0, 0});
  for (const Transfer& t : plan.transfers.items) EXPECT_EQ(t.frequency, 1);
}

TEST(Cases, Meant) {
  const Plan plan = plan_case("09_meant");
  expect_case("09_meant", plan, {1, 1, 0});
  ASSERT_EQ(plan.round_trips.size(), 1u) << "it stays in the list";
  EXPECT_TRUE(plan.round_trips[0].meant);
  for (const Transfer& t : plan.transfers.items) {
    if (t.kind == TransferKind::send) {
      EXPECT_TRUE(t.is_explicit);
    }
  }
}

TEST(Cases, InsideTheBranch) {
  const Plan plan = plan_case("10_inside_the_branch");
  expect_case("10_inside_the_branch", plan, {1, 0, 0});
  for (const Transfer& t : plan.transfers.items) {
    if (t.kind == TransferKind::send) {
      EXPECT_EQ(t.frequency, 0.5);
    }
  }
}

TEST(Cases, EffectsOnly) {
  expect_case("11_effects_only", plan_case("11_effects_only"), {1, 0, 0});
}

TEST(Cases, Batches) {
  const Plan plan = plan_case("13_batches");
  expect_case("13_batches", plan, {0, 4, 0});
  for (const Transfer& t : plan.transfers.items) {
    const Value& value = plan.graph->values[t.value];
    EXPECT_NE(value.name, "images");
    EXPECT_TRUE(value.name != "x" || value.type.dtype == DType::u8) << "it is converted behind the transfer";
  }
}

TEST(Cases, Endless) {
  const Plan plan = plan_case("12_endless");
  EXPECT_FALSE(plan.ok());
  ASSERT_EQ(plan.diagnostics.size(), 1u);
  EXPECT_EQ(plan.diagnostics.begin()->kind, DiagnosticKind::endless_loop);
  testing::expect_golden("cases/12_endless.txt", to_text(plan.diagnostics));
}

}  // namespace
}  // namespace cleave::testing
