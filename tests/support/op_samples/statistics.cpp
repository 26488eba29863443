// Samples of variances.
#include "tests/support/op_samples/samples.h"

namespace cleave::testing {

void add_statistics(Samples& s) {
  for (const char* function : {"var", "std"}) {
    for (const DType dtype : {f32, f64, f16, bf16}) {
      s.add(function, {s.numbers(dtype, {3, 4})});
      s.add(function, {s.numbers(dtype, {2, 3, 4})}, {{"axis", Integers{-1, 0}}, {"correction", 1.0}, {"keepdims", true}});
    }
    s.add(function, {s.numbers(f32, {129, 67})}, {{"axis", std::int64_t{1}}});
    s.add(function, {s.numbers(f32, {2, 1})}, {{"axis", std::int64_t{1}}, {"correction", std::int64_t{1}}});
    s.add(function, {s.numbers(f32, {0, 3})});
  }
}

}  // namespace cleave::testing
