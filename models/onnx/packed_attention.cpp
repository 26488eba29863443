#include "models/onnx/packed_attention.h"

#include <cmath>
#include <limits>

#include "models/onnx/pieces.h"

namespace cleave::models::onnx {
namespace {

struct AttentionExtents {
  std::int64_t batch, length, keys;
};

Part counting_from_zero(Call& c, std::int64_t count) {
  return c(op::arange, {}, {{"start", std::int64_t{0}}, {"stop", count}, {"dtype", DType::i32}});
}

/// Whether each key is visible, [batch, 1, 1 or length, keys]; poison after a mistake.
Part visible_keys(Call& c, const Part& mask, const AttentionExtents& of) {
  const Shape shape = mask.shape();
  if (shape == Shape{of.batch} || shape == Shape{2 * of.batch}) {
    const Part places = counting_from_zero(c, of.keys);
    const auto column = [&](std::int64_t from) { return c.reshape(piece(c, mask, 0, from, from + of.batch), {of.batch, 1, 1, 1}); };
    const Part before_end = c(op::less, {places, column(0)});
    if (shape[0] == of.batch) return before_end;
    return c(op::logical_and, {before_end, c(op::greater_equal, {places, column(of.batch)})});
  }
  const Part given = c(op::greater, {mask, 0});
  if (shape == Shape{of.batch, of.keys}) return c.reshape(given, {of.batch, 1, 1, of.keys});
  if (shape == Shape{of.batch, of.length, of.keys}) return c.reshape(given, {of.batch, 1, of.length, of.keys});
  c.mistake(DiagnosticKind::shape, "`" + std::string(c.op()) + "`: the mask " + to_string(mask.type()) +
                                       " is none of [batch], [2 * batch], [batch, keys] and [batch, length, keys], with a batch of " +
                                       std::to_string(of.batch) + ", a length of " + std::to_string(of.length) + " and " +
                                       std::to_string(of.keys) + " keys");
  return {};
}

/// What is added to the scores; nothing if the operation's own causal order suffices.
std::optional<Part> added_to_scores(Call& c, const PackedAttention& how, const AttentionExtents& of, DType dtype) {
  if (!c.has(how.mask)) return std::nullopt;
  const Part visible = visible_keys(c, c[how.mask], of);
  const Part zero = c.number_as(dtype, 0);
  const Part added = c(op::where, {visible, zero, c.number_as(dtype, how.masked)});
  if (!how.causal) return added;
  const Part places = c.reshape(c.add(counting_from_zero(c, of.length), of.keys - of.length), {of.length, 1});
  const Part past = c(op::less_equal, {counting_from_zero(c, of.keys), places});
  return c(op::where, {past, added, c.number_as(dtype, -std::numeric_limits<double>::infinity())});
}

}  // namespace

Values packed_attention(Call& c, const Part& projection, const PackedAttention& how) {
  const Shape shape = projection.shape();
  if (shape.size() != 3 || how.heads < 1 || shape[2] % (3 * how.heads) != 0)
    return c.mistake(DiagnosticKind::shape, "`" + std::string(c.op()) + "`: `num_heads` is " + std::to_string(how.heads) +
                                                ", which does not divide the projection " + to_string(projection.type()));
  const std::int64_t width = shape[2] / 3 / how.heads;
  const Part parts = permuted(c, c.reshape(projection, {shape[0], shape[1], 3, how.heads, width}), {2, 0, 3, 1, 4});
  const Part query = element(c, parts, 0, 0);
  Part key = element(c, parts, 0, 1), value = element(c, parts, 0, 2);
  if (c.has(how.past)) {
    const Shape past = c[how.past].shape();
    if (past.size() != 5 || past[0] != 2 || past[1] != shape[0] || past[2] != how.heads || past[4] != width)
      return c.mistake(DiagnosticKind::shape, "`" + std::string(c.op()) + "`: past keys and values " + to_string(c[how.past].type()) +
                                                  " are not [2, " + std::to_string(shape[0]) + ", " + std::to_string(how.heads) +
                                                  ", past length, " + std::to_string(width) + "]");
    key = c(op::concat, {element(c, c[how.past], 0, 0), key}, {{"axis", std::int64_t{2}}});
    value = c(op::concat, {element(c, c[how.past], 0, 1), value}, {{"axis", std::int64_t{2}}});
  }
  const AttentionExtents of{shape[0], shape[1], key.operand().poisoned() ? 0 : key.shape()[2]};
  const double scale = how.scale == 0 ? 1 / std::sqrt(static_cast<double>(width)) : how.scale;
  Parts operands{query, key, value};
  const std::optional<Part> added = added_to_scores(c, how, of, projection.dtype());
  if (added) operands.push_back(*added);
  const Part heads = c(op::attention, operands, {{"causal", how.causal && !added}, {"scale", scale}});
  Value present;
  if (c.wants(1)) present = c(op::stack, {key, value}, {{"axis", std::int64_t{0}}});
  return {c.reshape(permuted(c, heads, {0, 2, 1, 3}), {shape[0], shape[1], how.heads * width}), present};
}

}  // namespace cleave::models::onnx
