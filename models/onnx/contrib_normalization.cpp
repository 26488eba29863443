// Lowerings of ONNX Runtime's normalizations: of sums in transformers, of embeddings, and of groups in diffusion models.
#include "models/onnx/activation.h"
#include "models/onnx/normalization.h"
#include "models/onnx/pieces.h"

namespace cleave::models::onnx {
namespace {

// --- sums that are normalized ------------------------------------------------------------------------------------------------------------

/// `x` normalized over its last axis, times operand `scale`, plus operand `bias` if there is one.
Part layer_norm(Call& c, const Part& x, std::size_t scale, std::size_t bias, double epsilon) {
  Parts operands{x, c[scale]};
  if (c.has(bias)) operands.push_back(c[bias]);
  return c.as(x.dtype(), c(op::layer_norm, alike(c, operands), {{"epsilon", epsilon}}));
}

Values skip_layer_normalization(Call& c) {
  const double epsilon = c.number("epsilon", 1e-12F);
  Part sum = c.add(c[0], c[1]);
  if (c.has(4)) sum = c.add(sum, c[4]);
  if (!c.wants(1) && !c.wants(2)) return {layer_norm(c, sum, 2, 3, epsilon), Part(), Part(), sum};
  const WithStatistics all = normalized_with_statistics(c, sum, sum.rank() - 1, epsilon, true);
  Part y = c.multiply(all.normalized, c[2]);
  if (c.has(3)) y = c.add(y, c[3]);
  return {c.as(sum.dtype(), y), all.mean, all.factor, sum};
}

Values skip_simplified_normalization(Call& c) {
  const double epsilon = c.number("epsilon", 1e-12F);
  if (c.wants(1)) return c.unsupported("with the mean as a result");
  Part sum = c.add(c[0], c[1]);
  if (c.has(3)) sum = c.add(sum, c[3]);
  if (!c.wants(2)) return {c.as(sum.dtype(), c(op::rms_norm, alike(c, {sum, c[2]}), {{"epsilon", epsilon}})), Part(), Part(), sum};
  const WithStatistics all = normalized_with_statistics(c, sum, sum.rank() - 1, epsilon, false);
  return {c.as(sum.dtype(), c.multiply(all.normalized, c[2])), Part(), all.factor, sum};
}

/// RMS normalization of each group of as many elements as the scale has, times an activation of the gate.
Values gated_rms_norm(Call& c) {
  const double epsilon = c.number("epsilon", 1e-5F);
  const std::string activation = c.text("activation", "silu");
  if (activation != "silu" && activation != "swish" && activation != "sigmoid")
    return c.unsupported("with `activation` = \"" + activation + "\"");
  const Shape shape = c[0].shape();
  const std::int64_t size = c[1].rank() == 1 ? c[1].shape()[0] : 0;
  if (size < 1 || shape.empty() || shape.back() % size != 0 || c[2].shape() != shape)
    return c.mistake(DiagnosticKind::shape, "`GatedRMSNorm` of " + to_string(c[0].type()) + " with a gate " + to_string(c[2].type()) +
                                                " needs a scale that divides the last axis, not " + to_string(c[1].type()));
  Shape groups = shape;
  groups.back() /= size;
  groups.push_back(size);
  const DType precise = promote(c[0].dtype(), DType::f32);
  const Part x = c.reshape(c.as(precise, c[0]), groups), gate = c.as(precise, c[2]);
  const Part normal = c.reshape(c(op::rms_norm, {x, c.as(precise, c[1])}, {{"epsilon", epsilon}}), shape);
  const Part open = activation == "sigmoid" ? c(op::sigmoid, {gate}) : swish(c, gate, 1);
  return {c.as(c[0].dtype(), c.multiply(normal, open))};
}

// --- embeddings --------------------------------------------------------------------------------------------------------------------------

/// The number of ones in each row of the mask, which is what ONNX Runtime's attention takes for the length of a padded sequence.
Part mask_index(Call& c) {
  if (!c.has(7)) return c(op::zeros, {}, {{"shape", Shape{c[0].shape()[0]}}, {"dtype", DType::i32}});
  const Part ones = c.as(DType::i32, c(op::equal, {c[7], 1}));
  return c(op::sum, {ones}, {{"axis", std::vector<std::int64_t>{1}}});
}

Values embed_layer_normalization(Call& c) {
  c.ignore({"mask_index_type"});
  const double epsilon = c.number("epsilon", 1e-12F);
  const Attributes rows{{"axis", std::int64_t{0}}};
  const Shape ids = c[0].shape(), positions = c[3].shape();
  if (ids.size() != 2 || positions.size() != 2)
    return c.mistake(DiagnosticKind::shape, "`EmbedLayerNormalization` takes numbers of words of 2 axes and tables of 2, not " +
                                                to_string(c[0].type()) + " and " + to_string(c[3].type()));
  if (!c.has(8) && positions[0] < ids[1])
    return c.mistake(DiagnosticKind::shape, "`EmbedLayerNormalization`: the table of positions " + to_string(c[3].type()) +
                                                " is shorter than the sequences of " + to_string(c[0].type()));
  const Part words = c(op::take, {c[2], c[0]}, rows);
  const Part places = c.has(8) ? c(op::take, {c[3], c[8]}, rows) : piece(c, c[3], 0, 0, ids[1]);
  Part sum = c.add(words, places);
  if (c.has(1)) sum = c.add(sum, c(op::take, {c[4], c[1]}, rows));
  return {layer_norm(c, sum, 5, 6, epsilon), mask_index(c), sum};
}

// --- groups of channels ------------------------------------------------------------------------------------------------------------------

/// `x` with channels as second axis.
Values group_norm_of(Call& c, const Part& x, bool channels_last) {
  const std::int64_t groups = c.integer("groups", 0), activation = c.integer("activation", 0);
  const double epsilon = c.number("epsilon", 1e-5F);
  const int last = x.rank() - 1;
  if (activation != 0 && activation != 1)
    return c.mistake(DiagnosticKind::value, "`" + std::string(c.op()) + "`: `activation` is 0 or 1, not " + std::to_string(activation));
  if (x.operand().poisoned()) return c.poison();
  const Part channels_second = channels_last && last >= 1 ? moved_axis(c, x, last, 1) : x;
  if (groups < 1 || channels_second.rank() < 2 || channels_second.shape()[1] % groups != 0)
    return c.mistake(DiagnosticKind::value,
                     "`" + std::string(c.op()) + "` needs `groups` that divide the channels of " + to_string(x.type()));
  Part y = c(op::group_norm, alike(c, {channels_second, c[1], c[2]}), {{"num_groups", groups}, {"epsilon", epsilon}});
  if (activation == 1) y = swish(c, y, 1);
  return {c.as(x.dtype(), channels_last ? moved_axis(c, y, 1, last) : y)};
}

Values group_norm(Call& c) {
  return group_norm_of(c, c[0], c.flag("channels_last", true));
}

/// The skipped values of rank 2 are those of each channel.
Values skip_group_norm(Call& c) {
  const bool channels_last = c.flag("channels_last", true);
  Shape channels(c[0].shape().size(), 1);
  Part skip = c[3], bias = c.has(4) ? c[4] : Part();
  if (channels.size() != 4)
    return c.mistake(DiagnosticKind::shape, "`SkipGroupNorm` takes images of 4 axes, not " + to_string(c[0].type()));
  channels[channels_last ? 3 : 1] = c[0].shape()[channels_last ? 3 : 1];
  if (skip.rank() == 2) {
    Shape samples = channels;
    samples[0] = skip.shape()[0];
    skip = c.reshape(skip, samples);
  }
  Part sum = c.add(c[0], skip);
  if (c.has(4)) sum = c.add(sum, c.reshape(bias, channels));
  Values results = group_norm_of(c, sum, channels_last);
  results.resize(2, Value(sum));
  return results;
}

}  // namespace

std::span<const Lowering> contrib_normalization_lowerings() {
  static constexpr Lowering kRows[] = {
      {"com.microsoft.EmbedLayerNormalization", 1, embed_layer_normalization},
      {"com.microsoft.GatedRMSNorm", 1, gated_rms_norm},
      {"com.microsoft.GroupNorm", 1, group_norm},
      {"com.microsoft.SkipGroupNorm", 1, skip_group_norm},
      {"com.microsoft.SkipLayerNormalization", 1, skip_layer_normalization},
      {"com.microsoft.SkipSimplifiedLayerNormalization", 1, skip_simplified_normalization},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
