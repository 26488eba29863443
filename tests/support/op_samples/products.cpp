// Matrix products.
#include "tests/support/op_samples/filled.h"
#include "tests/support/op_samples/samples.h"

namespace cleave::testing {

void add_products(Samples& s) {
  for (const DType dtype : {f32, f64, f16, bf16, i32, i64, u8, i8, i16, u16, u32, u64}) {
    s.add("matmul", {s.numbers(dtype, {4, 3}), s.numbers(dtype, {3, 2})});
    s.add("matmul", {s.numbers(dtype, {5}), s.numbers(dtype, {5})});
    s.add("matmul", {s.numbers(dtype, {2, 1, 3, 4}), s.numbers(dtype, {3, 4, 2})});
  }
  s.add("matmul", {filled(u16, {3, 2}, 65535), filled(u16, {2, 4}, 65535)});  // more than i32 holds: i64
  s.add("matmul", {filled(i16, {3, 2}, -32768), filled(i16, {2, 4}, -32768)});
  s.add("matmul", {s.numbers(f32, {6}), s.numbers(f32, {2, 6, 3})});
  s.add("matmul", {s.numbers(f32, {2, 3, 6}), s.numbers(f32, {6})});
  s.add("matmul", {s.numbers(f32, {3, 0}), s.numbers(f32, {0, 2})});
  s.add("matmul", {s.numbers(f32, {0, 3}), s.numbers(f32, {3, 2})});
  s.add("matmul", {s.numbers(f32, {65, 130}), s.numbers(f32, {130, 33})});
  s.add("matmul", {s.numbers(f32, {2, 300}), s.numbers(f32, {300, 3})});  // without rows as well, in parts of the inner axis
}

}  // namespace cleave::testing
