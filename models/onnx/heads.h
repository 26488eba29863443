// Heads of attention: queries, keys and values with an axis of heads, and what operators compute from them. `attended` is one operation of
// the vocabulary, unless an operator requires something between its two products.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

#include "models/onnx/call.h"

namespace cleave::models::onnx {

/// Queries [batch, heads, length, depth], keys and values. Keys and values may have fewer heads, each shared by several query heads.
struct Heads {
  Part query, key, value;

  [[nodiscard]] std::int64_t queries() const { return query.shape()[2]; }
  [[nodiscard]] std::int64_t keys() const { return key.shape()[2]; }
  [[nodiscard]] double usual_scale() const { return 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(query.shape()[3], 1))); }
};

/// Whether queries, keys and values have heads in common. If not, reports it.
bool heads_fit(Call& c, const Heads& of);
/// Splits [batch, length, heads * depth] into [batch, heads, length, depth], heads by an attribute; `x` itself unless it has 3 axes.
std::optional<Part> split_heads(Call& c, const Part& x, const char* attribute);
/// Splits queries, keys and values by attributes with the numbers of their heads; nothing after a mistake.
std::optional<Heads> split_heads(Call& c, const Part& query, const Part& key, const Part& value, const char* heads, const char* key_heads);
/// The reverse of a split.
Part joined_heads(Call& c, const Part& x);

/// `query @ transpose(key) * scale`, [batch, heads, queries, keys].
Part scores_of(Call& c, const Heads& of, double scale);
/// `weights @ value`
Part weighted_values(Call& c, const Heads& of, const Part& weights);

/// The attribute `scale` of ONNX Runtime's operators, of which 0 is the usual one.
double given_scale(Call& c, const Heads& of);

/// What an operator does to the scores, in this order; poison: nothing.
struct ScoreRules {
  double scale = 1;
  double softcap = 0;   ///< scores become `softcap * tanh(scores / softcap)`; 0: they do not
  Part bias;            ///< added, of the scores' axes
  bool causal = false;  ///< queries see keys as by the vocabulary's attribute: the last query is at the last key
  Part visible;         ///< the keys that each query sees, bool
  Part sink;            ///< one more score of each row, for each head, which has no value
};

struct Attended {
  Part result;           ///< [batch, heads, queries, depth]
  Part scores, weights;  ///< before and after softmax; poison where one operation computes all
};

Attended attended(Call& c, const Heads& of, const ScoreRules& rules, bool want_scores = false);

/// 0, 1, … below `count`, i32.
Part numbers_below(Call& c, std::int64_t count);

}  // namespace cleave::models::onnx
