// Ops that move elements: shapes, indexing, joining.
#include "tests/support/op_samples/samples.h"

namespace cleave::testing {

void add_shapes(Samples& s) {
  for (const DType dtype : kAllTypes) {
    s.add("transpose", {s.numbers(dtype, {2, 3, 4})});
    s.add("permute_dims", {s.numbers(dtype, {2, 3, 4})}, {{"axes", Integers{2, 0, 1}}});
    s.add("reshape", {s.numbers(dtype, {2, 6})}, {{"shape", Integers{3, -1}}});
    s.add("expand_dims", {s.numbers(dtype, {2, 3})}, {{"axis", std::int64_t{-1}}});
    s.add("squeeze", {s.numbers(dtype, {1, 3, 1})}, {{"axis", Integers{0, -1}}});
    s.add("broadcast_to", {s.numbers(dtype, {3, 1})}, {{"shape", Integers{2, 3, 4}}});
    s.add("flip", {s.numbers(dtype, {3, 4})}, {{"axis", std::int64_t{1}}});
    if (dtype == boolean) continue;
    s.add("bitcast", {s.numbers(dtype, {3, 5, 8 / size_of(dtype)})}, {{"dtype", i64}});
    s.add("bitcast", {s.numbers(dtype, {7})}, {{"dtype", u8}});
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
  for (const DType dtype : {i8, i16, i32, i64})
    s.add("take", {s.numbers(f32, {10, 3}), s.numbers(dtype, {70})}, {{"axis", std::int64_t{0}}});
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

}  // namespace cleave::testing
