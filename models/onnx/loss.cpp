// Lowerings of classification losses.
#include "models/onnx/call.h"

namespace cleave::models::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

/// Negative log-likelihood from logarithms of probabilities [n, classes, ...], labels [n, ...] and optionally a weight for each class.
/// Elements with the label `ignore_index`, which need not be a class, do not count.
Values likelihood_loss(Call& c, const Part& logarithms) {
  const std::optional<std::int64_t> ignore = c.integer("ignore_index");
  const std::string reduction = c.text("reduction", "mean");
  const DType dtype = logarithms.dtype();
  Part labels = c[1], ignored, weights;
  if (ignore) {
    ignored = c(op::equal, {labels, c.number_as(labels.dtype(), static_cast<double>(*ignore))});
    labels = c(op::where, {ignored, 0, labels});
  }
  const Part picked =
      c(op::take_along_axis, {logarithms, c(op::expand_dims, {labels}, {{"axis", std::int64_t{1}}})}, {{"axis", std::int64_t{1}}});
  Part loss = c(op::negative, {c(op::squeeze, {picked}, {{"axis", Integers{1}}})});
  if (c.has(2)) weights = c(op::take, {c[2], labels}, {{"axis", std::int64_t{0}}});
  if (ignore) weights = c.has(2) ? c(op::where, {ignored, 0, weights}) : c.as(dtype, c(op::logical_not, {ignored}));
  const bool weighted = c.has(2) || ignore;
  if (weighted) loss = c.multiply(loss, weights);
  if (reduction == "none") return {loss};
  if (reduction == "sum") return {c(op::sum, {loss})};
  if (reduction != "mean")
    return c.mistake(DiagnosticKind::value, "`" + std::string(c.op()) + "`: `reduction` is none, sum or mean, not " + reduction);
  return {weighted ? c.divide(c(op::sum, {loss}), c(op::sum, {weights})) : c(op::mean, {loss})};
}

Values negative_log_likelihood_loss(Call& c) {
  return likelihood_loss(c, c[0]);
}

Values softmax_cross_entropy_loss(Call& c) {
  const Part logarithms = c(op::log_softmax, {c[0]}, {{"axis", std::int64_t{1}}});
  Values results = likelihood_loss(c, logarithms);
  results.resize(1);
  results.emplace_back(logarithms);
  return results;
}

}  // namespace

std::span<const Lowering> loss_lowerings() {
  static constexpr Lowering kRows[] = {
      {"NegativeLogLikelihoodLoss", 12, negative_log_likelihood_loss},
      {"SoftmaxCrossEntropyLoss", 12, softmax_cross_entropy_loss},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
