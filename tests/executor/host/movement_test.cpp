// The host's kernels that sort, select, move and draw elements, against the ops' reference implementations, equal to the bit: every element
// type, ties, NaN with different payloads, both zeros and infinities, many lengths, one thread and three, and a second run of the same
// kernel.
#include <gtest/gtest.h>

#include <cstring>

#include "executor/device/kernel.h"
#include "graph/ops/convert.h"
#include "tests/support/namespaces.h"
#include "tests/support/no_output.h"

namespace cleave::testing {
namespace {

using Integers = std::vector<std::int64_t>;
constexpr DType kAllTypes[] = {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i32, DType::i64, DType::u8, DType::boolean};

std::uint64_t mix(std::uint64_t z) {
  z = (z + 1) * 0x9E3779B97F4A7C15;  // splitmix64
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  return z ^ (z >> 29);
}

/// `variety` 0: arbitrary bits; else the number of distinct numbers, with special ones among those of floating types.
Array elements_of(DType dtype, Shape shape, std::uint64_t variety, std::uint64_t seed) {
  Array array(TensorType{dtype, std::move(shape)});
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    T* out = array.mutable_data<T>();
    for (std::int64_t i = 0; i < array.size(); ++i) {
      const std::uint64_t z = mix(seed * 1000003 + static_cast<std::uint64_t>(i));
      if constexpr (std::is_same_v<T, bool>) {
        out[i] = z % 3 == 0;
      } else if (variety == 0) {
        std::memcpy(static_cast<void*>(&out[i]), &z, sizeof(T));  // NaN of every kind too
      } else if (z % 7 == 0 && !std::is_integral_v<T>) {
        constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
        const double special[] = {0.0, -0.0, inf, -inf, nan, -nan};
        out[i] = ops::convert<T>(special[z / 7 % 6]);
      } else {
        out[i] = ops::convert<T>(static_cast<double>(z / 7 % variety) - static_cast<double>(variety) / 3);
      }
    }
  });
  return array;
}

Array indices_of(DType dtype, Shape shape, std::int64_t extent, std::uint64_t seed) {
  Array array(TensorType{dtype, std::move(shape)});
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    for (std::int64_t i = 0; i < array.size(); ++i) {
      array.mutable_data<T>()[i] =
          ops::convert<T>(static_cast<std::int64_t>(mix(seed + static_cast<std::uint64_t>(i)) % static_cast<std::uint64_t>(extent)));
    }
  });
  return array;
}

/// Runs the prepared kernel twice with each number of threads, and the kernel from the table. Returns the number of compared results.
int expect_as_meant(const char* name, std::vector<Array> inputs, Attributes attributes) {
  const OpDef& op = *find_op(name);
  if (normalize_call(op, inputs.size(), attributes)) return 0;
  KernelRequest request;
  request.op = &op;
  request.attributes = &attributes;
  for (const Array& input : inputs) request.input_types.push_back(input.type());
  const TypeResult typed = op.type_rule(request.input_types, attributes);
  if (typed.index() != 0) return 0;
  request.result_types = std::get<0>(typed);
  std::vector<Array> expected, computed;
  std::vector<TensorView> in, out;
  for (const TensorType& type : request.result_types) expected.emplace_back(type), computed.emplace_back(type);
  for (Array& input : inputs) in.push_back({&input.type(), input.mutable_bytes()});
  for (Array& result : computed) out.push_back({&result.type(), result.mutable_bytes()});
  std::string text = name;
  for (const TensorType& type : request.input_types) text += " " + to_string(type);
  const Status meant = op.reference({attributes, inputs, expected, kNoOutput});
  const auto compare = [&](const Status& status, const std::string& how) {
    ASSERT_EQ(status.ok(), meant.ok()) << text << how;
    if (!meant.ok()) {
      EXPECT_EQ(status.error().message, meant.error().message) << text << how;
    }
    for (std::size_t i = 0; i < computed.size() && meant.ok(); ++i) {
      const auto bytes = static_cast<std::size_t>(expected[i].type().bytes());
      const bool equal = bytes == 0 || std::memcmp(computed[i].bytes(), expected[i].bytes(), bytes) == 0;
      EXPECT_TRUE(equal) << text << " -> " << to_string(expected[i].type()) << how;
      if (bytes > 0) std::memset(computed[i].mutable_bytes(), 0xA5, bytes);
    }
  };
  EXPECT_NE(host_kernel(op), run_reference) << name;
  compare(run_guarded(host_kernel(op), {op, attributes, in, out, kNoOutput}), ", from the table");
  for (const int threads : {1, 3}) {
    const std::shared_ptr<Workers> workers = Workers::of(threads);
    const std::unique_ptr<HostKernel> kernel = prepare_host_kernel(request);
    for (int run = 0; run < 2; ++run) {
      compare(run_guarded(*kernel, {op, attributes, in, out, kNoOutput, *workers}), ", " + std::to_string(threads) + " threads");
    }
  }
  return static_cast<int>(expected.size());
}

/// Every length at which a block or vector begins or ends, and some that are split among threads.
std::vector<std::int64_t> lengths() {
  std::vector<std::int64_t> all;
  for (std::int64_t n = 0; n <= 66; ++n) all.push_back(n);
  for (const std::int64_t n : {79, 80, 81, 129, 192, 193, 256, 257, 1024, 1025, 4096, 4097}) all.push_back(n);
  return all;
}

class Movement : public ::testing::TestWithParam<DType> {};

TEST_P(Movement, LinesAreSortedAsMeant) {
  for (const std::int64_t n : lengths()) {
    for (const std::uint64_t variety : {0, 5, 1000}) {
      const Array x = elements_of(GetParam(), {n}, variety, static_cast<std::uint64_t>(n) + variety);
      for (const bool descending : {false, true}) {
        EXPECT_EQ(expect_as_meant("sort", {x}, {{"descending", descending}}), 1);
        EXPECT_EQ(expect_as_meant("argsort", {x}, {{"descending", descending}}), 1);
      }
      EXPECT_EQ(expect_as_meant("unique", {x}, {}), 2);
      for (const std::int64_t k : {std::int64_t{0}, std::int64_t{1}, n / 9, n / 2, n}) {
        EXPECT_EQ(expect_as_meant("top_k", {x}, {{"k", k}}), k <= n ? 2 : 0);
      }
    }
    ASSERT_FALSE(HasFailure()) << "of " << n;
  }
}

TEST_P(Movement, AxesAreSortedAsMeant) {
  for (const Shape& shape :
       {Shape{3, 40, 5}, Shape{2, 100, 33}, Shape{700, 1, 3}, Shape{4, 3, 700}, Shape{0, 4, 2}, Shape{4, 0, 2}, Shape{50, 7, 9}}) {
    for (const std::uint64_t variety : {0, 4}) {
      const Array x = elements_of(GetParam(), shape, variety, 5 + variety);
      for (std::int64_t axis = -3; axis < 3; ++axis) {
        for (const bool descending : {false, true}) {
          EXPECT_EQ(expect_as_meant("sort", {x}, {{"axis", axis}, {"descending", descending}}), 1);
          EXPECT_EQ(expect_as_meant("argsort", {x}, {{"axis", axis}, {"descending", descending}}), 1);
        }
      }
      EXPECT_EQ(expect_as_meant("top_k", {x}, {{"k", std::int64_t{2}}}), 2);
      EXPECT_EQ(expect_as_meant("unique", {x}, {}), 2);
    }
  }
}

TEST_P(Movement, LongLinesAreSortedAsMeantByAnyNumberOfThreads) {
  for (const std::uint64_t variety : {0, 9, 1000000}) {
    const Array x = elements_of(GetParam(), {70001}, variety, 3);
    EXPECT_EQ(expect_as_meant("sort", {x}, {{"descending", true}}), 1);
    EXPECT_EQ(expect_as_meant("argsort", {x}, {}), 1);
    EXPECT_EQ(expect_as_meant("unique", {x}, {}), 2);
    EXPECT_EQ(expect_as_meant("top_k", {x}, {{"k", std::int64_t{100}}}), 2);
    EXPECT_EQ(expect_as_meant("top_k", {x}, {{"k", std::int64_t{30000}}}), 2);
  }
  std::vector<Array> ordered = {elements_of(GetParam(), {30000}, 20000, 3)};
  for (const bool descending : {false, true}) {  // each element among the best so far, and none
    std::vector<Array> sorted = {Array(ordered[0].type())};
    const Attributes attributes = {{"axis", std::int64_t{-1}}, {"descending", descending}};
    ASSERT_TRUE(find_op("sort")->reference({attributes, ordered, sorted, kNoOutput}).ok());
    EXPECT_EQ(expect_as_meant("top_k", sorted, {{"k", std::int64_t{70}}}), 2);
  }
}

TEST_P(Movement, RowsAreTakenAsMeant) {
  for (const DType index : {DType::i32, DType::i64, DType::u8}) {
    for (const std::int64_t run : {0, 1, 2, 3, 4, 8, 16, 32, 64, 100, 300}) {
      const Array table = elements_of(GetParam(), {2, 90, run}, 0, 1);
      for (const std::int64_t count : {0, 1, 40, 700}) {
        EXPECT_EQ(expect_as_meant("take", {table, indices_of(index, {count}, 90, 7)}, {{"axis", std::int64_t{1}}}), 1);
      }
      EXPECT_EQ(expect_as_meant("take", {table, indices_of(index, {7, 2}, 2, 7)}, {{"axis", std::int64_t{-3}}}), 1);
    }
    EXPECT_EQ(expect_as_meant("take", {elements_of(GetParam(), {50}, 0, 1), indices_of(index, {9}, 60, 7)}, {}), 1) << "an index outside";
    EXPECT_EQ(expect_as_meant("take", {elements_of(GetParam(), {0}, 0, 1), indices_of(index, {1}, 1, 7)}, {}), 1) << "no element to take";
    for (const std::int64_t depth : {0, 1, 7, 100}) {
      EXPECT_EQ(expect_as_meant("one_hot", {indices_of(index, {3, 500}, 110, 2)}, {{"depth", depth}, {"dtype", GetParam()}}), 1);
    }
  }
  const Array negative = Array::of<std::int32_t>({3}, {4, -1, 70}), from_end = Array::of<std::int8_t>({4}, {-1, 3, -128, 0});
  EXPECT_EQ(expect_as_meant("take", {elements_of(GetParam(), {50}, 0, 1), negative}, {}), 1) << "an index outside";
  EXPECT_EQ(expect_as_meant("take", {elements_of(GetParam(), {50}, 0, 1), from_end}, {}), 1) << "an index outside at the other end";
  for (const std::int64_t run : {1, 4, 16, 100})
    EXPECT_EQ(expect_as_meant("take", {elements_of(GetParam(), {2, 300, run}, 0, 1), from_end}, {{"axis", std::int64_t{1}}}), 1);
  EXPECT_EQ(expect_as_meant("one_hot", {negative}, {{"depth", std::int64_t{5}}, {"dtype", GetParam()}}), 1);
}

TEST_P(Movement, ShapesAreMovedAsMeant) {
  for (const Shape& shape :
       {Shape{3, 4, 5}, Shape{2, 70, 90}, Shape{300, 2, 70}, Shape{1, 1, 40000}, Shape{40, 1, 1}, Shape{3, 0, 5}, Shape{33, 65, 31}}) {
    const Array x = elements_of(GetParam(), shape, 0, 1), y = elements_of(GetParam(), shape, 0, 2);
    int compared = expect_as_meant("transpose", {x}, {}) + expect_as_meant("flip", {x}, {});
    for (const Integers& axes :
         {Integers{0, 1, 2}, Integers{2, 0, 1}, Integers{1, 2, 0}, Integers{2, 1, 0}, Integers{-1, 1, 0}, Integers{0, 2, 1}}) {
      compared += expect_as_meant("permute_dims", {x}, {{"axes", axes}});
    }
    compared += expect_as_meant("broadcast_to", {x}, {{"shape", Integers{2, shape[0], shape[1], shape[2]}}});
    compared +=
        expect_as_meant("broadcast_to", {elements_of(GetParam(), {shape[1], 1}, 0, 3)}, {{"shape", Integers{shape[0], shape[1], 9}}});
    for (std::int64_t axis = -3; axis < 3; ++axis) {
      compared += expect_as_meant("flip", {x}, {{"axis", Integers{axis}}});
      compared += expect_as_meant("repeat", {x}, {{"repeats", std::int64_t{3}}, {"axis", axis}});
      compared += expect_as_meant("concat", {x, y, x}, {{"axis", axis}});
      compared += expect_as_meant("stack", {x, y}, {{"axis", axis}});
    }
    compared += expect_as_meant("stack", {x, y}, {{"axis", std::int64_t{3}}});
    compared += expect_as_meant("repeat", {x}, {{"repeats", std::int64_t{0}}, {"axis", std::int64_t{1}}});
    for (const Integers& times : {Integers{2, 1, 3}, Integers{4}, Integers{2, 1, 1, 2}, Integers{0, 2}}) {
      compared += expect_as_meant("tile", {x}, {{"repetitions", times}});
    }
    for (const Integers& widths : {Integers{1}, Integers{0}, Integers{0, 0, 1, 2, 0, 0}, Integers{2, 0, 0, 1, 3, 4}}) {
      compared += expect_as_meant("pad", {x}, {{"widths", widths}, {"value", 2.5}});
    }
    for (const Integers& steps : {Integers{1, 1, 1}, Integers{2, 1, 3}, Integers{-1, -2, -1}}) {
      const Integers starts = steps[0] > 0 ? Integers{1, 0, 1} : Integers{-1, -1, -1};
      const Integers stops = steps[0] > 0 ? Integers{-1, 50, 80} : Integers{0, 0, 0};
      compared += expect_as_meant("slice", {x}, {{"starts", starts}, {"stops", stops}, {"steps", steps}});
    }
    compared += expect_as_meant("slice", {x}, {{"starts", Integers{0, 0, -1}}, {"stops", Integers{9, 9, 0}}, {"squeeze", Integers{0, 2}}});
    EXPECT_EQ(compared, 2 + 6 + 2 + 24 + 2 + 4 + 4 + 4);
  }
  EXPECT_EQ(expect_as_meant("pad", {elements_of(GetParam(), {}, 0, 1)}, {{"widths", Integers{1}}}), 1);
  for (const std::int64_t n : {0, 1, 5, 300000}) {
    EXPECT_EQ(expect_as_meant("zeros", {}, {{"shape", Integers{n}}, {"dtype", GetParam()}}), 1);
    EXPECT_EQ(expect_as_meant("ones", {}, {{"shape", Integers{n}}, {"dtype", GetParam()}}), 1);
    EXPECT_EQ(expect_as_meant("full", {}, {{"shape", Integers{n}}, {"value", 3.75}, {"dtype", GetParam()}}), 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Host, Movement, ::testing::ValuesIn(kAllTypes),
                         [](const auto& test) { return std::string(to_string(test.param)); });

TEST(Drawing, NumbersAreThoseThatAreMeant) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const std::int64_t n : {0, 1, 3, 5, 255, 256, 257, 1023, 32768, 32769, 200003}) {
      for (const std::int64_t seed : {std::int64_t{0}, std::int64_t{7}, std::int64_t{-3}, std::int64_t{1} << 40}) {
        const Attributes shape = {{"shape", Integers{n}}, {"seed", seed}, {"dtype", dtype}};
        const auto with = [&](const char* first, double a, const char* second, double b) {
          return Attributes{{"shape", Integers{n}}, {"seed", seed}, {"dtype", dtype}, {first, a}, {second, b}};
        };
        const Array step = Array::scalar<std::int64_t>(seed * 3 - 1);
        EXPECT_EQ(expect_as_meant("random_uniform", {}, shape), 1);
        EXPECT_EQ(expect_as_meant("random_uniform", {step}, with("low", -3, "high", 0.1)), 1);
        EXPECT_EQ(expect_as_meant("random_uniform", {step}, with("low", 1, "high", 1 + 0x1p-22)), 1) << "roundings up to `high`";
        EXPECT_EQ(expect_as_meant("random_normal", {}, shape), 1);
        EXPECT_EQ(expect_as_meant("random_normal", {step}, with("mean", 1.5, "std", 0.1)), 1);
      }
    }
  }
}

}  // namespace
}  // namespace cleave::testing
