// Linear algebra by LAPACK beyond the samples of ops: errors are the reference implementation's and name the matrix of the batch, results
// do not depend on the number of threads, and the product of the factors is the factored matrix.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <span>

#include "executor/device/kernel.h"
#include "executor/host/lapack.h"
#include "tests/support/namespaces.h"
#include "tests/support/no_output.h"
#include "tests/support/op_call.h"

namespace cleave::testing {
namespace {

/// The kernel's results, or its error.
Result<std::vector<Array>> run_by_name(std::string_view name, const std::vector<Array>& inputs, int threads = 1,
                                       Attributes attributes = {}) {
  const OpDef& op = *find_op(name);
  EXPECT_FALSE(normalize_call(op, inputs.size(), attributes));
  std::vector<Array> results;
  const TypeResult types = infer(op, types_of(inputs), attributes);
  for (const TensorType& type : std::get<0>(types)) results.emplace_back(type);
  std::vector<Array> copies = inputs;
  std::vector<TensorView> from, to;
  for (Array& copy : copies) from.push_back({&copy.type(), copy.mutable_bytes()});
  for (Array& result : results) to.push_back({&result.type(), result.mutable_bytes()});
  const std::shared_ptr<Workers> workers = Workers::of(threads);
  if (Status status = host_kernel(op)({op, attributes, from, to, kNoOutput, *workers}); !status) return status.error();
  return results;
}

/// The error of a wrong call, which must be the same from the kernel and from the reference implementation.
std::string problem(std::string_view name, const std::vector<Array>& inputs) {
  const auto kernel = run_by_name(name, inputs);
  const auto reference = call_op(*find_op(name), inputs);
  if (kernel || reference) return "accepted";
  EXPECT_EQ(kernel.error().message, reference.error().message);
  return kernel.error().message;
}

Array random_matrices(const Shape& shape) {
  std::mt19937_64 random(3);
  Array x(TensorType{DType::f64, shape});
  for (std::int64_t i = 0; i < x.size(); ++i) x.mutable_data<double>()[i] = std::uniform_real_distribution<double>(-1, 1)(random);
  return x;
}

Array zero_matrix_in_batch() {
  Array x = random_matrices({2, 3, 4, 4});
  std::fill_n(x.mutable_data<double>() + 5 * 16, 16, 0.0);
  return x;
}

TEST(LinearAlgebra, ASingularMatrixIsAnErrorWithItsPlace) {
  const Array zero(TensorType{DType::f32, {3, 3}});
  EXPECT_EQ(problem("inv", {zero}), "`inv`: the matrix is singular");
  EXPECT_EQ(problem("solve", {zero, Array(TensorType{DType::f32, {3}})}), "`solve`: the matrix is singular");
  EXPECT_EQ(problem("inv", {zero_matrix_in_batch()}), "`inv`: the matrix at [1, 2] of the batch is singular");
  EXPECT_EQ(problem("solve", {zero_matrix_in_batch(), random_matrices({3, 4, 2})}),
            "`solve`: the matrix at [1, 2] of the batch is singular");
}

TEST(LinearAlgebra, AMatrixThatIsNotPositiveDefiniteIsAnErrorWithItsPlace) {
  EXPECT_EQ(problem("cholesky", {Array::of<double>({2, 2}, {1, 0, 0, -1})}), "`cholesky`: the matrix is not positive definite");
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(problem("cholesky", {Array::of<double>({2, 2, 2}, {1, 0, 0, 1, nan, 0, 0, 1})}),
            "`cholesky`: the matrix at [1] of the batch is not positive definite");
}

TEST(LinearAlgebra, EigenvaluesOfWhatIsNotFiniteAreAnError) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const char* op : {"eigh", "eigvalsh", "svd", "svdvals"}) {
    EXPECT_EQ(problem(op, {Array::of<float>({2, 2}, {1, 0, infinity, 1})}),
              "`" + std::string(op) + "`: the matrix has an element that is not finite");
  }
}

TEST(LinearAlgebra, ImpossibleShapesAreRefused) {
  EXPECT_EQ(refusal("inv", {"f32[2, 3]"}), "`inv` of f32[2, 3]: the matrix is not square: it has 2 rows and 3 columns");
  EXPECT_EQ(refusal("qr", {"f32[3]"}), "`qr` of f32[3]: needs matrices, in the last two axes");
  EXPECT_EQ(refusal("det", {"f16[2, 2]"}), "`det` of f16[2, 2]: computes in f32 or f64; convert with astype");
  EXPECT_EQ(refusal("solve", {"f32[3, 3]", "f32[4]"}), "`solve` of f32[3, 3] and f32[4]: the matrix has 3 rows, the right side 4");
  EXPECT_EQ(refusal("solve", {"f32[2, 3, 3]", "f32[4, 3, 1]"}),
            "`solve` of f32[2, 3, 3] and f32[4, 3, 1]: the axes before the matrices do not broadcast");
}

TEST(LinearAlgebra, ResultsDoNotDependOnTheNumberOfThreads) {
  const Array x = random_matrices({40, 17, 17}), b = random_matrices({40, 17, 3});
  for (const char* op : {"inv", "det", "slogdet", "qr", "eigh", "eigvalsh", "svd", "svdvals", "solve"}) {
    const std::vector<Array> inputs = std::string_view(op) == "solve" ? std::vector<Array>{x, b} : std::vector<Array>{x};
    const auto one = run_by_name(op, inputs, 1);
    ASSERT_TRUE(one) << op;
    for (int i = 0; i < 50; ++i) {  // enough for threads to be in the library at the same time
      const auto four = run_by_name(op, inputs, 4);
      ASSERT_TRUE(four) << op;
      ASSERT_TRUE(*one == *four) << op;
    }
  }
}

TEST(LinearAlgebra, ALibraryThatSharesBuffersBetweenCallsIsCalledByOneThreadAtATime) {
#ifdef __x86_64__
  constexpr const char* names[] = {"/usr/lib/x86_64-linux-gnu/openblas-serial/libopenblas.so.0",
                                   "/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblas.so.0"};
#else
  constexpr const char* names[] = {"/usr/lib/aarch64-linux-gnu/openblas-serial/libopenblas.so.0",
                                   "/usr/lib/aarch64-linux-gnu/openblas-pthread/libopenblas.so.0"};
#endif
  const auto serial = host::open_lapack(std::span(names, 1)), threaded = host::open_lapack(std::span(names + 1, 1));
  if (!serial || !threaded) GTEST_SKIP() << "needs the packages libopenblas0-serial and libopenblas0-pthread";
  EXPECT_TRUE(serial->enter().owns_lock());
  EXPECT_FALSE(threaded->enter().owns_lock());
}

TEST(LinearAlgebra, WithoutALibraryTheErrorSaysWhatToInstall) {
  const char* const names[] = {"libno_such_lapack.so.3"};
  const auto opened = host::open_lapack(names);
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, ::testing::HasSubstr("install the package libopenblas0-pthread or liblapack3"));
}

/// The largest element of |a b - c|, for matrices.
double off(const Array& a, const Array& b, const Array& c) {
  const std::int64_t n = a.shape()[0], k = a.shape()[1], m = b.shape()[1];
  double worst = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < m; ++j) {
      double sum = -c.data<double>()[i * m + j];
      for (std::int64_t l = 0; l < k; ++l) sum += a.data<double>()[i * k + l] * b.data<double>()[l * m + j];
      worst = std::max(worst, std::fabs(sum));
    }
  }
  return worst;
}

TEST(LinearAlgebra, FactorsMultiplyToTheMatrix) {
  for (const Shape& shape : {Shape{60, 60}, Shape{90, 31}, Shape{31, 90}}) {
    const Array x = random_matrices(shape);
    const auto qr = run_by_name("qr", {x}), svd = run_by_name("svd", {x});
    ASSERT_TRUE(qr && svd);
    EXPECT_LT(off((*qr)[0], (*qr)[1], x), 1e-12);
    Array scaled = (*svd)[0];
    const std::int64_t k = scaled.shape()[1];
    for (std::int64_t i = 0; i < scaled.size(); ++i) scaled.mutable_data<double>()[i] *= (*svd)[1].data<double>()[i % k];
    EXPECT_LT(off(scaled, (*svd)[2], x), 1e-12);
  }
  const Array a = random_matrices({70, 70}), b = random_matrices({70, 4});
  const auto solved = run_by_name("solve", {a, b});
  ASSERT_TRUE(solved);
  EXPECT_LT(off(a, (*solved)[0], b), 1e-10);
}

}  // namespace
}  // namespace cleave::testing
