// Calls with zero-sized axes on the fake GPU, from the plan to the results: ops that libraries compute, and composite functions.
#include <gtest/gtest.h>

#include "tests/executor/cuda/library_support.h"
#include "tests/support/empty_samples.h"

namespace cleave::testing {
namespace {

class CudaZeroSized : public CudaLibrary {};

TEST_F(CudaZeroSized, ProgramsEqualTheirReferences) {
  const std::set<std::string_view> families = {"matmul", "convolution", "linear_algebra", "fourier", "einsum"};
  std::vector<OpSample> samples = empty_samples();
  std::erase_if(samples, [&](const OpSample& each) {
    const bool f32 = !each.inputs.empty() && each.inputs[0].dtype() == DType::f32;
    return !f32 || (!families.contains(family_of(each.op->name)) && each.op->name != "einsum");
  });
  for (const OpSample& each : samples) prepare(program_of(each));
  std::uint64_t variant = 0;
  for (const OpSample& each : samples) {
    SCOPED_TRACE(describe(each));
    const SampleProgram program = program_of(each);
    check(program, variant, variant % 2 == 0);
    ++variant;
    if (HasFailure()) return;
  }
  EXPECT_GT(variant, 50U);
}

}  // namespace
}  // namespace cleave::testing
