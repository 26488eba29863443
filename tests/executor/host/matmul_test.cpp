// Matrix products of the host against the op's reference implementation: every layout of the operands, every shape that is blocked or
// packed differently, and the same bits for every number of threads.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include "executor/check/compare.h"
#include "executor/device/kernel.h"
#include "executor/host/matmul/code.h"
#include "executor/host/matmul/matmul.h"
#include "graph/ops/op_table.h"
#include "tests/support/namespaces.h"
#include "tests/support/sanitized.h"

namespace {

std::atomic<int> allocations{0};  // none is counted under a sanitizer, which brings its own allocator

[[maybe_unused]] void* counted(std::size_t bytes, std::size_t alignment) {
  ++allocations;
  if (void* memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment)) return memory;
  throw std::bad_alloc();
}

}  // namespace

#if !CLEAVE_SANITIZED
void* operator new(std::size_t bytes) {
  return counted(bytes, alignof(std::max_align_t));
}
void* operator new[](std::size_t bytes) {
  return counted(bytes, alignof(std::max_align_t));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
#endif

namespace cleave::testing {
namespace {

const OpContext kContext{[](std::string_view) {}};

const OpDef& op(const char* name) {
  return *find_op(name);
}

/// Whole numbers so small that sums of their products are exact in any order; of integers, such that products wrap.
template <class T>
Array numbers(const Shape& shape, DType dtype, int seed) {
  Array array(TensorType{dtype, shape});
  auto state = static_cast<std::uint32_t>(seed) * 2654435761U + 1;
  for (std::int64_t i = 0; i < array.type().elements(); ++i) {
    state = state * 1664525U + 1013904223U;
    const int small = static_cast<int>(state >> 28) - 8;
    if constexpr (std::is_integral_v<T>) {
      array.mutable_data<T>()[i] = static_cast<T>(small) * static_cast<T>(1000003);
    } else {
      array.mutable_data<T>()[i] = T(static_cast<float>(small));
    }
  }
  return array;
}

Array numbers(const Shape& shape, DType dtype, int seed) {
  switch (dtype) {
    case DType::f64: return numbers<double>(shape, dtype, seed);
    case DType::f16: return numbers<Half>(shape, dtype, seed);
    case DType::bf16: return numbers<BFloat16>(shape, dtype, seed);
    case DType::i32: return numbers<std::int32_t>(shape, dtype, seed);
    case DType::i64: return numbers<std::int64_t>(shape, dtype, seed);
    default: return numbers<float>(shape, dtype, seed);
  }
}

Array meant(const char* name, const std::vector<Array>& inputs) {
  std::vector<TensorType> types;
  for (const Array& input : inputs) types.push_back(input.type());
  std::vector<Array> results;
  const TypeResult typed = op(name).type_rule(types, {});
  for (const TensorType& type : std::get<0>(typed)) results.emplace_back(type);
  EXPECT_TRUE(op(name).reference({{}, inputs, results, kContext}).ok());
  return results[0];
}

/// A product of operands that are transposed or not, with an optional bias or relu behind it, as a request with these steps.
struct Product {
  Array a, b;
  bool transpose_a = false, transpose_b = false, bias = false, relu = false;

  [[nodiscard]] std::vector<Array> inputs() const {
    std::vector<Array> all = {a, b};
    if (bias) all.push_back(numbers({b.type().shape[b.type().shape.size() - (transpose_b ? 2 : 1)]}, a.dtype(), 9));
    return all;
  }
  [[nodiscard]] Array reference_product() const {
    return meant("matmul", {transpose_a ? meant("transpose", {a}) : a, transpose_b ? meant("transpose", {b}) : b});
  }
  [[nodiscard]] Array reference() const {
    Array result = reference_product();
    if (bias) result = meant("add", {result, inputs()[2]});
    return relu ? meant("relu", {result}) : result;
  }

  [[nodiscard]] KernelRequest request() const {
    const std::vector<Array> given = inputs();
    KernelRequest request{{}, &op("matmul"), &attributes, {}, {}, {}, {}, {}, {}};
    for (const Array& input : given) request.input_types.push_back(input.type());
    std::vector<TensorType> types = request.input_types;
    const auto step = [&](const char* name, const std::vector<std::size_t>& operands) {
      std::vector<TensorType> read;
      for (const std::size_t operand : operands) read.push_back(types[operand]);
      types.push_back(std::get<0>(op(name).type_rule(read, {}))[0]);
      request.op = &op(name);
      request.steps.push_back({{}, &op(name), &attributes, operands, types.back()});
      return types.size() - 1;
    };
    const std::size_t left = transpose_a ? step("transpose", {0}) : 0, right = transpose_b ? step("transpose", {1}) : 1;
    std::size_t last = step("matmul", {left, right});
    if (bias) last = step("add", {last, 2});
    if (relu) step("relu", {last});
    request.result_types = {types.back()};
    if (request.steps.size() == 1) request.steps.clear();
    if (!request.steps.empty()) request.written = {request.steps.size() - 1};
    return request;
  }
  static inline const Attributes attributes;
};

Array run(HostKernel& kernel, const Product& product, const KernelRequest& request, Workers& workers, int times = 1) {
  std::vector<Array> inputs = product.inputs();
  Array result(request.result_types[0]);
  if (result.type().bytes() > 0) std::memset(result.mutable_bytes(), 0xFF, static_cast<std::size_t>(result.type().bytes()));
  std::vector<TensorView> reads, writes = {{&result.type(), result.mutable_bytes()}};
  for (Array& input : inputs) reads.push_back({&input.type(), input.mutable_bytes()});
  const int before = allocations;
  for (int i = 0; i < times; ++i) EXPECT_TRUE(kernel.run({*request.op, Product::attributes, reads, writes, kContext, workers}).ok());
  EXPECT_TRUE(times == 1 || allocations == before) << "allocations in the steady state";
  return result;
}

void check(const Product& product) {
  SCOPED_TRACE(to_string(product.a.type()) + (product.transpose_a ? "' x " : " x ") + to_string(product.b.type()) +
               (product.transpose_b ? "'" : "") + (product.bias ? " bias" : "") + (product.relu ? " relu" : ""));
  const KernelRequest request = product.request();
  ASSERT_TRUE(host_fuses(request) || request.steps.empty());
  const std::unique_ptr<HostKernel> kernel = host::prepare_matmul(request);
  ASSERT_TRUE(kernel);
  const Array alone = run(*kernel, product, request, Workers::none());
  const double inner = static_cast<double>(product.a.type().elements()) / std::max<double>(1, static_cast<double>(alone.type().elements()));
  EXPECT_EQ(difference(alone, product.reference(), std::max(inner, static_cast<double>(product.a.type().shape.back()))).value_or(""), "");
  for (const int threads : {2, 5}) {
    const std::shared_ptr<Workers> workers = Workers::of(threads);
    const Array together = run(*kernel, product, request, *workers);
    EXPECT_TRUE(together == alone || std::memcmp(together.bytes(), alone.bytes(), static_cast<std::size_t>(alone.type().bytes())) == 0)
        << threads << " threads";
    run(*kernel, product, request, *workers, 2);
  }
}

void check_matrices(std::int64_t m, std::int64_t n, std::int64_t k, DType dtype, bool transpose_a, bool transpose_b) {
  check({numbers(transpose_a ? Shape{k, m} : Shape{m, k}, dtype, 1), numbers(transpose_b ? Shape{n, k} : Shape{k, n}, dtype, 2),
         transpose_a, transpose_b});
}

TEST(HostMatmul, EveryShapeLyingEitherWay) {
  const std::int64_t shapes[][3] = {{0, 3, 4},     {3, 0, 4},      {3, 4, 0},       {1, 1, 1},       {1, 1, 300},    {1, 17, 5},
                                    {17, 1, 5},    {2, 3, 4},      {3, 16, 17},     {5, 33, 64},     {8, 48, 31},    {9, 64, 100},
                                    {13, 65, 7},   {16, 16, 3000}, {31, 49, 8},     {64, 64, 64},    {100, 37, 211}, {1, 700, 300},
                                    {700, 1, 300}, {4, 1100, 600}, {150, 600, 530}, {128, 128, 128}, {50, 112, 300}, {96, 256, 200}};
  for (const auto& [m, n, k] : shapes) {
    for (const bool transpose_a : {false, true}) {
      for (const bool transpose_b : {false, true}) check_matrices(m, n, k, DType::f32, transpose_a, transpose_b);
    }
  }
}

/// Numbers whose sums are rounded, so that another order of addition would be visible.
TEST(HostMatmul, TheSameBitsForEveryNumberOfThreads) {
  const std::int64_t shapes[][3] = {{128, 128, 128}, {64, 256, 784}, {300, 272, 600}, {1, 700, 900}, {16, 16, 20000}, {1, 60, 30000}};
  for (const auto& [m, n, k] : shapes) {
    for (const bool transpose : {false, true}) {
      Product product{numbers({m, k}, DType::f32, 1), numbers(transpose ? Shape{n, k} : Shape{k, n}, DType::f32, 2), false, transpose};
      for (Array* operand : {&product.a, &product.b}) {
        for (std::int64_t i = 0; i < operand->type().elements(); ++i)
          operand->mutable_data<float>()[i] += 1 / static_cast<float>(3 + i % 997);
      }
      const KernelRequest request = product.request();
      const std::unique_ptr<HostKernel> kernel = host::prepare_matmul(request);
      ASSERT_TRUE(kernel);
      const Array alone = run(*kernel, product, request, Workers::none());
      for (int threads = 2; threads <= 8; ++threads) {
        const Array together = run(*kernel, product, request, *Workers::of(threads));
        EXPECT_EQ(std::memcmp(together.bytes(), alone.bytes(), static_cast<std::size_t>(alone.type().bytes())), 0)
            << m << "x" << n << "x" << k << ", " << threads << " threads";
      }
    }
  }
}

TEST(HostMatmul, EveryType) {
  for (const DType dtype : {DType::f64, DType::f16, DType::bf16, DType::i32, DType::i64}) {
    const std::int64_t shapes[][3] = {{1, 40, 30}, {40, 1, 30}, {3, 4, 0}, {37, 41, 29}, {130, 530, 600}};
    for (const auto& [m, n, k] : shapes) {
      for (const bool transpose : {false, true}) check_matrices(m, n, k, dtype, transpose, !transpose);
    }
  }
}

TEST(HostMatmul, LargeOnesThatAreCutAndPacked) {
  check_matrices(300, 2200, 600, DType::f32, false, false);
  check_matrices(200, 1100, 1040, DType::f32, true, false);
  check_matrices(2, 3000, 900, DType::f32, false, false);
  check_matrices(1, 20, 70000, DType::f32, false, false);
  check_matrices(1, 1, 200000, DType::f32, false, false);
  check_matrices(12, 3000, 200, DType::f32, false, false);
}

TEST(HostMatmul, Batches) {
  const auto f32 = DType::f32;
  check({numbers({5, 7, 3}, f32, 1), numbers({5, 3, 4}, f32, 2)});
  check({numbers({2, 1, 7, 3}, f32, 1), numbers({5, 3, 4}, f32, 2)});
  check({numbers({5, 7, 3}, f32, 1), numbers({3, 4}, f32, 2)});
  check({numbers({7, 3}, f32, 1), numbers({2, 5, 3, 4}, f32, 2)});
  check({numbers({70, 33}, f32, 1), numbers({20, 33}, f32, 2), false, true});
  check({numbers({40, 64, 32}, f32, 1), numbers({40, 64, 32}, f32, 2), false, true});
  check({numbers({3, 200, 128}, f32, 1), numbers({3, 128, 200}, f32, 2)});
  check({numbers({3}, f32, 1), numbers({6, 3, 4}, f32, 2)});
  check({numbers({6, 4, 3}, f32, 1), numbers({3}, f32, 2)});
  check({numbers({0, 4, 3}, f32, 1), numbers({3, 5}, f32, 2)});
}

TEST(HostMatmul, WithWhatStandsBehindIt) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const std::int64_t shapes[][3] = {{1, 700, 300}, {64, 100, 50}, {50, 1, 60}, {3, 5, 0}, {130, 540, 530}, {1, 20, 70000}};
    for (const auto& [m, n, k] : shapes) {
      for (const bool bias : {false, true}) check({numbers({m, k}, dtype, 1), numbers({k, n}, dtype, 2), false, false, bias, true});
      check({numbers({m, k}, dtype, 1), numbers({n, k}, dtype, 2), false, true, true, false});
    }
  }
  const Product integers{numbers({3, 4}, DType::i32, 1), numbers({4, 5}, DType::i32, 2), false, false, false, true};
  EXPECT_FALSE(host::has_matmul(integers.request())) << "relu of what wraps";
}

Array run_kept(HostKernel& kernel, const KernelRequest& request, Array& a, Array& b, std::array<std::uint8_t, 2> kept, int threads = 1) {
  Array result(request.result_types[0]);
  const TensorView reads[] = {{&a.type(), a.mutable_bytes()}, {&b.type(), b.mutable_bytes()}};
  const TensorView writes[] = {{&result.type(), result.mutable_bytes()}};
  EXPECT_TRUE(kernel.run({*request.op, Product::attributes, reads, writes, kContext, *Workers::of(threads), kept}).ok());
  return result;
}

/// Kept operands are promised not to change. The test changes them anyway, to see whether the packed copy is used.
TEST(HostMatmul, WhatIsKeptIsPackedOnceForEachPlace) {
  const std::int64_t shapes[][3] = {{8, 1056, 200}, {2, 90, 700}, {130, 600, 530}, {256, 2200, 40}};
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const auto& [m, n, k] : shapes) {
      SCOPED_TRACE(std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k));
      Product product{numbers({m, k}, dtype, 1), numbers({n, k}, dtype, 2), false, true};
      const KernelRequest request = product.request();
      const std::unique_ptr<HostKernel> kernel = host::prepare_matmul(request);
      ASSERT_TRUE(kernel);
      const std::array<std::uint8_t, 2> none = {0, 0}, kept = {0, 1};
      Array &a = product.a, &b = product.b;
      const Array first = product.reference();
      EXPECT_EQ(difference(run_kept(*kernel, request, a, b, kept), first, 1).value_or(""), "");
      EXPECT_EQ(difference(run_kept(*kernel, request, a, b, kept, 3), first, 1).value_or(""), "");
      std::memset(b.mutable_bytes(), 0, static_cast<std::size_t>(b.type().bytes()));
      EXPECT_EQ(difference(run_kept(*kernel, request, a, b, kept), first, 1).value_or(""), "") << "packed again";
      EXPECT_EQ(difference(run_kept(*kernel, request, a, b, none), product.reference(), 1).value_or(""), "");
      const Array before = b;  // keeps the old memory; writing to `b` moves it elsewhere
      std::memcpy(b.mutable_bytes(), numbers(b.type().shape, dtype, 5).bytes(), static_cast<std::size_t>(b.type().bytes()));
      EXPECT_EQ(difference(run_kept(*kernel, request, a, b, kept), product.reference(), 1).value_or(""), "") << "of another place";
    }
  }
}

TEST(HostMatmul, InfinitiesAndWhatIsNoNumberGoThrough) {
  for (const std::int64_t m : {1, 5, 64}) {
    for (const bool transpose_b : {false, true}) {
      Product product{numbers({m, 40}, DType::f32, 1), numbers(transpose_b ? Shape{33, 40} : Shape{40, 33}, DType::f32, 2), false,
                      transpose_b};
      product.a.mutable_data<float>()[3] = 0;
      product.b.mutable_data<float>()[transpose_b ? 3 : 99] = std::numeric_limits<float>::infinity();
      product.a.mutable_data<float>()[7] = std::numeric_limits<float>::quiet_NaN();
      check(product);
    }
  }
}

}  // namespace
}  // namespace cleave::testing
