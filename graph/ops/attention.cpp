// attention: scaled dot product attention as one operation, with an optional mask, a causal mask, and heads of keys and values that several
// query heads share. A query for which all keys are masked gives zeros.
#include <cmath>
#include <limits>

#include "graph/base/stop.h"
#include "graph/ops/attention.h"
#include "graph/ops/attention_shape.h"
#include "graph/ops/calls.h"
#include "graph/ops/domain.h"
#include "graph/ops/gradient_rules.h"
#include "graph/ops/op_table.h"
#include "graph/ops/sums.h"

namespace cleave::ops {

std::int64_t AttentionShape::batches() const {
  std::int64_t count = 1;
  for (const std::int64_t extent : batch) count *= extent;
  return count;
}

std::int64_t batch_offset(const Shape& batch, const Strides& strides, std::int64_t index) {
  std::int64_t offset = 0;
  for (std::size_t axis = batch.size(); axis-- > 0;) {
    offset += index % batch[axis] * strides[axis];
    index /= batch[axis];
  }
  return offset;
}

namespace {

constexpr Domain kTakes = Domain::floating;

Shape leading_batch(const TensorType& type) {
  return type.rank() <= 3 ? Shape{} : Shape(type.shape.begin(), type.shape.end() - 3);
}
std::int64_t heads_of(const TensorType& type) {
  return type.rank() < 3 ? 1 : type.shape[type.shape.size() - 3];
}
std::int64_t rows_of(const TensorType& type) {
  return type.shape[type.shape.size() - 2];
}

std::optional<Shape> common_batch(Types inputs) {
  std::optional<Shape> batch = broadcast(leading_batch(inputs[0]), leading_batch(inputs[1]));
  return batch ? broadcast(*batch, leading_batch(inputs[2])) : batch;
}

/// The shape [.., heads, queries, last].
Shape with_heads(Types inputs, Shape batch, std::int64_t last) {
  if (inputs[0].rank() > 2) batch.push_back(heads_of(inputs[0]));
  batch.push_back(rows_of(inputs[0]));
  batch.push_back(last);
  return batch;
}

std::optional<TypeError> wrong_mask(Types inputs, const Shape& batch) {
  const TensorType& mask = inputs[3];
  const auto error = [&](DiagnosticKind kind, const std::string& reason) { return refuse(kind, "attention", inputs, reason); };
  if (mask.dtype != DType::boolean && mask.dtype != inputs[0].dtype)
    return error(DiagnosticKind::type, "the mask is bool, or added to the scores: then it has the elements of the query");
  const Shape scores = with_heads(inputs, batch, rows_of(inputs[1]));
  if (broadcast(mask.shape, scores) != scores)
    return error(DiagnosticKind::shape, "the mask " + to_string(mask.shape) + " does not broadcast to the scores " + to_string(scores));
  return std::nullopt;
}

std::optional<TypeError> wrong_operands(Types inputs) {
  const TensorType &query = inputs[0], &key = inputs[1], &value = inputs[2];
  const auto error = [&](DiagnosticKind kind, const std::string& reason) { return refuse(kind, "attention", inputs, reason); };
  if (!accepts(kTakes, query.dtype)) return error(DiagnosticKind::type, "needs floating-point elements; convert with astype");
  if (query.dtype != key.dtype || query.dtype != value.dtype)
    return error(DiagnosticKind::type, "query, key and value have different element types; convert with astype");
  if (query.rank() < 2 || query.rank() != key.rank() || query.rank() != value.rank())
    return error(DiagnosticKind::shape, "query, key and value are [.., heads, length, depth] with as many axes each, two or more");
  if (query.shape.back() != key.shape.back())
    return error(DiagnosticKind::shape, "a query has depth " + std::to_string(query.shape.back()) + " and a key " +
                                            std::to_string(key.shape.back()) + "; they must be equal");
  if (rows_of(key) != rows_of(value))
    return error(DiagnosticKind::shape,
                 "there are " + std::to_string(rows_of(key)) + " keys and " + std::to_string(rows_of(value)) + " values; each key has one");
  const std::int64_t heads = heads_of(query), shared = heads_of(key);
  if (shared != heads_of(value))
    return error(DiagnosticKind::shape,
                 "keys have " + std::to_string(shared) + " heads and values " + std::to_string(heads_of(value)) + "; they must be equal");
  if (shared == 0 ? heads != 0 : heads % shared != 0)
    return error(DiagnosticKind::shape, "the " + std::to_string(heads) + " heads of the query are no multiple of the " +
                                            std::to_string(shared) + " of keys and values");
  return std::nullopt;
}

TypeResult attention_type(Types inputs, const Attributes& attributes) {
  if (auto error = wrong_operands(inputs)) return *std::move(error);
  const std::optional<Shape> batch = common_batch(inputs);
  if (!batch) return refuse(DiagnosticKind::shape, "attention", inputs, "the axes before the heads do not broadcast");
  const Shape scores = with_heads(inputs, *batch, rows_of(inputs[1]));
  if (!checked_bytes({inputs[0].dtype, scores}))  // they are never stored, but their number must not overflow
    return refuse(DiagnosticKind::shape, "attention", inputs, "the scores " + to_string(scores) + " would be too many");
  if (inputs.size() > 3) {
    if (auto error = wrong_mask(inputs, *batch)) return *std::move(error);
  }
  const auto* scale = attributes.get_if<double>("scale");
  if (scale && !std::isfinite(*scale)) return refuse(DiagnosticKind::value, "attention", inputs, "`scale` is no finite number");
  return give("attention", inputs, {inputs[0].dtype, with_heads(inputs, *batch, inputs[2].shape.back())});
}

/// Attention of one query: its scores, their softmax, and the values weighted with it. `scores` and `sums` are scratch memory: one number
/// for each key, and one for each element of the result.
template <class T>
struct Query {
  const AttentionShape& shape;
  const T *query, *keys, *values;
  const Array* mask;
  std::int64_t mask_offset, seen;

  [[nodiscard]] bool sees(std::int64_t j) const {
    return mask == nullptr || mask->dtype() != DType::boolean || mask->data<bool>()[mask_offset + j * shape.mask.back()];
  }
  [[nodiscard]] double score(std::int64_t j) const {
    double sum = 0;
    for (std::int64_t k = 0; k < shape.depth; ++k) sum += widen(query[k]) * widen(keys[j * shape.depth + k]);
    sum *= shape.scale;
    return mask == nullptr || mask->dtype() == DType::boolean ? sum : sum + widen(mask->data<T>()[mask_offset + j * shape.mask.back()]);
  }
  void attend(std::vector<double>& scores, std::vector<double>& sums, T* result) const {
    double largest = -std::numeric_limits<double>::infinity(), total = 0;
    StopLooks looks;
    look_at_stop();
    for (std::int64_t j = 0; j < seen; ++j) {
      looks.worked(shape.depth);
      if (sees(j)) largest = std::max(largest, scores[static_cast<std::size_t>(j)] = score(j));
    }
    if (std::isinf(largest) && largest < 0) largest = 0;  // no visible key, or all scores are minus infinity
    std::fill(sums.begin(), sums.end(), 0.0);
    for (std::int64_t j = 0; j < seen; ++j) {
      looks.worked(shape.width + 8);
      if (!sees(j)) continue;
      const double weight = std::exp(scores[static_cast<std::size_t>(j)] - largest);
      total += weight;
      for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += weight * widen(values[j * shape.width + static_cast<std::int64_t>(k)]);
    }
    for (std::size_t k = 0; k < sums.size(); ++k) result[k] = store<T>(total == 0 ? 0.0 : sums[k] / total);
  }
};

template <class T>
void attend_all(const AttentionShape& shape, const OpCall& call) {
  std::vector<double> scores(static_cast<std::size_t>(shape.keys)), sums(static_cast<std::size_t>(shape.width));
  T* result = call.results[0].mutable_data<T>();
  for (std::int64_t batch = 0; batch < shape.batches(); ++batch) {
    for (std::int64_t head = 0; head < shape.heads; ++head) {
      const T* query = call.inputs[0].data<T>() + batch_offset(shape.batch, shape.query_batch, batch) + head * shape.queries * shape.depth;
      const std::int64_t keys = head / shape.group() * shape.keys;
      const T* key = call.inputs[1].data<T>() + batch_offset(shape.batch, shape.key_batch, batch) + keys * shape.depth;
      const T* value = call.inputs[2].data<T>() + batch_offset(shape.batch, shape.value_batch, batch) + keys * shape.width;
      for (std::int64_t i = 0; i < shape.queries; ++i, query += shape.depth, result += shape.width) {
        const Array* mask = shape.mask.empty() ? nullptr : &call.inputs[3];
        std::int64_t offset = 0;
        if (mask != nullptr) {
          const std::size_t axes = shape.batch.size();
          offset = batch_offset(shape.batch, shape.mask, batch) + head * shape.mask[axes] + i * shape.mask[axes + 1];
        }
        Query<T>{shape, query, key, value, mask, offset, shape.seen(i)}.attend(scores, sums, result);
      }
    }
  }
}

Status attention_reference(const OpCall& call) {
  if (call.results[0].size() == 0) return {};
  std::vector<TensorType> types;
  for (const Array& input : call.inputs) types.push_back(input.type());
  const AttentionShape shape = attention_shape(types, call.attributes);
  dispatch_in<kTakes>(types[0].dtype, [&](auto zero) { attend_all<decltype(zero)>(shape, call); });
  return {};
}

/// Two products and a softmax between them. With a causal mask, only the visible scores count.
Cost attention_cost(Types inputs, Types results, const Attributes& attributes) {
  const AttentionShape shape = attention_shape(inputs, attributes);
  const auto queries = static_cast<double>(shape.queries), keys = static_cast<double>(shape.keys);
  double scores = queries * keys;
  if (shape.causal) scores = queries <= keys ? queries * (keys - (queries - 1) / 2) : keys * (keys + 1) / 2;
  const double heads = static_cast<double>(shape.batches()) * static_cast<double>(shape.heads);
  return {heads * scores * static_cast<double>(2 * shape.depth + 2 * shape.width + 15), traffic(inputs, results)};
}

/// The number of rows, if few of them share each read of the keys.
WorkForm attention_form(Types inputs, Types, const Attributes& attributes) {
  const AttentionShape shape = attention_shape(inputs, attributes);
  constexpr double kMany = 64;
  const auto rows = static_cast<double>(shape.queries * shape.group());
  return rows < 1 || rows >= kMany ? WorkForm() : WorkForm{"rows", rows, kMany};
}

}  // namespace

AttentionShape attention_shape(Types inputs, const Attributes& attributes) {
  const TensorType &query = inputs[0], &key = inputs[1], &value = inputs[2];
  AttentionShape shape;
  shape.batch = common_batch(inputs).value_or(Shape{});
  shape.heads = heads_of(query);
  shape.key_heads = heads_of(key);
  shape.queries = rows_of(query);
  shape.keys = rows_of(key);
  shape.depth = query.shape.back();
  shape.width = value.shape.back();
  const auto strides = [&](const TensorType& type) {
    Strides all = broadcast_strides(leading_batch(type), shape.batch);
    for (std::int64_t& stride : all) stride *= heads_of(type) * rows_of(type) * type.shape.back();
    return all;
  };
  shape.query_batch = strides(query);
  shape.key_batch = strides(key);
  shape.value_batch = strides(value);
  if (inputs.size() > 3) {
    Shape scores = shape.batch;
    scores.insert(scores.end(), {shape.heads, shape.queries, shape.keys});
    shape.mask = broadcast_strides(inputs[3].shape, scores);
  }
  shape.causal = attributes.get_or<bool>("causal", false);
  const double usual = shape.depth == 0 ? 1 : 1 / std::sqrt(static_cast<double>(shape.depth));
  shape.scale = attributes.get_or<double>("scale", usual);
  return shape;
}

constexpr OpDef op::attention{
    .name = "attention",
    .min_inputs = 3,
    .max_inputs = 4,
    .attributes = {with_default("causal", AttributeDef::Type::boolean, false), optional("scale", AttributeDef::Type::number)},
    .signature = "attention(query, key, value, mask?, causal?, scale?)",
    .summary =
        "`softmax(query @ transpose(key) * scale + mask) @ value` over [.., heads, length, depth], the scores never "
        "stored; `causal`: of n queries and m keys, query i sees keys 0 to i + m - n, so that the last query sees all; one that "
        "sees none gives zeros",
    .also_called = "scaled_dot_product_attention",
    .type_rule = attention_type,
    .cost = attention_cost,
    .cost_class = CostClass::product,
    .form = attention_form,
    .reference = attention_reference,
    .gradient = gradients::attention};

}  // namespace cleave::ops

namespace cleave {

Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value, const AttentionOptions& options, Here here) {
  Attributes attributes{{"causal", options.causal}};
  if (options.scale) attributes.set("scale", *options.scale);
  std::vector<Tensor> operands{query, key, value};
  if (options.mask) operands.push_back(*options.mask);
  return ops::call(op::attention, operands, std::move(attributes), here);
}

}  // namespace cleave
