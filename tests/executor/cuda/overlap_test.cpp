// Chunked transfers, with the CUDA back end on the fake driver: the host computes on large values while they are being copied. Bits and
// counters equal those of whole transfers, whatever is fused into one kernel.
#include <gtest/gtest.h>

#include "executor/cuda/back_end.h"
#include "tests/executor/overlap_programs.h"
#include "tests/support/fake_driver.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {
namespace {

using namespace overlap;

TEST(CudaOverlap, ChangesNoBitAndNoCounter) {
  for (const Traced& graph : {taking(), giving(), through(4)}) {
    const Planned planned = plan_in_parts(graph, Where::accelerator);
    RunOptions options = given(*graph);
    for (const bool fuse : {true, false}) {
      Outcome whole;
      for (const std::int64_t part_bytes : {kWhole, std::int64_t{5000}, std::int64_t{40000}}) {
        FakeDriver driver;
        cuda::CudaOptions cuda;
        ExecutorSetup setup{{}, cuda::back_end(), 0};
        setup.back_end.open = driver.opener(cuda);
        setup.fuse = fuse;
        setup.part_bytes = part_bytes;
        setup.watchdog_seconds = 60;
        const auto executor = executor_for(planned, setup);
        for (int i = 0; i < 2; ++i) {
          const Outcome outcome = run(*executor, options);
          if (part_bytes == kWhole) {
            whole = outcome;
            expect_equal(whole, run_with(options, [&](const RunOptions& o) { return run_reference(*graph, o); }), false);
          } else {
            expect_same(outcome, whole);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace cleave::testing
