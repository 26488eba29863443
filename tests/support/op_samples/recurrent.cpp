// Recurrent networks: their steps, and whole ones in every direction.
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

void add_recurrent(Samples& s) {
  for (const auto& [name, gates] : {std::pair("lstm", 4), std::pair("gru", 3), std::pair("rnn", 1)}) {
    for (const char* direction : {"forward", "reverse", "bidirectional"}) {
      const std::int64_t both = std::string_view(direction) == "bidirectional" ? 2 : 1, n = 3, rows = gates * n;
      const Attributes attributes{{"direction", std::string(direction)}};
      const Array x = s.numbers(f32, {5, 2, 4}), w = s.numbers(f32, {both, rows, 4}), r = s.numbers(f32, {both, rows, n});
      s.add(name, {x, w, r}, attributes);
      std::vector<Array> all{x, w, r, s.numbers(f32, {both, 2 * rows}), s.numbers(f32, {both, 2, n})};
      if (gates == 4) all.push_back(s.numbers(f32, {both, 2, n}));
      s.add(name, all, attributes);
      if (gates == 3) s.add(name, all, {{"direction", std::string(direction)}, {"linear_before_reset", true}});
      if (gates == 1) s.add(name, all, {{"direction", std::string(direction)}, {"activation", std::string("relu")}});
    }
    s.add(name, {s.numbers(f64, {0, 2, 4}), s.numbers(f64, {1, 3L * gates, 4}), s.numbers(f64, {1, 3L * gates, 3})});
  }
}

}  // namespace cleave::testing
