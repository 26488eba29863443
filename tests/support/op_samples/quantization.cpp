// quantize, dequantize, and products of quantized numbers, with sizes that reach every variant of the kernels.
#include <algorithm>
#include <limits>

#include "tests/support/op_samples/samples.h"

namespace cleave::testing {
namespace {

/// All 256 integers of 8 bits.
Array bytes(Samples& s, DType dtype, Shape shape) {
  Array array = s.indices(u8, std::move(shape), 256);
  Array typed(TensorType{dtype, array.shape()});
  std::copy_n(array.bytes(), array.size(), typed.mutable_bytes());
  return typed;
}

/// Operands behind the factors, `count` of them, for `outputs` outputs: one for each, or one for all.
void rescale(Samples& s, std::vector<Array>& operands, int count, std::int64_t outputs, bool each, DType result) {
  const Shape shape = each ? Shape{outputs} : Shape{};
  if (count > 0) operands.push_back(s.numbers(i32, shape));
  if (count > 1) operands.push_back(s.numbers(f32, shape, {1e-4, 4e-3}));
  if (count > 2) operands.push_back(bytes(s, result, {}));
}

void quantized_products(Samples& s) {
  const auto add = [&](DType x, DType weight, Shape left, Shape right, int rescaled, bool each, DType result) {
    const std::int64_t columns = right.back();
    std::vector<Array> operands = {bytes(s, x, std::move(left)), bytes(s, weight, std::move(right)), bytes(s, x, {}),
                                   bytes(s, weight, each ? Shape{columns} : Shape{})};
    rescale(s, operands, rescaled, columns, each, result);
    s.add("quantized_matmul", std::move(operands));
  };
  for (const DType x : {i8, u8}) {
    for (const DType weight : {i8, u8}) {
      for (const bool each : {false, true}) {
        for (int rescaled = 0; rescaled < 4; ++rescaled) add(x, weight, {3, 5}, {5, 7}, rescaled, each, rescaled % 2 == 0 ? x : weight);
      }
      add(x, weight, {50, 33}, {33, 101}, 3, true, x);
      add(x, weight, {2, 1, 4, 6}, {3, 6, 9}, 0, true, x);
    }
  }
  add(u8, i8, {1, 300}, {300, 200}, 2, true, u8);
  add(u8, i8, {7, 1100}, {1100, 33}, 0, false, u8);  // several ranges of the inner axis
  add(i8, u8, {2, 3, 4}, {2, 4, 5}, 3, false, i8);
  add(u8, i8, {4, 3, 8}, {8, 6}, 1, false, u8);
  add(u8, u8, {3, 0}, {0, 4}, 3, true, i8);
  add(u8, u8, {0, 3}, {3, 4}, 2, true, i8);
  add(u8, u8, {2, 3}, {3, 0}, 0, false, i8);
}

void quantized_convolutions(Samples& s) {
  const auto add = [&](DType x, DType weight, Shape image, Shape kernel, Attributes attributes, int rescaled, bool each, DType result) {
    const std::int64_t outputs = kernel[0];
    std::vector<Array> operands = {bytes(s, x, std::move(image)), bytes(s, weight, std::move(kernel)), bytes(s, x, {}),
                                   bytes(s, weight, each ? Shape{outputs} : Shape{})};
    rescale(s, operands, rescaled, outputs, each, result);
    s.add("quantized_conv", std::move(operands), std::move(attributes));
  };
  const Attributes padded{{"pads", Integers{1}}};
  for (const DType x : {i8, u8}) {
    for (const DType weight : {i8, u8}) {
      for (int rescaled = 0; rescaled < 4; ++rescaled) {
        const bool each = rescaled % 2 == 1;
        add(x, weight, {1, 3, 5, 6}, {5, 3, 3, 3}, padded, rescaled, each, weight);
        add(x, weight, {2, 4, 6, 7}, {4, 1, 3, 3}, {{"pads", Integers{1}}, {"group", std::int64_t{4}}}, rescaled, each, x);
      }
      add(x, weight, {2, 3, 9}, {4, 3, 3}, padded, 3, true, x);
      add(x, weight, {2, 3, 7, 5}, {5, 3, 3, 2}, {{"strides", Integers{2, 1}}, {"pads", Integers{1, 0, 2, 1}}}, 3, true, x);
      add(x, weight, {1, 2, 4, 5, 6}, {4, 2, 2, 3, 2}, {{"strides", Integers{1, 2, 3}}, {"pads", Integers{1, 0, 2}}}, 0, false, x);
      add(x, weight, {2, 6, 11}, {8, 3, 3}, {{"dilations", Integers{3}}, {"group", std::int64_t{2}}}, 2, true, x);
    }
  }
  add(u8, i8, {1, 20, 17, 19}, {70, 20, 3, 3}, {{"strides", Integers{2}}, {"pads", Integers{1}}}, 3, true, u8);
  add(u8, i8, {3, 33, 7, 7}, {50, 33, 1, 1}, {}, 3, true, u8);
  add(u8, i8, {1, 9, 20, 30}, {50, 9, 1, 1}, {}, 3, false, u8);
  add(i8, i8, {1, 16, 30, 23}, {16, 1, 5, 5}, {{"strides", Integers{2}}, {"pads", Integers{2}}, {"group", std::int64_t{16}}}, 3, true, i8);
  add(i8, i8, {1, 2, 8, 9}, {3, 2, 2, 2}, {}, 3, true, i8);
  add(u8, i8, {2, 8, 6, 6}, {40, 2, 3, 3}, {{"group", std::int64_t{4}}}, 3, true, u8);
  add(u8, i8, {1, 70, 9, 9}, {8, 70, 3, 3}, {{"dilations", Integers{2}}, {"pads", Integers{2}}}, 1, true, u8);
  add(u8, i8, {9, 5, 4, 4}, {9, 5, 4, 4}, {}, 3, true, u8);
  add(u8, i8, {1, 1, 3}, {1, 1, 2}, {{"dilations", Integers{100000}}, {"pads", Integers{50000}}}, 0, false, u8);
  add(u8, i8, {0, 3, 5}, {2, 3, 2}, {}, 0, false, u8);
  add(u8, i8, {2, 0, 5}, {6, 0, 2}, {}, 3, true, u8);
  add(u8, i8, {2, 3, 0}, {6, 3, 2}, {{"pads", Integers{2}}}, 1, true, u8);
  add(u8, i8, {2, 3, 5}, {0, 3, 2}, {}, 0, false, u8);
  add(u8, i8, {1, 2, 5, 6}, {3, 2, 3, 2}, {{"strides", Integers{2}}, {"auto_pad", std::string("same_upper")}}, 2, false, u8);
  // Results past every end, and factors that are no finite numbers.
  const std::vector<Array> factors = {bytes(s, u8, {2, 3}), bytes(s, i8, {3, 4}), bytes(s, u8, {}), bytes(s, i8, {})};
  for (const DType result : {i8, u8}) {
    std::vector<Array> operands = factors;
    rescale(s, operands, 3, 4, true, result);
    const float special[] = {1e30F, -1e30F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()};
    std::copy_n(special, 4, operands[5].mutable_data<float>());
    s.add("quantized_matmul", std::move(operands), {}, true);
  }
}

}  // namespace

void add_quantized_products(Samples& s) {
  quantized_products(s);
  quantized_convolutions(s);
}

void add_quantization(Samples& s) {
  for (const DType dtype : {f32, f64, f16, bf16}) {
    s.add("quantize", {s.numbers(dtype, {3, 4}), Array::scalar(0.25F)});
    s.add("dequantize", {s.numbers(i8, {3, 4}), s.numbers(dtype, {4}, {0.1, 1})});
  }
  for (const DType dtype : {i8, u8, i16, u16, i32}) {
    s.add("quantize", {s.numbers(f32, {2, 3, 4}), s.numbers(f32, {3}, {0.1, 1}), s.numbers(dtype, {3})});
    s.add("quantize", {s.numbers(f32, {5}), s.numbers(f32, {}, {0.1, 1})}, {{"dtype", dtype}});
    s.add("dequantize", {s.numbers(dtype, {2, 3, 4}), s.numbers(f32, {4}, {0.1, 1}), s.numbers(dtype, {4})}, {{"axis", std::int64_t{-1}}});
  }
  s.add("quantize", {s.numbers(f32, {0, 3}), s.numbers(f32, {})});
  s.add("dequantize", {s.numbers(u8, {0, 3}), s.numbers(f32, {3}), s.numbers(u8, {3})});
}

}  // namespace cleave::testing
