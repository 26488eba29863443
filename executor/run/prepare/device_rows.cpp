#include "executor/run/prepare/device_rows.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "executor/run/commands/rotation.h"
#include "executor/run/prepare/device_kernels.h"
#include "partitioner/apply/copy_overlap.h"

namespace cleave::runtime {
namespace {

constexpr std::int64_t kAligned = 256;  ///< bytes: alignment of the first row of a launch, as of arrays
constexpr std::int64_t kFewestRows = 2;

/// The row at which each launch ends: launches have about equal numbers of rows, and each begins at an aligned row.
std::vector<std::int64_t> launch_ends(const RowCut& cut, const KernelRequest& request, std::int64_t launches) {
  std::int64_t step = kFewestRows;
  const auto align = [&](const TensorType& type, int axis) {
    if (axis == RowCut::kWhole) return;
    while (step * (type.bytes() / cut.rows) % kAligned != 0) step *= 2;
  };
  for (std::size_t i = 0; i < cut.inputs.size(); ++i) align(request.input_types[i], cut.inputs[i]);
  for (std::size_t i = 0; i < cut.results.size(); ++i) align(request.result_types[i], cut.results[i]);
  std::vector<std::int64_t> ends;
  for (std::int64_t k = 1; k < launches; ++k) {
    const std::int64_t end = cut.rows * k / launches / step * step;
    if (end > (ends.empty() ? 0 : ends.back()) && end + kFewestRows <= cut.rows) ends.push_back(end);
  }
  ends.push_back(cut.rows);
  return ends;
}

/// One such operation, on its way to its launches.
struct RowCandidate {
  NodeId node;
  RowCut cut;
  std::vector<ChannelId> coming;
  const DoubleBuffers* double_buffers = nullptr;
};

std::int64_t bytes_of(const Prepared& prepared, ChannelId channel) {
  return prepared.graph().values[prepared.channel(channel).value].type.bytes();
}

/// Prepares a kernel for each launch, in one turn.
Result<RowLaunches> prepare_launches(const Prepared& prepared, DeviceId id, const RowCandidate& candidate,
                                     const std::vector<std::int64_t>& ends, std::int32_t turn, const DeviceCommands& commands) {
  const NodeId node = candidate.node;
  const Work &work = commands.turn(turn).work[node], &first = commands.turn(0).work[node];
  if (turn > 0 && work.reads == first.reads && work.writes == first.writes) return commands.turn(0).rows.at(node);
  RowLaunches launches;
  launches.beside = work;
  for (const ChannelId each : candidate.coming) {  // storage of an incoming value may be overwritten only behind its copy
    const StorageIndex there = storage_in_turn(candidate.double_buffers, prepared.plans[id].storage_of[prepared.channel(each).value], turn);
    std::erase(launches.beside.reads, there);
    std::erase(launches.beside.writes, there);
  }
  std::int64_t begin = 0;
  for (const std::int64_t end : ends) {
    Result<KernelId> kernel = prepared.devices[id]->prepare(rows_of(device_request(prepared, id, node, work), candidate.cut, begin, end));
    if (!kernel) return at_node(prepared.graph(), node, kernel.error());
    launches.kernels.push_back(*kernel);
    begin = end;
  }
  return launches;
}

Status prepare_candidate(const Prepared& prepared, DeviceId id, const RowCandidate& candidate, const Transports& transports,
                         DeviceCommands& commands) {
  const NodeId node = candidate.node;
  const std::int64_t rows = candidate.cut.rows;
  std::int64_t chunks = 0;
  for (const ChannelId each : candidate.coming)
    chunks = std::max(chunks, static_cast<std::int64_t>(prepared.chunks.count(bytes_of(prepared, each))));
  const std::int64_t launches = launches_for(chunks, prepared.costs.seconds[id][node], prepared.costs.start_seconds);
  const std::vector<std::int64_t> ends =
      launch_ends(candidate.cut, device_request(prepared, id, node, commands.turn(0).work[node]), launches);
  if (ends.size() < 2) return {};
  for (std::int32_t turn = 0; turn < turns_of(candidate.double_buffers); ++turn) {
    Result<RowLaunches> next = prepare_launches(prepared, id, candidate, ends, turn, commands);
    if (!next) return next.error();
    commands.turn(turn).rows.emplace(node, *std::move(next));
  }
  RowOperation& operation = commands.by_rows[node];
  std::int64_t begin = 0;
  for (const std::int64_t end : ends) {
    operation.shares.push_back(static_cast<double>(end - begin) / static_cast<double>(rows));
    begin = end;
  }
  for (const ChannelId each : candidate.coming) {
    std::vector<std::size_t> watched;
    for (const std::int64_t end : ends) watched.push_back(prepared.chunks.count(bytes_of(prepared, each) / rows * end));
    ChunksToDevice* const transport = transports.chunks_to_device[each];
    transport->watch(std::move(watched));
    operation.coming.push_back(transport);
  }
  return {};
}

}  // namespace

Status prepare_rows(const Prepared& prepared, DeviceId id, const Transports& transports, DeviceCommands& commands) {
  const Graph& graph = prepared.graph();
  const std::function<KernelValues(NodeId)> values_of = [&](NodeId node) -> KernelValues {
    if (!commands.turn(0).kernels[node].valid()) return {};
    const FusionGroup* group = prepared.fusions[id].group(node);
    return group ? KernelValues{&group->inputs, &group->results} : KernelValues{&graph.nodes[node].inputs, &graph.nodes[node].results};
  };
  Overlaps overlaps = find_copy_overlaps(*prepared.program, id, prepared.chunks.size, values_of);
  const std::vector<Block>& blocks = prepared.program->devices[id].blocks;
  for (std::size_t b = 0; b < blocks.size() && !overlaps.empty(); ++b) {
    for (const Step& step : blocks[b].steps) {
      const auto found = step.kind == StepKind::compute ? overlaps.find(step.node) : overlaps.end();
      if (found == overlaps.end()) continue;
      std::vector<ChannelId>& coming = found->second.coming;
      std::erase_if(coming, [&](const ChannelId& each) { return transports.chunks_to_device[each] == nullptr; });
      const std::optional<RowCut> cut = row_cut(device_request(prepared, id, step.node, commands.turn(0).work[step.node]));
      if (!cut) continue;
      keep_rows(coming, *prepared.program, *values_of(step.node).reads, *cut);
      const RowCandidate candidate{step.node, *cut, coming, prepared.plans[id].double_buffers(b)};
      if (Status status = prepare_candidate(prepared, id, candidate, transports, commands); !status) return status;
    }
  }
  return {};
}

}  // namespace cleave::runtime
