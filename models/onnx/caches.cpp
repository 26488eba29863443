#include "models/onnx/caches.h"

#include "models/onnx/pieces.h"

namespace cleave::models::onnx {
namespace {

constexpr std::int64_t kFewSamples = 16;

Part by_slices(Call& c, const Part& cache, const Part& update, const Part& starts, int axis) {
  Part result = cache;
  for (std::int64_t sample = 0; sample < cache.shape()[0]; ++sample) {
    const Part start = element(c, starts, 0, sample), one = piece(c, update, 0, sample, sample + 1);
    Parts operands{result, one};
    for (int each = 0; each < cache.rank(); ++each) operands.push_back(each == 0 ? Part(sample) : each == axis ? start : Part(0));
    result = c(op::dynamic_update_slice, operands);
  }
  return result;
}

}  // namespace

Part written_at(Call& c, const Part& cache, const Part& update, const Part& starts, int axis, bool circular) {
  const std::int64_t batch = cache.shape()[0];
  if (!circular && batch <= kFewSamples) return by_slices(c, cache, update, starts, axis);
  const auto at = static_cast<std::size_t>(axis);
  Shape samples(at + 1, 1), places(update.shape().size() - at, 1);
  samples[0] = batch;
  places[0] = update.shape()[at];
  samples.insert(samples.end(), places.begin() + 1, places.end());
  const Part numbers = c(op::arange, {}, {{"start", std::int64_t{0}}, {"stop", places[0]}, {"dtype", starts.dtype()}});
  Part index = c.add(c.reshape(starts, samples), c.reshape(numbers, places));
  if (circular) index = c(op::remainder, {index, cache.shape()[at]});
  return c(op::scatter, {cache, c(op::broadcast_to, {index}, {{"shape", update.shape()}}), update}, {{"axis", std::int64_t{axis}}});
}

}  // namespace cleave::models::onnx
