// Linear algebra through cuSOLVER, on a fake that calls LAPACK: every operation, form and batch against the reference implementation,
// singular and other unsuitable data, every failure, and programs where cuSOLVER is missing.
#include <set>

#include "executor/cuda/library/solver.h"
#include "executor/host/lapack.h"
#include "tests/executor/cuda/library_support.h"
#if __has_include(<cusolverDn.h>)
#include <cusolverDn.h>
#endif

namespace cleave::testing {
namespace {

OpSample solver_sample(const char* op, std::vector<Array> inputs, Attributes attributes = {}) {
  return {find_op(op), std::move(inputs), std::move(attributes)};
}
Array matrices(Shape shape, const std::vector<float>& numbers) {
  return Array::of<float>(std::move(shape), numbers);
}

class CudaSolver : public CudaLibrary {
 protected:
  void SetUp() override {
    CudaLibrary::SetUp();
    if (!host::lapack()) GTEST_SKIP() << host::lapack().error().message;
  }
  bool supported(const SampleProgram& program, const std::shared_ptr<const cuda::Libraries>& libraries) {
    for (std::size_t n = 0; n < program.graph->nodes.size(); ++n) {
      const Node& node = program.graph->nodes[NodeId(n)];
      if (node.kind == NodeKind::operation && family_of(node.op->name) == "linear_algebra")
        return cuda::back_end(libraries).supports(*program.graph, NodeId(n));
    }
    return false;
  }
};

TEST_F(CudaSolver, EqualsTheReference) {
  std::vector<OpSample> samples = op_samples();
  std::erase_if(samples, [](const OpSample& each) { return family_of(each.op->name) != "linear_algebra"; });
  for (const OpSample& each : samples) prepare(program_of(each));
  std::uint64_t variant = 0;
  std::set<std::string> seen;
  for (const OpSample& each : samples) {
    SCOPED_TRACE(describe(each));
    const SampleProgram program = program_of(each);
    check(program, variant++);
    if (HasFailure()) return;
    if (supported(program, FakeDriver::libraries())) {
      EXPECT_GT(counts_["cusolverDnSetStream"], 0);
      seen.insert(std::string(each.op->name));
    }
  }
  EXPECT_EQ(seen.size(), 10U);
}

TEST_F(CudaSolver, SaysWhichMatrixWillNotDo) {
  const Array singular = matrices({2, 2, 2, 2}, {2, 0, 0, 2, 3, 1, 1, 3, 1, 2, 2, 4, 5, 1, 1, 5});
  const Array negative = matrices({3, 2, 2}, {2, 0, 0, 2, 1, 2, 2, 1, 3, 1, 1, 3});
  const Array infinite = matrices({2, 2}, {1, 2, std::numeric_limits<float>::infinity(), 4});
  const OpSample wrong[] = {solver_sample("solve", {singular, matrices({2, 1}, {1, 2})}),
                            solver_sample("inv", {singular}),
                            solver_sample("inv", {matrices({2, 2}, {0, 0, 0, 0})}),
                            solver_sample("cholesky", {negative}, {{"upper", false}}),
                            solver_sample("cholesky", {negative}, {{"upper", true}}),
                            solver_sample("eigh", {infinite}),
                            solver_sample("eigvalsh", {infinite}),
                            solver_sample("svd", {infinite}),
                            solver_sample("svdvals", {infinite})};
  for (const OpSample& each : wrong) prepare(program_of(each));
  std::uint64_t variant = 0;
  for (const OpSample& each : wrong) {
    SCOPED_TRACE(describe(each));
    const SampleProgram program = program_of(each);
    ASSERT_FALSE(program.expected.result.ok());
    check(program, variant++);  // compares message and line
  }
}

TEST_F(CudaSolver, LeavesManySmallMatricesToTheHost) {
  const auto eyes = [](std::int64_t count) {
    Array all(TensorType{DType::f32, {count, 2, 2}});
    for (std::int64_t i = 0; i < all.size(); ++i) all.mutable_data<float>()[i] = i % 4 == 0 || i % 4 == 3 ? 2.F : 0.F;
    return program_of(solver_sample("inv", {all}));
  };
  EXPECT_TRUE(supported(eyes(64), FakeDriver::libraries()));
  EXPECT_FALSE(supported(eyes(65), FakeDriver::libraries()));
  EXPECT_FALSE(supported(eyes(1), FakeDriver::no_libraries()));
  check(eyes(1), 0, false);
  EXPECT_EQ(counts_.count("cusolverDnCreate"), 0U);
}

TEST_F(CudaSolver, FailsWithOneErrorThatNamesTheCall) {
  const Array x = matrices({3, 2}, {1, 2, 3, 4, 5, 7});
  check_failures(program_of(solver_sample("qr", {x})), "cusolverDn", "CUSOLVER_STATUS_INTERNAL_ERROR");
  check_failures(program_of(solver_sample("svd", {x})), "cusolverDn", "CUSOLVER_STATUS_INTERNAL_ERROR");
}

TEST(CudaSolverApi, TheInstalledLibraryHasEveryCall) {
  const Result<cuda::SolverApi> api = cuda::SolverApi::load();
  if (!api && api.error().message.find("cannot be opened") != std::string::npos) GTEST_SKIP() << api.error().message;
  ASSERT_TRUE(api.ok()) << api.error().message;
  EXPECT_TRUE(api->f64.gesvd);
}

#if __has_include(<cusolverDn.h>)
TEST(CudaSolverApi, NumbersAreThoseOfTheHeader) {
  EXPECT_EQ(static_cast<int>(cuda::SolverJob::values), CUSOLVER_EIG_MODE_NOVECTOR);
  EXPECT_EQ(static_cast<int>(cuda::SolverJob::vectors), CUSOLVER_EIG_MODE_VECTOR);
  EXPECT_EQ(static_cast<int>(cuda::SolverTriangle::lower), CUBLAS_FILL_MODE_LOWER);
  EXPECT_EQ(static_cast<int>(cuda::SolverTriangle::upper), CUBLAS_FILL_MODE_UPPER);
  EXPECT_EQ(static_cast<int>(cuda::SolverTurn::none), CUBLAS_OP_N);
  EXPECT_EQ(static_cast<int>(cuda::SolverTurn::transposed), CUBLAS_OP_T);
  EXPECT_EQ(static_cast<int>(cuda::SolverResult::success), CUSOLVER_STATUS_SUCCESS);
  // The types of the calls whose parameters are easiest to confuse: their number and order must match.
  using Turn = cusolverStatus_t (*)(cusolverDnHandle_t, cublasOperation_t, int, int, const float*, int, const int*, float*, int, int*);
  using Values =
      cusolverStatus_t (*)(cusolverDnHandle_t, cusolverEigMode_t, cublasFillMode_t, int, double*, int, double*, double*, int, int*);
  using Singular = cusolverStatus_t (*)(cusolverDnHandle_t, signed char, signed char, int, int, double*, int, double*, double*, int,
                                        double*, int, double*, int, double*, int*);
  EXPECT_TRUE((std::is_same_v<Turn, decltype(&cusolverDnSgetrs)>));
  EXPECT_TRUE((std::is_same_v<Values, decltype(&cusolverDnDsyevd)>));
  EXPECT_TRUE((std::is_same_v<Singular, decltype(&cusolverDnDgesvd)>));
}
#endif

}  // namespace
}  // namespace cleave::testing
