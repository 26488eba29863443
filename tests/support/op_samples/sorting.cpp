// Samples of sorting.
#include "tests/support/op_samples/samples.h"

namespace cleave::testing {

void add_sorting(Samples& s) {
  for (const DType dtype : kAllTypes) {
    for (const char* op : {"sort", "argsort"}) {
      s.add(op, {s.numbers(dtype, {4, 7})});
      s.add(op, {s.numbers(dtype, {5, 2, 3})}, {{"axis", std::int64_t{0}}, {"descending", true}});
    }
    s.add("top_k", {s.numbers(dtype, {3, 6})}, {{"k", std::int64_t{2}}});
    s.add("unique", {s.numbers(dtype, {4, 5})});
  }
  for (const char* op : {"sort", "argsort"}) s.add(op, {special_values(f32, 0, 2)}, {}, true);
  s.add("top_k", {s.numbers(f32, {300})}, {{"k", std::int64_t{10}}});
  s.add("top_k", {special_values(f32, 0, 1)}, {{"k", std::int64_t{9}}}, true);
  s.add("unique", {s.numbers(i32, {300})});
  s.add("unique", {s.numbers(f32, {0})});
}

}  // namespace cleave::testing
