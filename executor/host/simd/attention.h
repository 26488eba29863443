// The softmax of attention, computed incrementally over tiles of keys (online softmax): each key's weight relative to the largest score so
// far; and its gradient.
#pragma once

#include <cstdint>

#include "executor/host/simd/level.h"

namespace cleave::runtime::host {

/// Scores of one query against consecutive keys. The array has room up to the next multiple of `kScorePad`, which is overwritten.
template <class T>
struct ScoreRow {
  T* scores = nullptr;
  std::int64_t seen = 0, count = 0;  ///< the query attends to the first `seen` of `count` keys
  T scale = 1;
  const T* added = nullptr;    ///< added to each score after scaling; null: nothing
  const bool* kept = nullptr;  ///< false: the key is masked out; null: none is
};
inline constexpr std::int64_t kScorePad = 16;

/// The running state of one query's softmax.
template <class T>
struct ScoreState {
  T largest;
  double sum = 0;  ///< of weights relative to `largest`
};

/// Replaces the scores by weights exp(score - largest), zero for keys that are not seen, and updates the state. Returns the factor by which
/// earlier sums of weighted values must be rescaled.
template <class T>
using ScoreLoop = T (*)(const ScoreRow<T>& row, ScoreState<T>& state);

/// The loop for this machine, for T = float or double.
template <class T>
ScoreLoop<T> score_loop();

/// From one query's weights, each `share` of itself, and the products of its gradient with the values: replaces the weights by their
/// shares, and the products by the gradients of the scores before the scale. Both arrays have room up to the next multiple of `kScorePad`.
template <class T>
using ScoreGradientLoop = void (*)(T* weights, T* products, std::int64_t count, T share, T scale);
template <class T>
ScoreGradientLoop<T> score_gradient_loop();

}  // namespace cleave::runtime::host
