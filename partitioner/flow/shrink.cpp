// An arc to a decided vertex becomes terminal capacity of its other end. Sums are clamped to 2^62, which is as good as infinite.
#include "partitioner/flow/shrink.h"

#include <algorithm>

namespace cleave::planner {
namespace {

void add(std::int64_t& sum, std::int64_t capacity) {
  sum = std::min(sum + capacity, std::int64_t{1} << 62);
}

/// Accounts for an arc with at least one decided end: as a constant, as terminal capacity of the open end (numbered by `now`), or not at
/// all.
void move_capacity(ShrunkNetwork& result, const std::vector<Decided>& decided, const std::vector<std::int32_t>& now, std::int32_t from,
                   std::int32_t to, std::int64_t capacity) {
  if (decided[from] == Decided::sink || decided[to] == Decided::source || capacity == 0) return;
  if (decided[from] == Decided::source && decided[to] == Decided::sink) {
    result.constant += capacity;
  } else if (decided[from] == Decided::source) {
    add(result.network.source_capacity[now[to]], capacity);
  } else if (decided[to] == Decided::sink) {
    add(result.network.sink_capacity[now[from]], capacity);
  }
}

}  // namespace

ShrunkNetwork shrink(const CutNetwork& network, const std::vector<Decided>& decided) {
  ShrunkNetwork result;
  std::vector<std::int32_t> now(decided.size(), -1);
  for (std::int32_t v = 0; v < network.vertices(); ++v) {
    if (decided[v] == Decided::source) result.constant += network.sink_capacity[v];
    if (decided[v] == Decided::sink) result.constant += network.source_capacity[v];
    if (decided[v] != Decided::open) continue;
    now[v] = result.network.vertices();
    result.vertex.push_back(v);
    result.network.source_capacity.push_back(network.source_capacity[v]);
    result.network.sink_capacity.push_back(network.sink_capacity[v]);
  }
  for (const CutNetwork::Arc& arc : network.arcs) {
    if (now[arc.from] >= 0 && now[arc.to] >= 0) {
      result.network.arcs.push_back({now[arc.from], now[arc.to], arc.capacity, arc.reverse_capacity});
      continue;
    }
    move_capacity(result, decided, now, arc.from, arc.to, arc.capacity);
    move_capacity(result, decided, now, arc.to, arc.from, arc.reverse_capacity);
  }
  return result;
}

}  // namespace cleave::planner
