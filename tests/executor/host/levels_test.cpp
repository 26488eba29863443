// Every loop of executor/host/simd for every instruction set that this machine has, not only the best one: element-wise loops against the
// op's reference implementation at each length up to a few vectors, with strides 0, 1 and 2, misaligned and in place; reductions against a
// scalar computation. Also kernels that split work among threads: equal to the bit for every number of threads.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "executor/check/compare.h"
#include "executor/device/kernel.h"
#include "executor/host/fourier_lines.h"
#include "executor/host/simd/loops.h"
#include "executor/host/simd/reducers.h"
#include "executor/host/simd/softmax.h"
#include "graph/ops/convert.h"
#include "tests/support/namespaces.h"
#include "tests/support/no_output.h"

namespace cleave::testing {
namespace {

using namespace runtime::host;  // NOLINT: its rooms' names are what is tested

constexpr std::int64_t kRoom = 512;  ///< elements of an operand
constexpr DType kTypes[] = {DType::f32,     DType::f64, DType::f16, DType::bf16, DType::i32, DType::i64, DType::u8,
                            DType::boolean, DType::i8,  DType::i16, DType::u16,  DType::u32, DType::u64};

Array random_array(const TensorType& type, std::mt19937_64& random) {
  Array array(type);
  dispatch(type.dtype, [&](auto zero) {
    using T = decltype(zero);
    for (std::int64_t i = 0; i < array.size(); ++i) {
      const double x = std::uniform_real_distribution<double>(-4, 4)(random);
      array.mutable_data<T>()[i] = ops::convert<T>(i % 97 == 41              ? std::numeric_limits<double>::quiet_NaN()
                                                   : std::is_same_v<T, bool> ? x > 0
                                                                             : x);
    }
  });
  return array;
}

struct Steps {
  std::int64_t step[3];
};

/// The elements of `from` in the order in which a loop reads them.
Array read(const Array& from, std::int64_t offset, std::int64_t step, std::int64_t count) {
  Array array({from.dtype(), {count}});
  const auto size = static_cast<std::size_t>(size_of(from.dtype()));
  for (std::int64_t i = 0; i < count; ++i)
    std::memcpy(array.mutable_bytes() + i * static_cast<std::int64_t>(size),
                from.bytes() + (offset + i * step) * static_cast<std::int64_t>(size), size);
  return array;
}

void check_loop(const OpDef& op, RowLoop loop, const std::vector<Array>& operands, const Attributes& attributes, Level level) {
  for (const Steps& steps : {Steps{{1, 1, 1}}, Steps{{1, 0, 0}}, Steps{{0, 1, 0}}, Steps{{0, 0, 1}}, Steps{{2, 1, 2}}, Steps{{1, 2, 0}}}) {
    for (std::int64_t count = 0; count < 70; count += count < 40 ? 1 : 7) {
      const std::int64_t offset = count % 5;
      std::vector<Array> inputs;
      std::vector<TensorType> types;
      const std::byte* data[3];
      for (std::size_t k = 0; k < 3; ++k) {
        const std::size_t operand = k < operands.size() ? k : 0;
        data[k] = operands[operand].bytes() + offset * size_of(operands[operand].dtype());
        if (k < operands.size()) inputs.push_back(read(operands[k], offset, steps.step[k], count));
        if (k < operands.size()) types.push_back(inputs.back().type());
      }
      std::int64_t by[3] = {steps.step[0], operands.size() > 1 ? steps.step[1] : steps.step[0],
                            operands.size() > 2 ? steps.step[2] : steps.step[0]};
      const TypeResult type = op.type_rule(types, attributes);
      ASSERT_EQ(type.index(), 0U) << op.name;
      std::vector<Array> expected = {Array(std::get<0>(type)[0])};
      ASSERT_TRUE(op.reference({attributes, inputs, expected, kNoOutput}).ok());
      std::vector<std::byte> out(static_cast<std::size_t>(kRoom * 8), std::byte{0x5A});
      const std::int64_t size = size_of(expected[0].dtype());
      loop(data, by, out.data() + offset * size, count);
      const Array result = Array::borrow(expected[0].type(), out.data() + offset * size);
      ASSERT_EQ(difference(result, expected[0]).value_or(""), "")
          << op.name << " of " << to_string(types[0]) << " by " << to_string(level) << " with steps " << by[0] << by[1] << by[2];
      ASSERT_TRUE(out[static_cast<std::size_t>((offset + count) * size)] == std::byte{0x5A}) << op.name << " writes too far";
    }
  }
}

TEST(Levels, LoopsThatWritePastTheCachesWriteTheSame) {
  std::mt19937_64 random(7);
  for (const Level level : levels()) {
    int found = 0;
    for (const OpDef* op : all_ops()) {
      for (const DType type : {DType::f32, DType::f64}) {
        const RowLoop ordinary = math_loop(level, op->name, type), past_cache = math_loop_past_cache(level, op->name, type);
        if (!past_cache) continue;
        ++found;
        ASSERT_TRUE(ordinary);
        const Array in = random_array({type, {kRoom}}, random);
        const auto size = static_cast<std::int64_t>(size_of(type));
        for (std::int64_t count = 0; count < kRoom - 20; count += 13) {
          for (const std::int64_t offset : {0, 1, 16}) {  // the first and the last are multiples of a vector
            Array expected({type, {kRoom}}), got({type, {kRoom}});
            const std::byte* const operands[] = {in.bytes(), in.bytes(), in.bytes()};
            const std::int64_t steps[] = {1, 1, 1};
            ordinary(operands, steps, expected.mutable_bytes() + offset * size, count);
            past_cache(operands, steps, got.mutable_bytes() + offset * size, count);
            ASSERT_EQ(std::memcmp(expected.bytes(), got.bytes(), static_cast<std::size_t>(expected.type().bytes())), 0)
                << op->name << " of " << count << ", " << to_string(level);
          }
        }
      }
    }
    EXPECT_GE(found, 10) << to_string(level);
  }
}

TEST(Levels, ElementwiseLoopsAgreeWithTheReference) {
  if (levels().empty()) GTEST_SKIP() << "no vectorised loops";
  std::mt19937_64 random(3);
  std::size_t loops = 0;
  for (const Level level : levels()) {
    for (const OpDef* op : all_ops()) {
      if (!op->elementwise()) continue;
      for (const DType dtype : kTypes) {
        std::vector<Array> operands;
        for (int k = 0; k < op->min_inputs; ++k)
          operands.push_back(random_array({k < op->promote_from ? DType::boolean : dtype, {kRoom}}, random));
        if (op->name == "astype") {
          for (const DType to : kTypes) check_loop(*op, converting_loop(level, dtype, to), operands, {{"dtype", to}}, level);
          continue;
        }
        const RowLoop loop = op->name == "where" ? choosing_loop(level, dtype) : simd_loop(level, op->name, dtype);
        if (loop == nullptr) continue;
        ++loops;
        check_loop(*op, loop, operands, {}, level);
      }
    }
  }
  EXPECT_GT(loops, 150U);
}

template <class H>
void expect_conversions_to_the_bit(Level level, DType dtype) {
  const std::int64_t one[3] = {1, 1, 1};
  std::vector<std::uint16_t> halves(1 << 16), back(1 << 16);
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<std::uint16_t>(i);
  std::vector<float> singles(halves.size());
  const auto run = [&](RowLoop loop, const void* from, void* to, std::size_t count) {
    const auto* bytes = static_cast<const std::byte*>(from);
    const std::byte* operands[3] = {bytes, bytes, bytes};
    loop(operands, one, static_cast<std::byte*>(to), static_cast<std::int64_t>(count));
  };
  run(converting_loop(level, dtype, DType::f32), halves.data(), singles.data(), halves.size());
  for (std::size_t i = 0; i < halves.size(); ++i) {
    H half;
    half.bits = halves[i];
    ASSERT_EQ(std::bit_cast<std::uint32_t>(singles[i]), std::bit_cast<std::uint32_t>(static_cast<float>(half))) << "bits " << i;
  }
  // All leading bits of f32, with trailing bits below, at and above the midpoint between two numbers, and next to it.
  for (const std::uint32_t rest : {0x0U, 0x1U, 0x7FFFU, 0x8000U, 0x8001U, 0xFFFFU, 0xFFFU, 0x1000U, 0x1001U, 0x2FFFU, 0x3000U, 0x3001U}) {
    for (std::size_t i = 0; i < singles.size(); ++i) singles[i] = std::bit_cast<float>(static_cast<std::uint32_t>(i) << 16 | rest);
    run(converting_loop(level, DType::f32, dtype), singles.data(), back.data(), singles.size());
    for (std::size_t i = 0; i < back.size(); ++i) ASSERT_EQ(back[i], H(singles[i]).bits) << "bits " << i << ", " << rest;
  }
}

TEST(Levels, HalvesAreConvertedToTheBit) {
  for (const Level level : levels()) {
    SCOPED_TRACE(to_string(level));
    expect_conversions_to_the_bit<Half>(level, DType::f16);
    expect_conversions_to_the_bit<BFloat16>(level, DType::bf16);
  }
}

/// Operands with every bit pattern: numbers are equal to the bit, NaN stays NaN.
TEST(Levels, ArithmeticOfHalvesIsTheReferenceToTheBit) {
  std::mt19937_64 random(8);
  constexpr std::int64_t kCount = 20000;
  for (const DType dtype : {DType::f16, DType::bf16}) {
    std::vector<Array> operands(3, Array({dtype, {kCount}}));
    for (Array& array : operands) {
      for (std::int64_t i = 0; i < 2 * kCount; ++i) array.mutable_bytes()[i] = static_cast<std::byte>(random());
    }
    for (const OpDef* op : all_ops()) {
      if (!op->elementwise() || op->cost_class == CostClass::transcendental || op->name == "where" || op->name == "astype") continue;
      const std::span<const Array> inputs(operands.data(), static_cast<std::size_t>(op->min_inputs));
      std::vector<TensorType> types(inputs.size(), operands[0].type());
      const TypeResult type = op->type_rule(types, {});
      if (type.index() != 0) continue;
      std::vector<Array> expected = {Array(std::get<0>(type)[0])};
      ASSERT_TRUE(op->reference({{}, inputs, expected, kNoOutput}).ok());
      for (const Level level : levels()) {
        Array result(expected[0].type());
        const std::byte* data[3] = {operands[0].bytes(), operands[1].bytes(), operands[2].bytes()};
        const std::int64_t steps[3] = {1, 1, 1};
        const RowLoop loop = simd_loop(level, op->name, dtype);
        ASSERT_NE(loop, nullptr) << op->name;
        loop(data, steps, result.mutable_bytes(), kCount);
        for (std::int64_t i = 0; i < kCount; ++i) {
          const double is = result.at(i), should = expected[0].at(i);
          ASSERT_TRUE((is == should && std::signbit(is) == std::signbit(should)) || (std::isnan(is) && std::isnan(should)))
              << op->name << " of " << to_string(dtype) << " by " << to_string(level) << ": " << is << " instead of " << should;
        }
      }
    }
  }
}

TEST(Levels, BytesAreDividedExactly) {
  std::vector<std::uint8_t> a, b;
  for (int pair = 0; pair < 65536; ++pair) {
    a.push_back(static_cast<std::uint8_t>(pair));
    b.push_back(static_cast<std::uint8_t>(pair >> 8));
  }
  const auto* first = reinterpret_cast<const std::byte*>(a.data());
  const auto* second = reinterpret_cast<const std::byte*>(b.data());
  const std::byte* data[3] = {first, second, first};
  const std::int64_t steps[3] = {1, 1, 1};
  std::vector<std::uint8_t> quotients(a.size()), rests(a.size());
  for (const Level level : levels()) {
    simd_loop(level, "floor_divide", DType::u8)(data, steps, reinterpret_cast<std::byte*>(quotients.data()), 65536);
    simd_loop(level, "remainder", DType::u8)(data, steps, reinterpret_cast<std::byte*>(rests.data()), 65536);
    for (std::size_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(quotients[i], b[i] == 0 ? 0 : a[i] / b[i]) << int(a[i]) << " by " << int(b[i]);
      ASSERT_EQ(rests[i], b[i] == 0 ? 0 : a[i] % b[i]) << int(a[i]) << " by " << int(b[i]);
    }
  }
}

/// Each pair of special numbers, and random numbers of all magnitudes: the bits of the reference implementation, including the sign of
/// zeros.
template <class T>
void expect_divisions_to_the_bit(std::mt19937_64& random) {
  constexpr DType dtype = DTypeOf<T>::value;
  using Limits = std::numeric_limits<T>;
  std::vector<T> values = {
      T(0), T(1), T(2), T(3), T(7), T(10), T(100), Limits::max(), Limits::lowest(), T(Limits::max() / 2), T(Limits::max() / 3)};
  if constexpr (std::is_floating_point_v<T>) {
    for (const T x : {T(0.1), T(0.3), T(7.5), T(1e9), T(1e30), Limits::min(), Limits::denorm_min(), T(Limits::min() * T(1.5)),
                      Limits::infinity(), Limits::quiet_NaN(), T(0x1p21), T(0x1p22), T(0x1p23), T(0x1p52), std::nextafter(T(1), T(0))})
      values.push_back(x);
  } else {
    for (const int shift : {15, 16, 30, 31, 49, 50, 51, 52, 53, 62}) {
      for (const int off : {-1, 0, 1}) {
        if (shift < static_cast<int>(8 * sizeof(T)) - 1) values.push_back(static_cast<T>((T(1) << shift) + off));
      }
    }
  }
  const std::size_t positive = values.size();
  for (std::size_t i = 0; i < positive; ++i) {
    if (values[i] != Limits::lowest() || std::is_floating_point_v<T>) values.push_back(static_cast<T>(-values[i]));
  }
  std::vector<T> a, b;
  const auto add = [&](T x, T y) {
    a.push_back(x);
    b.push_back(y);
  };
  for (const T x : values) {
    for (const T y : values) {  // in a separate vector among ordinary numbers, so that the vectorized path computes it where it can
      add(x, y);
      for (int k = 0; k < 15; ++k) add(T(9), T(2));
    }
  }
  for (int i = 0; i < 100000; ++i) {
    const auto number = [&] {
      if constexpr (std::is_floating_point_v<T>) {
        const T x = std::uniform_real_distribution<T>(-10, 10)(random);
        return i % 3 == 0 ? std::round(x) : i % 3 == 1 ? x : x * std::exp2(static_cast<T>(static_cast<int>(random() % 17) - 8));
      } else {
        return static_cast<T>(static_cast<T>(random()) >> (random() % (8 * sizeof(T))));
      }
    };
    add(number(), number());
  }
  const auto count = static_cast<std::int64_t>(a.size());
  const Array operands[2] = {Array::of<T>({count}, std::span<const T>(a)), Array::of<T>({count}, std::span<const T>(b))};
  for (const char* name : {"floor_divide", "remainder"}) {
    const OpDef& op = *find_op(name);
    std::vector<Array> expected = {Array(operands[0].type())};
    ASSERT_TRUE(op.reference({{}, operands, expected, kNoOutput}).ok());
    for (const Level level : levels()) {
      Array result(expected[0].type());
      const std::byte* data[3] = {operands[0].bytes(), operands[1].bytes(), operands[0].bytes()};
      const std::int64_t steps[3] = {1, 1, 1};
      const RowLoop loop = simd_loop(level, name, dtype);
      ASSERT_NE(loop, nullptr);
      loop(data, steps, result.mutable_bytes(), count);
      for (std::size_t i = 0; i < a.size(); ++i) {
        const T is = result.data<T>()[i], should = expected[0].data<T>()[i];
        bool same = is == should;
        if constexpr (std::is_floating_point_v<T>)
          same = (same && std::signbit(is) == std::signbit(should)) || (std::isnan(is) && std::isnan(should));
        ASSERT_TRUE(same) << name << " of " << to_string(dtype) << " " << a[i] << " and " << b[i] << " by " << to_string(level) << " is "
                          << is << " instead of " << should;
      }
    }
  }
}

TEST(Levels, DivisionsAreTheReferenceToTheBit) {
  if (levels().empty()) GTEST_SKIP() << "no vectorised loops";
  std::mt19937_64 random(10);
  expect_divisions_to_the_bit<float>(random);
  expect_divisions_to_the_bit<double>(random);
  expect_divisions_to_the_bit<std::int32_t>(random);
  expect_divisions_to_the_bit<std::int64_t>(random);
}

TEST(Levels, ReducersAgreeWithTheReference) {
  if (levels().empty()) GTEST_SKIP() << "no vectorised loops";
  std::mt19937_64 random(4);
  for (const Level level : levels()) {
    for (const char* name : {"sum", "prod", "any", "all", "max", "min", "argmax", "argmin"}) {
      const OpDef& op = *find_op(name);
      for (const DType dtype : kTypes) {
        for (const std::int64_t count : {1, 2, 31, 63, 64, 65, 127, 129, 300, 5000}) {
          const Array x = random_array({dtype, {count}}, random);
          const std::vector<TensorType> types = {x.type()};
          Attributes attributes;
          ASSERT_FALSE(normalize_call(op, 1, attributes));
          const TypeResult type = op.type_rule(types, attributes);
          if (type.index() != 0) continue;
          std::vector<Array> expected = {Array(std::get<0>(type)[0])};
          ASSERT_TRUE(op.reference({attributes, std::span(&x, 1), expected, kNoOutput}).ok());
          const double length = reduction_length(op, attributes, std::span(&x, 1), expected);
          Array result(expected[0].type());
          if (const ExtremeFinder* by = finder(level, name, dtype)) {
            result.mutable_data<std::int32_t>()[0] = static_cast<std::int32_t>(by->in_row(x.bytes(), count));
          } else {
            const Reducer* reducer = sum_reducer(level, name, dtype);
            if (reducer == nullptr) reducer = extreme_reducer(level, name, dtype);
            ASSERT_NE(reducer, nullptr) << name;
            alignas(8) std::byte state[8];
            reducer->start(state, 1);
            reducer->take_row(x.bytes(), count, state);
            const auto give = [&](auto value) {
              dispatch(result.dtype(), [&](auto zero) { result.mutable_data<decltype(zero)>()[0] = ops::convert<decltype(zero)>(value); });
            };
            const bool extreme = extreme_reducer(level, name, dtype) != nullptr;
            if (extreme && (dtype == DType::f16 || dtype == DType::bf16)) {
              float value = 0;
              std::memcpy(&value, state, 4);
              give(value);
            } else if (extreme || reducer->state_size == 1) {
              std::memcpy(result.mutable_bytes(), state, static_cast<std::size_t>(reducer->state_size));
            } else if (is_floating(dtype)) {
              double value = 0;
              std::memcpy(&value, state, 8);
              give(value);
            } else {
              std::int64_t value = 0;
              std::memcpy(&value, state, 8);
              give(value);
            }
          }
          EXPECT_EQ(difference(result, expected[0], length).value_or(""), "")
              << name << " of " << to_string(x.type()) << " by " << to_string(level);
        }
      }
    }
  }
}

TEST(Levels, SoftmaxAgreesWithTheReference) {
  if (levels().empty()) GTEST_SKIP() << "no vectorised loops";
  std::mt19937_64 random(5);
  for (const Level level : levels()) {
    for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
      for (const bool logarithm : {false, true}) {
        const OpDef& op = *find_op(logarithm ? "log_softmax" : "softmax");
        const SoftmaxLoops* loops = softmax_loops(level, logarithm, dtype);
        ASSERT_NE(loops, nullptr);
        for (const std::int64_t count : {1, 3, 8, 17, 40, 100}) {
          for (const std::int64_t width : {1, 5, 16, 33, 128}) {
            const Array x = random_array({dtype, {count, width}}, random);
            Attributes attributes{{"axis", std::int64_t{0}}};
            std::vector<Array> expected = {Array(x.type())};
            ASSERT_TRUE(op.reference({attributes, std::span(&x, 1), expected, kNoOutput}).ok());
            Array result(x.type());
            loops->columns(x.bytes(), result.mutable_bytes(), count, width, width);
            EXPECT_EQ(difference(result, expected[0], 10).value_or(""), "") << op.name << " by " << to_string(level);
            if (width != 1) continue;
            loops->row(x.bytes(), result.mutable_bytes(), count);
            EXPECT_EQ(difference(result, expected[0], 10).value_or(""), "") << op.name << " of a row by " << to_string(level);
          }
        }
      }
    }
  }
}

TEST(Threads, ResultsAreEqualToTheBitForEveryNumber) {
  std::mt19937_64 random(6);
  struct Case {
    const char* op;
    std::vector<Shape> shapes;
    Attributes attributes;
  };
  using Axes = std::vector<std::int64_t>;
  const Case cases[] = {
      {"sum", {{300007}}, {}},
      {"sum", {{70, 5003}}, {{"axis", Axes{1}}}},
      {"sum", {{3, 100003}}, {{"axis", Axes{1}}}},
      {"sum", {{2003, 1100}}, {{"axis", Axes{0}}}},
      {"sum", {{100003, 3}}, {{"axis", Axes{0}}}},
      {"mean", {{40, 701, 9}}, {{"axis", Axes{1}}}},
      {"prod", {{2, 80001}}, {}},
      {"max", {{1000003}}, {}},
      {"argmax", {{1000003}}, {}},
      {"argmin", {{900, 1300}}, {{"axis", Axes{0}}}},
      {"softmax", {{300, 401}}, {}},
      {"softmax", {{300, 401}}, {{"axis", std::int64_t{0}}}},
      {"cumulative_sum", {{500009}}, {}},
      {"cumulative_sum", {{40, 5003}}, {{"axis", std::int64_t{1}}}},
      {"cumulative_sum", {{5003, 40}}, {{"axis", std::int64_t{0}}}},
      {"add", {{500, 403}, {403}}, {}},
      {"exp", {{300007}}, {}},
      {"where", {{700, 403}, {403}, {}}, {}},
  };
  for (const Case& of : cases) {
    const OpDef& op = *find_op(of.op);
    Attributes attributes = of.attributes;
    ASSERT_FALSE(normalize_call(op, of.shapes.size(), attributes)) << of.op;
    std::vector<Array> inputs;
    std::vector<TensorType> types;
    for (const Shape& shape : of.shapes) {
      types.push_back({static_cast<int>(types.size()) < op.promote_from ? DType::boolean : DType::f32, shape});
      inputs.push_back(random_array(types.back(), random));
    }
    std::vector<TensorView> views;
    for (std::size_t k = 0; k < inputs.size(); ++k) views.push_back({&inputs[k].type(), inputs[k].mutable_bytes()});
    const TensorType type = std::get<0>(op.type_rule(types, attributes))[0];
    std::vector<Array> expected = {Array(type)};
    ASSERT_TRUE(op.reference({attributes, inputs, expected, kNoOutput}).ok());
    Array first(type);
    for (const int threads : {1, 2, 3, 5}) {
      Array result(type);
      const TensorView view{&result.type(), result.mutable_bytes()};
      ASSERT_TRUE(host_kernel(op)({op, attributes, views, std::span(&view, 1), kNoOutput, *Workers::of(threads)}).ok());
      if (threads == 1) {
        EXPECT_EQ(difference(result, expected[0], reduction_length(op, attributes, inputs, expected)).value_or(""), "") << of.op;
        first = result;
      }
      EXPECT_EQ(std::memcmp(result.bytes(), first.bytes(), static_cast<std::size_t>(type.bytes())), 0)
          << of.op << " of " << to_string(types[0]) << " by " << threads << " threads";
    }
  }
}

/// The data movement around Fourier transforms: elements are moved to the right positions and back, and sums equal those of portable loops
/// to the bit.
template <class T>
void check_lines(Instructions set, std::int64_t lines, std::int64_t numbers, std::mt19937_64& random) {
  const LineLoops<T>&loops = line_loops<T>(set), &portable = line_loops<T>(Instructions::portable);
  const std::int64_t stride = numbers + 3, half = numbers / 2;
  const auto draw = [&](std::int64_t count) {
    std::vector<T> all(static_cast<std::size_t>(count));
    for (T& each : all) each = static_cast<T>(std::uniform_real_distribution<double>(-4, 4)(random));
    return all;
  };
  const std::vector<T> memory = draw(lines * stride);
  std::vector<T> re((half + 1) * lines, T(7)), im(re);
  loops.take_apart({memory.data(), stride, numbers}, lines, {re.data(), im.data()});
  for (std::int64_t l = 0; l < lines; ++l)
    for (std::int64_t i = 0; i < numbers; ++i) ASSERT_EQ((i % 2 == 0 ? re : im)[i / 2 * lines + l], memory[l * stride + i]) << i;
  std::vector<T> back(memory.size(), T(7));
  loops.put_together({re.data(), im.data()}, lines, T(2), {back.data(), stride, numbers});
  for (std::int64_t l = 0; l < lines; ++l)
    for (std::int64_t i = 0; i < stride; ++i) ASSERT_EQ(back[l * stride + i], i < numbers ? 2 * memory[l * stride + i] : T(7)) << i;

  const std::vector<T> cosines = draw(half + 1), sines = draw(half + 1);
  std::vector<T> re_too = re, im_too = im;
  for (const auto loop : {&LineLoops<T>::split, &LineLoops<T>::join}) {
    (loops.*loop)({re.data(), im.data()}, lines, half, cosines.data(), sines.data());
    (portable.*loop)({re_too.data(), im_too.data()}, lines, half, cosines.data(), sines.data());
    ASSERT_EQ(std::memcmp(re.data(), re_too.data(), re.size() * sizeof(T)), 0);
    ASSERT_EQ(std::memcmp(im.data(), im_too.data(), im.size() * sizeof(T)), 0);
  }
}

TEST(Levels, LinesOfTransformsAreTakenApartAndPutTogether) {
  std::mt19937_64 random(7);
  for (const Instructions set : {Instructions::portable, Instructions::avx2, Instructions::avx512}) {
    if (set > instructions()) continue;
    for (const std::int64_t lines : {1, 2, 3, 4, 7, 8, 15, 16, 17, 40}) {
      for (const std::int64_t numbers : {1, 2, 3, 8, 15, 16, 17, 31, 34, 64}) {
        SCOPED_TRACE(std::string(to_string(set)) + ", " + std::to_string(lines) + " lines of " + std::to_string(numbers));
        check_lines<float>(set, lines, numbers, random);
        check_lines<double>(set, lines, numbers, random);
        if (HasFatalFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace cleave::testing
