// quantize and dequantize.
#include "tests/support/op_samples/samples.h"

namespace cleave::testing {

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
