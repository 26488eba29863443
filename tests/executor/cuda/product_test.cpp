// Our own kernel for matrix products, on the emulator: integers of every size over every kind of batch, and sums of nothing.
#include <gmock/gmock.h>

#include <random>

#include "executor/cuda/matmul/matmul.h"
#include "tests/support/kernel_emulator/kernel_emulator.h"
#include "tests/support/namespaces.h"
#include "tests/support/op_call.h"

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
    const Array x = numbers({3, 18, 20}), y = form == 0 ? numbers({18, 5}) : numbers({7, 18});
    const Array turned = call_op("transpose", {x});  // 3 x 20 x 18
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

}  // namespace
}  // namespace cleave::testing
