// Matrix products.
#include "tests/support/op_samples/samples.h"

namespace cleave::testing {

void add_products(Samples& s) {
  for (const DType dtype : {f32, f64, f16, bf16, i32, i64, u8, i8, i16, u16, u32, u64}) {
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

}  // namespace cleave::testing
