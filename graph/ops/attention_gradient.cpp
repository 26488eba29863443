// attention_gradient: the gradients of attention by query, key and value. With weights w = softmax(s), s = query @ transpose(key) * scale +
// mask, and p = gradient @ transpose(value): by the scores it is w * (p - sum(w * p)).
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "graph/base/stop.h"
#include "graph/ops/attention.h"
#include "graph/ops/attention_shape.h"
#include "graph/ops/calls.h"
#include "graph/ops/domain.h"
#include "graph/ops/gradient_rules.h"
#include "graph/ops/op_table.h"
#include "graph/ops/sums.h"

namespace cleave::ops {

std::vector<TensorType> attention_of_gradient(Types inputs) {
  std::vector<TensorType> types(inputs.begin(), inputs.begin() + 3);
  if (inputs.size() > 4) types.push_back(inputs[4]);
  return types;
}

namespace {

constexpr std::string_view kName = "attention_gradient";
constexpr Domain kDifferentiates = Domain::floating;

/// The shape [.., heads, ..] of an operand, with all axes of the batch.
TensorType with_batch(const TensorType& operand, const Shape& batch) {
  const std::size_t own = std::min<std::size_t>(3, operand.shape.size());
  TensorType type{operand.dtype, batch};
  type.shape.insert(type.shape.end(), operand.shape.end() - static_cast<std::ptrdiff_t>(own), operand.shape.end());
  return type;
}

TypeResult attention_gradient_type(Types inputs, const Attributes& attributes) {
  const std::vector<TensorType> forward = attention_of_gradient(inputs);
  const TypeResult result = op::attention.type_rule(forward, attributes);
  if (const auto* error = std::get_if<TypeError>(&result)) return refuse(error->kind, kName, inputs, error->message);
  const TensorType& expected = std::get<0>(result).front();
  if (inputs[3].dtype != expected.dtype) return refuse(DiagnosticKind::type, kName, inputs, "the element types differ");
  if (inputs[3] != expected)
    return refuse(DiagnosticKind::shape, kName, inputs,
                  "the result of `attention` is " + to_string(expected) + ", so its gradient has that shape too");
  const Shape& batch = attention_shape(forward, attributes).batch;
  return give(kName, inputs, {with_batch(inputs[0], batch), with_batch(inputs[1], batch), with_batch(inputs[2], batch)});
}

/// Five products where attention has two.
Cost attention_gradient_cost(Types inputs, Types results, const Attributes& attributes) {
  const std::vector<TensorType> forward = attention_of_gradient(inputs);
  return {2.5 * op::attention.cost(forward, inputs.subspan(3, 1), attributes).flops, traffic(inputs, results)};
}
WorkForm attention_gradient_form(Types inputs, Types, const Attributes& attributes) {
  return op::attention.form(attention_of_gradient(inputs), inputs.subspan(3, 1), attributes);
}

/// Adds the part of one query to the gradients of the keys and values that it sees, and sets its own. `weights` and `products` are scratch
/// memory, a number for each key.
template <class T>
struct QueryGradient {
  const AttentionShape& shape;
  const T *query, *keys, *values, *g;
  const Array* mask;
  std::int64_t mask_offset, seen;
  double *by_query, *by_keys, *by_values;

  [[nodiscard]] double score(std::int64_t j) const {
    if (mask != nullptr && mask->dtype() == DType::boolean && !mask->data<bool>()[mask_offset + j * shape.mask.back()])
      return -std::numeric_limits<double>::infinity();
    double sum = 0;
    for (std::int64_t k = 0; k < shape.depth; ++k) sum += widen(query[k]) * widen(keys[j * shape.depth + k]);
    sum *= shape.scale;
    return mask == nullptr || mask->dtype() == DType::boolean ? sum : sum + widen(mask->data<T>()[mask_offset + j * shape.mask.back()]);
  }
  void add(std::vector<double>& weights, std::vector<double>& products) const {
    StopLooks looks;
    look_at_stop();
    double largest = -std::numeric_limits<double>::infinity(), total = 0, mean = 0;
    for (std::int64_t j = 0; j < seen; ++j) {
      looks.worked(shape.depth);
      largest = std::max(largest, weights[static_cast<std::size_t>(j)] = score(j));
    }
    if (std::isinf(largest) && largest < 0) largest = 0;
    for (std::int64_t j = 0; j < seen; ++j)
      total += weights[static_cast<std::size_t>(j)] = std::exp(weights[static_cast<std::size_t>(j)] - largest);
    for (std::int64_t j = 0; total > 0 && j < seen; ++j) {
      looks.worked(shape.width + 8);
      double& weight = weights[static_cast<std::size_t>(j)];
      double& product = products[static_cast<std::size_t>(j)] = 0;
      weight /= total;
      for (std::int64_t k = 0; k < shape.width; ++k) {
        by_values[j * shape.width + k] += weight * widen(g[k]);
        product += widen(g[k]) * widen(values[j * shape.width + k]);
      }
      mean += weight * product;
    }
    for (std::int64_t j = 0; total > 0 && j < seen; ++j) {
      looks.worked(shape.depth);
      const double by_score = weights[static_cast<std::size_t>(j)] * (products[static_cast<std::size_t>(j)] - mean) * shape.scale;
      for (std::int64_t k = 0; k < shape.depth; ++k) {
        by_query[k] += by_score * widen(keys[j * shape.depth + k]);
        by_keys[j * shape.depth + k] += by_score * widen(query[k]);
      }
    }
  }
};

/// Adds the parts of all queries to the gradients by query, key and value.
template <class T>
void add_all(const AttentionShape& shape, const OpCall& call, std::array<std::vector<double>, 3>& sums) {
  std::vector<double> weights(static_cast<std::size_t>(shape.keys)), products(static_cast<std::size_t>(shape.keys));
  for (std::int64_t batch = 0; batch < shape.batches(); ++batch) {
    for (std::int64_t head = 0; head < shape.heads; ++head) {
      const std::int64_t key_head = head / shape.group(), unit = batch * shape.key_heads + key_head;
      for (std::int64_t i = 0; i < shape.queries; ++i) {
        const std::int64_t row = head * shape.queries + i, of_all = batch * shape.heads * shape.queries + row;
        const Array* mask = shape.mask.empty() ? nullptr : &call.inputs[4];
        std::int64_t offset = 0;
        if (mask != nullptr) {
          const std::size_t axes = shape.batch.size();
          offset = batch_offset(shape.batch, shape.mask, batch) + head * shape.mask[axes] + i * shape.mask[axes + 1];
        }
        QueryGradient<T>{
            shape,
            call.inputs[0].data<T>() + batch_offset(shape.batch, shape.query_batch, batch) + row * shape.depth,
            call.inputs[1].data<T>() + batch_offset(shape.batch, shape.key_batch, batch) + key_head * shape.keys * shape.depth,
            call.inputs[2].data<T>() + batch_offset(shape.batch, shape.value_batch, batch) + key_head * shape.keys * shape.width,
            call.inputs[3].data<T>() + of_all * shape.width,
            mask,
            offset,
            shape.seen(i),
            sums[0].data() + of_all * shape.depth,
            sums[1].data() + unit * shape.keys * shape.depth,
            sums[2].data() + unit * shape.keys * shape.width}
            .add(weights, products);
      }
    }
  }
}

template <class T>
void differentiate_all(const AttentionShape& shape, const OpCall& call) {
  std::array<std::vector<double>, 3> sums;
  for (std::size_t i = 0; i < 3; ++i) sums[i].assign(static_cast<std::size_t>(call.results[i].size()), 0.0);
  // All gradients of a result without elements are zero; the other axes may be long.
  if (call.inputs[3].size() > 0) add_all<T>(shape, call, sums);
  for (std::size_t r = 0; r < 3; ++r) {
    StopLooks looks;
    for (std::size_t i = 0; i < sums[r].size(); ++i) {
      looks.worked();
      call.results[r].mutable_data<T>()[i] = store<T>(sums[r][i]);
    }
  }
}

Status attention_gradient_reference(const OpCall& call) {
  std::vector<TensorType> types;
  for (const Array& input : call.inputs) types.push_back(input.type());
  const AttentionShape shape = attention_shape(attention_of_gradient(types), call.attributes);
  dispatch_in<kDifferentiates>(types[0].dtype, [&](auto zero) { differentiate_all<decltype(zero)>(shape, call); });
  return {};
}

}  // namespace

constexpr OpDef op::attention_gradient{
    .name = "attention_gradient",
    .min_inputs = 4,
    .max_inputs = 5,
    .attributes = {with_default("causal", AttributeDef::Type::boolean, false), optional("scale", AttributeDef::Type::number)},
    .signature = "attention_gradient(query, key, value, gradient, mask?, causal?, scale?)",
    .summary =
        "the gradients of `attention` by query, key and value, from that of its result; the scores are computed again and never stored; "
        "where operands broadcast, the results have all axes of the batch",
    .type_rule = attention_gradient_type,
    .cost = attention_gradient_cost,
    .cost_class = CostClass::product,
    .form = attention_gradient_form,
    .reference = attention_gradient_reference,
    .gradient = gradients::attention_gradient};

}  // namespace cleave::ops

namespace cleave {

AttentionGradient attention_gradient(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& gradient,
                                     const AttentionOptions& options, Here here) {
  Attributes attributes{{"causal", options.causal}};
  if (options.scale) attributes.set("scale", *options.scale);
  std::vector<Tensor> operands{query, key, value, gradient};
  if (options.mask) operands.push_back(*options.mask);
  std::vector<Tensor> results =
      detail::apply(op::attention_gradient, operands, std::move(attributes), here.of(op::attention_gradient.name));
  results.resize(3, results.empty() ? Tensor() : results.front());  // after a mistake there is one void handle
  return {results[0], results[1], results[2]};
}

}  // namespace cleave
