#include "models/onnx/class_scores.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace cleave::models::onnx {
namespace {

/// ONNX Runtime's approximation of the quantile function of the normal distribution.
Part probit(Call& c, const Part& p) {
  constexpr double kA = 0.147F, kPi = 3.14159F, kRootOfTwo = 1.41421356F;
  const Part x = c.subtract(c.multiply(p, 2), 1);
  const Part remaining = c.subtract(1, x);
  const Part log = c(op::log, {c.multiply(remaining, c.add(x, 1))});
  const Part v = c.add(c.multiply(log, 0.5), 2 / (kPi * kA));
  const Part root = c(op::sqrt, {c.subtract(c(op::square, {v}), c.multiply(log, 1 / kA))});
  const Part size = c.multiply(c(op::sqrt, {c.subtract(root, v)}), kRootOfTwo);
  return c(op::where, {c(op::less, {x, 0}), c(op::negative, {size}), size});
}

/// Softmax over the scores that are not 0; these stay 0.
Part softmax_zero(Call& c, const Part& scores) {
  const Attributes last{{"axis", std::vector<std::int64_t>{1}}, {"keepdims", true}};
  const Part most = c(op::max, {scores}, last);
  const Part exponentials = c(op::exp, {c.subtract(scores, most)});
  const Part counts = c(op::greater, {c(op::abs, {scores}), 1e-7F});
  const Part terms = c(op::where, {counts, exponentials, c.multiply(scores, 0)});
  return c.divide(terms, c(op::sum, {terms}, last));
}

Part pair(Call& c, const Part& first, const Part& second) {
  return c(op::concat, Parts{first, second}, {{"axis", std::int64_t{1}}});
}

}  // namespace

Part feature_rows(Call& c, DType dtype) {
  const Shape shape = c[0].shape();
  if (shape.empty() || shape.size() > 2) {
    c.mistake(DiagnosticKind::shape, "`" + std::string(c.op()) + "` takes rows of features, not " + to_string(c[0].type()));
    return {};
  }
  const Part rows = shape.size() == 1 ? c.reshape(c[0], {1, shape[0]}) : c[0];
  return c.as(dtype, rows);
}

std::optional<std::string> post_transform(Call& c) {
  constexpr std::array<std::string_view, 5> kNames = {"NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT"};
  std::string name = c.text("post_transform", "NONE");
  if (std::find(kNames.begin(), kNames.end(), name) != kNames.end()) return name;
  c.mistake(DiagnosticKind::value, "`" + std::string(c.op()) + "`: `post_transform` is not `" + name + "`");
  return std::nullopt;
}

Part transformed_scores(Call& c, const Part& scores, const std::string& transform, SecondScore second) {
  if (scores.shape().back() != 1) {
    if (transform == "LOGISTIC") return c(op::sigmoid, {scores});
    if (transform == "SOFTMAX") return c(op::softmax, {scores}, {{"axis", std::int64_t{1}}});
    if (transform == "SOFTMAX_ZERO") return softmax_zero(c, scores);
    return transform == "PROBIT" ? probit(c, scores) : scores;
  }
  if (transform == "PROBIT") {
    const Part p = probit(c, scores);
    return second == SecondScore::none ? p : pair(c, p, c.multiply(scores, 0));
  }
  if (second == SecondScore::none) return scores;
  const Part negative = c(op::negative, {scores});
  if (transform == "LOGISTIC") return c(op::sigmoid, {pair(c, negative, scores)});
  return pair(c, second == SecondScore::opposite ? negative : c.add(negative, 1), scores);
}

Value ClassLabels::at(Call& c, const Part& indices) const {
  Value labels(indices);
  labels.texts = texts;
  if (texts) return labels;
  std::vector<std::int64_t> counted(integers.size());
  std::iota(counted.begin(), counted.end(), 0);
  return counted == integers ? labels : Value(c(op::take, {c.integers_constant(integers), indices}, {{"axis", std::int64_t{0}}}));
}

Value ClassLabels::second_where(Call& c, const Part& positive) const {
  const Part indices = c.as(DType::i64, positive);
  if (size() == 2) return at(c, indices);
  Value labels(indices);
  if (texts) labels.texts = std::make_shared<const std::vector<std::string>>(std::vector<std::string>{"0", "1"});
  return labels;
}

std::optional<ClassLabels> class_labels(Call& c, std::string_view integers) {
  ClassLabels labels;
  const auto texts = c.texts("classlabels_strings");
  const auto numbers = c.integers(integers);
  if (texts && !texts->empty())
    labels.texts = std::make_shared<const std::vector<std::string>>(*texts);
  else if (numbers)
    labels.integers = *numbers;
  if (labels.size() > 0) return labels;
  c.mistake(DiagnosticKind::value, "`" + std::string(c.op()) + "` needs the labels of its classes");
  return std::nullopt;
}

Part best_class(Call& c, const Part& scores) {
  return c.as(DType::i64, c(op::argmax, {scores}, {{"axis", std::int64_t{1}}}));
}

}  // namespace cleave::models::onnx
