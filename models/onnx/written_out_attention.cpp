#include "models/onnx/written_out_attention.h"

#include <algorithm>
#include <cmath>

namespace cleave::models::onnx {
namespace {

/// Walks from a value to its producers.
class Walk {
 public:
  explicit Walk(Call& c) : c_(c), graph_(c.tracer().graph()) {}

  [[nodiscard]] Shape shape(ValueId value) const { return graph_.values[value].type.shape; }
  [[nodiscard]] Part part(ValueId value) const { return {c_.tracer(), value}; }
  /// The node that produced the value, if it is this operation.
  [[nodiscard]] const Node* made_by(ValueId value, std::string_view op) const {
    const Node& node = graph_.producer(value);
    return node.kind == NodeKind::operation && node.op->name == op ? &node : nullptr;
  }
  [[nodiscard]] std::optional<double> number(ValueId value) const {
    if (graph_.values[value].type.elements() != 1) return std::nullopt;
    const std::optional<Array> known = c_.known(Value(part(value)));
    return known ? std::optional(known->at(0)) : std::nullopt;
  }

  /// For `x * number`: returns x, and multiplies `factor` by the number.
  [[nodiscard]] ValueId unscaled(ValueId value, double& factor) const {
    const Node* product = made_by(value, "multiply");
    for (const std::size_t i : {std::size_t{1}, std::size_t{0}}) {
      const std::optional<double> one = product ? number(product->inputs[i]) : std::nullopt;
      if (!one || shape(product->inputs[1 - i]) != shape(value)) continue;
      factor *= *one;
      return product->inputs[1 - i];
    }
    const Node* quotient = made_by(value, "divide");
    const std::optional<double> divisor = quotient ? number(quotient->inputs[1]) : std::nullopt;
    if (!divisor || shape(quotient->inputs[0]) != shape(value)) return value;
    factor /= *divisor;
    return quotient->inputs[0];
  }

  /// For `where(isnan(x), 0, x)`: returns x.
  [[nodiscard]] std::optional<ValueId> guarded(ValueId value) const {
    const Node* choice = made_by(value, "where");
    const Node* test = choice ? made_by(choice->inputs[0], "isnan") : nullptr;
    if (!test || test->inputs[0] != choice->inputs[2]) return std::nullopt;
    const std::optional<double> otherwise = number(choice->inputs[1]);
    return otherwise && *otherwise == 0 && shape(choice->inputs[2]) == shape(value) ? std::optional(choice->inputs[2]) : std::nullopt;
  }

  /// Whether the mask is known, and leaves at least one key in every row.
  [[nodiscard]] bool leaves_all_rows(ValueId mask) const {
    const std::optional<Array> known = shape(mask).empty() ? std::nullopt : c_.known(Value(part(mask)));
    const std::int64_t row = known ? shape(mask).back() : 0;
    for (std::int64_t at = 0; known && at < known->size(); at += row) {
      bool left = false;
      for (std::int64_t i = at; i < at + row; ++i) left = left || std::isfinite(known->at(i));
      if (!left) return false;
    }
    return known.has_value();
  }

  /// The matrices of which `value`, [.., n, m], is the transpose, as [.., m, n]. Leading axes may have been joined for the transposition.
  [[nodiscard]] std::optional<ValueId> transposed(ValueId value) const {
    const Shape wanted = shape(value);
    if (const Node* joined = made_by(value, "reshape"); joined && same_matrices(shape(joined->inputs[0]), wanted))
      value = joined->inputs[0];
    const std::size_t rank = shape(value).size();
    std::vector<std::int64_t> swapped(rank);
    for (std::size_t i = 0; i < rank; ++i) swapped[i] = static_cast<std::int64_t>(i);
    if (rank >= 2) std::swap(swapped[rank - 1], swapped[rank - 2]);
    const Node* turned = made_by(value, "transpose");
    if (const Node* permuted = made_by(value, "permute_dims")) {
      auto axes = permuted->attributes.get<std::vector<std::int64_t>>("axes");
      if (axes != swapped) {  // heads and matrices were permuted in one step: the permutation of the heads remains
        std::swap(axes[rank - 1], axes[rank - 2]);
        return c_(op::permute_dims, {part(permuted->inputs[0])}, {{"axes", std::move(axes)}}).operand().value;
      }
      turned = permuted;
    }
    if (!turned) return std::nullopt;
    ValueId source = turned->inputs[0];
    if (const Node* joined = made_by(source, "reshape"); joined && same_matrices(shape(joined->inputs[0]), shape(source)))
      source = joined->inputs[0];
    return source;
  }

 private:
  static bool same_matrices(const Shape& a, const Shape& b) {
    return a.size() >= 2 && b.size() >= 2 && std::equal(a.end() - 2, a.end(), b.end() - 2);
  }

  Call& c_;
  const Graph& graph_;
};

struct Found {
  ValueId query, key, mask;
  double scale = 1;
};

/// The operands of `softmax(q k^T * scale + mask)`, possibly with NaN replaced by 0.
std::optional<Found> find(const Walk& walk, ValueId weights) {
  Found found;
  const std::optional<ValueId> inside = walk.guarded(weights);
  const Node* softmax = walk.made_by(inside.value_or(weights), "softmax");
  const auto rank = static_cast<std::int64_t>(walk.shape(weights).size());
  const std::int64_t axis = softmax ? softmax->attributes.get_or<std::int64_t>("axis", -1) : 0;
  if (!softmax || rank < 2 || (axis != -1 && axis != rank - 1)) return std::nullopt;
  ValueId scores = softmax->inputs[0];
  if (const Node* sum = walk.made_by(scores, "add")) {
    // Softmax of a fully masked row is NaN; `attention` gives zeros there, as the guard against NaN does.
    if (!inside && !walk.leaves_all_rows(sum->inputs[1])) return std::nullopt;
    if (walk.shape(sum->inputs[0]) != walk.shape(scores)) return std::nullopt;
    found.mask = sum->inputs[1];
    scores = sum->inputs[0];
  }
  scores = walk.unscaled(scores, found.scale);
  const Node* product = walk.made_by(scores, "matmul");
  if (!product) return std::nullopt;
  found.query = walk.unscaled(product->inputs[0], found.scale);
  const std::optional<ValueId> key = walk.transposed(walk.unscaled(product->inputs[1], found.scale));
  if (!key) return std::nullopt;
  found.key = *key;
  return found;
}

}  // namespace

std::optional<Part> written_out_attention(Call& c, const Part& weights, const Part& values) {
  const Walk walk(c);
  if (!weights.operand().value.valid() || !is_floating(weights.dtype()) || values.rank() < 3) return std::nullopt;
  const std::optional<Found> found = find(walk, weights.operand().value);
  if (!found || !std::isfinite(found->scale)) return std::nullopt;
  const Part query = walk.part(found->query), key = walk.part(found->key);
  const Shape value_shape = values.shape(), query_shape = query.shape(), key_shape = key.shape(), scores = weights.shape();
  if (query_shape.size() != value_shape.size() || key_shape.size() < 2) return std::nullopt;
  // Query, key and value have the same leading axes, but those of the keys may have been joined on the way.
  Shape keys = value_shape;
  keys.back() = query_shape.back();
  if (!std::equal(query_shape.begin(), query_shape.end() - 2, value_shape.begin()) ||
      !std::equal(key_shape.end() - 2, key_shape.end(), keys.end() - 2) ||
      key.type().elements() != TensorType{key.dtype(), keys}.elements())
    return std::nullopt;
  std::vector<Part> operands{query, key_shape == keys ? key : c.reshape(key, keys), values};
  if (found->mask.valid()) {
    const Part mask = walk.part(found->mask);
    if (mask.dtype() != query.dtype() || broadcast(mask.shape(), scores) != scores) return std::nullopt;
    operands.push_back(mask);
  }
  if (key.dtype() != query.dtype() || values.dtype() != query.dtype()) return std::nullopt;
  return c(op::attention, operands, {{"scale", found->scale}});
}

}  // namespace cleave::models::onnx
