// Samples of elements gathered from and scattered to computed indices, with duplicate indices among them.
#include "tests/support/op_samples/samples.h"

namespace cleave::testing {

namespace {

/// Indices of an axis of `extent`, half of them counted from its end.
Array places(Samples& s, DType dtype, Shape shape, std::int64_t extent) {
  Array array = s.indices(dtype, std::move(shape), static_cast<std::uint64_t>(extent));
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
      for (std::int64_t i = 0; i < array.size(); i += 2) array.mutable_data<T>()[i] = static_cast<T>(array.data<T>()[i] - extent);
    }
  });
  return array;
}

}  // namespace

void add_scatters(Samples& s) {
  const auto along = [](std::int64_t axis) { return Attributes{{"axis", axis}}; };
  for (const DType dtype : kAllTypes) {
    s.add("take_along_axis", {s.numbers(dtype, {3, 5}), places(s, i32, {3, 7}, 5)});
    s.add("take_along_axis", {s.numbers(dtype, {4, 1, 3}), places(s, i64, {2, 6, 1}, 4)}, along(0));
    s.add("gather_nd", {s.numbers(dtype, {4, 5, 3}), places(s, i32, {6, 2}, 4)});
    s.add("gather_nd", {s.numbers(dtype, {2, 5, 4}), places(s, i64, {2, 3, 1}, 5)}, {{"batch_dims", std::int64_t{1}}});
    for (const char* reduction : {"none", "add", "mul", "max", "min"}) {
      if (dtype == boolean && (reduction == std::string("add") || reduction == std::string("mul"))) continue;
      const Attributes by = {{"reduction", std::string(reduction)}};
      s.add("scatter", {s.numbers(dtype, {4, 6}), places(s, i32, {9, 5}, 4), s.numbers(dtype, {9, 5})}, by);
      s.add("scatter", {s.numbers(dtype, {3, 4, 2}), places(s, i64, {2, 7, 2}, 4), s.numbers(dtype, {2, 7, 2})},
            {{"axis", std::int64_t{-2}}, {"reduction", std::string(reduction)}});
      s.add("scatter_nd", {s.numbers(dtype, {5, 4, 3}), places(s, i32, {8, 1}, 5), s.numbers(dtype, {8, 4, 3})}, by);
      s.add("scatter_nd", {s.numbers(dtype, {5, 4}), places(s, i64, {2, 6, 2}, 4), s.numbers(dtype, {2, 6})}, by);
    }
    if (dtype == boolean) continue;
    s.add("scatter_add", {s.numbers(dtype, {5}), places(s, i32, {12}, 5), s.numbers(dtype, {12})});
    s.add("scatter_add", {s.numbers(dtype, {3, 4, 2}), places(s, i32, {2, 3}, 4), s.numbers(dtype, {3, 2, 3, 2})}, along(1));
  }
  s.add("take_along_axis", {s.numbers(f32, {40, 50}), places(s, u8, {40, 20}, 50)}, along(-1));
  s.add("take_along_axis", {s.numbers(f32, {0, 5}), places(s, i32, {0, 2}, 5)});
  s.add("gather_nd", {s.numbers(f32, {3, 4}), s.indices(i32, {2, 0}, 1)});
  s.add("gather_nd", {s.numbers(f32, {3, 0}), places(s, i32, {5, 1}, 3)});
  s.add("scatter_add", {s.numbers(f32, {7}), places(s, i64, {3000}, 7), s.numbers(f32, {3000})});
  s.add("scatter_add", {s.numbers(f32, {300, 16}), places(s, i32, {6000}, 300), s.numbers(f32, {6000, 16})});
  s.add("scatter", {s.numbers(f32, {6, 2}), places(s, i32, {0, 2}, 6), s.numbers(f32, {0, 2})});
  s.add("scatter_nd", {s.numbers(f32, {3, 4}), s.indices(i32, {2, 0}, 1), s.numbers(f32, {2, 3, 4})}, {{"reduction", std::string("add")}});
}

}  // namespace cleave::testing
