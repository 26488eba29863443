// Public workloads under a memory capacity, against the values that a mixed-integer solver (HiGHS 1.2 through SciPy 1.10) finds for the
// same model in a minute: tools/bench/compare_milp.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "partitioner/solver/problem_json.h"
#include "tests/support/command.h"
#include "tests/support/namespaces.h"
#include "tests/support/places.h"

namespace cleave::testing {
namespace {

struct Workload {
  const char* file;
  const char* capacity;
  double best_known;
};

class Workloads : public ::testing::TestWithParam<Workload> {};

TEST_P(Workloads, AreSolvedToAThousandthWithACertifiedGap) {
  const std::string file = GetParam().file;
  const auto text =
      testing::run_command((file.ends_with(".gz") ? "gzip -dc " : "cat ") + file, source_dir() + "/tests/data/device_placement");
  ASSERT_EQ(text.code, 0) << text.err;
  auto loaded = parse_problem(text.out, ProblemFormat::device_placement);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  ASSERT_TRUE(set_accelerator_memory(loaded->problem, GetParam().capacity).ok());
  const auto solved = solve(loaded->problem);
  ASSERT_TRUE(solved.ok()) << solved.error().message;
  EXPECT_THAT(verify(loaded->problem, *solved), ::testing::IsEmpty());
  EXPECT_LE(solved->objective_seconds, GetParam().best_known * 1.001);
  EXPECT_LE(solved->bound_seconds, GetParam().best_known * (1 + 1e-9));
  EXPECT_LE(solved->gap, 0.01);
}

INSTANTIATE_TEST_SUITE_P(All, Workloads,
                         ::testing::Values(Workload{"latency_layer_bert24_inference.json", "20%", 732.74725},
                                           Workload{"latency_layer_bert24_inference.json", "50%", 411.35725},
                                           Workload{"latency_layer_resnet50_inference.json.gz", "20%", 1385.0647422},
                                           Workload{"latency_layer_resnet50_inference.json.gz", "50%", 925.08925},
                                           Workload{"latency_operator_bert_l-12_inference.json.gz", "20%", 7713.07},
                                           Workload{"latency_operator_bert_l-12_inference.json.gz", "50%", 4840.70},
                                           Workload{"throughput_layer_gnmt_training.json", "20%", 2725.6268370857},
                                           Workload{"throughput_layer_gnmt_training.json", "50%", 812.15309099},
                                           Workload{"throughput_operator_bert_l-6_training.json.gz", "20%", 3251.14},
                                           Workload{"throughput_operator_bert_l-6_training.json.gz", "50%", 1975.24}));

}  // namespace
}  // namespace cleave::testing
