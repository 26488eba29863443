#include "tests/support/op_samples.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>

#include "graph/ops/convert.h"
#include "graph/ops/op_table.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {
namespace {

using Integers = std::vector<std::int64_t>;
using enum DType;

constexpr DType kAllTypes[] = {f32, f64, f16, bf16, i32, i64, u8, boolean};

struct Range {
  double low = -3, high = 3;
};

/// Where the math functions are defined, and powers stay small.
Range range_for(const std::string& op) {
  static const std::map<std::string, Range> ranges = {{"log", {0.1, 4}},   {"log2", {0.1, 4}}, {"log1p", {-0.5, 4}}, {"sqrt", {0, 4}},
                                                      {"rsqrt", {0.1, 4}}, {"asin", {-1, 1}},  {"acos", {-1, 1}},    {"pow", {0.1, 3}}};
  const auto found = ranges.find(op);
  return found == ranges.end() ? Range{} : found->second;
}

class Samples {
 public:
  std::vector<OpSample> all;

  /// Uniform numbers; integers from -9 to 9, u8 from 0 to 18.
  Array numbers(DType dtype, Shape shape, Range range = {}) {
    Array array(TensorType{dtype, std::move(shape)});
    dispatch(dtype, [&](auto zero) {
      using T = decltype(zero);
      T* out = array.mutable_data<T>();
      for (std::int64_t i = 0; i < array.size(); ++i) {
        const std::uint64_t bits = next();
        if constexpr (std::is_same_v<T, bool>) {
          out[i] = bits % 2 == 1;
        } else if constexpr (std::is_integral_v<T>) {
          out[i] = static_cast<T>(static_cast<std::int64_t>(bits % 19) - (std::is_signed_v<T> ? 9 : 0));
        } else {
          out[i] = ops::convert<T>(range.low + (range.high - range.low) * static_cast<double>(bits >> 11) * 0x1p-53);
        }
      }
    });
    return array;
  }
  /// Integers from 0 to extent - 1.
  Array indices(DType dtype, Shape shape, std::uint64_t extent) {
    Array array(TensorType{dtype, std::move(shape)});
    dispatch(dtype, [&](auto zero) {
      using T = decltype(zero);
      T* out = array.mutable_data<T>();
      for (std::int64_t i = 0; i < array.size(); ++i) out[i] = ops::convert<T>(static_cast<std::int64_t>(next() % extent));
    });
    return array;
  }
  void add(std::string_view name, std::vector<Array> inputs, Attributes attributes = {}, bool special = false) {
    const OpDef* op = find_op(name);
    CLEAVE_CHECK(op, "a sample of an op that does not exist");
    CLEAVE_CHECK(!normalize_call(*op, inputs.size(), attributes), "a sample with wrong attributes");
    all.push_back({op, std::move(inputs), std::move(attributes), special});
  }

 private:
  std::uint64_t state_ = 20;

  std::uint64_t next() {  // splitmix64
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
};

// --- element-wise ops: every element type that the type rule accepts -------------------------------------------------

/// The ends of a type, paired each with each: element i of operand `which`.
Array special_values(DType dtype, int which, int operands) {
  std::vector<double> values;
  if (dtype == boolean) {
    values = {0, 1};
  } else if (is_integer(dtype)) {
    values = {0, 1, 2, 7};
  } else {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    values = {0, -0.0, 1, -1, 2.5, -2.5, infinity, -infinity, std::numeric_limits<double>::quiet_NaN()};
  }
  const std::size_t ends = is_integer(dtype) ? values.size() + 3 : values.size();  // and the ends of the integer type
  std::size_t count = 1, stride = 1;
  for (int k = 0; k < operands; ++k) count *= ends;
  for (int k = 0; k < which; ++k) stride *= ends;
  Array array(TensorType{dtype, {static_cast<std::int64_t>(count)}});
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    T* out = array.mutable_data<T>();
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t k = i / stride % ends;
      if (k < values.size()) {
        out[i] = ops::convert<T>(values[k]);
      } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
        const T special[] = {static_cast<T>(-1), std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
        out[i] = special[k - values.size()];
      }
    }
  });
  return array;
}

void add_elementwise(Samples& samples, const OpDef& op) {
  const std::vector<std::vector<Shape>> shapes = {
      {{}, {}, {}}, {{7}, {7}, {7}}, {{3, 5}, {5}, {}}, {{4, 1}, {1, 6}, {4, 6}}, {{0, 3}, {3}, {1, 3}}, {{37, 53}, {37, 53}, {53}}};
  const auto operands = static_cast<std::size_t>(op.min_inputs);
  const auto type_of = [&](std::size_t k, DType dtype) { return op.name == "where" && k == 0 ? boolean : dtype; };
  for (const DType dtype : kAllTypes) {
    std::vector<TensorType> types;
    for (std::size_t k = 0; k < operands; ++k) types.push_back({type_of(k, dtype), {}});
    Attributes attributes;
    if (op.name == "astype") attributes.set("dtype", f32);
    if (op.type_rule(types, attributes).index() != 0) continue;  // not computed on this element type
    for (const DType target : op.name == "astype" ? std::span(kAllTypes) : std::span(kAllTypes, 1)) {
      if (op.name == "astype") attributes.set("dtype", target);
      for (const auto& choice : shapes) {
        std::vector<Array> inputs;
        for (std::size_t k = 0; k < operands; ++k) inputs.push_back(samples.numbers(type_of(k, dtype), choice[k], range_for(op.name)));
        samples.add(op.name, std::move(inputs), attributes);
      }
      std::vector<Array> inputs;
      for (std::size_t k = 0; k < operands; ++k) {
        inputs.push_back(op.name == "where" ? samples.numbers(type_of(k, dtype), {9})
                                            : special_values(dtype, static_cast<int>(k), op.min_inputs));
      }
      samples.add(op.name, std::move(inputs), attributes, true);
    }
  }
}

// --- the others ------------------------------------------------------------------------------------------------------

void add_products(Samples& s) {
  for (const DType dtype : {f32, f64, f16, bf16, i32, i64, u8}) {
    s.add("matmul", {s.numbers(dtype, {4, 3}), s.numbers(dtype, {3, 2})});
    s.add("matmul", {s.numbers(dtype, {5}), s.numbers(dtype, {5})});
    s.add("matmul", {s.numbers(dtype, {2, 1, 3, 4}), s.numbers(dtype, {3, 4, 2})});
  }
  s.add("matmul", {s.numbers(f32, {6}), s.numbers(f32, {2, 6, 3})});
  s.add("matmul", {s.numbers(f32, {2, 3, 6}), s.numbers(f32, {6})});
  s.add("matmul", {s.numbers(f32, {3, 0}), s.numbers(f32, {0, 2})});
  s.add("matmul", {s.numbers(f32, {0, 3}), s.numbers(f32, {3, 2})});
  s.add("matmul", {s.numbers(f32, {65, 130}), s.numbers(f32, {130, 33})});
}

void add_reductions(Samples& s) {
  const auto takes = [](std::string_view op, DType dtype) {
    if (op == "mean") return is_floating(dtype);
    if (op == "sum" || op == "prod" || op == "any" || op == "all") return true;
    return dtype != boolean;
  };
  for (const char* op : {"sum", "mean", "prod", "max", "min", "any", "all", "argmax", "argmin"}) {
    for (const DType dtype : kAllTypes) {
      if (!takes(op, dtype)) continue;
      s.add(op, {s.numbers(dtype, {3, 4})});
      s.add(op, {s.numbers(dtype, {3, 4})}, {{"axis", std::int64_t{0}}});
      s.add(op, {s.numbers(dtype, {2, 3, 4})}, {{"axis", Integers{-1, 0}}, {"keepdims", true}});
      s.add(op, {s.numbers(dtype, {4, 0})}, {{"axis", std::int64_t{0}}});
    }
    s.add(op, {s.numbers(f32, {})});
    s.add(op, {s.numbers(f32, {7})}, {{"axis", Integers{}}});
    s.add(op, {s.numbers(f32, {129, 67})}, {{"axis", std::int64_t{1}}});
  }
  for (const DType dtype : kAllTypes) {
    s.add("cumulative_sum", {s.numbers(dtype, {9})});
    s.add("cumulative_sum", {s.numbers(dtype, {2, 5, 3})}, {{"axis", std::int64_t{1}}});
  }
  for (const char* op : {"softmax", "log_softmax"}) {
    for (const DType dtype : {f32, f64, f16, bf16}) {
      s.add(op, {s.numbers(dtype, {3, 5})});
      s.add(op, {s.numbers(dtype, {2, 4, 3})}, {{"axis", std::int64_t{1}}});
    }
    s.add(op, {s.numbers(f32, {50, 70}, {-90, 90})});
    s.add(op, {s.numbers(f32, {3, 0})});
  }
}

void add_shapes(Samples& s) {
  for (const DType dtype : kAllTypes) {
    s.add("transpose", {s.numbers(dtype, {2, 3, 4})});
    s.add("permute_dims", {s.numbers(dtype, {2, 3, 4})}, {{"axes", Integers{2, 0, 1}}});
    s.add("reshape", {s.numbers(dtype, {2, 6})}, {{"shape", Integers{3, -1}}});
    s.add("expand_dims", {s.numbers(dtype, {2, 3})}, {{"axis", std::int64_t{-1}}});
    s.add("squeeze", {s.numbers(dtype, {1, 3, 1})}, {{"axis", Integers{0, -1}}});
    s.add("broadcast_to", {s.numbers(dtype, {3, 1})}, {{"shape", Integers{2, 3, 4}}});
    s.add("flip", {s.numbers(dtype, {3, 4})}, {{"axis", std::int64_t{1}}});
  }
  s.add("transpose", {s.numbers(f32, {65, 130})});
  s.add("permute_dims", {s.numbers(f32, {})}, {{"axes", Integers{}}});
  s.add("permute_dims", {s.numbers(f32, {31, 2, 17})}, {{"axes", Integers{1, -1, 0}}});
  s.add("reshape", {s.numbers(f32, {1})}, {{"shape", Integers{}}});
  s.add("reshape", {s.numbers(f32, {0, 4})}, {{"shape", Integers{2, 0}}});
  s.add("expand_dims", {s.numbers(f32, {})});
  s.add("squeeze", {s.numbers(f32, {100, 1})}, {{"axis", std::int64_t{1}}});
  s.add("broadcast_to", {s.numbers(f32, {})}, {{"shape", Integers{70, 3}}});
  s.add("broadcast_to", {s.numbers(f32, {1, 3})}, {{"shape", Integers{0, 3}}});
  s.add("flip", {s.numbers(f32, {40, 3})});
  s.add("flip", {s.numbers(f32, {0, 3})});
}

void add_indexing(Samples& s) {
  constexpr std::int64_t end = std::numeric_limits<std::int64_t>::max(), begin = std::numeric_limits<std::int64_t>::min();
  for (const DType dtype : kAllTypes) {
    s.add("slice", {s.numbers(dtype, {5, 6})}, {{"starts", Integers{1, -4}}, {"stops", Integers{4, -1}}});
    s.add("slice", {s.numbers(dtype, {5, 6})}, {{"starts", Integers{-1}}, {"stops", Integers{begin}}, {"steps", Integers{-2}}});
    s.add("slice", {s.numbers(dtype, {3, 4, 5})},
          {{"starts", Integers{-1, 0, 1}}, {"stops", Integers{0, end, end}}, {"steps", Integers{1, 3, 2}}, {"squeeze", Integers{0}}});
    s.add("take", {s.numbers(dtype, {6}), s.indices(i32, {4}, 6)});
    s.add("take", {s.numbers(dtype, {3, 6, 2}), s.indices(i64, {2, 2}, 6)}, {{"axis", std::int64_t{1}}});
  }
  s.add("slice", {s.numbers(f32, {100, 7})}, {{"starts", Integers{10}}, {"stops", Integers{90}}});
  s.add("slice", {s.numbers(f32, {4})}, {{"starts", Integers{3}}, {"stops", Integers{1}}});
  s.add("take", {s.numbers(f32, {40, 8}), s.indices(u8, {300}, 40)}, {{"axis", std::int64_t{0}}});
  s.add("take", {s.numbers(f32, {4}), s.indices(i32, {}, 4)});
  for (const DType dtype : {i32, i64, u8}) s.add("one_hot", {s.indices(dtype, {6}, 5)}, {{"depth", std::int64_t{4}}});
  for (const DType dtype : kAllTypes) s.add("one_hot", {s.indices(i32, {20, 3}, 10)}, {{"depth", std::int64_t{10}}, {"dtype", dtype}});
}

void add_joining(Samples& s) {
  for (const DType dtype : kAllTypes) {
    s.add("concat", {s.numbers(dtype, {2, 3}), s.numbers(dtype, {2, 1}), s.numbers(dtype, {2, 0})}, {{"axis", std::int64_t{-1}}});
    s.add("stack", {s.numbers(dtype, {2, 3}), s.numbers(dtype, {2, 3})}, {{"axis", std::int64_t{1}}});
    s.add("pad", {s.numbers(dtype, {2, 3})}, {{"widths", Integers{1, 2, 0, 1}}, {"value", 1.5}});
    s.add("repeat", {s.numbers(dtype, {2, 3})}, {{"repeats", std::int64_t{3}}, {"axis", std::int64_t{1}}});
    s.add("tile", {s.numbers(dtype, {2, 3})}, {{"repetitions", Integers{2, 1, 2}}});
  }
  s.add("concat", {s.numbers(f32, {100, 3}), s.numbers(f32, {50, 3})});
  s.add("concat", {s.numbers(f32, {3})});
  s.add("stack", {s.numbers(f32, {}), s.numbers(f32, {}), s.numbers(f32, {})});
  s.add("stack", {s.numbers(f32, {80}), s.numbers(f32, {80})}, {{"axis", std::int64_t{-1}}});
  s.add("pad", {s.numbers(f32, {30, 20})}, {{"widths", std::int64_t{2}}});
  s.add("pad", {s.numbers(f32, {})}, {{"widths", Integers{}}});
  s.add("repeat", {s.numbers(f32, {50})}, {{"repeats", std::int64_t{4}}});
  s.add("tile", {s.numbers(f32, {50})}, {{"repetitions", Integers{3}}});
}

void add_creation(Samples& s) {
  for (const DType dtype : kAllTypes) {
    s.add("zeros", {}, {{"shape", Integers{2, 3}}, {"dtype", dtype}});
    s.add("ones", {}, {{"shape", Integers{2, 3}}, {"dtype", dtype}});
    s.add("full", {}, {{"shape", Integers{4}}, {"value", 2.5}, {"dtype", dtype}});
    s.add("eye", {}, {{"rows", std::int64_t{3}}, {"columns", std::int64_t{2}}, {"dtype", dtype}});
    if (dtype != boolean)
      s.add("arange", {}, {{"start", std::int64_t{2}}, {"stop", std::int64_t{9}}, {"step", std::int64_t{3}}, {"dtype", dtype}});
  }
  s.add("zeros", {}, {{"shape", Integers{300}}});
  s.add("ones", {}, {{"shape", Integers{300}}});
  s.add("full", {}, {{"shape", Integers{}}, {"value", true}});
  s.add("full", {}, {{"shape", Integers{300}}, {"value", std::int64_t{-7}}});
  s.add("eye", {}, {{"rows", std::int64_t{30}}});
  s.add("arange", {}, {{"start", std::int64_t{200}}});
  s.add("arange", {}, {{"start", 1.0}, {"stop", -0.3}, {"step", -0.25}});
}

void add_random(Samples& s) {
  const Array step = Array::scalar<std::int32_t>(3);
  s.add("random_uniform", {}, {{"shape", Integers{3, 5}}, {"seed", std::int64_t{1}}});
  s.add("random_uniform", {step}, {{"shape", Integers{500}}, {"low", -2.0}, {"high", 5.0}, {"seed", std::int64_t{-1}}});
  s.add("random_uniform", {step}, {{"shape", Integers{7}}, {"dtype", f64}});
  s.add("random_normal", {}, {{"shape", Integers{3, 5}}, {"seed", std::int64_t{1}}});
  s.add("random_normal", {Array::scalar<std::int64_t>(-8)}, {{"shape", Integers{500}}, {"mean", 4.0}, {"std", 0.5}});
  s.add("random_normal", {step}, {{"shape", Integers{7}}, {"dtype", f64}});
}

void add_sorting(Samples& s) {
  for (const DType dtype : kAllTypes) {
    for (const char* op : {"sort", "argsort"}) {
      s.add(op, {s.numbers(dtype, {4, 7})});
      s.add(op, {s.numbers(dtype, {5, 2, 3})}, {{"axis", std::int64_t{0}}, {"descending", true}});
    }
    s.add("top_k", {s.numbers(dtype, {3, 6})}, {{"k", std::int64_t{2}}});
    s.add("unique", {s.numbers(dtype, {4, 5})});
  }
  for (const char* op : {"sort", "argsort"}) s.add(op, {special_values(f32, 0, 2)}, {}, true);
  s.add("top_k", {s.numbers(f32, {300})}, {{"k", std::int64_t{10}}});
  s.add("top_k", {special_values(f32, 0, 1)}, {{"k", std::int64_t{9}}}, true);
  s.add("unique", {s.numbers(i32, {300})});
  s.add("unique", {s.numbers(f32, {0})});
}

void add_effects(Samples& s) {
  for (const Shape& shape : {Shape{}, Shape{3, 2}, Shape{40}}) {
    s.add("print", {s.numbers(f32, shape)}, {{"label", std::string("x")}});
    const auto path = std::filesystem::temp_directory_path() / "cleave_op_sample.npy";
    s.add("write_npy", {s.numbers(f32, shape)}, {{"path", path.string()}});
    s.add("to_host", {s.numbers(f32, shape)});
    s.add("to_accelerator", {s.numbers(i32, shape)});
  }
  for (const std::int64_t n : {3, 50}) {
    auto doubled = std::make_shared<HostFunction>();
    doubled->name = "doubled";
    doubled->takes = doubled->returns = {{f32, {n}}};
    doubled->pure = true;
    doubled->call = [](std::span<const Array> inputs, std::span<Array> results, const CallLimits&) -> Status {
      for (std::int64_t i = 0; i < inputs[0].size(); ++i) results[0].mutable_data<float>()[i] = 2 * inputs[0].data<float>()[i];
      return {};
    };
    s.add("host_call", {s.numbers(f32, {n})}, {{"function", std::shared_ptr<const HostFunction>(doubled)}});
  }
}

}  // namespace

std::vector<OpSample> op_samples() {
  Samples samples;
  for (const OpDef* op : all_ops()) {
    if (op->elementwise()) add_elementwise(samples, *op);
  }
  for (const auto add :
       {add_products, add_reductions, add_shapes, add_indexing, add_joining, add_creation, add_random, add_sorting, add_effects}) {
    add(samples);
  }
  std::stable_sort(samples.all.begin(), samples.all.end(), [](const OpSample& a, const OpSample& b) { return a.op->name < b.op->name; });
  return std::move(samples.all);
}

std::string describe(const OpSample& sample) {
  std::string text = sample.op->name + "(";
  for (std::size_t i = 0; i < sample.inputs.size(); ++i) text += (i > 0 ? ", " : "") + to_string(sample.inputs[i].type());
  return text + (sample.special ? "), special values" : ")");
}

std::string_view family_of(std::string_view op) {
  for (const ops::OpFamily& family : ops::op_families()) {
    for (const OpDef& def : family.ops()) {
      if (def.name == op) return family.name;
    }
  }
  return {};
}

}  // namespace cleave::testing
