// The softmax of attention, a row of scores at a time as keys come in: what each key weighs against the largest score so far.
#pragma once

#include <cstdint>

#include "executor/host/simd/level.h"

namespace cleave::runtime::host {

/// Scores of one query against neighbouring keys. They lie with room up to the next multiple of `kScorePad`, which is overwritten.
template <class T>
struct ScoreRow {
  T* scores = nullptr;
  std::int64_t seen = 0, count = 0;  ///< the first of `count` that the query sees
  T scale = 1;
  const T* added = nullptr;    ///< to each score, after the scale; null: nothing
  const bool* kept = nullptr;  ///< which keys take part; null: all
};
inline constexpr std::int64_t kScorePad = 16;

/// What is known of a query's scores so far.
template <class T>
struct ScoreState {
  T largest;
  double sum = 0;  ///< of weights against `largest`
};

/// Makes weights of the scores, exp(score - largest), zeros of those not seen, and brings the state up to date. Gives the factor for what
/// was weighted before.
template <class T>
using ScoreLoop = T (*)(const ScoreRow<T>& row, ScoreState<T>& state);

/// The loop for this machine: float or double.
template <class T>
ScoreLoop<T> score_loop();

}  // namespace cleave::runtime::host
