// Fourier transforms: lengths of every supported radix and of none, along contiguous and strided lines.
#include "tests/support/op_samples/samples.h"

namespace cleave::testing {

void add_fourier(Samples& s) {
  for (const DType dtype : {f32, f64}) {
    for (const std::int64_t n : {1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 15, 16, 17, 34, 49, 64, 90}) {
      for (const char* op : {"fft", "ifft"}) s.add(op, {s.numbers(dtype, {2, n, 2})});
      s.add("rfft", {s.numbers(dtype, {3, n})});
      s.add("irfft", {s.numbers(dtype, {3, n / 2 + 1, 2})}, {{"n", n}});
    }
    for (const char* op : {"fft", "ifft"}) {
      s.add(op, {s.numbers(dtype, {12, 5, 3, 2})}, {{"axis", std::int64_t{0}}});
      s.add(op, {s.numbers(dtype, {0, 5, 2})});
    }
    s.add("rfft", {s.numbers(dtype, {2, 9, 35})}, {{"axis", std::int64_t{1}}});
    s.add("irfft", {s.numbers(dtype, {2, 6, 35, 2})}, {{"axis", std::int64_t{-2}}});
    s.add("rfft", {s.numbers(dtype, {0, 4})});
  }
  s.add("fft", {s.numbers(f32, {40, 127, 2})});
}

}  // namespace cleave::testing
