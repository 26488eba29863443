// Lowerings of ONNX Runtime's fused products and convolutions, with transposed operands, a factor, a sum, and an activation function; and
// of its distances.
#include <algorithm>
#include <cctype>

#include "models/onnx/activation.h"
#include "models/onnx/convolution.h"
#include "models/onnx/pieces.h"
#include "models/onnx/products.h"

namespace cleave::models::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

// --- products of matrices ----------------------------------------------------------------------------------------------------------------

/// An operand with its first axis behind the other leading ones (`batch`), and its last two axes swapped (`matrix`).
Part rearranged(Call& c, const Part& x, bool batch, bool matrix) {
  const int rank = x.rank();
  if (rank < 2 || x.operand().poisoned()) return x;  // transposition leaves a vector as it is
  const Part y = batch ? moved_axis(c, x, 0, rank - 2) : x;
  return matrix ? c(op::transpose, {y}) : y;
}

Values fused_matmul(Call& c) {
  const bool batch_a = c.flag("transBatchA"), batch_b = c.flag("transBatchB");
  const Part a = rearranged(c, c[0], batch_a, c.flag("transA")), b = rearranged(c, c[1], batch_b, c.flag("transB"));
  return {scaled(c, c(op::matmul, {a, b}), c.number("alpha", 1))};
}

/// Distances between all rows of two matrices.
Values pairwise_distances(Call& c) {
  const std::string metric = c.text("metric", "sqeuclidean");
  if (metric != "euclidean" && metric != "sqeuclidean") return c.unsupported("with `metric` = \"" + metric + "\"");
  if (c[0].rank() != 2 || c[1].rank() != 2 || c[0].shape()[1] != c[1].shape()[1])
    return c.mistake(DiagnosticKind::shape,
                     "`CDist` takes matrices with rows of one length, not " + to_string(c[0].type()) + " and " + to_string(c[1].type()));
  const Part a = c(op::expand_dims, {c[0]}, {{"axis", std::int64_t{1}}});
  const Part squares = c(op::square, {c.subtract(a, c[1])});
  const Part sums = c(op::sum, {squares}, {{"axis", Integers{2}}});
  return {metric == "euclidean" ? c(op::sqrt, {sums}) : sums};
}

// --- activation functions of results -----------------------------------------------------------------------------------------------------

/// An activation function that the fused operators have, with the defaults of its parameters.
struct FusedActivation {
  Activation function;
  std::size_t parameters = 0;
};

std::optional<FusedActivation> named_activation(Call& c, std::string name) {
  static const FusedActivation kAll[] = {
      {{"celu", 1}, 1},
      {{"clip"}, 2},
      {{"elu", 1}, 1},
      {{"hardsigmoid", 0.2F, 0.5}, 2},
      {{"hardswish"}, 0},
      {{"leakyrelu", 0.01F}, 1},
      {{"parametricsoftplus"}, 2},
      {{"relu"}, 0},
      {{"scaledtanh"}, 2},
      {{"selu", 1.67326319217681884765625, 0, 1.05070102214813232421875}, 2},
      {{"sigmoid"}, 0},
      {{"softplus"}, 0},
      {{"softsign"}, 0},
      {{"tanh"}, 0},
      {{"thresholdedrelu", 1}, 1},
  };
  std::string lower = name;
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char letter) { return std::tolower(letter); });
  const auto found =
      std::find_if(std::begin(kAll), std::end(kAll), [&](const FusedActivation& each) { return each.function.name == lower; });
  if (found != std::end(kAll)) return *found;
  c.unsupported("with `activation` = \"" + name + "\"");
  return std::nullopt;
}

Values fused_gemm(Call& c) {
  const std::string name = c.text("activation", "");
  std::optional<Activation> function;
  if (!name.empty()) {
    const std::optional<FusedActivation> found = named_activation(c, name);
    if (!found) return c.poison();
    const Activation& usual = found->function;
    function = {usual.name, c.number("activation_alpha", usual.alpha), c.number("activation_beta", usual.beta),
                c.number("activation_gamma", usual.gamma)};
  }
  const std::optional<Part> product = gemm_product(c);
  if (!product) return c.poison();
  return {function ? activated(c, *function, *product) : *product};
}

/// The activation function applies to the sum of the convolution and operand 3.
Values fused_conv(Call& c) {
  const std::string name = c.text("activation", "");
  const std::vector<double> parameters = c.numbers("activation_params").value_or(std::vector<double>());
  std::optional<FusedActivation> found;
  if (!name.empty()) {
    found = named_activation(c, name);
    if (!found) return c.poison();
    if (!parameters.empty() && parameters.size() < found->parameters)
      return c.mistake(DiagnosticKind::value, "`FusedConv`: `activation_params` has " + std::to_string(parameters.size()) +
                                                  " numbers, and " + name + " takes " + std::to_string(found->parameters));
    if (!parameters.empty()) found->function.alpha = parameters[0];
    if (parameters.size() > 1) found->function.beta = parameters[1];
  }
  std::optional<Attributes> attributes = conv_attributes(c, c[1]);
  if (!attributes) return c.poison();
  Parts operands{c[0], c[1]};
  if (c.has(2)) operands.push_back(c[2]);
  Part y = c(op::conv, operands, *std::move(attributes));
  if (c.has(3)) y = c.add(y, c[3]);
  return {found ? activated(c, found->function, y) : y};
}

/// Channels are the last axis of images, of results and of the weight.
Values nhwc_conv(Call& c) {
  const int last = c[0].rank() - 1;
  if (last < 2 || c[1].rank() != last + 1)
    return c.mistake(DiagnosticKind::shape,
                     "`NhwcConv` of " + to_string(c[0].type()) + " by " + to_string(c[1].type()) + ", which have not the axes of images");
  Parts operands{moved_axis(c, c[0], last, 1), moved_axis(c, c[1], last, 1)};
  std::optional<Attributes> attributes = conv_attributes(c, operands[1]);
  if (!attributes) return c.poison();
  if (c.has(2)) operands.push_back(c[2]);
  return {moved_axis(c, c(op::conv, operands, *std::move(attributes)), 1, last)};
}

}  // namespace

std::span<const Lowering> contrib_product_lowerings() {
  static constexpr Lowering kRows[] = {
      {"com.microsoft.CDist", 1, pairwise_distances}, {"com.microsoft.FusedConv", 1, fused_conv},
      {"com.microsoft.FusedGemm", 1, fused_gemm},     {"com.microsoft.FusedMatMul", 1, fused_matmul},
      {"com.microsoft.NhwcConv", 1, nhwc_conv},       {"com.microsoft.TransposeMatMul", 1, fused_matmul},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
