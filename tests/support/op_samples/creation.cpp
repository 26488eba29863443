// New arrays: creation and random numbers.
#include "tests/support/op_samples/samples.h"

namespace cleave::testing {

void add_creation(Samples& s) {
  for (const DType dtype : kAllTypes) {
    s.add("zeros", {}, {{"shape", Integers{2, 3}}, {"dtype", dtype}});
    s.add("ones", {}, {{"shape", Integers{2, 3}}, {"dtype", dtype}});
    s.add("full", {}, {{"shape", Integers{4}}, {"value", 2.5}, {"dtype", dtype}});
    s.add("eye", {}, {{"rows", std::int64_t{3}}, {"columns", std::int64_t{2}}, {"dtype", dtype}});
    if (dtype != boolean)
      s.add("arange", {}, {{"start", std::int64_t{2}}, {"stop", std::int64_t{9}}, {"step", std::int64_t{3}}, {"dtype", dtype}});
  }
  s.add("zeros", {}, {{"shape", Integers{300}}});
  s.add("ones", {}, {{"shape", Integers{300}}});
  s.add("full", {}, {{"shape", Integers{}}, {"value", true}});
  s.add("full", {}, {{"shape", Integers{300}}, {"value", std::int64_t{-7}}});
  s.add("eye", {}, {{"rows", std::int64_t{30}}});
  s.add("arange", {}, {{"start", std::int64_t{200}}});
  s.add("arange", {}, {{"start", 1.0}, {"stop", -0.3}, {"step", -0.25}});
}

void add_random(Samples& s) {
  const Array step = Array::scalar<std::int32_t>(3);
  s.add("random_uniform", {}, {{"shape", Integers{3, 5}}, {"seed", std::int64_t{1}}});
  s.add("random_uniform", {step}, {{"shape", Integers{500}}, {"low", -2.0}, {"high", 5.0}, {"seed", std::int64_t{-1}}});
  s.add("random_uniform", {step}, {{"shape", Integers{7}}, {"dtype", f64}});
  s.add("random_normal", {}, {{"shape", Integers{3, 5}}, {"seed", std::int64_t{1}}});
  s.add("random_integers", {}, {{"shape", Integers{3, 5}}, {"low", std::int64_t{0}}, {"high", std::int64_t{6}}, {"seed", std::int64_t{1}}});
  s.add("random_integers", {step}, {{"shape", Integers{700}}, {"low", std::int64_t{-3}}, {"high", (std::int64_t{1} << 31) - 1}});
  s.add("random_integers", {step}, {{"shape", Integers{9}}, {"low", std::int64_t{5}}, {"high", std::int64_t{6}}, {"dtype", u8}});
  s.add("random_integers", {},
        {{"shape", Integers{300}}, {"low", -(std::int64_t{1} << 62)}, {"high", std::int64_t{3} << 61}, {"dtype", i64}});
  s.add("random_permutation", {}, {{"n", std::int64_t{300}}, {"seed", std::int64_t{1}}});
  s.add("random_permutation", {step}, {{"n", std::int64_t{17}}});
  s.add("random_permutation", {step}, {{"n", std::int64_t{0}}});
  s.add("random_normal", {Array::scalar<std::int64_t>(-8)}, {{"shape", Integers{500}}, {"mean", 4.0}, {"std", 0.5}});
  s.add("random_normal", {step}, {{"shape", Integers{7}}, {"dtype", f64}});
}

}  // namespace cleave::testing
