// Lowering of ONNX Runtime's GroupQueryAttention: heads that share keys, a cache with a length for each sample, and rotary embeddings. The
// length of a sample is data: what is hidden behind it is a mask, and new keys are written at its end.
#include "models/onnx/caches.h"
#include "models/onnx/heads.h"
#include "models/onnx/pieces.h"
#include "models/onnx/rotary.h"

namespace cleave::models::onnx {
namespace {

// Operands by number.
enum : std::size_t {
  kPastKey = 3,
  kPastValue,
  kLengths,
  kTotal,
  kCosine,
  kSine,
  kPositions,
  kBias,
  kSink,
  kKeyScale,
  kValueScale,
  kQueryNorm,
  kKeyNorm,
  kValidQueries
};

/// Whether the node has none of the options that cleave lacks. If it has one, reports it.
bool supported(Call& c) {
  for (const char* name : {"k_quant_type", "v_quant_type"})
    if (const std::string type = c.text(name, "NONE"); type != "NONE") {
      c.unsupported("with `" + std::string(name) + "` = " + type);
      return false;
    }
  c.ignore({"kv_cache_bit_width"});
  if (c.flag("sliding_window_cache")) {
    c.unsupported("with `sliding_window_cache`");
    return false;
  }
  if (!c.flag("causal", true) && c.integer("local_window_size", -1) >= 0) {
    c.mistake(DiagnosticKind::value, "`GroupQueryAttention`: `local_window_size` needs `causal` = 1");
    return false;
  }
  return true;
}

/// Queries, keys and values, which may be in one operand, with axes of heads; nothing after a mistake.
std::optional<Heads> heads_of(Call& c) {
  const std::int64_t heads = c.integer("num_heads", 0), shared = c.integer("kv_num_heads", 0);
  const Shape query = c[0].shape();
  const bool packed = !c.has(1) && !c.has(2);
  if (query.size() != 3 || heads < 1 || shared < 1 || heads % shared != 0 || (packed && query[2] % (heads + 2 * shared) != 0)) {
    c.mistake(DiagnosticKind::value, "`GroupQueryAttention` of " + to_string(c[0].type()) +
                                         " needs `num_heads` and `kv_num_heads` that divide each other and the last axis");
    return std::nullopt;
  }
  Parts all{c[0]};
  if (packed) {
    const std::int64_t size = query[2] / (heads + 2 * shared), first = heads * size, second = first + shared * size;
    all = {piece(c, c[0], 2, 0, first), piece(c, c[0], 2, first, second), piece(c, c[0], 2, second, query[2])};
  } else {
    all = {c[0], c[1], c[2]};
  }
  const std::optional<Heads> of = split_heads(c, all[0], all[1], all[2], "num_heads", "kv_num_heads");
  if (!of || !heads_fit(c, *of)) return std::nullopt;
  if (of->keys() == of->queries() && of->value.shape()[2] == of->queries()) return of;
  c.unsupported("of keys that are not as many as the queries");
  return std::nullopt;
}

/// A number of tokens in the cache before and after the run, for each sample: i32, [batch].
struct Lengths {
  Part before, after;
};

Lengths lengths_of(Call& c, std::int64_t batch, std::int64_t queries) {
  const Part after = c.add(c.reshape(c.as(DType::i32, c[kLengths]), {batch}), 1);
  const Part added = c.has(kValidQueries) ? c.reshape(c.as(DType::i32, c[kValidQueries]), {batch}) : c(op::minimum, {after, Part(queries)});
  return {c.subtract(after, added), after};
}

/// The extent of the cache after the run; nothing after a mistake. If the total length is unknown, the cache has room for it already.
std::optional<std::int64_t> cache_extent(Call& c, std::int64_t queries, DType dtype) {
  for (const std::size_t i : {std::size_t{kPastKey}, std::size_t{kPastValue}})
    if (c.has(i) && (c[i].rank() != 4 || c[i].dtype() != dtype)) {
      c.mistake(DiagnosticKind::type,
                "`GroupQueryAttention` takes past keys and values of 4 axes and the type of new ones, not " + to_string(c[i].type()));
      return std::nullopt;
    }
  const std::int64_t past = c.has(kPastKey) ? c[kPastKey].shape()[2] : 0;
  if (past == 0) return queries;
  const std::optional<Array> total = c.known(kTotal);
  if (!total || total->size() != 1 || total->at(0) <= static_cast<double>(past)) return past;
  if (total->at(0) == static_cast<double>(past + queries)) return past + queries;
  c.mistake(DiagnosticKind::value, "`GroupQueryAttention`: a total length of " + std::to_string(static_cast<std::int64_t>(total->at(0))) +
                                       " is neither within the past keys " + to_string(c[kPastKey].type()) + " nor that many and the " +
                                       std::to_string(queries) + " new ones");
  return std::nullopt;
}

/// Whether the cache grows by the new keys of the only sample, all of which are valid.
bool grows_at_the_end(Call& c, std::int64_t batch, std::int64_t extent) {
  return batch == 1 && c.has(kPastKey) && !c.has(kValidQueries) && extent > c[kPastKey].shape()[2];
}

/// Past and new elements, the new ones behind the valid past ones of each sample.
Part cached(Call& c, std::size_t past, const Part& fresh, const Lengths& lengths, std::int64_t extent) {
  const std::int64_t old = c.has(past) ? c[past].shape()[2] : 0;
  if (old == 0 || fresh.operand().poisoned()) return fresh;
  if (grows_at_the_end(c, fresh.shape()[0], extent)) return c(op::concat, {c[past], fresh}, {{"axis", std::int64_t{2}}});
  Part room = c[past];
  if (extent > old) room = c(op::pad, {room}, {{"widths", std::vector<std::int64_t>{0, 0, 0, 0, 0, extent - old, 0, 0}}});
  return written_at(c, room, fresh, lengths.before, 2);
}

/// The positions of the queries, i32 [batch, queries]: those behind the cache, or as the node says. Of a first prompt, ONNX Runtime takes
/// only the first of all positions.
Part positions_of(Call& c, const Lengths& lengths, std::int64_t batch, std::int64_t queries) {
  const Part rows = c.reshape(numbers_below(c, queries), {1, queries});
  if (!c.has(kPositions)) return c.add(c.reshape(lengths.before, {batch, 1}), rows);
  const Part given = c.as(DType::i32, c[kPositions]);
  const Part first = c.add(c.reshape(piece(c, piece(c, given, 0, 0, 1), 1, 0, 1), {1, 1}), rows);
  const Part prompt = c(op::equal, {c.reshape(c.as(DType::i32, c[kTotal]), {}), Part(queries)});
  const Part chosen = c(op::where, {prompt, first, given});
  return c(op::broadcast_to, {chosen}, {{"shape", Shape{batch, queries}}});
}

/// Queries and keys after normalization and rotation, if the node has them; nothing after a mistake.
std::optional<Heads> prepared(Call& c, Heads of, const Lengths& lengths) {
  const double epsilon = c.number("qk_norm_epsilon", 1e-6F), query_epsilon = c.number("q_norm_epsilon", epsilon),
               key_epsilon = c.number("k_norm_epsilon", epsilon);
  const bool interleaved = c.flag("rotary_interleaved"), rotates = c.flag("do_rotary");
  if (c.has(kQueryNorm)) of.query = c(op::rms_norm, {of.query, c[kQueryNorm]}, {{"epsilon", query_epsilon}});
  if (c.has(kKeyNorm)) of.key = c(op::rms_norm, {of.key, c[kKeyNorm]}, {{"epsilon", key_epsilon}});
  if (!rotates) return of;
  if (of.query.operand().poisoned() || of.key.operand().poisoned()) return std::nullopt;
  if (c.has(kPositions) && c[kPositions].shape() != Shape{of.query.shape()[0], of.queries()}) {
    c.mistake(DiagnosticKind::shape, "`GroupQueryAttention`: positions " + to_string(c[kPositions].type()) + " are not one for each of " +
                                         to_string(Shape{of.query.shape()[0], of.queries()}));
    return std::nullopt;
  }
  if (!tables_fit(c, of.query.shape()[3], c[kCosine], c[kSine])) return std::nullopt;
  const Part places = positions_of(c, lengths, of.query.shape()[0], of.queries());
  const auto angles = [&](std::size_t i) {
    return c(op::expand_dims, {c(op::take, {c[i], places}, {{"axis", std::int64_t{0}}})}, {{"axis", std::int64_t{1}}});
  };
  const Part cosine = angles(kCosine), sine = angles(kSine);
  of.query = rotated(c, of.query, cosine, sine, interleaved);
  of.key = rotated(c, of.key, cosine, sine, interleaved);
  return of;
}

/// The keys that each query sees: those up to its own position, of a window the last ones; bool [batch, 1, queries, keys].
Part visible_keys(Call& c, const Heads& of, const Lengths& lengths, std::int64_t window) {
  const std::int64_t batch = of.query.shape()[0];
  const Part keys = numbers_below(c, of.keys());
  if (!c.flag("causal", true)) return c(op::less, {keys, c.reshape(lengths.after, {batch, 1, 1, 1})});
  const Part rows = c.reshape(numbers_below(c, of.queries()), {of.queries(), 1});
  const Part places = c.add(c.reshape(lengths.before, {batch, 1, 1, 1}), rows);
  const Part seen = c(op::less_equal, {keys, places});
  return window < 0 ? seen : c(op::logical_and, {seen, c(op::greater, {keys, c.subtract(places, window)})});
}

/// The node's bias for all keys of the cache, which may be longer than the scores that it is for.
std::optional<Part> bias_of(Call& c, const Heads& of) {
  if (!c.has(kBias)) return Part();
  const Shape shape = c[kBias].shape();
  const std::int64_t missing = shape.size() == 4 ? of.keys() - shape[3] : -1;
  Part bias = c[kBias];
  if (missing > 0) bias = c(op::pad, {bias}, {{"widths", std::vector<std::int64_t>{0, 0, 0, 0, 0, 0, 0, missing}}});
  const Shape scores{of.query.shape()[0], of.query.shape()[1], of.queries(), of.keys()};
  if (missing >= 0 && broadcast(bias.shape(), scores) == scores) return bias;
  c.mistake(DiagnosticKind::shape, "`GroupQueryAttention`: the attention bias " + to_string(c[kBias].type()) +
                                       " does not broadcast to the scores " + to_string(scores));
  return std::nullopt;
}

/// The scores as a result have as many keys as the total length says, if that is known.
Part scores_result(Call& c, const Attended& attended, std::int64_t mode, DType dtype) {
  const Part all = c.as(dtype, mode == 1 ? attended.scores : attended.weights);
  if (all.operand().poisoned()) return all;
  const std::optional<Array> total = c.known(kTotal);
  const std::int64_t keys = all.shape()[3];
  return total && total->size() == 1 && total->at(0) >= 0 && total->at(0) < static_cast<double>(keys)
             ? piece(c, all, 3, 0, static_cast<std::int64_t>(total->at(0)))
             : all;
}

Values group_query_attention(Call& c) {
  const std::int64_t window = c.integer("local_window_size", -1), inner = c.integer("qk_output", 0);
  const bool causal = c.flag("causal", true), smooth = c.integer("smooth_softmax", 0) > 0;
  if (!supported(c)) return c.poison();
  const std::optional<Heads> own = heads_of(c);
  if (!own) return c.poison();
  const std::int64_t batch = own->query.shape()[0], queries = own->queries();
  const std::optional<std::int64_t> extent = cache_extent(c, queries, own->key.dtype());
  if (!extent) return c.poison();
  if (c[kLengths].type().elements() != batch)
    return c.mistake(DiagnosticKind::shape, "`GroupQueryAttention` needs a length for each of " + std::to_string(batch) + " samples, not " +
                                                to_string(c[kLengths].type()));
  const Lengths lengths = lengths_of(c, batch, queries);
  std::optional<Heads> of = prepared(c, *own, lengths);
  if (!of) return c.poison();
  of->key = cached(c, kPastKey, of->key, lengths, *extent);
  of->value = cached(c, kPastValue, of->value, lengths, *extent);
  if (of->key.operand().poisoned() || of->value.operand().poisoned() || !heads_fit(c, *of)) return c.poison();
  const std::optional<Part> bias = bias_of(c, *of);
  if (!bias) return c.poison();
  ScoreRules rules;
  rules.scale = given_scale(c, *of);
  rules.softcap = c.number("softcap", 0);
  rules.bias = *bias;
  const bool at_the_end = *extent == queries || grows_at_the_end(c, batch, *extent);
  rules.causal = causal && at_the_end && window < 0;
  if (!rules.causal) rules.visible = visible_keys(c, *of, lengths, window);
  if (c.has(kSink))
    rules.sink = c[kSink];
  else if (smooth)
    rules.sink = c(op::zeros, {}, {{"shape", Shape{of->query.shape()[1]}}, {"dtype", of->query.dtype()}});
  const Attended all = attended(c, *of, rules, c.wants(3) && inner != 0);
  Values results{joined_heads(c, all.result), of->key, of->value};
  if (c.wants(3) && inner != 0) results.emplace_back(scores_result(c, all, inner, of->query.dtype()));
  return results;
}

}  // namespace

std::span<const Lowering> contrib_group_attention_lowerings() {
  static constexpr Lowering kRows[] = {
      {"com.microsoft.GroupQueryAttention", 1, group_query_attention},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
