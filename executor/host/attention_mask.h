// The mask of `attention` as its host kernels read it: the part for one query and consecutive keys.
#pragma once

#include <algorithm>

#include "executor/host/rows.h"
#include "executor/host/simd/attention.h"
#include "graph/ops/attention_shape.h"

namespace cleave::runtime::host {

/// `count` elements in the type of computation: elements of half the width are converted by `loop` into `room`.
template <class T>
const T* widened(RowLoop loop, const std::byte* from, std::int64_t count, T* room) {
  if (loop == nullptr) return reinterpret_cast<const T*>(from);
  const std::byte* operands[3] = {from, from, from};
  const std::int64_t steps[3] = {1, 1, 1};
  loop(operands, steps, reinterpret_cast<std::byte*>(room), count);
  return room;
}

/// One of bool, or of numbers that `widen` converts (null: as they are).
struct AttentionMask {
  const ops::AttentionShape& shape;
  DType type = DType::boolean;
  RowLoop widen = nullptr;

  /// Sets what `row` knows of row `r` among the queries that share a head of the keys, and of the keys from `key` on. `batch`: the mask of
  /// the batch; `room` holds elements that must be copied or converted.
  template <class T>
  void find(const std::byte* batch, std::int64_t key_head, std::int64_t r, std::int64_t key, ScoreRow<T>& row, T* room) const {
    const std::size_t axes = shape.batch.size();
    const std::int64_t head = key_head * shape.group() + r / shape.queries, query = r % shape.queries;
    const std::int64_t step = shape.mask[axes + 2];
    const std::byte* from = batch + (head * shape.mask[axes] + query * shape.mask[axes + 1] + key * step) * size_of(type);
    if (type == DType::boolean) {
      const bool* kept = reinterpret_cast<const bool*>(from);
      if (step == 0) {  // one element for all keys
        if (!*kept) row.seen = 0;
        return;
      }
      row.kept = kept;
      return;
    }
    row.added = widened(widen, from, step == 0 ? 1 : row.seen, room);
    if (step != 0 || row.seen == 0) return;
    std::fill_n(room, row.seen, *row.added);
    row.added = room;
  }
};

}  // namespace cleave::runtime::host
