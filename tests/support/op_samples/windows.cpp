// Samples of windows at computed positions.
#include "tests/support/op_samples/samples.h"

namespace cleave::testing {

void add_windows(Samples& s) {
  const auto at = [](std::int32_t index) { return Array::scalar(index); };
  for (const DType dtype : kAllTypes) {
    s.add("dynamic_slice", {s.numbers(dtype, {5, 6}), at(1), at(-4)}, {{"sizes", Integers{3, 2}}});
    s.add("dynamic_slice", {s.numbers(dtype, {4, 3, 5}), Array::of<std::int64_t>({3}, {2, 0, -5})}, {{"sizes", Integers{2, 3, 5}}});
    s.add("dynamic_update_slice", {s.numbers(dtype, {5, 6}), s.numbers(dtype, {2, 3}), at(3), at(-3)});
    s.add("dynamic_update_slice", {s.numbers(dtype, {7, 16}), s.numbers(dtype, {16}), at(6), at(0)});
    s.add("dynamic_update_slice", {s.numbers(dtype, {3, 4, 5}), s.numbers(dtype, {4, 5}), Array::of<std::int64_t>({3}, {-3, 0, 0})});
  }
  s.add("dynamic_slice", {s.numbers(f32, {70, 33}), at(20), Array::scalar<std::uint8_t>(1)}, {{"sizes", Integers{40, 32}}});
  s.add("dynamic_slice", {s.numbers(f32, {4, 3}), at(4), at(0)}, {{"sizes", Integers{0, 3}}});
  s.add("dynamic_slice", {s.numbers(f32, {0, 3}), at(0), at(0)}, {{"sizes", Integers{0, 3}}});
  s.add("dynamic_slice", {s.numbers(f32, {})}, {{"sizes", Integers{}}});
  s.add("dynamic_slice", {s.numbers(f32, {9}), Array::of<std::int32_t>({1}, {-2})}, {{"sizes", Integers{2}}});
  s.add("dynamic_update_slice", {s.numbers(f32, {300, 64}), s.numbers(f32, {40, 60}), at(100), at(4)});
  s.add("dynamic_update_slice", {s.numbers(f32, {4, 3}), s.numbers(f32, {0, 3}), at(4), at(0)});
  s.add("dynamic_update_slice", {s.numbers(f32, {0, 3}), s.numbers(f32, {0, 2}), at(0), at(1)});
  s.add("dynamic_update_slice", {s.numbers(f32, {}), s.numbers(f32, {})});
  s.add("dynamic_update_slice", {s.numbers(f32, {9}), s.numbers(f32, {}), at(-1)});
}

}  // namespace cleave::testing
