// load(i, j) of a device is what it takes if it has the blocks i to j - 1. It grows block by block: the state of the piece counts how many
// readers of each value are inside.
#include "partitioner/devices/order_pieces.h"

#include <algorithm>
#include <limits>

namespace cleave::planner {
namespace {

constexpr std::size_t kMostBlocks = 1500;
constexpr double kTooMuch = std::numeric_limits<double>::infinity();

using Blocks = std::vector<std::vector<std::int32_t>>;

Blocks blocks_of(const LoadGraph& graph, const std::vector<std::int32_t>& order) {
  Blocks blocks;
  if (order.size() <= kMostBlocks) {
    for (const std::int32_t group : order) blocks.push_back({group});
    return blocks;
  }
  const auto least_work = [&](std::int32_t group) {
    double least = kTooMuch;
    for (const auto& work : graph.work) least = std::min(least, work[group]);
    return least;
  };
  double total = 0;
  for (const std::int32_t group : order) total += least_work(group);
  const std::size_t most_groups = (2 * order.size() + kMostBlocks - 1) / kMostBlocks;
  double sum = total;
  for (const std::int32_t group : order) {
    if (sum >= 2 * total / kMostBlocks || blocks.back().size() >= most_groups) {
      blocks.emplace_back();
      sum = 0;
    }
    blocks.back().push_back(group);
    sum += least_work(group);
  }
  return blocks;
}

/// The load of one device with one piece, which grows at its end.
class PieceLoad {
 public:
  PieceLoad(const LoadGraph& graph, std::size_t device)
      : graph_(graph), device_(device), inside_(graph.values.size()), produced_(graph.values.size()) {}

  void restart() {
    for (const std::int32_t v : touched_) inside_[v] = produced_[v] = 0;
    touched_.clear();
    seconds_ = bytes_ = 0;
  }
  void add(std::int32_t group) {
    seconds_ += graph_.work[device_][group];
    bytes_ += graph_.bytes[group];
    for (const std::int32_t v : graph_.produced[group]) change(v, 0, true);
    for (const std::int32_t v : graph_.consumed[group]) change(v, 1, false);
  }
  [[nodiscard]] double load() const { return bytes_ > graph_.room[device_] ? kTooMuch : seconds_; }

 private:
  [[nodiscard]] double transfer(std::int32_t v) const {
    const auto& value = graph_.values[v];
    if (produced_[v]) return inside_[v] < static_cast<std::int32_t>(value.consumers.size()) ? value.out[device_] : 0;
    return inside_[v] > 0 ? value.in[device_] : 0;
  }
  void change(std::int32_t v, std::int32_t readers, bool produced) {
    if (inside_[v] == 0 && !produced_[v]) touched_.push_back(v);
    seconds_ -= transfer(v);
    inside_[v] += readers;
    produced_[v] |= static_cast<std::uint8_t>(produced);
    seconds_ += transfer(v);
  }

  const LoadGraph& graph_;
  const std::size_t device_;
  std::vector<std::int32_t> inside_;
  std::vector<std::uint8_t> produced_;
  std::vector<std::int32_t> touched_;
  double seconds_ = 0, bytes_ = 0;
};

/// loads[i][j - i - 1] of one device.
std::vector<std::vector<double>> piece_loads(const LoadGraph& graph, const Blocks& blocks, std::size_t device) {
  std::vector<std::vector<double>> loads(blocks.size());
  PieceLoad piece(graph, device);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    piece.restart();
    loads[i].reserve(blocks.size() - i);
    for (std::size_t j = i; j < blocks.size(); ++j) {
      for (const std::int32_t group : blocks[j]) piece.add(group);
      loads[i].push_back(piece.load());
    }
  }
  return loads;
}

struct Step {
  double busiest = kTooMuch;
  std::int32_t begin = -1;  ///< the piece is [begin, j); -1: none ends here
  bool on_host = false;
};

}  // namespace

OrderPieces cut_order(const LoadGraph& graph, const std::vector<std::int32_t>& order) {
  const Blocks blocks = blocks_of(graph, order);
  const std::size_t m = blocks.size(), k = graph.devices - 1;
  const auto host = piece_loads(graph, blocks, 0);
  // steps[h][c][j]: the first j blocks on the first c accelerators and, if h is 1, the host.
  std::vector<std::vector<std::vector<Step>>> steps(2, std::vector<std::vector<Step>>(k + 1, std::vector<Step>(m + 1)));
  steps[0][0][0].busiest = steps[1][0][0].busiest = 0;
  std::vector<std::vector<double>> loads;
  const auto try_piece = [](Step& step, const Step& before, double load, std::size_t begin, bool on_host) {
    const double busiest = std::max(before.busiest, load);
    if (busiest < step.busiest) step = {busiest, static_cast<std::int32_t>(begin), on_host};
  };
  for (std::size_t c = 0; c <= k; ++c) {
    if (c == 1 || (c > 1 && !graph.equal)) loads = piece_loads(graph, blocks, c);
    for (const std::size_t h : {0, 1}) {
      auto& row = steps[h][c];
      if (c > 0) {
        const auto& before = steps[h][c - 1];
        for (std::size_t j = 0; j <= m; ++j) row[j] = {before[j].busiest, -1, false};
        for (std::size_t i = 0; i < m; ++i) {
          if (before[i].busiest == kTooMuch) continue;
          for (std::size_t j = i + 1; j <= m; ++j) try_piece(row[j], before[i], loads[i][j - i - 1], i, false);
        }
      }
      if (h == 0) continue;
      const auto& without = steps[0][c];
      for (std::size_t i = 0; i < m; ++i) {
        if (without[i].busiest == kTooMuch) continue;
        for (std::size_t j = i + 1; j <= m; ++j) try_piece(row[j], without[i], host[i][j - i - 1], i, true);
      }
    }
  }
  const std::size_t used_host = steps[0][k][m].busiest <= steps[1][k][m].busiest ? 0 : 1;
  OrderPieces pieces;
  pieces.busiest = steps[used_host][k][m].busiest;
  if (pieces.busiest == kTooMuch) return pieces;
  pieces.device_of.assign(graph.groups(), 0);
  std::size_t h = used_host, c = k, j = m;
  while (j > 0) {
    const Step& step = steps[h][c][j];
    if (step.begin < 0) {
      --c;
      continue;
    }
    for (auto b = static_cast<std::size_t>(step.begin); b < j; ++b)
      for (const std::int32_t group : blocks[b]) pieces.device_of[group] = step.on_host ? 0 : static_cast<std::int32_t>(c);
    j = static_cast<std::size_t>(step.begin);
    step.on_host ? --h : --c;
  }
  return pieces;
}

}  // namespace cleave::planner
