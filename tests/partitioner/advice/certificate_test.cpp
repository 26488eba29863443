// Both solvers on the problems of plans, and what counts as agreement.
#include "partitioner/advice/certificate.h"

#include <gtest/gtest.h>

#include "partitioner/compile.h"
#include "tests/support/random_graph.h"
#include "tests/support/seeds.h"

namespace cleave::planner {
namespace {

TEST(Certificate, SolversAgreeOnRandomPrograms) {
  PlanOptions options;
  options.costs.machine = *Machine::shipped("simulated");
  for (unsigned seed = 0; seed < draws(30U); ++seed) {
    const Plan made = plan(testing::random_graph(seed), options);
    if (!made.complete()) continue;
    const Result<Certificate> certificate = certify(made);
    ASSERT_TRUE(certificate.ok()) << "seed " << seed << ": " << certificate.error().message;
    EXPECT_TRUE(certificate->agree()) << "seed " << seed;
    EXPECT_TRUE(certificate->same_placement) << "seed " << seed;
  }
}

TEST(Certificate, ProvenCostsMustBeEqual) {
  EXPECT_TRUE((Certificate{2, 2, 2, 2, true}.agree()));
  EXPECT_TRUE((Certificate{2, 2 + 1e-12, 2, 2 + 1e-12, false}.agree())) << "within rounding";
  EXPECT_FALSE((Certificate{2, 2.001, 2, 2.001, true}.agree()));
}

TEST(Certificate, UnprovenCostsMustNotBeBelowTheOthersBound) {
  EXPECT_TRUE((Certificate{2, 2.1, 1.9, 1.8, false}.agree()));
  EXPECT_FALSE((Certificate{2, 2.1, 1.9, 2.05, false}.agree()));
}

}  // namespace
}  // namespace cleave::planner
