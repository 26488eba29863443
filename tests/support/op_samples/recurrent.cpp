// Recurrent networks: their steps.
#include "tests/support/op_samples/samples.h"

namespace cleave::testing {

void add_cells(Samples& s) {
  for (const auto& [op, gates] : {std::pair("lstm_cell", 4), std::pair("gru_cell", 3)}) {
    for (const DType dtype : {f32, f64, f16, bf16}) {
      s.add(op, {s.numbers(dtype, {2, 3, 7L * gates}), s.numbers(dtype, {2, 3, 7L * gates}), s.numbers(dtype, {2, 3, 7})});
      s.add(op, {s.numbers(dtype, {5, 300L * gates}), s.numbers(dtype, {5, 300L * gates}), s.numbers(dtype, {5, 300})});
    }
    s.add(op, {s.numbers(f32, {4L * gates}, {-100, 100}), s.numbers(f32, {4L * gates}), s.numbers(f32, {4})});
    s.add(op, {s.numbers(f32, {0, 2L * gates}), s.numbers(f32, {0, 2L * gates}), s.numbers(f32, {0, 2})});
  }
}

}  // namespace cleave::testing
