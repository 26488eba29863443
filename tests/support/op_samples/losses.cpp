// Samples of losses and dropout.
#include "tests/support/op_samples/samples.h"

namespace cleave::testing {

void add_losses(Samples& s) {
  const auto probabilities = [&](DType dtype, Shape shape) { return s.numbers(dtype, std::move(shape), {0.1, 0.9}); };
  for (const DType dtype : {f32, f64, f16, bf16}) {
    s.add("cross_entropy", {s.numbers(dtype, {6, 5}), s.indices(i32, {6}, 5)});
    s.add("cross_entropy", {s.numbers(dtype, {2, 3, 4}), probabilities(dtype, {2, 3, 4})}, {{"label_smoothing", 0.1}});
    for (const char* loss : {"mse", "huber", "binary_cross_entropy"}) {
      s.add(loss, {s.numbers(dtype, {3, 4}), probabilities(dtype, {3, 4})});
      s.add(loss, {s.numbers(dtype, {2, 3, 4}), probabilities(dtype, {4})});
    }
    s.add("dropout", {s.numbers(dtype, {7, 9})}, {{"rate", 0.5}});
    s.add("dropout", {s.numbers(dtype, {30}), Array::scalar(std::int32_t{3})}, {{"rate", 0.1}, {"seed", std::int64_t{5}}});
  }
  s.add("cross_entropy", {s.numbers(f32, {65, 10}), s.indices(u8, {65}, 10)}, {{"label_smoothing", 0.2}});
  s.add("cross_entropy", {s.numbers(f32, {7}), s.indices(i64, {}, 7)});
  s.add("huber", {s.numbers(f32, {129, 3}), s.numbers(f32, {129, 3})}, {{"delta", 0.3}});
  s.add("dropout", {s.numbers(f32, {8})}, {{"rate", 0.0}});
}

}  // namespace cleave::testing
