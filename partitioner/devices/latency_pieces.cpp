// See latency_pieces.h. A state is a prefix of the blocks and a number of accelerators; it has the time at which each node of the prefix is
// done. A piece grows block by block.
#include "partitioner/devices/latency_pieces.h"

#include <algorithm>

namespace cleave::planner {
namespace {

class PieceSearch {
 public:
  PieceSearch(const LatencyGraph& graph, const std::vector<std::int32_t>& order, PrefixMeasure measure);
  std::vector<std::int32_t> run();

 private:
  struct State {
    double measure = DeviceProblem::kNever, finish = DeviceProblem::kNever;
    std::int32_t begin = -1, used = 0;  ///< the state before the last piece or host block; -1: none
    std::size_t device = 0;             ///< of the piece; 0: a block on the host
    std::vector<double> done;           ///< per node
  };
  State& at(std::size_t used, std::size_t end) { return states_[used * (blocks_.size() + 1) + end]; }
  void offer(std::size_t used, std::size_t end, const State& candidate);
  void complete(std::size_t used, std::size_t end);
  void extend_on_host(std::size_t used, std::size_t end);
  void extend_by_pieces(std::size_t used, std::size_t end);
  /// Sets the times of a host block, and returns the latest time and the measure.
  std::pair<double, double> run_on_host(std::size_t block, std::vector<double>& done);

  const LatencyGraph& graph_;
  PrefixMeasure measure_;
  std::vector<std::vector<std::int32_t>> blocks_;  ///< nodes, in topological order
  std::vector<double> bytes_;                      ///< per block
  std::vector<double> tail_;                       ///< per node: the least work on a path behind it
  std::vector<State> states_;
  std::vector<std::int32_t> piece_of_, piece_read_, open_;  ///< per node, value, value
  std::int32_t piece_ = 0;
  bool equal_ = true;
};

PieceSearch::PieceSearch(const LatencyGraph& graph, const std::vector<std::int32_t>& order, PrefixMeasure measure)
    : graph_(graph),
      measure_(measure),
      tail_(graph.order.size()),
      piece_of_(graph.order.size()),
      piece_read_(graph.values.size()),
      open_(graph.values.size()) {
  // The states hold about 2e7 times at most.
  const double nodes = static_cast<double>(std::max<std::size_t>(graph.order.size(), 1));
  const auto most = static_cast<std::size_t>(std::clamp(2e7 / (nodes * static_cast<double>(graph.devices)), 16.0, 700.0));
  const std::size_t together = (order.size() + most - 1) / std::max<std::size_t>(most, 1);
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i % std::max<std::size_t>(together, 1) == 0) {
      blocks_.emplace_back();
      bytes_.push_back(0);
    }
    const auto& members = graph.nodes[order[i]];
    blocks_.back().insert(blocks_.back().end(), members.begin(), members.end());
    bytes_.back() += graph.bytes[order[i]];
  }
  std::vector<std::int32_t> rank(graph.order.size());
  for (std::size_t i = 0; i < graph.order.size(); ++i) rank[graph.order[i]] = static_cast<std::int32_t>(i);
  for (auto& block : blocks_) std::sort(block.begin(), block.end(), [&](std::int32_t a, std::int32_t b) { return rank[a] < rank[b]; });
  for (std::size_t i = graph.order.size(); i-- > 0;) {
    const std::int32_t node = graph.order[i];
    for (const std::int32_t v : graph.produced[node]) {
      for (const std::int32_t reader : graph.values[v].consumers)
        tail_[node] = std::max(tail_[node], tail_[reader] + graph.least_work(reader));
    }
  }
  states_.resize(graph.devices * (blocks_.size() + 1));
  for (std::size_t d = 2; d < graph.devices; ++d) equal_ = equal_ && graph.work[d] == graph.work[1] && graph.room[d] == graph.room[1];
}

void PieceSearch::offer(std::size_t used, std::size_t end, const State& candidate) {
  State& known = at(used, end);
  if (candidate.measure > known.measure || (candidate.measure == known.measure && candidate.finish >= known.finish)) return;
  known = candidate;
}

std::pair<double, double> PieceSearch::run_on_host(std::size_t block, std::vector<double>& done) {
  double last = 0, measure = 0;
  for (const std::int32_t node : blocks_[block]) {
    double start = 0;
    for (const std::int32_t v : graph_.consumed[node]) start = std::max(start, done[graph_.values[v].producer]);
    done[node] = start + graph_.work[0][node];
    last = std::max(last, done[node]);
    measure = std::max(measure, done[node] + (measure_ == PrefixMeasure::critical ? tail_[node] : 0));
  }
  return {last, measure};
}

/// Computes the times of the best state of a prefix from the state before it.
void PieceSearch::complete(std::size_t used, std::size_t end) {
  State& state = at(used, end);
  if (state.begin < 0) return;
  state.done = at(static_cast<std::size_t>(state.used), static_cast<std::size_t>(state.begin)).done;
  if (state.device == 0) {
    run_on_host(end - 1, state.done);
    return;
  }
  // The finish of a piece is not that of the prefix: it is computed again.
  double start = 0, seconds = 0;
  ++piece_;
  const std::size_t device = state.device;
  for (auto b = static_cast<std::size_t>(state.begin); b < end; ++b)
    for (const std::int32_t node : blocks_[b]) piece_of_[node] = piece_;
  for (auto b = static_cast<std::size_t>(state.begin); b < end; ++b) {
    for (const std::int32_t node : blocks_[b]) {
      seconds += graph_.work[device][node];
      for (const std::int32_t v : graph_.consumed[node]) {
        const auto& value = graph_.values[v];
        if (piece_of_[value.producer] == piece_ || piece_read_[v] == piece_) continue;
        piece_read_[v] = piece_;
        seconds += value.in[device];
        start = std::max(start, state.done[value.producer]);
      }
      for (const std::int32_t v : graph_.produced[node]) {
        const auto& value = graph_.values[v];
        const bool leaves =
            std::any_of(value.consumers.begin(), value.consumers.end(), [&](std::int32_t n) { return piece_of_[n] != piece_; });
        if (leaves) seconds += value.out[device];
      }
    }
  }
  for (auto b = static_cast<std::size_t>(state.begin); b < end; ++b)
    for (const std::int32_t node : blocks_[b]) state.done[node] = start + seconds;
}

void PieceSearch::extend_on_host(std::size_t used, std::size_t end) {
  State& state = at(used, end);
  for (const std::int32_t node : blocks_[end])
    if (graph_.work[0][node] == DeviceProblem::kNever) return;
  std::vector<double>& done = state.done;  // the block's own times are not read by other extensions
  const auto [last, measure] = run_on_host(end, done);
  for (const std::int32_t node : blocks_[end]) done[node] = 0;
  State next;
  next.measure = std::max(state.measure, measure);
  next.finish = std::max(state.finish, last);
  next.begin = static_cast<std::int32_t>(end);
  next.used = static_cast<std::int32_t>(used);
  offer(used, end + 1, next);
}

void PieceSearch::extend_by_pieces(std::size_t used, std::size_t end) {
  const State& state = at(used, end);
  const std::size_t device = used + 1;
  if (device >= graph_.devices) return;
  ++piece_;
  double start = 0, work = 0, in = 0, out = 0, bytes = 0, tail = 0;
  State next;
  next.begin = static_cast<std::int32_t>(end);
  next.used = static_cast<std::int32_t>(used);
  next.device = device;
  for (std::size_t b = end; b < blocks_.size(); ++b) {
    bytes += bytes_[b];
    if (bytes > graph_.room[device]) return;
    for (const std::int32_t node : blocks_[b]) {
      piece_of_[node] = piece_;
      work += graph_.work[device][node];
      if (work == DeviceProblem::kNever) return;
      for (const std::int32_t v : graph_.consumed[node]) {
        const auto& value = graph_.values[v];
        if (piece_of_[value.producer] == piece_) {
          if (--open_[v] == 0) out -= value.out[device];
        } else if (piece_read_[v] != piece_) {
          piece_read_[v] = piece_;
          in += value.in[device];
          start = std::max(start, state.done[value.producer]);
        }
      }
      for (const std::int32_t v : graph_.produced[node]) {
        open_[v] = static_cast<std::int32_t>(graph_.values[v].consumers.size());
        out += graph_.values[v].out[device];
      }
      if (measure_ == PrefixMeasure::critical) tail = std::max(tail, tail_[node]);
    }
    const double done = start + in + work + out;
    // The tail of the piece's first nodes counts what the piece itself does: only the last block's follows for certain.
    double behind = 0;
    if (measure_ == PrefixMeasure::critical)
      for (const std::int32_t node : blocks_[b]) behind = std::max(behind, tail_[node]);
    next.measure = std::max(state.measure, done + std::min(behind, tail));
    next.finish = std::max(state.finish, done);
    offer(device, b + 1, next);
  }
}

std::vector<std::int32_t> PieceSearch::run() {
  const std::size_t count = blocks_.size(), most = graph_.devices - 1;
  State& empty = at(0, 0);
  empty.measure = empty.finish = 0;
  empty.done.assign(graph_.order.size(), 0);
  for (std::size_t end = 0; end <= count; ++end) {
    for (std::size_t used = 0; used <= most; ++used) {
      if (at(used, end).measure == DeviceProblem::kNever) continue;
      complete(used, end);
      if (!equal_ && used < most) {  // an accelerator may have nothing to do
        State skipped = at(used, end);
        offer(used + 1, end, skipped);
      }
      if (end == count) continue;
      extend_on_host(used, end);
      extend_by_pieces(used, end);
    }
  }
  std::size_t used = 0, end = count;
  for (std::size_t u = 1; u <= most; ++u)
    if (at(u, count).finish < at(used, count).finish) used = u;
  if (at(used, count).finish == DeviceProblem::kNever) return {};
  std::vector<std::int32_t> device_of(graph_.classes());
  while (end > 0) {
    const State& state = at(used, end);
    for (auto b = static_cast<std::size_t>(state.begin); b < end; ++b) {
      for (const std::int32_t node : blocks_[b]) device_of[graph_.class_of[node]] = static_cast<std::int32_t>(state.device);
    }
    end = static_cast<std::size_t>(state.begin);
    used = static_cast<std::size_t>(state.used);
  }
  return device_of;
}

}  // namespace

std::vector<std::int32_t> latency_pieces(const LatencyGraph& graph, const std::vector<std::int32_t>& order, PrefixMeasure measure) {
  return PieceSearch(graph, order, measure).run();
}

}  // namespace cleave::planner
