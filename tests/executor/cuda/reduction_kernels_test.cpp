// The kernels of reductions, run by the kernel emulator, against the reference implementations: short and long rows and columns, rows that
// begin and end inside vectorized accesses, chunks, every element type, fused element-wise producers, and elements that are NaN or equal.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <list>

#include "graph/kernel/row_cut.h"
#include "tests/executor/cuda/kernel_samples.h"
#include "tests/support/sanitized.h"

namespace cleave::testing {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();

TEST(CudaReductions, ReduceShapesOfAllKinds) {
  CLEAVE_NEEDS_EMULATOR;
  for (const int multiprocessors : {1, 132}) {
    Kernels kernels({9, 0, multiprocessors});
    for (const char* op : {"sum", "mean", "max", "prod", "all", "argmin"}) {
      for (const auto& [shape, axes] : std::vector<std::pair<Shape, Integers>>{{{20000}, {0}},
                                                                               {{1, 20001}, {1}},
                                                                               {{3, 4096}, {1}},
                                                                               {{4099, 3}, {0}},
                                                                               {{5000, 40}, {0}},
                                                                               {{2, 300}, {0}},
                                                                               {{300, 2}, {1}},
                                                                               {{70, 33}, {}},
                                                                               {{6, 50, 7}, {1}},
                                                                               {{6, 50, 8}, {0, 2}},
                                                                               {{6, 5, 7, 4}, {1, 3}},
                                                                               {{6, 5, 7, 4}, {0, 2}},
                                                                               {{0, 5}, {1}},
                                                                               {{400, 16}, {1}},
                                                                               {{1, 1}, {0}},
                                                                               {{2, 64, 64}, {1, 2}}}) {
        kernels.add(sample(op, {numbers(DType::f32, shape)}, {{"axis", axes}}));
      }
    }
    for (const char* op : {"sum", "min", "argmax"}) {
      for (const DType dtype : {DType::f64, DType::f16, DType::bf16, DType::i32, DType::i64, DType::u8}) {
        kernels.add(sample(op, {numbers(dtype, {5000})}));
        kernels.add(sample(op, {numbers(dtype, {3000, 5})}, {{"axis", std::int64_t{0}}}));
      }
    }
    EXPECT_GT(kernels.check(), 80U);
    if (HasFailure()) return;
  }
}

/// A copy of the rows from `begin` to `end`, as an array of their type.
Array rows_from(const Array& array, const TensorType& type, std::int64_t begin, std::int64_t rows) {
  Array some(type);
  const std::int64_t row = array.type().bytes() / rows;
  std::memcpy(some.mutable_bytes(), array.bytes() + begin * row, static_cast<std::size_t>(type.bytes()));
  return some;
}

/// Numbers whose sum depends on the order of addition; smaller types are accumulated in larger ones.
Array rounding_numbers(Shape shape) {
  Array array(TensorType{DType::f64, std::move(shape)});
  auto* out = array.mutable_data<double>();
  for (std::int64_t i = 0; i < array.size(); ++i) out[i] = std::sin(static_cast<double>(i)) * 3;
  return array;
}

/// A reduction, and the same reduction launched by chunks of rows: each chunk begins where arrays may begin, at a multiple of 32 rows.
struct CutReduction {
  explicit CutReduction(OpSample reduction, const cuda::Architecture& architecture)
      : whole(std::move(reduction)), requests{request_for(whole)}, begins{0}, cut(*row_cut(requests[0])) {
    const std::int64_t step = std::max<std::int64_t>(32, cut.rows / 4 / 32 * 32);
    for (std::int64_t begin = 0, end = 0; begin < cut.rows; begin = end) {
      end = cut.rows - begin < 2 * step ? cut.rows : begin + step;
      requests.push_back(rows_of(requests[0], cut, begin, end));
      begins.push_back(begin);
    }
    for (const KernelRequest& request : requests) sources.push_back(*cuda::kernel_source(request, architecture));
  }
  const OpSample whole;
  std::vector<KernelRequest> requests;
  std::vector<std::int64_t> begins;
  const RowCut cut;
  std::vector<cuda::KernelSource> sources;
};

TEST(CudaReductions, OfSomeRowsHaveTheBitsOfTheWhole) {
  CLEAVE_NEEDS_EMULATOR;
  const std::vector<std::pair<Shape, Integers>> shapes = {{{96, 4200}, {1}},     {{2048, 20}, {1}},   {{128, 6, 24}, {1}},
                                                          {{64, 7, 13}, {1, 2}}, {{1, 96, 129}, {2}}, {{70, 1}, {1}}};
  std::list<CutReduction> all;
  KernelEmulator emulator;
  for (const auto& [shape, axes] : shapes)
    for (const char* op : {"sum", "argmax"})
      all.emplace_back(sample(op, {rounding_numbers(shape)}, {{"axis", axes}}), cuda::Architecture{9, 0, 16});
  for (const CutReduction& each : all)
    for (const cuda::KernelSource& source : each.sources) emulator.add(source);
  for (const CutReduction& each : all) {
    SCOPED_TRACE(describe(each.whole));
    std::vector<Array> expected;
    for (std::size_t i = 0; i < each.sources.size(); ++i) {
      const KernelRequest& request = each.requests[i];
      const std::vector<Array> inputs = {rows_from(each.whole.inputs[0], request.input_types[0], each.begins[i], each.cut.rows)};
      std::vector<Array> results = {Array(request.result_types[0])};
      ASSERT_TRUE(emulator.run(each.sources[i], inputs, results, Order::forward).ok());
      if (i == 0) expected = results;
      EXPECT_TRUE(results[0] == rows_from(expected[0], request.result_types[0], each.begins[i], each.cut.rows)) << each.begins[i];
    }
  }
}

TEST(CudaReductions, KeepNanAndTheOrderOfZeros) {
  CLEAVE_NEEDS_EMULATOR;
  Kernels kernels({9, 0, 132});
  for (const char* op : {"max", "min", "sum", "prod", "any", "all", "argmax", "argmin"}) {
    kernels.add(sample(op, {Array::of<float>({6}, {1, nan, 3, infinity, -infinity, 2})}));
    kernels.add(sample(op, {Array::of<float>({2}, {-infinity, -infinity})}));
    kernels.add(sample(op, {Array::of<float>({5}, {2, nan, -7, nan, 9})}));
    kernels.add(sample(op, {Array::of<float>({2}, {infinity, infinity})}));
    kernels.add(sample(op, {Array::of<float>({2}, {1e30F, 1e30F})}));
    kernels.add(sample(op, {Array::of<std::int32_t>({2}, {std::numeric_limits<std::int32_t>::min(), -1})}));
    kernels.add(sample(op, {Array::of<std::int64_t>({2}, {std::numeric_limits<std::int64_t>::max(), 2})}));
  }
  EXPECT_GT(kernels.check(), 30U);
}

TEST(CudaReductions, TakeRowsOfAllLengths) {
  CLEAVE_NEEDS_EMULATOR;
  const std::vector<DType> kinds = {DType::f32, DType::f16, DType::i64, DType::u8, DType::boolean};
  for (const int multiprocessors : {1, 132}) {
    Kernels kernels({9, 0, multiprocessors});
    for (const DType dtype : kSanitized ? std::vector{DType::f32} : kinds) {
      const bool truths = dtype == DType::boolean;
      for (const std::int64_t length : {1, 3, 7, 31, 33, 64, 129, 1023, 1025, 2051})
        for (const char* op : {truths ? "any" : "sum", truths ? "all" : "argmax"})
          kernels.add(sample(op, {numbers(dtype, {5, length})}, {{"axis", Integers{1}}}));
      kernels.add(sample(truths ? "all" : "min", {numbers(dtype, {300, 33})}, {{"axis", Integers{1}}}));
      kernels.add(sample(truths ? "any" : "sum", {numbers(dtype, {2, 30003})}, {{"axis", Integers{1}}}));
      kernels.add(sample(truths ? "sum" : "argmin", {numbers(dtype, {30007})}));
    }
    kernels.add(sample("sum", {numbers(DType::f32, {5, 0})}, {{"axis", Integers{1}}}));
    kernels.add(sample("mean", {numbers(DType::f32, {4, 0})}, {{"axis", Integers{1}}}));
    kernels.add(sample("sum", {numbers(DType::f32, {3, 2, 129})}, {{"axis", Integers{0, 2}}}));
    EXPECT_GT(kernels.check(), 20U);
    if (HasFailure()) return;
  }
}

TEST(CudaReductions, TakeColumnsOfAllWidths) {
  CLEAVE_NEEDS_EMULATOR;
  const std::vector<DType> kinds = {DType::f32, DType::bf16, DType::f64, DType::i8};
  for (const int multiprocessors : {1, 132}) {
    Kernels kernels({9, 0, multiprocessors});
    for (const DType dtype : kSanitized ? std::vector{DType::f32} : kinds) {
      for (const std::int64_t width : {2, 3, 6, 8, 32, 40, 129, 264}) {
        kernels.add(sample("sum", {numbers(dtype, {37, width})}, {{"axis", Integers{0}}}));
        kernels.add(sample("argmin", {numbers(dtype, {37, width})}, {{"axis", Integers{0}}}));
      }
      kernels.add(sample("max", {numbers(dtype, {2100, 16})}, {{"axis", Integers{0}}}));
      kernels.add(sample("sum", {numbers(dtype, {1, 16})}, {{"axis", Integers{0}}}));
      kernels.add(sample("sum", {numbers(dtype, {3, 21, 24})}, {{"axis", Integers{1}}}));
    }
    EXPECT_GT(kernels.check(), 15U);
    if (HasFailure()) return;
  }
}

/// Rows whose result depends on a few elements: all equal, ends of the type, equal ones far apart, NaN.
Array hard_rows(std::int64_t length) {
  Array x(TensorType{DType::f32, {8, length}});
  const auto at = [&](std::int64_t row, std::int64_t i) -> float& { return x.mutable_data<float>()[row * length + i]; };
  for (std::int64_t i = 0; i < length; ++i) {
    at(0, i) = -infinity;
    at(1, i) = infinity;
    at(2, i) = i >= length / 3 ? -0.0F : -1.0F;
    at(3, i) = i % 2 == 0 ? 0.0F : -0.0F;
    at(4, i) = i == length / 2 || i == length - 1 ? nan : static_cast<float>(i);
    at(5, i) = i == length - 1 ? -3.0F : -infinity;
    at(6, i) = i % 100 == 99 ? 5.0F : -5.0F;
    at(7, i) = nan;
  }
  return x;
}

TEST(CudaReductions, ChooseTheFirstOfEquals) {
  CLEAVE_NEEDS_EMULATOR;
  for (const int multiprocessors : {1, 132}) {
    Kernels kernels({9, 0, multiprocessors});
    for (const char* op : {"argmax", "argmin", "max", "min"}) {
      for (const std::int64_t length : {3, 33, 257, 1025, 20003}) kernels.add(sample(op, {hard_rows(length)}, {{"axis", Integers{1}}}));
      kernels.add(sample(op, {hard_rows(64)}, {{"axis", Integers{0}}}));
      kernels.add(sample(op, {Array::of<std::int32_t>({3}, {std::numeric_limits<std::int32_t>::min(), -1, -1})}));
      kernels.add(sample(op, {Array::of<std::uint64_t>({3}, {0, 0, 0})}));
      kernels.add(sample(op, {Array::of<std::uint64_t>({3}, {1, std::numeric_limits<std::uint64_t>::max(), 0})}));
    }
    EXPECT_GT(kernels.check(), 30U);
    if (HasFailure()) return;
  }
}

/// Checks that op(x * y) in one kernel equals the two reference implementations run in sequence, for any alignment of the rows of x and y.
void check_product(const char* op, const Shape& x, const Shape& y, std::int64_t axis, DType dtype) {
  const std::vector<Array> inputs = {numbers(dtype, x), numbers(dtype, y)};
  const OpSample multiply = sample("multiply", inputs);
  const OpContext context{[](std::string_view) {}};
  std::vector<Array> products = results_for(multiply);
  ASSERT_TRUE(multiply.op->reference({multiply.attributes, inputs, products, context}).ok());
  const OpSample reduce = sample(op, products, {{"axis", Integers{axis}}});
  std::vector<Array> expected = results_for(reduce), computed = results_for(reduce), backwards = results_for(reduce);
  ASSERT_TRUE(reduce.op->reference({reduce.attributes, products, expected, context}).ok());
  KernelRequest request = request_for(reduce);
  request.input_types = {inputs[0].type(), inputs[1].type()};
  request.steps = {{{}, multiply.op, &multiply.attributes, {0, 1}, products[0].type()},
                   {{}, reduce.op, &reduce.attributes, {2}, expected[0].type()}};
  request.written = {1};
  for (const cuda::Architecture& architecture : {cuda::Architecture{9, 0, 1}, cuda::Architecture{9, 0, 132}}) {
    KernelEmulator emulator;
    const cuda::KernelSource source = cuda::kernel_source(request, architecture).value();
    const Status forward = emulator.run(source, inputs, computed, Order::forward);
    ASSERT_TRUE(forward.ok()) << forward.error().message << source.text.substr(source.text.find("extern \"C\""));
    ASSERT_TRUE(emulator.run(source, inputs, backwards, Order::backward).ok());
    const double length = reduction_length(*reduce.op, reduce.attributes, products, expected);
    EXPECT_EQ(difference(computed[0], expected[0], length).value_or(""), "") << op << source.text.substr(source.text.find("extern \"C\""));
    EXPECT_TRUE(computed[0] == backwards[0]) << "another order of the threads gives another result";
  }
}

TEST(CudaReductions, TakeElementWiseWorkInFront) {
  CLEAVE_NEEDS_EMULATOR;
  for (const DType dtype : {DType::f32, DType::f16}) {
    check_product("sum", {6, 257}, {6, 257}, 1, dtype);        // both begin inside vectorized accesses, at the same offset
    check_product("argmax", {6, 257}, {257}, 1, dtype);        // one of them begins inside a vectorized access
    check_product("sum", {6, 257}, {6, 1}, 1, dtype);          // one is constant along the row
    check_product("max", {6, 256}, {256}, 1, dtype);           // vectorized accesses alone
    check_product("sum", {2, 3, 129}, {2, 1, 129}, 2, dtype);  // neither has the full shape
    check_product("sum", {65, 40}, {40}, 0, dtype);            // columns
    check_product("argmin", {65, 40}, {65, 1}, 0, dtype);
    check_product("sum", {65, 41}, {41}, 0, dtype);
  }
}

TEST(CudaReductions, TakeWideIndices) {
  CLEAVE_NEEDS_EMULATOR;
  Kernels kernels({9, 0, 2, 0});
  for (const char* op : {"sum", "argmax"}) {
    for (const Shape& shape : {Shape{3, 257}, Shape{3, 4096}, Shape{40001}, Shape{5000, 6}}) {
      kernels.add(sample(op, {numbers(DType::f32, shape)}, {{"axis", Integers{0}}}));
      kernels.add(sample(op, {numbers(DType::f32, shape)}, {{"axis", Integers{-1}}}));
    }
  }
  EXPECT_GT(kernels.check(), 10U);
}

}  // namespace
}  // namespace cleave::testing
