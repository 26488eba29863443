// Every generated CUDA kernel, run by the kernel emulator, against the op's reference implementation: on the one table of op samples, and
// on shapes that reach every variant of a kernel: whole and split, vectorized and scalar accesses, narrow and wide indices.
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "executor/cuda/back_end.h"
#include "executor/cuda/kernels/kernels.h"
#include "executor/cuda/matmul/matmul.h"
#include "executor/run/executor.h"
#include "graph/ops/convert.h"
#include "graph/trace/tracer.h"
#include "tests/executor/cuda/kernel_samples.h"
#include "tests/support/division_table.h"
#include "tests/support/empty_samples.h"
#include "tests/support/fake_driver.h"
#include "tests/support/kernel_emulator/kernel_emulator.h"
#include "tests/support/kernel_request.h"
#include "tests/support/namespaces.h"
#include "tests/support/op_samples.h"
#include "tests/support/sanitized.h"

namespace cleave::testing {
namespace {

/// All samples; with a sanitizer, which makes the emulator slow, every eighth one.
std::vector<OpSample> samples_to_check() {
  std::vector<OpSample> all = op_samples(), kept;
  constexpr std::size_t kStep = kSanitized ? 8 : 1;
  for (std::size_t i = 0; i < all.size(); i += kStep) kept.push_back(std::move(all[i]));
  return kept;
}

TEST(CudaKernels, AgreeWithTheReferences) {
  CLEAVE_NEEDS_EMULATOR;
  Kernels kernels({9, 0, 132});
  for (OpSample& each : samples_to_check()) kernels.add(std::move(each));
  EXPECT_GT(kernels.check(), 300U);
}

TEST(CudaKernels, AgreeWithTheReferencesOnZeroSizedAxes) {
  CLEAVE_NEEDS_EMULATOR;
  Kernels kernels({9, 0, 132});
  for (OpSample& each : empty_samples()) {
    const bool one_of_its_kind = each.inputs.empty() || each.inputs[0].dtype() == DType::f32;
    if (!each.op->composite() && one_of_its_kind) kernels.add(std::move(each));
  }
  EXPECT_GT(kernels.check(), 300U);
}

TEST(CudaKernels, AgreeWithTheReferencesWhereIndicesAreWide) {
  CLEAVE_NEEDS_EMULATOR;
  Kernels kernels({9, 0, 2, 0});
  for (OpSample& each : samples_to_check()) {
    if (each.inputs.empty() || each.inputs[0].dtype() == DType::f32) kernels.add(std::move(each));
  }
  EXPECT_GT(kernels.check(), 100U);
}

TEST(CudaKernels, TakeSeveralElementsAtOnce) {
  CLEAVE_NEEDS_EMULATOR;
  Kernels kernels({9, 0, 1});
  const std::vector<std::vector<Shape>> shapes = {{{64}, {64}},         {{67}, {67}},          {{5}, {5}},
                                                  {{4096}, {4096}},     {{16, 32}, {32}},      {{16, 32}, {16, 1}},
                                                  {{3, 8, 16}, {8, 1}}, {{2, 3, 12}, {3, 12}}, {{6, 5, 4, 8}, {6, 1, 4, 1}},
                                                  {{1, 9}, {7, 1}},     {{40, 3}, {3}},        {{}, {64}}};
  for (const DType dtype : {DType::f32, DType::f16, DType::f64, DType::u8}) {
    for (const auto& pair : shapes) kernels.add(sample("add", {numbers(dtype, pair[0]), numbers(dtype, pair[1])}));
    kernels.add(sample("less", {numbers(dtype, {8, 64}), numbers(dtype, {64})}));
    for (const DType target : {DType::f64, DType::boolean}) kernels.add(sample("astype", {numbers(dtype, {67})}, {{"dtype", target}}));
  }
  EXPECT_GT(kernels.check(), 50U);
}

TEST(CudaKernels, ReadSeveralPacksBeforeTheyWrite) {
  CLEAVE_NEEDS_EMULATOR;
  Kernels kernels({9, 0, 1});  // 2048 threads at once
  for (const DType dtype : {DType::f32, DType::f16, DType::f64, DType::u8}) {
    kernels.add(sample("negative", {numbers(dtype, {70003})}));  // four vectorized accesses per thread, two at the end, and a rest
    kernels.add(sample("multiply", {numbers(dtype, {40001}), numbers(dtype, {40001})}));      // two vectorized accesses of each operand
    kernels.add(sample("add", {numbers(dtype, {130, 320}), numbers(dtype, {320})}));          // one operand repeats
    kernels.add(sample("subtract", {numbers(dtype, {130, 320}), numbers(dtype, {130, 1})}));  // one operand is constant along a row
    kernels.add(sample("add", {numbers(dtype, {3001, 3}), numbers(dtype, {3})}));             // scalar accesses
    kernels.add(sample("maximum", {numbers(dtype, {9001}), numbers(dtype, {})}));
  }
  kernels.add(sample("divide", {numbers(DType::f32, {20000}), numbers(DType::f32, {20000})}));
  kernels.add(sample("astype", {numbers(DType::u8, {50001})}, {{"dtype", DType::f64}}));
  kernels.add(sample("astype", {numbers(DType::f64, {50001})}, {{"dtype", DType::f16}}));
  EXPECT_GT(kernels.check(), 20U);
}

template <class T, int n>
void expect_divisions(const char* op, const DivisionTable<T>& table, const T (&expected)[n][n]) {
  const OpSample each = sample(op, operands_of(table));
  std::vector<Array> computed = results_for(each);
  KernelEmulator emulator;
  const cuda::KernelSource source = cuda::kernel_source(request_for(each), {9, 0, 132}).value();
  emulator.add(source);
  ASSERT_TRUE(emulator.run(source, each.inputs, computed, Order::forward).ok());
  EXPECT_EQ(first_wrong(computed[0], expected), "") << op;
}

TEST(CudaKernels, DivideAsInNumPyToTheSignOfZeros) {
  CLEAVE_NEEDS_EMULATOR;
  expect_divisions("floor_divide", kDivisionF32, kDivisionF32.quotients);
  expect_divisions("remainder", kDivisionF32, kDivisionF32.remainders);
  expect_divisions("floor_divide", kDivisionF64, kDivisionF64.quotients);
  expect_divisions("remainder", kDivisionF64, kDivisionF64.remainders);
}

TEST(CudaKernels, MoveWholePiecesAndTiles) {
  CLEAVE_NEEDS_EMULATOR;
  constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
  for (const int multiprocessors : {1, 132}) {
    Kernels kernels({9, 0, multiprocessors});
    for (const DType dtype : {DType::f32, DType::f16, DType::f64, DType::u8}) {
      for (const Shape& shape : {Shape{33, 70}, Shape{64, 32}, Shape{3, 40, 9}, Shape{70, 7}, Shape{136, 200}, Shape{2, 260, 132},
                                 Shape{34, 300}, Shape{32, 512}})
        kernels.add(sample("transpose", {numbers(dtype, shape)}));
      for (const Integers& axes : {Integers{2, 1, 0}, Integers{1, 0, 2}, Integers{2, 0, 1}, Integers{0, 2, 1}}) {
        kernels.add(sample("permute_dims", {numbers(dtype, {9, 20, 33})}, {{"axes", axes}}));
        kernels.add(sample("permute_dims", {numbers(dtype, {16, 3, 8})}, {{"axes", axes}}));
        kernels.add(sample("permute_dims", {numbers(dtype, {40, 3, 36})}, {{"axes", axes}}));
      }
      kernels.add(sample("slice", {numbers(dtype, {100})}, {{"starts", Integers{3}}, {"stops", Integers{90}}}));
      kernels.add(sample("slice", {numbers(dtype, {100})}, {{"starts", Integers{16}}, {"stops", Integers{99}}}));
      kernels.add(sample("slice", {numbers(dtype, {6, 32})}, {{"starts", Integers{1, 8}}, {"stops", Integers{5, 24}}}));
      kernels.add(sample("slice", {numbers(dtype, {6, 32, 4})},
                         {{"starts", Integers{0, 30}}, {"stops", Integers{kEnd, 1}}, {"steps", Integers{2, -3}}}));
      kernels.add(sample("flip", {numbers(dtype, {5, 16})}, {{"axis", std::int64_t{0}}}));
      kernels.add(sample("broadcast_to", {numbers(dtype, {4, 1, 16})}, {{"shape", Integers{2, 4, 3, 16}}}));
      kernels.add(sample("repeat", {numbers(dtype, {3, 16})}, {{"repeats", std::int64_t{3}}}));
      kernels.add(sample("tile", {numbers(dtype, {4, 16})}, {{"repetitions", Integers{3, 2}}}));
      kernels.add(sample("reshape", {numbers(dtype, {7, 11, 13})}, {{"shape", Integers{-1}}}));
      // Several pieces are loaded before they are stored.
      kernels.add(sample("reshape", {numbers(dtype, {157, 1013})}, {{"shape", Integers{-1}}}));
      kernels.add(sample("flip", {numbers(dtype, {11003})}, {{"axis", std::int64_t{0}}}));
      kernels.add(sample("broadcast_to", {numbers(dtype, {40, 1, 16})}, {{"shape", Integers{40, 257, 16}}}));
    }
    EXPECT_GT(kernels.check(), 80U);
  }
}

TEST(CudaKernels, JoinPadAndTake) {
  CLEAVE_NEEDS_EMULATOR;
  for (const int multiprocessors : {1, 132}) {
    Kernels kernels({9, 0, multiprocessors});
    for (const DType dtype : {DType::f32, DType::f16, DType::f64, DType::u8}) {
      std::vector<Array> rows, columns, many;
      for (const std::int64_t n : {3, 0, 1, 40, 8}) rows.push_back(numbers(dtype, {n, 5}));
      for (const std::int64_t n : {16, 32, 0, 64}) columns.push_back(numbers(dtype, {6, n}));
      for (std::int64_t n = 0; n < 70; ++n) many.push_back(numbers(dtype, {2, n % 7}));
      kernels.add(sample("concat", rows));
      kernels.add(sample("concat", columns, {{"axis", std::int64_t{1}}}));
      kernels.add(sample("concat", many, {{"axis", std::int64_t{1}}}));
      kernels.add(sample("stack", {rows[3], rows[3], rows[3]}, {{"axis", std::int64_t{1}}}));
      kernels.add(sample("pad", {numbers(dtype, {5, 16})}, {{"widths", Integers{2, 1, 0, 0}}, {"value", -1.5}}));
      kernels.add(sample("pad", {numbers(dtype, {5, 16})}, {{"widths", Integers{0, 0, 16, 32}}}));
      kernels.add(sample("pad", {numbers(dtype, {5, 3, 7})}, {{"widths", Integers{1, 0, 0, 0, 3, 2}}, {"value", 7.0}}));
      kernels.add(sample("pad", {numbers(dtype, {0, 7})}, {{"widths", std::int64_t{1}}}));
      const Array positions = Array::of<std::int64_t>({2, 3}, {0, 8, -3, 8, -9, 7});
      kernels.add(sample("take", {numbers(dtype, {9, 32}), positions}, {{"axis", std::int64_t{0}}}));
      kernels.add(sample("take", {numbers(dtype, {4, 9, 5}), positions}, {{"axis", std::int64_t{1}}}));
      kernels.add(sample("take", {numbers(dtype, {4, 9}), positions}, {{"axis", std::int64_t{-1}}}));
    }
    for (const std::int32_t wrong : {-10, 9, std::numeric_limits<std::int32_t>::min()}) {
      const Array positions = Array::of<std::int32_t>({4}, {1, -9, wrong, 0});
      kernels.add(sample("take", {numbers(DType::f32, {9, 32}), positions}, {{"axis", std::int64_t{0}}}));
      kernels.add(sample("take", {numbers(DType::f32, {0, 9}), positions}, {{"axis", std::int64_t{1}}}));
      kernels.add(sample("one_hot", {positions}, {{"depth", std::int64_t{7}}}));
    }
    kernels.add(sample("take", {numbers(DType::f32, {0, 4}), Array::of<std::uint8_t>({1}, {0})}, {{"axis", std::int64_t{0}}}));
    EXPECT_GT(kernels.check(), 50U);
  }
}

TEST(CudaKernels, CreateTensorsOfAllSizes) {
  CLEAVE_NEEDS_EMULATOR;
  Kernels kernels({9, 0, 1});
  for (const DType dtype : {DType::f32, DType::f16, DType::f64, DType::u8}) {
    for (const std::int64_t n : {1, 15, 16, 67, 5000})
      kernels.add(sample("full", {}, {{"shape", Integers{n}}, {"value", 3.0}, {"dtype", dtype}}));
    kernels.add(sample("eye", {}, {{"rows", std::int64_t{30}}, {"columns", std::int64_t{7}}, {"dtype", dtype}}));
    kernels.add(sample("eye", {}, {{"rows", std::int64_t{7}}, {"columns", std::int64_t{30}}, {"dtype", dtype}}));
    kernels.add(
        sample("arange", {}, {{"start", std::int64_t{200}}, {"stop", std::int64_t{1}}, {"step", std::int64_t{-3}}, {"dtype", dtype}}));
    kernels.add(sample("arange", {}, {{"start", 0.5}, {"stop", std::int64_t{100}}, {"step", 0.1}, {"dtype", dtype}}));
  }
  EXPECT_GT(kernels.check(), 30U);
}

TEST(CudaKernels, DrawTheSameNumbersSeveralAtOnce) {
  CLEAVE_NEEDS_EMULATOR;
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t narrow : {std::int64_t{1} << 30, std::int64_t{0}}) {
    Kernels kernels({9, 0, 1, narrow});
    for (const std::int64_t n : {1, 2, 3, 4, 7, 20001}) {
      for (const DType dtype : {DType::f32, DType::f64}) {
        const Attributes all = {{"shape", Integers{n}}, {"dtype", dtype}, {"seed", n}};
        kernels.add(sample("random_uniform", {}, all));
        kernels.add(sample("random_normal", {Array::scalar<std::int64_t>(n)}, all));
      }
      for (const std::int64_t high : {std::int64_t{3}, std::int64_t{3} << 30, std::int64_t{1} << 32, std::int64_t{3} << 61, kMost}) {
        const Attributes all = {{"shape", Integers{n}}, {"low", std::int64_t{-1}}, {"high", high}, {"dtype", DType::i64}, {"seed", n}};
        kernels.add(sample("random_integers", {}, all));
      }
    }
    EXPECT_GT(kernels.check(), 40U);
  }
}

/// Lines that increase throughout, that begin with many infinities, that have only these, one NaN, or one element far above the others.
Array hard_lines(std::int64_t length) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  Array x(TensorType{DType::f32, {7, length}});
  const auto at = [&](std::int64_t line, std::int64_t i) -> float& { return x.mutable_data<float>()[line * length + i]; };
  for (std::int64_t i = 0; i < length; ++i) {
    at(0, i) = static_cast<float>(i) * 0.01F;
    at(1, i) = i + 5 < length ? -infinity : 2;
    at(2, i) = -infinity;
    at(3, i) = i == length / 2 ? std::numeric_limits<float>::quiet_NaN() : 1;
    at(4, i) = i == 3 ? 25.0F : -static_cast<float>(i % 5);
    at(5, i) = i == length - 1 ? infinity : 0;
    at(6, i) = i < length / 2 ? 1.0F : -infinity;
  }
  return x;
}

TEST(CudaKernels, SoftmaxOfShortAndLongLines) {
  CLEAVE_NEEDS_EMULATOR;
  Kernels kernels({9, 0, 132});
  constexpr float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  for (const char* op : {"softmax", "log_softmax"}) {
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
      for (const std::int64_t length : {1, 2, 3, 31, 32, 33, 127, 128, 129, 1023, 1024, 1025, 4096, 9000, 9001})
        kernels.add(sample(op, {numbers(dtype, {3, length})}));
      for (const Shape& shape : {Shape{2, 1, 3}, Shape{2, 9, 40}, Shape{3, 300, 2}, Shape{1, 4500, 2}})
        kernels.add(sample(op, {numbers(dtype, shape)}, {{"axis", std::int64_t{1}}}));
    }
    for (const DType dtype : {DType::f32, DType::bf16}) kernels.add(sample(op, {numbers(dtype, {2, 50257})}));
    kernels.add(sample(op, {numbers(DType::f32, {1, 100001})}));
    kernels.add(sample(op, {hard_lines(1025)}));
    kernels.add(sample(op, {hard_lines(9001)}));
    kernels.add(sample(op, {Array::of<float>({5, 2}, {1, nan, infinity, 1, -infinity, -infinity, -infinity, 0, 1000, -1000})}));
  }
  EXPECT_GT(kernels.check(), 50U);
}

TEST(CudaKernels, SortShortAndLongLinesStably) {
  CLEAVE_NEEDS_EMULATOR;
  Kernels kernels({9, 0, 132});
  constexpr float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  std::vector<Array> all = {Array::of<float>({10}, {1, -0.0F, nan, infinity, 0, -nan, -infinity, -1, 0, 1}), numbers(DType::i64, {7, 33})};
  for (const DType dtype : {DType::f32, DType::u8}) {
    for (const std::int64_t length : {1, 40, 1000}) all.push_back(numbers(dtype, {2, length}));
  }
  all.push_back(numbers(DType::u8, {4500}));  // more than one block sorts alone
  for (const Array& x : all) {
    for (const bool descending : {false, true}) {
      if (kSanitized && descending) continue;
      kernels.add(sample("sort", {x}, {{"descending", descending}}));
      kernels.add(sample("argsort", {x}, {{"axis", std::int64_t{0}}, {"descending", descending}}));
      kernels.add(sample("argsort", {x}, {{"descending", descending}}));
    }
    kernels.add(sample("top_k", {x}, {{"k", std::int64_t{1}}}));
    kernels.add(sample("unique", {x}));
  }
  EXPECT_GT(kernels.check(), kSanitized ? 30U : 50U);
}

TEST(CudaKernels, OfComputedPlacesAgreeWithTheReferences) {
  CLEAVE_NEEDS_EMULATOR;
  const std::set<std::string> ops = {"argsort", "bitcast",         "dynamic_slice", "dynamic_update_slice", "gather_nd", "sort",
                                     "top_k",   "take_along_axis", "unique"};
  Kernels kernels({9, 0, 132});
  for (OpSample& each : op_samples()) {
    const DType dtype = each.inputs.empty() ? DType::f64 : each.inputs[0].dtype();
    if (ops.contains(std::string(each.op->name)) && (dtype == DType::f32 || dtype == DType::u8)) kernels.add(std::move(each));
  }
  EXPECT_GT(kernels.check(), 30U);
}

TEST(CudaKernels, ScatterInTheOrderOfTheIndices) {
  CLEAVE_NEEDS_EMULATOR;
  Kernels kernels({9, 0, 132});
  Array many(TensorType{DType::i32, {6000}});  // more than one block sorts alone, with several elements per position
  for (std::int32_t i = 0; i < 6000; ++i) many.mutable_data<std::int32_t>()[i] = i * 7919 % 100 - 50;
  for (const DType dtype : {DType::f32, DType::f16, DType::u8}) {
    if (kSanitized && dtype != DType::f16) continue;
    kernels.add(sample("scatter_add", {numbers(dtype, {100}), many, numbers(dtype, {6000})}));
    for (const char* reduction : {"none", "mul", "max"})
      kernels.add(sample("scatter", {numbers(dtype, {100}), many, numbers(dtype, {6000})}, {{"reduction", std::string(reduction)}}));
  }
  for (const std::int32_t wrong : {9, -10, std::numeric_limits<std::int32_t>::min()}) {
    const Array positions = Array::of<std::int32_t>({4}, {1, -9, wrong, 0}), tuples = Array::of<std::int32_t>({2, 2}, {8, -5, wrong, 0});
    kernels.add(sample("scatter_add", {numbers(DType::f32, {9, 5}), positions, numbers(DType::f32, {4, 5})}));
    kernels.add(sample("scatter_add", {numbers(DType::f32, {9, 0}), positions, numbers(DType::f32, {4, 0})}));
    kernels.add(sample("take_along_axis", {numbers(DType::f32, {9}), positions}));
    kernels.add(sample("gather_nd", {numbers(DType::f32, {9, 5}), tuples}));
    kernels.add(sample("gather_nd", {numbers(DType::f32, {9, 5, 0}), tuples}));
    kernels.add(sample("scatter_nd", {numbers(DType::f32, {9, 5}), tuples, numbers(DType::f32, {2})}));
    kernels.add(sample("dynamic_slice", {numbers(DType::f32, {9, 5}), Array::scalar(wrong), Array::scalar<std::int32_t>(-5)},
                       {{"sizes", Integers{1, 5}}}));
    kernels.add(sample("dynamic_update_slice", {numbers(DType::f32, {9}), numbers(DType::f32, {}), Array::scalar(wrong)}));
  }
  EXPECT_GT(kernels.check(), kSanitized ? 20U : 30U);
}

TEST(CudaKernels, FindAndSampleAsMeant) {
  CLEAVE_NEEDS_EMULATOR;
  const std::set<std::string> ops = {"searchsorted",        "random_integers",    "nonzero",
                                     "non_max_suppression", "roi_align",          "grid_sample",
                                     "bitwise_left_shift",  "bitwise_right_shift"};
  Kernels kernels({9, 0, 132});
  for (OpSample& each : op_samples()) {
    const DType dtype = each.inputs.empty() ? DType::i64 : each.inputs[0].dtype();
    if (ops.contains(std::string(each.op->name)) && (dtype == DType::f32 || dtype == DType::u8 || dtype == DType::i64))
      kernels.add(std::move(each));
  }
  Array many(TensorType{DType::u8, {70, 9, 11}});  // several blocks count nonzero elements
  for (std::int64_t i = 0; i < many.size(); ++i) many.mutable_data<std::uint8_t>()[i] = i * 7919 % 5 < 2 ? 1 : 0;
  for (const std::int64_t size : {0, 100, 9000}) kernels.add(sample("nonzero", {many}, {{"size", size}}));
  const Attributes rule = {{"max_output_boxes_per_class", std::int64_t{60}}, {"iou_threshold", 0.3}, {"score_threshold", -1.0}};
  kernels.add(sample("non_max_suppression", {numbers(DType::f32, {1, 5000, 4}), numbers(DType::f32, {1, 1, 5000})}, rule));
  for (const std::int64_t wrong : {std::int64_t{2}, std::int64_t{-3}, std::numeric_limits<std::int64_t>::min()}) {
    const Array images = Array::of<std::int64_t>({3}, {-2, wrong, 1});
    for (const std::int64_t channels : {0, 2})
      kernels.add(sample("roi_align", {numbers(DType::f32, {2, channels, 5, 4}), numbers(DType::f32, {3, 4}), images}));
  }
  EXPECT_GT(kernels.check(), 60U);
}

/// The GPU runs every op of the vocabulary with all supported arguments, except for these.
TEST(CudaKernels, CoverTheVocabularyButForTheOpsOfTheHost) {
  const std::set<std::string> of_the_host = {"host_call", "log_metric",    "print",    "random_permutation",
                                             "to_host",   "tree_ensemble", "write_npy"};
  const KernelSupport supports = cuda::back_end(FakeDriver::no_libraries()).supports;
  std::set<std::string> seen;
  for (const OpSample& each : op_samples()) {
    const KernelRequest request = request_for(each);
    const bool here = cuda::has_kernel(request) || cuda::has_matmul(request);
    const std::string_view family = family_of(each.op->name);
    const bool accelerated = !of_the_host.contains(std::string(each.op->name)) && family != "linear_algebra" && family != "fourier";
    EXPECT_TRUE(here || !accelerated) << describe(each);
    seen.insert(std::string(each.op->name));
    // The planner's rule must say the same.
    Tracer tracer("one");
    std::vector<Operand> operands;
    for (const TensorType& type : request.input_types)
      operands.push_back(tracer.input("x" + std::to_string(operands.size()), type, {}, {}));
    tracer.call(*each.op, operands, each.attributes, {});
    const Graph graph = tracer.finish();
    ASSERT_TRUE(graph.ok()) << describe(each);
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      const bool this_one = graph.nodes[NodeId(n)].op == each.op;
      EXPECT_TRUE(!this_one || supports(graph, NodeId(n)) == accelerated) << describe(each);
    }
  }
  for (const OpDef* op : all_ops()) EXPECT_TRUE(seen.contains(std::string(op->name))) << op->name;
}

TEST(CudaKernels, HasKernelSaysWhatKernelSourceDoes) {
  for (const OpSample& each : op_samples()) {
    const KernelRequest request = request_for(each);
    EXPECT_EQ(cuda::has_kernel(request), cuda::kernel_source(request, {}).has_value()) << describe(each);
  }
}

}  // namespace
}  // namespace cleave::testing
