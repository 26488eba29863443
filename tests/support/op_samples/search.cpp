// Samples of searching.
#include "tests/support/op_samples/samples.h"

namespace cleave::testing {
namespace {

/// 0, 0, 1, 2, 2, 3, 4, …
Array rising(DType dtype, std::int64_t extent) {
  Array array(TensorType{dtype, {extent}});
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    for (std::int64_t i = 0; i < extent; ++i) array.mutable_data<T>()[i] = ops::convert<T>(std::min<std::int64_t>(i - i / 3, 100));
  });
  return array;
}

}  // namespace

void add_search(Samples& s) {
  for (const DType dtype : kAllTypes) {
    for (const char* side : {"left", "right"}) {
      s.add("searchsorted", {dtype == boolean ? Array::of<bool>({3}, {false, false, true}) : rising(dtype, 7), s.numbers(dtype, {3, 5})},
            {{"side", std::string(side)}});
    }
  }
  constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const Array ends = Array::of<float>({6}, {-infinity, -1, 2.5F, infinity, nan, nan});
  for (const char* side : {"left", "right"}) s.add("searchsorted", {ends, special_values(f32, 0, 2)}, {{"side", std::string(side)}}, true);
  s.add("searchsorted", {rising(f32, 150), s.numbers(f32, {300}, {-2, 102})});
  s.add("searchsorted", {rising(f32, 0), s.numbers(f32, {4})});
  s.add("searchsorted", {rising(i32, 5), s.numbers(i32, {0, 2})});
  s.add("searchsorted", {rising(i64, 5), s.numbers(i64, {})});
}

}  // namespace cleave::testing
