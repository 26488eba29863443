// Matrix products through cuBLASLt, on a fake that computes them and checks layouts as strictly as the library: every kind of plan against
// the reference executor, every failure of every call, and the cache of chosen algorithms, in memory and on disk.
#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <random>

#include "executor/check/compare.h"
#include "executor/cuda/matmul/matmul_choice.h"
#include "tests/support/blas_bench.h"
#include "tests/support/namespaces.h"
#include "tests/support/op_call.h"
#include "tests/support/op_samples.h"
#include "tests/support/temporary_folder.h"

namespace cleave::testing {
namespace {

using enum DType;
using test::TemporaryFolder;

KernelRequest request(const TensorType& a, const TensorType& b) {
  static const Attributes none;
  const OpDef* op = find_op("matmul");
  return {NodeId(0), op, &none, {a, b}, std::get<std::vector<TensorType>>(infer(*op, {a, b})), {}, {}, {}, {}};
}

MatmulPlan plan_for(const KernelRequest& request) {
  return matmul_plan(*find_matmul(request));
}

std::string plan_of(const char* a, const char* b) {
  const KernelRequest product = request(*parse_tensor_type(a), *parse_tensor_type(b));
  return cuda::has_matmul(product) ? to_string(matmul_plan(*find_matmul(product))) : "none";
}

Array converted(const Array& array, DType dtype) {
  return call_op("astype", {array}, {{"dtype", dtype}});
}

/// The array with its last two axes swapped.
Array transposed(const Array& array) {
  std::vector<std::int64_t> axes(array.shape().size());
  for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<std::int64_t>(i);
  std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  return call_op("permute_dims", {array}, {{"axes", axes}});
}

/// The product by the reference implementations, in f64 and rounded once.
Array expected(const Array& a, const Array& b, const Array& bias, Epilogue epilogue) {
  Array all = call_op("matmul", {converted(a, f64), converted(b, f64)});
  if (has_bias(epilogue)) all = call_op("add", {all, converted(bias, f64)});
  if (epilogue == Epilogue::relu || epilogue == Epilogue::bias_relu) all = call_op("relu", {all});
  if (epilogue == Epilogue::gelu || epilogue == Epilogue::bias_gelu) {
    for (double& x : std::span(all.mutable_data<double>(), static_cast<std::size_t>(all.size())))
      x = x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  }
  return converted(all, a.dtype());
}

class Cases {
 public:
  explicit Cases(std::uint64_t seed) : random_(seed) {}

  struct Case {
    Array a, b, bias;  ///< logical operands, before any transposition
    MatmulPlan plan;
  };

  Case next() {
    Case c;
    const DType dtype = std::array{f32, f64, f16, bf16}[below(4)];
    const std::int64_t m = extent(), n = extent(), k = extent();
    Shape a, b;
    for (std::uint64_t axes = below(4); axes > 0; --axes) {  // leading axes, each whole or broadcast
      const std::int64_t count = extent() % 4 + 1;
      a.push_back(below(3) == 0 ? 1 : count);
      b.push_back(below(3) == 0 ? 1 : count);
    }
    if (below(3) == 0) (below(2) == 0 ? a : b).clear();
    const bool row = a.empty() && below(5) == 0, column = b.empty() && below(5) == 0;
    if (!row) a.push_back(m);
    a.push_back(k);
    b.push_back(k);
    if (!column) b.push_back(n);
    c.a = numbers(dtype, a);
    c.b = numbers(dtype, b);
    c.bias = numbers(dtype, {column ? 1 : n});
    MatmulRequest product = *find_matmul(request(c.a.type(), c.b.type()));
    product.transpose_a = !row && below(2) == 0;
    product.transpose_b = !column && below(2) == 0;
    c.plan = matmul_plan(product);
    if (dtype != f64) c.plan.epilogue = static_cast<Epilogue>(below(6));
    if (column && has_bias(c.plan.epilogue)) c.plan.epilogue = Epilogue::none;  // a result without its axis
    return c;
  }

 private:
  std::mt19937_64 random_;

  std::uint64_t below(std::uint64_t end) { return random_() % end; }
  std::int64_t extent() { return static_cast<std::int64_t>(below(7)) + 1; }
  Array numbers(DType dtype, Shape shape) {
    Array array(TensorType{f32, std::move(shape)});
    for (float& x : std::span(array.mutable_data<float>(), static_cast<std::size_t>(array.size())))
      x = static_cast<float>(below(2001)) / 1000 - 1;
    return converted(array, dtype);
  }
};

TEST(CudaMatmul, PlansBatchesWithOneStrideWhereItCan) {
  EXPECT_EQ(plan_of("f32[4, 3]", "f32[3, 2]"), "f32 4x2x3 a b");
  EXPECT_EQ(plan_of("f64[3]", "f64[3]"), "f64 1x1x3 a b'");
  EXPECT_EQ(plan_of("f16[3]", "f16[3, 5]"), "f16 1x5x3 a b");
  EXPECT_EQ(plan_of("bf16[4, 3]", "bf16[3]"), "bf16 4x1x3 a b'");
  EXPECT_EQ(plan_of("f32[8, 4, 3]", "f32[3, 2]"), "f32 32x2x3 a b");  // one tall matrix
  EXPECT_EQ(plan_of("f32[4, 3]", "f32[8, 3, 2]"), "f32 4x2x3 a b batch 8 (0, 6, 8)");
  EXPECT_EQ(plan_of("f32[8, 5, 4, 3]", "f32[8, 5, 3, 2]"), "f32 4x2x3 a b batch 40 (12, 6, 8)");
  EXPECT_EQ(plan_of("f32[8, 1, 4, 3]", "f32[5, 3, 2]"), "f32 4x2x3 a b batch 8 (12, 0, 40) repeat 5 (0, 6, 8)");
  EXPECT_EQ(plan_of("f32[8, 5, 4, 3]", "f32[8, 1, 3, 2]"), "f32 20x2x3 a b batch 8 (60, 6, 40)");
  EXPECT_EQ(plan_of("f32[2, 1, 3, 1, 4, 3]", "f32[1, 2, 1, 2, 3, 2]"),
            "f32 4x2x3 a b batch 3 (12, 0, 16) repeat 2 (36, 0, 96) repeat 2 (0, 12, 48) repeat 2 (0, 6, 8)");
  EXPECT_EQ(plan_of("f32[0, 3]", "f32[3, 2]"), "none");
  EXPECT_EQ(plan_of("f32[4, 0]", "f32[0, 2]"), "none");
  EXPECT_EQ(plan_of("i32[4, 3]", "i32[3, 2]"), "none");
}

TEST(CudaMatmul, EqualsTheOracleInEveryPlan) {
  constexpr std::uint64_t kSeed = 7;
  FakeDriver driver;
  {
    auto bench = BlasBench::open(driver);
    ASSERT_TRUE(bench.ok());
    Cases cases(kSeed);
    for (int i = 0; i < 400; ++i) {
      const Cases::Case c = cases.next();
      SCOPED_TRACE("seed " + std::to_string(kSeed) + ", case " + std::to_string(i) + ": " + to_string(c.plan));
      const Array should = expected(c.a, c.b, c.bias, c.plan.epilogue);
      const Array a = c.plan.transpose_a ? transposed(c.a) : c.a;
      const Array b = c.plan.transpose_b && c.plan.n > 1 ? transposed(c.b) : c.b;
      const auto is = (*bench)->run(c.plan, a, b, c.bias, should.type());
      ASSERT_TRUE(is.ok()) << is.error().message;
      EXPECT_EQ(difference(*is, should, static_cast<double>(c.plan.k)).value_or(""), "");
      ASSERT_THAT(driver.misuses(), ::testing::IsEmpty());
      if (HasFailure()) return;
    }
  }
  EXPECT_EQ(driver.leaks(), "");
}

TEST(CudaMatmul, ComputesTheSamplesOfTheOp) {
  FakeDriver driver;
  auto bench = BlasBench::open(driver);
  ASSERT_TRUE(bench.ok());
  int computed = 0;
  for (const OpSample& sample : op_samples()) {
    if (sample.op->name != "matmul") continue;
    SCOPED_TRACE(describe(sample));
    const KernelRequest product = request(sample.inputs[0].type(), sample.inputs[1].type());
    if (!cuda::has_matmul(product)) continue;
    const Array should = call_op("matmul", sample.inputs);
    const auto is = (*bench)->run(plan_for(product), sample.inputs[0], sample.inputs[1], Array(), should.type());
    ASSERT_TRUE(is.ok()) << is.error().message;
    EXPECT_EQ(difference(*is, should, reduction_length(*sample.op, sample.attributes, sample.inputs, std::span(&should, 1))).value_or(""),
              "");
    ++computed;
  }
  EXPECT_GE(computed, 15);
  EXPECT_THAT(driver.misuses(), ::testing::IsEmpty());
}

// --- products with fused operations ------------------------------------------------------------------------------------------------------

/// A fused request of `steps` on `inputs`: op and operands, the inputs first, then the results of the steps before.
struct Fused {
  std::vector<std::pair<const char*, std::vector<std::size_t>>> steps;
  std::vector<TensorType> inputs;
  static constexpr std::size_t kLast = 99;
  std::vector<std::size_t> written = {kLast};

  [[nodiscard]] KernelRequest request() const {
    static const Attributes none;
    KernelRequest request{NodeId(0), nullptr, &none, inputs, {}, {}, {}, {}, written};
    std::vector<TensorType> all = inputs;
    for (const auto& [name, operands] : steps) {
      std::vector<TensorType> types;
      for (const std::size_t operand : operands) types.push_back(all[operand]);
      request.op = find_op(name);
      all.push_back(std::get<std::vector<TensorType>>(infer(*request.op, types)).at(0));
      request.steps.push_back({NodeId(0), request.op, &none, operands, all.back()});
    }
    for (std::size_t& each : request.written) {
      if (each == kLast) each = steps.size() - 1;
      request.result_types.push_back(request.steps[each].type);
    }
    return request;
  }
  [[nodiscard]] std::string plan() const {
    const KernelRequest fused = request();
    if (!cuda::has_matmul(fused)) return "none";
    EXPECT_FALSE(cuda::has_kernel(fused));
    const MatmulRequest found = *find_matmul(fused);
    return std::to_string(found.a) + "*" + std::to_string(found.b) + ": " + to_string(matmul_plan(found));
  }
};

TEST(CudaMatmul, TakesTransposesABiasAndReluInOneGo) {
  const TensorType a{f32, {4, 3}}, at{f32, {3, 4}}, b{f32, {3, 2}}, bt{f32, {2, 3}}, row{f32, {2}}, square{f32, {3, 3}};
  EXPECT_EQ((Fused{{{"transpose", {0}}, {"matmul", {2, 1}}}, {at, b}}.plan()), "0*1: f32 4x2x3 a' b");
  EXPECT_EQ((Fused{{{"transpose", {0}}, {"matmul", {1, 2}}}, {bt, a}}.plan()), "1*0: f32 4x2x3 a b'");
  EXPECT_EQ((Fused{{{"transpose", {1}}, {"transpose", {0}}, {"matmul", {3, 2}}}, {at, bt}}.plan()), "0*1: f32 4x2x3 a' b'");
  EXPECT_EQ((Fused{{{"transpose", {0}}, {"matmul", {0, 1}}}, {at}}.plan()), "0*0: f32 3x3x4 a b'");
  EXPECT_EQ((Fused{{{"transpose", {0}}, {"matmul", {1, 1}}}, {square}}.plan()), "0*0: f32 3x3x3 a' b'");
  EXPECT_EQ((Fused{{{"transpose", {0}}, {"matmul", {2, 1}}}, {{f32, {5, 3, 4}}, b}}.plan()),
            "0*1: f32 4x2x3 a' b batch 5 (12, 0, 8)");  // has the wrong layout for one tall matrix
  EXPECT_EQ((Fused{{{"matmul", {0, 1}}, {"add", {3, 2}}}, {a, b, row}}.plan()), "0*1: f32 4x2x3 a b bias");
  EXPECT_EQ((Fused{{{"matmul", {0, 1}}, {"add", {2, 3}}, {"relu", {4}}}, {a, b, {f32, {1, 2}}}}.plan()), "0*1: f32 4x2x3 a b bias relu");
  EXPECT_EQ((Fused{{{"matmul", {0, 1}}, {"relu", {2}}}, {a, b}}.plan()), "0*1: f32 4x2x3 a b relu");
}

TEST(CudaMatmul, LeavesAloneWhatItCannotTakeInOneGo) {
  const TensorType a{f32, {4, 3}}, b{f32, {3, 2}}, row{f32, {2}}, square{f32, {3, 3}};
  const TensorType a64{f64, {4, 3}}, b64{f64, {3, 2}}, row64{f64, {2}};
  const std::vector<Fused> others = {
      {{{"matmul", {0, 1}}, {"add", {3, 2}}}, {a64, b64, row64}},                // no epilogue on f64
      {{{"matmul", {0, 1}}, {"add", {3, 2}}}, {a, b, {f32, {4, 1}}}},            // a column
      {{{"matmul", {0, 1}}, {"add", {3, 2}}}, {a, b, {f32, {4, 2}}}},            // a matrix
      {{{"matmul", {0, 1}}, {"add", {3, 2}}}, {a, b, {f32, {}}}},                // a scalar
      {{{"matmul", {0, 1}}, {"add", {3, 2}}}, {a, b, {f32, {1, 1, 2}}}},         // another rank
      {{{"matmul", {0, 1}}, {"add", {2, 2}}}, {a, b}},                           // with itself
      {{{"matmul", {0, 1}}, {"add", {3, 2}}}, {a, {f32, {3}}, {f32, {4}}}},      // along the other axis
      {{{"matmul", {0, 1}}, {"relu", {2}}, {"add", {4, 2}}}, {a, b, row}},       // in the other order
      {{{"matmul", {0, 1}}, {"multiply", {3, 2}}}, {a, b, row}},                 //
      {{{"matmul", {0, 1}}, {"gelu", {2}}}, {a, b}},                             // the exact form, which the library has not
      {{{"transpose", {0}}, {"matmul", {0, 1}}}, {square, square}},              // a transpose that the product does not read
      {{{"transpose", {0}}, {"transpose", {1}}, {"matmul", {2, 0}}}, {square}},  // twice
      {{{"matmul", {0, 1}}, {"matmul", {2, 1}}}, {square, square}},              //
      {{{"matmul", {0, 1}}, {"relu", {2}}}, {a, b}, {0, 1}},                     // the product itself is read, too
      {{{"matmul", {0, 1}}, {"relu", {2}}}, {{f32, {4, 0}}, {f32, {0, 2}}}}};    // a sum of nothing
  for (std::size_t i = 0; i < others.size(); ++i) EXPECT_EQ(others[i].plan(), "none") << i;
}

TEST(CudaMatmul, RoundsOperandsOnlyWhereItIsAskedTo) {
  FakeDriver driver;
  auto bench = BlasBench::open(driver);
  ASSERT_TRUE(bench.ok());
  const float tf32 = 1 + 0x1p-11F, bf16_only = 1 + 0x1p-8F;  // one bit more than the type has, rounded to even
  const Array a = Array::of<float>({1, 2}, {tf32, bf16_only}), b = Array::of<float>({2, 1}, {1024, 1});
  const MatmulPlan plan = plan_for(request(a.type(), b.type()));
  const auto product = [&](Precision precision) {
    (*bench)->setting.precision = precision;
    const DType type = cuda::operand_type(f32, precision);
    return (*bench)->run(plan, converted(a, type), converted(b, type), Array(), {f32, {1, 1}})->at(0);
  };
  EXPECT_EQ(product(Precision::f32), 1025.5 + 0x1p-8);
  EXPECT_EQ(product(Precision::tf32), 1025 + 0x1p-8);
  EXPECT_EQ(product(Precision::bf16), 1025);
  EXPECT_THAT(driver.misuses(), ::testing::IsEmpty());
}

TEST(CudaMatmul, TakesOperandsRoundedToBf16InEveryPlan) {
  constexpr std::uint64_t kSeed = 17;
  FakeDriver driver;
  auto bench = BlasBench::open(driver);
  ASSERT_TRUE(bench.ok());
  (*bench)->setting.precision = Precision::bf16;
  Cases cases(kSeed);
  int computed = 0;
  for (int i = 0; computed < 100; ++i) {
    const Cases::Case c = cases.next();
    if (c.a.dtype() != f32) continue;
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", case " + std::to_string(i) + ": " + to_string(c.plan));
    const Array left = converted(c.a, bf16), right = converted(c.b, bf16);
    const Array should = expected(converted(left, f32), converted(right, f32), c.bias, c.plan.epilogue);
    const Array a = c.plan.transpose_a ? transposed(left) : left;
    const Array b = c.plan.transpose_b && c.plan.n > 1 ? transposed(right) : right;
    const auto is = (*bench)->run(c.plan, a, b, c.bias, should.type());
    ASSERT_TRUE(is.ok()) << is.error().message;
    EXPECT_EQ(difference(*is, should, static_cast<double>(c.plan.k)).value_or(""), "");
    ASSERT_THAT(driver.misuses(), ::testing::IsEmpty());
    if (HasFailure()) return;
    ++computed;
  }
}

TEST(CudaMatmul, MakesOneErrorOfEachFailingCall) {
  const Array a = Array::of<float>({1, 2, 1}, {1, 2}), b = Array::of<float>({3, 1, 1}, {1, 2, 3}), bias = Array::of<float>({1}, {4});
  MatmulPlan plan = plan_for(request({f32, {2, 1, 4, 3}}, {f32, {5, 3, 2}}));
  plan.epilogue = Epilogue::bias_relu;
  plan.transpose_b = true;
  for (std::int64_t n = 1;; ++n) {
    SCOPED_TRACE("call " + std::to_string(n));
    FakeDriver driver(FakeDriver::Schedule::eager);
    driver.fail_call(n, CUDA_ERROR_OUT_OF_MEMORY);
    {
      TemporaryFolder folder;
      auto bench = BlasBench::open(driver);
      Status status = bench ? Status() : bench.error();
      if (bench) {
        (*bench)->setting.kept = cuda::FileCache(folder.path("kept"), ".matmul");
        const auto result = (*bench)->run(plan, Array(TensorType{f32, {2, 1, 4, 3}}), Array(TensorType{f32, {5, 2, 3}}),
                                          Array(TensorType{f32, {2}}), {f32, {2, 5, 4, 2}});
        if (!result) status = result.error();
      }
      bench = Error{};
      if (driver.failed().empty()) break;
      // If the trial of an algorithm fails, others are tried; if a cached algorithm is refused, the search is repeated.
      const bool optional = driver.failed().find("Destroy") != std::string::npos || driver.failed().find("Free") != std::string::npos ||
                            driver.failed().find("Release") != std::string::npos || driver.failed() == "cublasLtMatmulAlgoCheck" ||
                            driver.failed() == "cublasLtMatmul" || driver.failed().starts_with("cuEvent") ||
                            driver.failed() == "cuCtxGetCurrent" || driver.failed() == "cuCtxPopCurrent";
      if (status.ok()) {
        EXPECT_TRUE(optional) << driver.failed();
      } else {
        EXPECT_EQ(status.error().kind, ErrorKind::machine);
        EXPECT_THAT(status.error().message, ::testing::HasSubstr(driver.failed()));
      }
    }
    EXPECT_EQ(driver.leaks(), "") << driver.failed();
    EXPECT_THAT(driver.misuses(), ::testing::IsEmpty()) << driver.failed();
    ASSERT_LT(n, 1000);
    if (HasFailure()) return;
  }
}

// --- the choice of an algorithm ----------------------------------------------------------------------------------------------------------

class CudaMatmulChoice : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kFirst = 0, kInPlace = 1, kLarge = 2, kBroken = 3, kFastest = 4;
  const MatmulPlan plan_ = plan_for(request({f32, {4, 3}}, {f32, {3, 2}}));
  const Array a_{TensorType{f32, {4, 3}}}, b_{TensorType{f32, {3, 2}}};
  TemporaryFolder folder_;

  /// The algorithm that a new process uses, and whether it tried others.
  struct Taken {
    std::uint64_t algorithm = 0;
    bool tried = false;
  };
  Taken take(const std::string& folder, const std::string& machine = "a GPU") {
    FakeDriver driver;
    Taken taken;
    {
      auto bench = BlasBench::open(driver);
      EXPECT_TRUE(bench.ok());
      (*bench)->setting.kept = cuda::FileCache(folder, ".matmul");
      (*bench)->setting.machine = machine;
      auto matmul = (*bench)->prepare(plan_);
      EXPECT_TRUE(matmul.ok());
      taken.tried = driver.count("cuEventElapsedTime") > 0;
      const auto before = driver.algorithms();
      EXPECT_TRUE((*bench)->run(**matmul, a_, b_, Array(), {f32, {4, 2}}).ok());
      for (const auto& [algorithm, count] : driver.algorithms()) {
        const auto old = before.find(algorithm);
        if (old == before.end() || old->second < count) taken.algorithm = algorithm;
      }
      for (const std::uint64_t never : {kInPlace, kLarge, kBroken}) EXPECT_FALSE(driver.algorithms().contains(never)) << never;
    }
    EXPECT_EQ(driver.leaks(), "");
    EXPECT_THAT(driver.misuses(), ::testing::IsEmpty());
    return taken;
  }
  [[nodiscard]] std::filesystem::path kept_file() const {
    std::filesystem::path found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path("kept"))) found = entry.path();
    return found;
  }
};

TEST_F(CudaMatmulChoice, IsTheLibrarysWhereNothingCanBeKept) {
  EXPECT_EQ(take("").algorithm, kFirst);
  EXPECT_FALSE(take("").tried);
  EXPECT_EQ(take("/proc/no/such/folder").algorithm, kFirst);
}

TEST_F(CudaMatmulChoice, IsTheFastestThatRunsAndIsKept) {
  const Taken first = take(folder_.path("kept"));
  EXPECT_EQ(first.algorithm, kFastest);
  EXPECT_TRUE(first.tried);
  const Taken second = take(folder_.path("kept"));
  EXPECT_EQ(second.algorithm, kFastest);
  EXPECT_FALSE(second.tried);
  EXPECT_TRUE(take(folder_.path("kept"), "another GPU").tried);
  EXPECT_TRUE(take(folder_.path("kept"), "a GPU with another driver").tried);
}

TEST_F(CudaMatmulChoice, IgnoresAndReplacesDamagedFiles) {
  ASSERT_TRUE(take(folder_.path("kept")).tried);
  const std::filesystem::path file = kept_file();
  std::string whole;
  {
    std::ifstream in(file, std::ios::binary);
    whole.assign(std::istreambuf_iterator<char>(in), {});
  }
  std::mt19937_64 random(3);
  for (int i = 0; i < 60; ++i) {
    std::string damaged = whole;
    if (i % 3 == 0) damaged.resize(random() % damaged.size());
    if (i % 3 == 1) damaged[random() % damaged.size()] ^= static_cast<char>(1 + random() % 255);
    if (i % 3 == 2) damaged += "x";
    std::ofstream(file, std::ios::binary) << damaged;
    SCOPED_TRACE("seed 3, damage " + std::to_string(i));
    const Taken again = take(folder_.path("kept"));
    EXPECT_TRUE(again.tried);
    EXPECT_EQ(again.algorithm, kFastest);
    std::ifstream in(file, std::ios::binary);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), whole);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path("kept")), {}), 1);  // nothing unfinished
    if (HasFailure()) return;
  }
}

TEST_F(CudaMatmulChoice, GivesUpOnATrialThatDoesNotEnd) {
  FakeDriver driver(FakeDriver::Schedule::latest);
  const auto context = *cuda::Context::open(FakeDriver::api().driver, 0);
  ASSERT_TRUE(context->enter().ok());
  Result<cuda::Stopwatch> watch = cuda::Stopwatch::make(*context, 0.05);
  ASSERT_TRUE(watch.ok());
  const auto memory = *cuda::make_device_memory(*context, 64);
  driver.stall_command(3);
  const auto seconds = watch->seconds(
      [&](CUstream stream) { return context->check("cuMemsetD32Async", context->api().cuMemsetD32Async(memory.get(), 1, 4, stream)); });
  ASSERT_FALSE(seconds.ok());
  EXPECT_THAT(seconds.error().message, ::testing::HasSubstr("does not end"));
  EXPECT_TRUE(context->lost());
  EXPECT_THAT(driver.misuses(), ::testing::IsEmpty());  // nothing freed under it
}

TEST_F(CudaMatmulChoice, GoesByWhatAnotherProcessKeptFirst) {
  const cuda::FileCache cache(folder_.path("kept"), ".x");
  EXPECT_EQ(cache.keep("key", "one"), "one");
  EXPECT_EQ(cache.keep("key", "two"), "one");
  EXPECT_EQ(cache.find("key"), "one");
  EXPECT_EQ(cache.find("other"), std::nullopt);
  EXPECT_EQ(cuda::FileCache("", ".x").keep("key", "one"), std::nullopt);
}

TEST(CudaMatmul, TellsTheRealLibraryWhatItUnderstands) {
  const Result<cuda::BlasApi> api = cuda::BlasApi::load();
  if (!api) GTEST_SKIP() << api.error().message;
  Cases cases(11);
  for (int i = 0; i < 100; ++i) {
    const Cases::Case c = cases.next();
    for (const Precision precision : {Precision::f32, Precision::tf32, Precision::bf16}) {
      const auto description = cuda::MatmulDescription::make(*api, c.plan, precision);
      EXPECT_TRUE(description.ok()) << to_string(c.plan) << ": " << description.error().message;
    }
  }
}

}  // namespace
}  // namespace cleave::testing
