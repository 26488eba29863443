// Samples of array functions that are traced into other functions.
#include "tests/support/op_samples/samples.h"

namespace cleave::testing {
namespace {

std::int64_t number(int n) {
  return n;
}

void add_places(Samples& s) {
  for (const DType dtype : kAllTypes) {
    s.add("tril", {s.numbers(dtype, {3, 4})}, {{"k", number(1)}});
    s.add("triu", {s.numbers(dtype, {2, 4, 3})}, {{"k", number(-1)}});
    s.add("diagonal", {s.numbers(dtype, {2, 3, 5})}, {{"offset", number(-1)}});
    s.add("roll", {s.numbers(dtype, {3, 4})}, {{"shift", number(5)}});
    s.add("moveaxis", {s.numbers(dtype, {2, 3, 4})}, {{"source", number(0)}, {"destination", number(-1)}});
    s.add("unstack", {s.numbers(dtype, {2, 3})}, {{"axis", number(1)}});
    s.add("split", {s.numbers(dtype, {2, 6})}, {{"sections", number(3)}, {"axis", number(1)}});
    s.add("compress", {s.numbers(boolean, {4}), s.numbers(dtype, {3, 4})}, {{"axis", number(1)}});
    s.add("zeros_like", {s.numbers(dtype, {2, 3})});
    s.add("ones_like", {s.numbers(dtype, {2, 3})}, {{"dtype", f64}});
    s.add("full_like", {s.numbers(dtype, {2})}, {{"value", true}});
  }
  s.add("tril", {s.numbers(f32, {4, 4})}, {{"k", std::numeric_limits<std::int64_t>::max()}});
  s.add("triu", {s.numbers(f32, {4, 4})}, {{"k", std::numeric_limits<std::int64_t>::min()}});
  s.add("diagonal", {s.numbers(f32, {3, 3})}, {{"offset", number(7)}});
  s.add("roll", {s.numbers(f32, {3, 4, 0})}, {{"shift", Integers{-1, 2}}, {"axis", Integers{0, -1}}});
  s.add("meshgrid", {s.numbers(f32, {3}), s.numbers(i32, {4}), s.numbers(f32, {2})});
  s.add("meshgrid", {s.numbers(f32, {3}), s.numbers(f32, {4})}, {{"indexing", std::string("ij")}});
  s.add("compress", {s.numbers(i32, {5}), s.numbers(f32, {2, 3})});
  s.add("compress", {s.numbers(boolean, {6}), s.numbers(f32, {6, 2})}, {{"axis", number(0)}, {"size", number(6)}});
  s.add("compress", {s.numbers(f32, {0}), s.numbers(f32, {0, 3})}, {{"axis", number(0)}});
  s.add("linspace", {}, {{"start", 0.0}, {"stop", 1.0}, {"num", number(5)}});
  s.add("linspace", {}, {{"start", 3.0}, {"stop", -1.0}, {"num", number(7)}, {"endpoint", false}, {"dtype", f64}});
}

}  // namespace

void add_array_functions(Samples& s) {
  add_places(s);
  for (const DType dtype : kAllTypes) {
    s.add("trace", {s.numbers(dtype, {2, 3, 3})});
    s.add("count_nonzero", {s.numbers(dtype, {3, 4})}, {{"axis", number(1)}});
    if (dtype == boolean) continue;
    s.add("diff", {s.numbers(dtype, {3, 4})});
    s.add("vecdot", {s.numbers(dtype, {2, 4}), s.numbers(dtype, {4})});
    s.add("outer", {s.numbers(dtype, {3}), s.numbers(dtype, {2})});
    s.add("cross", {s.numbers(dtype, {2, 3}), s.numbers(dtype, {3})});
    s.add("tensordot", {s.numbers(dtype, {2, 3, 4}), s.numbers(dtype, {3, 4, 5})});
  }
  s.add("diff", {s.numbers(f32, {2})}, {{"n", number(3)}});
  s.add("tensordot", {s.numbers(f32, {2, 3, 4}), s.numbers(f32, {4, 2})}, {{"a_axes", Integers{0, 2}}, {"b_axes", Integers{1, 0}}});
  for (const DType dtype : {f32, f64}) {
    for (const bool keepdims : {false, true}) {
      s.add("logsumexp", {s.numbers(dtype, {3, 4})}, {{"axis", number(0)}, {"keepdims", keepdims}});
      for (const double ord : {0.0, 1.0, 2.0, 3.0, std::numeric_limits<double>::infinity()})
        s.add("vector_norm", {s.numbers(dtype, {3, 4})}, {{"axis", number(-1)}, {"keepdims", keepdims}, {"ord", ord}});
      for (const char* ord : {"fro", "nuc", "1", "-1", "2", "-2", "inf", "-inf"})
        s.add("matrix_norm", {s.numbers(dtype, {2, 3, 4})}, {{"ord", std::string(ord)}, {"keepdims", keepdims}});
    }
  }
}

}  // namespace cleave::testing
