// Losses of training, in forms that neither overflow nor cancel, and dropout: composite functions.
#include "graph/ops/losses.h"

#include <cmath>

#include "graph/ops/calls.h"
#include "graph/ops/op_table.h"
#include "graph/ops/rules.h"
#include "graph/ops/widened.h"
#include "graph/trace/composer.h"

namespace cleave {
namespace ops {
namespace {

using Type = AttributeDef::Type;

constexpr Name kCrossEntropy{"cross_entropy"};
constexpr Name kDropout{"dropout"};

/// Whether the attribute is a number of at least 0 and below 1.
bool is_share(const Attributes& attributes, std::string_view name) {
  const double share = attributes.get<double>(name);
  return share >= 0 && share < 1;
}

// --- type rules --------------------------------------------------------------------------------------------------------------------------

TypeResult cross_entropy_type(Types inputs, const Attributes& attributes) {
  const TensorType &x = inputs[0], &target = inputs[1];
  const auto wrong = [&](DiagnosticKind kind, const char* what) { return refuse(kind, kCrossEntropy.view(), inputs, what); };
  if (!is_floating(x.dtype)) return wrong(DiagnosticKind::type, "the logits must be floating-point numbers; convert with astype");
  if (x.rank() < 1) return wrong(DiagnosticKind::shape, "the logits must have an axis of classes, the last one");
  if (!is_share(attributes, "label_smoothing")) return wrong(DiagnosticKind::value, "`label_smoothing` is from 0 to below 1");
  if (is_floating(target.dtype)) {
    if (target.shape != x.shape) return wrong(DiagnosticKind::shape, "probabilities must have the shape of the logits");
  } else if (!is_integer(target.dtype)) {
    return wrong(DiagnosticKind::type, "labels must be integers, or floating-point numbers for probabilities");
  } else if (target.shape != Shape(x.shape.begin(), x.shape.end() - 1)) {
    return wrong(DiagnosticKind::shape, "labels must have the shape of the logits without the last axis");
  }
  return give(kCrossEntropy.view(), inputs, {x.dtype, {}});
}

/// The type rule of losses of two values, element by element.
template <Name name>
TypeResult elements_type(Types inputs, const Attributes& attributes) {
  const auto shape = broadcast(inputs[0].shape, inputs[1].shape);
  if (!shape) return refuse(DiagnosticKind::shape, name.view(), inputs, "the shapes do not broadcast");
  const double* delta = attributes.get_if<double>("delta");
  if (delta && !(*delta > 0 && std::isfinite(*delta)))
    return refuse(DiagnosticKind::value, name.view(), inputs, "`delta` must be positive");
  return give(name.view(), inputs, {inputs[0].dtype, {}});
}

TypeResult dropout_type(Types inputs, const Attributes& attributes) {
  const auto wrong = [&](DiagnosticKind kind, const char* what) { return refuse(kind, kDropout.view(), inputs, what); };
  if (!is_floating(inputs[0].dtype)) return wrong(DiagnosticKind::type, "needs floating-point numbers; convert with astype");
  if (!is_share(attributes, "rate")) return wrong(DiagnosticKind::value, "`rate` is from 0 to below 1");
  if (inputs.size() > 1 && !(inputs[1].scalar() && is_integer(inputs[1].dtype)))
    return wrong(DiagnosticKind::type, "`step` must be an integer scalar");
  return give(kDropout.view(), inputs, inputs[0]);
}

// --- expansions --------------------------------------------------------------------------------------------------------------------------

std::vector<Part> expand_cross_entropy(Composer& c, const std::vector<Part>& inputs, const Attributes& attributes) {
  const DType dtype = inputs[0].dtype(), wide = widened(dtype);
  const double smoothing = attributes.get<double>("label_smoothing");
  const Part logarithms = c(op::log_softmax, {c.as(wide, inputs[0])}, {{"axis", std::int64_t{-1}}});
  Part chosen;
  if (is_floating(inputs[1].dtype())) {
    chosen = c(op::sum, {c.multiply(c.as(wide, inputs[1]), logarithms)}, {{"axis", std::int64_t{-1}}});
  } else {
    const DType labels = inputs[1].dtype();
    const Part indices = labels == DType::i64 ? inputs[1] : c.as(DType::i32, inputs[1]);
    const Part columns = c(op::expand_dims, {indices}, {{"axis", std::int64_t{-1}}});
    chosen = c(op::take_along_axis, {logarithms, columns}, {{"axis", std::int64_t{-1}}});
  }
  Part loss = c(op::negative, {c(op::mean, {chosen})});
  if (smoothing != 0) loss = c(op::subtract, {c.multiply(loss, 1 - smoothing), c.multiply(c(op::mean, {logarithms}), smoothing)});
  return {c.as(dtype, loss)};
}

/// `mean(loss(a, b))`, computed in f32 for narrow types.
template <class Loss>
std::vector<Part> mean_of(Composer& c, const std::vector<Part>& inputs, const Loss& loss) {
  const DType dtype = inputs[0].dtype(), wide = widened(dtype);
  return {c.as(dtype, c(op::mean, {loss(c.as(wide, inputs[0]), c.as(wide, inputs[1]))}))};
}

std::vector<Part> expand_mse(Composer& c, const std::vector<Part>& inputs, const Attributes&) {
  return mean_of(c, inputs, [&](const Part& a, const Part& b) { return c(op::square, {c.subtract(a, b)}); });
}

std::vector<Part> expand_huber(Composer& c, const std::vector<Part>& inputs, const Attributes& attributes) {
  return mean_of(c, inputs, [&](const Part& a, const Part& b) {
    const Part distance = c(op::abs, {c.subtract(a, b)});
    const Part near = c(op::minimum, {distance, attributes.get<double>("delta")});
    return c.multiply(near, c.subtract(distance, c.multiply(near, 0.5)));
  });
}

std::vector<Part> expand_binary_cross_entropy(Composer& c, const std::vector<Part>& inputs, const Attributes&) {
  return mean_of(c, inputs, [&](const Part& x, const Part& y) {
    const Part tail = c(op::log1p, {c(op::exp, {c(op::negative, {c(op::abs, {x})})})});
    return c.add(c(op::subtract, {c(op::maximum, {x, 0.0}), c.multiply(x, y)}), tail);
  });
}

std::vector<Part> expand_dropout(Composer& c, const std::vector<Part>& inputs, const Attributes& attributes) {
  const double rate = attributes.get<double>("rate");
  const Part& x = inputs[0];
  if (rate == 0) return {x};
  const Parts step(inputs.begin() + 1, inputs.end());
  const Attributes numbers{{"shape", x.shape()}, {"seed", attributes.get<std::int64_t>("seed")}};
  const Part kept = c(op::greater_equal, {c(op::random_uniform, step, numbers), rate});
  return {c(op::where, {kept, c.multiply(x, 1 / (1 - rate)), 0.0})};
}

}  // namespace

constexpr OpDef op::cross_entropy =
    Record("cross_entropy(x, labels, label_smoothing?)", 2, {with_default("label_smoothing", Type::number, 0.0)},
           "mean over the rows of `-sum(p * log_softmax(x), axis=-1)`, where p is 1 at an integer label, or the probabilities given as "
           "labels; smoothing gives each class an equal share of so much",
           cross_entropy_type, expand_cross_entropy)
        .also_called("softmax_cross_entropy, sparse_categorical_crossentropy, categorical_crossentropy, nll_loss");

constexpr OpDef op::mse = Record("mse(x, y)", 2, {}, "mean of the squared differences", elements_type<"mse">, expand_mse)
                              .promoting(Promotion::floating)
                              .also_called("mse_loss, mean_squared_error");

constexpr OpDef op::huber = Record("huber(x, y, delta?)", 2, {with_default("delta", Type::number, 1.0)},
                                   "mean of half the squared differences, and of `delta * (|x - y| - delta / 2)` beyond `delta`",
                                   elements_type<"huber">, expand_huber)
                                .promoting(Promotion::floating)
                                .also_called("huber_loss, smooth_l1_loss");

constexpr OpDef op::binary_cross_entropy =
    Record("binary_cross_entropy(x, y)", 2, {},
           "mean of `-y * log(sigmoid(x)) - (1 - y) * log(sigmoid(-x))` for logits x and probabilities y",
           elements_type<"binary_cross_entropy">, expand_binary_cross_entropy)
        .promoting(Promotion::floating)
        .also_called("bce_with_logits, binary_cross_entropy_with_logits, binary_crossentropy");

constexpr OpDef op::dropout =
    Record("dropout(x, rate, seed?, step?)", 1, {required("rate", Type::number), with_default("seed", Type::integer, std::int64_t{0})},
           "x with each element 0 by the probability `rate`, and divided by `1 - rate` otherwise; for training, with a `step` that counts "
           "the updates",
           dropout_type, expand_dropout)
        .operands(1, 2);

}  // namespace ops

Tensor cross_entropy(const Tensor& x, const Tensor& labels, const CrossEntropyOptions& options, Here here) {
  return ops::call(op::cross_entropy, {x, labels}, {{"label_smoothing", options.label_smoothing}}, here);
}
Tensor mse(const Tensor& x, const Tensor& y, Here here) {
  return ops::call(op::mse, {x, y}, {}, here);
}
Tensor huber(const Tensor& x, const Tensor& y, double delta, Here here) {
  return ops::call(op::huber, {x, y}, {{"delta", delta}}, here);
}
Tensor binary_cross_entropy(const Tensor& x, const Tensor& y, Here here) {
  return ops::call(op::binary_cross_entropy, {x, y}, {}, here);
}
Tensor dropout(const Tensor& x, double rate, const DropoutOptions& options, Here here) {
  std::vector<Tensor> inputs{x};
  if (options.step) inputs.push_back(*options.step);
  return ops::call(op::dropout, inputs, {{"rate", rate}, {"seed", options.seed}}, here);
}

}  // namespace cleave
