// Lowerings of ONNX Runtime's MoE and QMoE: layers of which a router chooses a few experts for each token. If fewer experts are chosen for
// all tokens than there are, their weights are taken, as in a step of generation; else all experts compute all tokens.
#include <algorithm>
#include <cmath>
#include <limits>

#include "models/onnx/activation.h"
#include "models/onnx/block_weights.h"
#include "models/onnx/pieces.h"

namespace cleave::models::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

bool absent(const Part& part) {
  return part.operand().poisoned();
}

/// One layer of all experts, or of chosen ones: weights [experts, outputs, inputs], bias [experts, outputs] or poison.
struct ExpertLayer {
  Part weights, bias;
};

struct Experts {
  ExpertLayer first, second, third;  ///< the third may be absent
  [[nodiscard]] std::int64_t count() const { return first.weights.shape()[0]; }
};

/// The experts of each token, [tokens, k], and how much each contributes.
struct Choice {
  Part experts, shares;
};

/// `shares` replaces the router's probabilities, or is absent.
Choice chosen_experts(Call& c, const Part& router, const Part& shares, std::int64_t k, bool normalize) {
  const DType precise = promote(router.dtype(), DType::f32);
  const Part probabilities = c(op::softmax, {c.as(precise, router)});
  const Parts best = c.all(op::top_k, Parts{probabilities}, {{"k", k}});
  if (best.size() != 2) return {};
  Choice choice{best[1], best[0]};
  if (!absent(shares)) choice.shares = c(op::take_along_axis, {c.as(precise, shares), choice.experts}, {{"axis", std::int64_t{1}}});
  if (normalize) choice.shares = c.divide(choice.shares, c(op::sum, {choice.shares}, {{"axis", Integers{1}}, {"keepdims", true}}));
  return choice;
}

// --- activation functions ----------------------------------------------------------------------------------------------------------------

/// The two halves of rows that hold gates and linear parts: neighbors (1), or one behind the other (2).
std::pair<Part, Part> halves(Call& c, const Part& x, std::int64_t fusion) {
  const int last = x.rank() - 1;
  const std::int64_t size = x.shape().back() / 2;
  if (fusion == 2) return {piece(c, x, last, 0, size), piece(c, x, last, size, 2 * size)};
  Shape apart = x.shape();
  apart.back() = size;
  apart.push_back(2);
  const Part pairs = c.reshape(x, apart);
  return {element(c, pairs, last + 1, 0), element(c, pairs, last + 1, 1)};
}

Part swiglu(Call& c, Part gate, Part linear) {
  const double alpha = c.number("activation_alpha", 1), beta = c.number("activation_beta", 0);
  const double limit = c.number("swiglu_limit", std::numeric_limits<double>::infinity());
  if (std::isfinite(limit)) {
    gate = c(op::minimum, {gate, c.number_as(gate.dtype(), limit)});
    linear = c(op::clip, {linear, c.number_as(gate.dtype(), -limit), c.number_as(gate.dtype(), limit)});
  }
  return c.multiply(swish(c, gate, alpha), beta == 0 ? linear : c.add(linear, beta));
}

struct ExpertActivation {
  std::string name;
  std::int64_t fusion = 0;
  [[nodiscard]] bool gated() const { return name == "swiglu" || name == "geglu"; }
};

std::optional<ExpertActivation> expert_activation(Call& c, bool with_third) {
  ExpertActivation activation{c.text("activation_type", "relu"), c.integer("swiglu_fusion", 0)};
  c.ignore({"activation_alpha", "activation_beta", "swiglu_limit"});
  static constexpr std::string_view kAll[] = {"relu", "relu2", "gelu", "silu", "identity", "swiglu", "geglu"};
  if (std::find(std::begin(kAll), std::end(kAll), activation.name) == std::end(kAll)) {
    c.unsupported("with `activation_type` = \"" + activation.name + "\"");
    return std::nullopt;
  }
  if (!activation.gated()) activation.fusion = 0;
  if (activation.fusion < 0 || activation.fusion > 2 || (activation.gated() && with_third != (activation.fusion == 0)) ||
      (activation.name == "geglu" && activation.fusion == 0)) {
    c.mistake(DiagnosticKind::value, "`" + std::string(c.op()) + "`: `swiglu_fusion` = " + std::to_string(activation.fusion) + " for " +
                                         activation.name + (with_third ? " with" : " without") + " a third layer");
    return std::nullopt;
  }
  return activation;
}

/// The activation of the first layer's result `x`; `linear` is that of the third layer, or absent.
Part hidden_values(Call& c, const ExpertActivation& activation, const Part& x, const Part& linear) {
  const std::string& name = activation.name;
  if (activation.gated()) {
    const std::pair<Part, Part> both = activation.fusion == 0 ? std::pair(x, linear) : halves(c, x, activation.fusion);
    return name == "swiglu" ? swiglu(c, both.first, both.second) : c.multiply(tanh_gelu(c, both.first), both.second);
  }
  Part y = x;
  if (name == "relu" || name == "relu2") y = c(op::relu, {x});
  if (name == "relu2") y = c(op::square, {y});
  if (name == "gelu") y = tanh_gelu(c, x);
  if (name == "silu") y = swish(c, x, 1);
  return absent(linear) ? y : c.multiply(y, linear);
}

// --- layers ------------------------------------------------------------------------------------------------------------------------------

/// `x`, [experts or 1, tokens, inputs], through the layer of each expert.
Part through(Call& c, const ExpertLayer& layer, const Part& x) {
  const Part y = c(op::matmul, {x, c(op::transpose, {layer.weights})});
  return absent(layer.bias) ? y : c.add(y, c(op::expand_dims, {layer.bias}, {{"axis", std::int64_t{1}}}));
}

Part through_all(Call& c, const Experts& experts, const ExpertActivation& activation, const Part& x) {
  const Part first = through(c, experts.first, x);
  if (absent(first)) return first;
  const Part linear = absent(experts.third.weights) ? Part() : through(c, experts.third, x);
  return through(c, experts.second, hidden_values(c, activation, first, linear));
}

Experts taken(Call& c, const Experts& all, const Part& numbers) {
  const auto one = [&](const Part& x) { return absent(x) ? x : c(op::take, {x, numbers}, {{"axis", std::int64_t{0}}}); };
  const auto layer = [&](const ExpertLayer& of) { return ExpertLayer{one(of.weights), one(of.bias)}; };
  return {layer(all.first), layer(all.second), layer(all.third)};
}

/// The sum of the chosen experts' results for each token of `x`, [tokens, inputs].
Part mixture(Call& c, const Experts& experts, const ExpertActivation& activation, const Choice& choice, const Part& x) {
  const std::int64_t tokens = x.shape()[0], k = choice.experts.shape()[1], size = x.shape()[1];
  if (tokens * k < experts.count()) {
    const Experts own = taken(c, experts, c.reshape(choice.experts, {tokens * k}));
    const Part each = c.reshape(c(op::repeat, {x}, {{"repeats", k}, {"axis", std::int64_t{0}}}), {tokens * k, 1, size});
    const Part results = c.reshape(through_all(c, own, activation, each), {tokens, k, size});
    const Part shares = c.as(x.dtype(), c.reshape(choice.shares, {tokens, k, 1}));
    return c(op::sum, {c.multiply(results, shares)}, {{"axis", Integers{1}}});
  }
  const Part hot = c(op::one_hot, {choice.experts}, {{"depth", experts.count()}, {"dtype", choice.shares.dtype()}});
  const Part by_expert = c(op::sum, {c.multiply(hot, c.reshape(choice.shares, {tokens, k, 1}))}, {{"axis", Integers{1}}});
  const Part shares = c.as(x.dtype(), c.reshape(c(op::transpose, {by_expert}), {experts.count(), tokens, 1}));
  const Part results = through_all(c, experts, activation, c.reshape(x, {1, tokens, size}));
  return c(op::sum, {c.multiply(results, shares)}, {{"axis", Integers{0}}});
}

bool layer_fits(const ExpertLayer& layer, std::int64_t experts, std::int64_t outputs, std::int64_t inputs) {
  return layer.weights.shape() == Shape{experts, outputs, inputs} && (absent(layer.bias) || layer.bias.shape() == Shape{experts, outputs});
}

Values experts_node(Call& c, const Experts& experts, const Part& shares, bool normalize) {
  const std::int64_t k = c.integer("k", 1);
  c.ignore({"use_sparse_mixer"});  // ONNX Runtime's CPU ignores it
  if (c.flag("swiglu_limit_after_activation")) return c.unsupported("with `swiglu_limit_after_activation`");
  const bool with_third = !absent(experts.third.weights);
  const std::optional<ExpertActivation> activation = expert_activation(c, with_third);
  if (!activation || absent(experts.first.weights) || absent(experts.second.weights)) return c.poison();
  const Shape shape = c[0].shape();
  const std::int64_t size = shape.empty() ? 0 : shape.back(),
                     tokens = extent_product(shape, 0, shape.size()) / std::max<std::int64_t>(size, 1);
  const std::int64_t count = experts.count(), width = experts.second.weights.shape()[2], rows = activation->fusion != 0 ? 2 * width : width;
  if (size < 1 || c[1].shape() != Shape{tokens, count} || k < 1 || k > count || !layer_fits(experts.first, count, rows, size) ||
      !layer_fits(experts.second, count, size, width) || (with_third && !layer_fits(experts.third, count, width, size)) ||
      (!absent(shares) && shares.shape() != c[1].shape()))
    return c.mistake(DiagnosticKind::shape, "`" + std::string(c.op()) + "`: tokens " + to_string(c[0].type()) + ", a router " +
                                                to_string(c[1].type()) + " and layers " + to_string(experts.first.weights.type()) +
                                                " and " + to_string(experts.second.weights.type()) + " with `k` = " + std::to_string(k) +
                                                " do not fit");
  const Choice choice = chosen_experts(c, c[1], shares, k, normalize);
  if (absent(choice.experts)) return c.poison();
  return {c.reshape(mixture(c, experts, *activation, choice, c.reshape(c[0], {tokens, size})), shape)};
}

Values mixture_of_experts(Call& c) {
  const auto layer = [&](std::size_t i) { return ExpertLayer{c.has(i) ? c[i] : Part(), c.has(i + 1) ? c[i + 1] : Part()}; };
  for (const std::size_t i : {std::size_t{2}, std::size_t{4}})
    if (c[i].operand().poisoned())
      return c.poison();
    else if (c[i].rank() != 3)
      return c.mistake(DiagnosticKind::shape, "`MoE` takes weights of 3 axes, not " + to_string(c[i].type()));
  return experts_node(c, {layer(2), layer(4), layer(6)}, {}, c.flag("normalize_routing_weights"));
}

// --- QMoE --------------------------------------------------------------------------------------------------------------------------------

constexpr std::size_t kThirdLayer = 8;  ///< the operand that may be absent

/// The layer whose packed weights, scales and bias begin at operand `i`.
std::optional<ExpertLayer> unpacked_layer(Call& c, std::size_t i, std::size_t zeros, const char* own_bits) {
  if (!c.has(i) && i == kThirdLayer) return ExpertLayer{};
  if (c[i].operand().poisoned()) return std::nullopt;
  const Shape shape = c[i].shape();
  BlockWeights of;
  of.bits = c.integer(own_bits, c.integer("expert_weight_bits", 4));
  if (shape.size() != 3 || of.bits < 1 || !c.has(i + 1)) {
    c.mistake(DiagnosticKind::shape, "`QMoE` takes weights of 3 axes with scales, not " + to_string(c[i].type()));
    return std::nullopt;
  }
  const std::int64_t block = c.integer("block_size", 0);
  of.packed = i, of.scales = i + 1, of.zeros = zeros;
  of.matrices = shape[0], of.rows = shape[0] * shape[1], of.columns = shape[2] * 8 / of.bits;
  of.block = block > 0 ? block : of.columns;
  of.zeros_along_rows = block <= 0;
  if (!block_weights_fit(c, of)) return std::nullopt;
  const Part weights = c.as(c[0].dtype(), c.reshape(dequantized(c, of), {shape[0], shape[1], of.columns}));
  return ExpertLayer{weights, c.has(i + 2) ? c[i + 2] : Part()};
}

Values quantized_experts(Call& c) {
  c.ignore(
      {"accuracy_level", "fc1_expert_weight_bits", "fc2_expert_weight_bits", "fc3_expert_weight_bits", "expert_weight_bits", "block_size"});
  if (const std::string type = c.text("quant_type", "int"); type != "int") return c.unsupported("with `quant_type` = \"" + type + "\"");
  if (c.integer("weights_prepacked", -1) == 1) return c.unsupported("with `weights_prepacked` = 1");
  for (std::size_t i = 15; i < c.operands(); ++i)
    if (c.has(i)) return c.unsupported("with operand " + std::to_string(i + 1) + ", a scale of activations,");
  const auto first = unpacked_layer(c, 2, 11, "fc1_expert_weight_bits");
  const auto second = first ? unpacked_layer(c, 5, 12, "fc2_expert_weight_bits") : std::nullopt;
  const auto third = second ? unpacked_layer(c, kThirdLayer, 13, "fc3_expert_weight_bits") : std::nullopt;
  if (!third) return c.poison();
  // Unlike MoE, QMoE applies softmax to the chosen experts' scores alone.
  const bool normalize = c.flag("normalize_routing_weights") || !c.has(14);
  return experts_node(c, {*first, *second, *third}, c.has(14) ? c[14] : Part(), normalize);
}

}  // namespace

std::span<const Lowering> contrib_expert_lowerings() {
  static constexpr Lowering kRows[] = {
      {"com.microsoft.MoE", 1, mixture_of_experts},
      {"com.microsoft.QMoE", 1, quantized_experts},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
