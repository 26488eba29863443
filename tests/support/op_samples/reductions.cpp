// Reductions, running sums and softmax.
#include "tests/support/op_samples/filled.h"
#include "tests/support/op_samples/samples.h"

namespace cleave::testing {

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
    s.add(op, {s.numbers(f32, {3, 40, 70})}, {{"axis", Integers{0, 2}}});
    s.add(op, {s.numbers(f32, {2, 3, 4, 3, 33})}, {{"axis", Integers{1, 3}}});
  }
  // Enough elements to overflow i32 in either direction: the sum is i64.
  s.add("sum", {filled(u16, {2, 33000}, 65535)}, {{"axis", std::int64_t{1}}});
  s.add("sum", {filled(u16, {33000, 3}, 65535)}, {{"axis", std::int64_t{0}}});
  s.add("sum", {filled(i16, {66000}, -32768)});
  s.add("cumulative_sum", {filled(u16, {33000}, 65535)});
  s.add("cumulative_sum", {filled(u16, {33000}, 65535)}, {{"reverse", true}, {"exclusive", true}});
  s.add("cumulative_sum", {filled(i16, {66000, 2}, -32768)}, {{"axis", std::int64_t{0}}});
  for (const DType dtype : kAllTypes) {
    s.add("cumulative_sum", {s.numbers(dtype, {9})});
    s.add("cumulative_sum", {s.numbers(dtype, {2, 5, 3})}, {{"axis", std::int64_t{1}}});
    s.add("cumulative_sum", {s.numbers(dtype, {3, 4})}, {{"axis", std::int64_t{-1}}, {"exclusive", true}, {"reverse", true}});
    s.add("cumulative_prod", {s.numbers(dtype, {7})}, {{"reverse", true}});
    s.add("cumulative_prod", {s.numbers(dtype, {2, 5, 3})}, {{"axis", std::int64_t{1}}, {"exclusive", true}});
  }
  for (const char* op : {"cumulative_sum", "cumulative_prod"}) {
    for (const bool exclusive : {false, true}) {
      s.add(op, {s.numbers(f32, {5000}, {0.99, 1.01})}, {{"exclusive", exclusive}, {"reverse", true}});
      s.add(op, {s.numbers(f32, {30, 9}, {0.5, 2})}, {{"axis", std::int64_t{0}}, {"exclusive", exclusive}});
      s.add(op, {s.numbers(f32, {0, 3})}, {{"axis", std::int64_t{0}}, {"exclusive", exclusive}});
    }
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

}  // namespace cleave::testing
