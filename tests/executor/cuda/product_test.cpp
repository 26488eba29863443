// cleave's own kernel for matrix products, on the emulator: integers of every size over every kind of batch, empty sums, and the floating
// types that cuBLASLt may have no algorithm for. Also programs where cuBLASLt has none.
#include <gmock/gmock.h>

#include <random>

#include "executor/check/compare.h"
#include "executor/cuda/back_end.h"
#include "executor/cuda/compiler.h"
#include "executor/cuda/kernels/product.h"
#include "executor/cuda/matmul/matmul.h"
#include "tests/executor/cuda/cuda_plan.h"
#include "tests/executor/run_support.h"
#include "tests/support/fake_driver.h"
#include "tests/support/kernel_emulator/kernel_emulator.h"
#include "tests/support/namespaces.h"
#include "tests/support/op_call.h"
#include "tests/support/traced_lines.h"

namespace cleave::testing {
namespace {

using enum DType;

struct Case {
  Array a, b;
  Array should;
  cuda::KernelSource source;
};

Case make_case(std::mt19937_64& random, DType dtype, const Shape& a, const Shape& b) {
  const auto numbers = [&](const Shape& shape) {
    Array array(TensorType{dtype, shape});
    std::byte* bytes = array.mutable_bytes();
    for (std::int64_t i = 0; i < array.type().bytes(); ++i) bytes[i] = static_cast<std::byte>(random());
    return array;
  };
  Case c;
  c.a = numbers(a);
  c.b = numbers(b);
  c.should = call_op("matmul", {c.a, c.b});
  const Attributes none;
  const KernelRequest request{NodeId(0), find_op("matmul"), &none, {c.a.type(), c.b.type()}, {c.should.type()}, {}, {}, {}, {}};
  EXPECT_FALSE(cuda::has_matmul(request));
  const auto source = cuda::kernel_source(request, {9, 0, 2});
  EXPECT_TRUE(source.has_value());
  if (source) c.source = *source;
  return c;
}

TEST(CudaProduct, EqualsTheOracleBitForBit) {
  if (const std::string why = KernelEmulator::unavailable(); !why.empty()) GTEST_SKIP() << why;
  constexpr std::uint64_t kSeed = 5;
  std::mt19937_64 random(kSeed);
  const std::pair<Shape, Shape> shapes[] = {{{1, 1}, {1, 1}},
                                            {{16, 16}, {16, 16}},
                                            {{17, 33}, {33, 19}},
                                            {{5}, {5}},
                                            {{5}, {3, 5, 2}},
                                            {{3, 40, 5}, {5}},
                                            {{3, 20, 5}, {5, 18}},
                                            {{2, 1, 3, 4}, {3, 4, 2}},
                                            {{2, 1, 3, 1, 4, 3}, {1, 2, 1, 2, 3, 2}},
                                            {{64, 3, 5}, {64, 5, 3}},
                                            {{40, 33}, {33, 45}},   // two sums of a thread along each side
                                            {{130, 70}, {70, 66}},  // four
                                            {{65, 17}, {17, 64}},
                                            {{3, 40, 20}, {20, 36}},
                                            {{0, 3}, {3, 2}}};
  std::vector<Case> cases;
  for (const auto& [a, b] : shapes) {
    for (const DType dtype : {i32, i64, u8}) cases.push_back(make_case(random, dtype, a, b));
  }
  for (const DType dtype : {f32, f64, f16, bf16, i32}) cases.push_back(make_case(random, dtype, {2, 17, 0}, {0, 3}));
  KernelEmulator emulator;
  for (const Case& c : cases) emulator.add(c.source);
  for (const Case& c : cases) {
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", " + to_string(c.a.type()) + " by " + to_string(c.b.type()));
    const Array inputs[] = {c.a, c.b};
    Array is(c.should.type());
    std::fill_n(is.mutable_bytes(), is.type().bytes(), std::byte{0xAA});
    if (c.source.launches.empty()) continue;
    const Status status = emulator.run(c.source, inputs, std::span(&is, 1));
    ASSERT_TRUE(status.ok()) << status.error().message;
    EXPECT_TRUE(is == c.should) << to_string(is) << " instead of " << to_string(c.should);
    if (HasFailure()) return;
  }
}

TEST(CudaProduct, ReadsTransposesAsTheyLie) {
  if (const std::string why = KernelEmulator::unavailable(); !why.empty()) GTEST_SKIP() << why;
  constexpr std::uint64_t kSeed = 6;
  std::mt19937_64 random(kSeed);
  const Attributes none;
  const OpDef *transpose = find_op("transpose"), *matmul = find_op("matmul");
  KernelEmulator emulator;
  for (const int form : {0, 1, 2}) {
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", form " + std::to_string(form));
    const auto numbers = [&](const Shape& shape) {
      Array array(TensorType{i32, shape});
      for (std::int64_t i = 0; i < array.size(); ++i) array.mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>(random());
      return array;
    };
    const Array x = numbers({3, 50, 40}), y = form == 0 ? numbers({50, 36}) : numbers({7, 50});
    const Array turned = call_op("transpose", {x});  // 3 x 40 x 50
    // x' y, y x'', and x x'
    const Array should = form == 0   ? call_op("matmul", {turned, y})
                         : form == 1 ? call_op("matmul", {y, call_op("transpose", {turned})})
                                     : call_op("matmul", {x, turned});
    std::vector<Array> inputs = {form == 1 ? turned : x};
    if (form != 2) inputs.push_back(y);
    const std::size_t result = inputs.size();
    const std::vector<std::size_t> operands = form == 0   ? std::vector<std::size_t>{result, 1}
                                              : form == 1 ? std::vector<std::size_t>{1, result}
                                                          : std::vector<std::size_t>{0, result};
    KernelRequest request{NodeId(0), matmul, &none, {}, {should.type()}, {}, {}, {}, {1}};
    for (const Array& input : inputs) request.input_types.push_back(input.type());
    request.steps = {{NodeId(0), transpose, &none, {0}, form == 1 ? x.type() : turned.type()},
                     {NodeId(0), matmul, &none, operands, should.type()}};
    const auto source = cuda::kernel_source(request, {9, 0, 2});
    ASSERT_TRUE(source.has_value());
    Array is(should.type());
    const Status status = emulator.run(*source, inputs, std::span(&is, 1));
    ASSERT_TRUE(status.ok()) << status.error().message;
    EXPECT_TRUE(is == should) << to_string(is) << " instead of " << to_string(should);
  }
}

/// relu(x' y + bias) in one kernel, and a batch of plain products.
struct Floating {
  std::vector<Array> inputs;
  Array should;
  KernelRequest request;
};

std::vector<Floating> floating_products(std::mt19937_64& random) {
  static const Attributes none;
  const OpDef *transpose = find_op("transpose"), *matmul = find_op("matmul"), *add = find_op("add"), *relu = find_op("relu");
  std::vector<Floating> all;
  for (const DType dtype : {f32, f64, f16, bf16}) {
    const auto numbers = [&](const Shape& shape) {
      Array array(TensorType{f32, shape});
      for (std::int64_t i = 0; i < array.size(); ++i)
        array.mutable_data<float>()[i] = static_cast<float>(static_cast<std::int64_t>(random() % 33) - 16) / 8;
      return call_op("astype", {array}, {{"dtype", dtype}});
    };
    const Array x = numbers({19, 21}), y = numbers({19, 18}), bias = numbers({18});
    const Array turned = call_op("transpose", {x}), product = call_op("matmul", {turned, y}), sum = call_op("add", {product, bias});
    KernelRequest fused{NodeId(0), relu, &none, {bias.type(), y.type(), x.type()}, {sum.type()}, {}, {}, {}, {3}};
    fused.steps = {{NodeId(0), transpose, &none, {2}, turned.type()},
                   {NodeId(0), matmul, &none, {3, 1}, product.type()},
                   {NodeId(0), add, &none, {4, 0}, sum.type()},
                   {NodeId(0), relu, &none, {5}, sum.type()}};
    all.push_back({{bias, y, x}, call_op("relu", {sum}), fused});
    const Array p = numbers({66, 20}), q = numbers({20, 70}), r = call_op("matmul", {p, q});  // several sums of a thread
    all.push_back({{p, q}, r, {NodeId(0), matmul, &none, {p.type(), q.type()}, {r.type()}, {}, {}, {}, {}}});
    const Array a = numbers({2, 1, 17, 33}), b = numbers({3, 33, 5}), c = call_op("matmul", {a, b});
    all.push_back({{a, b}, c, {NodeId(0), matmul, &none, {a.type(), b.type()}, {c.type()}, {}, {}, {}, {}}});
  }
  return all;
}

TEST(CudaProduct, TakesFloatingTypesWithWhatIsDoneAround) {
  if (const std::string why = KernelEmulator::unavailable(); !why.empty()) GTEST_SKIP() << why;
  constexpr std::uint64_t kSeed = 7;
  std::mt19937_64 random(kSeed);
  const std::vector<Floating> cases = floating_products(random);
  std::vector<cuda::KernelSource> sources;
  KernelEmulator emulator;
  for (const Floating& c : cases) emulator.add(sources.emplace_back(cuda::product_source(c.request, {9, 0, 2})));
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Floating& c = cases[i];
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", case " + std::to_string(i) + " of " + to_string(c.should.type()));
    Array is(c.should.type());
    const Status status = emulator.run(sources[i], c.inputs, std::span(&is, 1));
    ASSERT_TRUE(status.ok()) << status.error().message;
    EXPECT_EQ(difference(is, c.should, 40.0).value_or(""), "");
  }
}

TEST(CudaProduct, OfFloatingTypesCompiles) {
  const Result<cuda::CompilerApi> api = cuda::CompilerApi::load();
  if (!api) GTEST_SKIP() << api.error().message;
  std::mt19937_64 random(8);
  const auto compiler = cuda::Compiler::open(*api, {9, 0, 132}, {});
  ASSERT_TRUE(compiler.ok());
  for (const Floating& c : floating_products(random)) {
    const Result<std::string> image = compiler->image(cuda::product_source(c.request, {9, 0, 132}).text);
    EXPECT_TRUE(image.ok()) << image.error().message;
  }
}

TEST(CudaProduct, ComputesWhereTheLibraryHasNoAlgorithm) {
  Tracer tracer("program");
  const Operand x = tracer.input("x", {f32, {4, 3}}, {}, line(1)), w = tracer.input("w", {f32, {3, 5}}, {}, line(1));
  const Operand bias = tracer.input("bias", {f32, {5}}, {}, line(1));
  const Operand sum = call(tracer, "add", {call(tracer, "matmul", {x, w}, 2), bias}, 2);
  tracer.output("y", call(tracer, "relu", {sum}, 3), line(3));
  const auto graph = std::make_shared<const Graph>(tracer.finish());
  RunOptions inputs;
  for (const auto& [name, shape] : {std::pair<const char*, Shape>{"x", {4, 3}}, {"w", {3, 5}}, {"bias", {5}}}) {
    Array array(TensorType{f32, shape});
    for (std::int64_t i = 0; i < array.size(); ++i) array.mutable_data<float>()[i] = static_cast<float>(i % 7) / 4 - 1;
    inputs.inputs.insert_or_assign(name, array);
  }
  const Outcome expected = run_with(inputs, [&](const RunOptions& o) { return run_reference(*graph, o); });
  const Planned planned = plan_on_cuda(graph, Where::accelerator);
  using enum FakeDriver::Algorithms;
  for (const FakeDriver::Algorithms offered : {some, none, broken}) {
    for (const bool fuse : {false, true}) {
      SCOPED_TRACE("offer " + std::to_string(static_cast<int>(offered)) + (fuse ? ", fused" : ""));
      FakeDriver driver;
      driver.offer(offered);
      {
        ExecutorSetup setup{{}, cuda::back_end(), 0};
        setup.back_end.open = driver.opener();
        setup.fuse = fuse;
        const std::unique_ptr<Executor> executor = executor_for(planned, setup);
        ASSERT_TRUE(executor);
        expect_equal(run_with(inputs, [&](const RunOptions& o) { return executor->run(o); }), expected, false);
      }
      EXPECT_EQ(driver.algorithms().empty(), offered != some);
      EXPECT_THAT(driver.misuses(), ::testing::IsEmpty());
      EXPECT_EQ(driver.leaks(), "");
    }
  }
}

}  // namespace
}  // namespace cleave::testing
