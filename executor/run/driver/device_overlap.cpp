// DeviceSide, part: overlap of transfers and kernels: the first operation that reads a large incoming value is launched for ranges of rows,
// each behind the copy of the last chunk that it reads.
#include <algorithm>
#include <utility>

#include "executor/run/driver/device_side.h"
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

}  // namespace

Status DeviceSide::prepare_overlaps() {
  const std::function<KernelValues(NodeId)> values_of = [this](NodeId id) -> KernelValues {
    if (!turn(0).kernels[id].valid()) return {};
    const FusionGroup* group = fusion_.group(id);
    return group ? KernelValues{&group->inputs, &group->results} : KernelValues{&graph_.nodes[id].inputs, &graph_.nodes[id].results};
  };
  Overlaps overlaps = find_copy_overlaps(*prepared_.program, id_, prepared_.part_bytes, values_of);
  const std::vector<Block>& blocks = prepared_.program->devices[id_].blocks;
  for (std::size_t b = 0; b < blocks.size() && !overlaps.empty(); ++b) {
    for (const Step& step : blocks[b].steps) {
      const auto found = step.kind == StepKind::compute ? overlaps.find(step.node) : overlaps.end();
      if (found == overlaps.end()) continue;
      std::vector<ChannelId>& coming = found->second.coming;
      std::erase_if(coming, [this](const ChannelId& each) { return prepared_.exchanges[each].has_value(); });
      const std::optional<RowCut> cut = row_cut(request_of(step.node, turn(0).work[step.node]));
      if (!cut) continue;
      keep_rows(coming, *prepared_.program, *values_of(step.node).reads, *cut);
      if (Status status = prepare_overlap(step.node, *cut, coming, plan_.double_buffers(b)); !status) return status;
    }
  }
  return {};
}

Status DeviceSide::prepare_overlap(NodeId id, const RowCut& cut, const std::vector<ChannelId>& coming,
                                   const DoubleBuffers* double_buffers) {
  const auto bytes = [this](ChannelId channel) { return graph_.values[prepared_.channel(channel).value].type.bytes(); };
  std::int64_t parts = 0;
  for (const ChannelId each : coming) parts = std::max(parts, static_cast<std::int64_t>(prepared_.parts(bytes(each))));
  const std::int64_t launches = launches_for(parts, prepared_.costs.accelerator_seconds[id], prepared_.costs.start_seconds);
  const std::vector<std::int64_t> ends = launch_ends(cut, request_of(id, turn(0).work[id]), launches);
  if (ends.size() < 2) return {};
  for (std::int32_t number = 0; number < (double_buffers ? double_buffers->turns : 1); ++number) {
    Result<Rows> rows = prepare_rows(id, cut, ends, coming, double_buffers, number);
    if (!rows) return rows.error();
    turn(number).rows.emplace(id, *std::move(rows));
  }
  InParts& work = in_parts_[id];
  work.coming = coming;
  std::int64_t begin = 0;
  for (const std::int64_t end : ends) {
    work.shares.push_back(static_cast<double>(end - begin) / static_cast<double>(cut.rows));
    begin = end;
  }
  for (const ChannelId each : coming) {
    Arrivals& arrivals = arrivals_[each];
    for (const std::int64_t end : ends) arrivals.parts.push_back(prepared_.parts(bytes(each) / cut.rows * end));
    arrivals.there.resize(ends.size());
    arrivals.times.resize(ends.size());
  }
  return {};
}

/// Prepares a kernel for each launch, in the turn `number`.
Result<DeviceSide::Rows> DeviceSide::prepare_rows(NodeId id, const RowCut& cut, const std::vector<std::int64_t>& ends,
                                                  const std::vector<ChannelId>& coming, const DoubleBuffers* double_buffers,
                                                  std::int32_t number) {
  const Work &work = turn(number).work[id], &first = turn(0).work[id];
  if (number > 0 && work.reads == first.reads && work.writes == first.writes) return turn(0).rows.at(id);
  Rows rows;
  rows.beside = work;
  for (const ChannelId each : coming) {  // storage of an incoming value may be overwritten only behind its copy
    const StorageIndex there = storage(prepared_.channel(each).value);
    std::erase(rows.beside.reads, double_buffers ? double_buffers->at(there, number) : there);
    std::erase(rows.beside.writes, double_buffers ? double_buffers->at(there, number) : there);
  }
  std::int64_t begin = 0;
  for (const std::int64_t end : ends) {
    Result<KernelId> kernel = device_.prepare(rows_of(request_of(id, work), cut, begin, end));
    if (!kernel) return at_node(graph_, id, kernel.error());
    rows.kernels.push_back(*kernel);
    begin = end;
  }
  return rows;
}

bool DeviceSide::overlapped(const InParts& work, const Origin& here) {
  const WorkView whole = turn().work[here.node];
  const Rows& rows = turn().rows.at(here.node);
  double& clock = clock_[static_cast<std::size_t>(Stream::compute)];
  double done = std::max(clock, driver_);
  if (!wait_for(Stream::compute, rows.beside, done, here)) return false;
  for (std::size_t k = 0; k < rows.kernels.size(); ++k) {
    for (const ChannelId each : work.coming) {
      done = std::max(done, arrivals_[each].times[k]);
      if (const Status waits = wait(Stream::compute, arrivals_[each].there[k]); !waits) return fail(here, waits.error());
    }
    Status status = measured_.expect(Stream::compute, {TimelineEvent::What::compute, here.node, {}, {}, k + 1 < rows.kernels.size()});
    if (status) status = device_.launch(rows.kernels[k], here);
    if (!status) return fail(here, status.error());
    done += whole.seconds * work.shares[k];
  }
  clock = done;
  const Point point{whole.awaited ? streams_.record_awaited(Stream::compute) : streams_.record(Stream::compute), done};
  for (const StorageIndex s : whole.reads) hazards_.after(Stream::compute, s, false, point);
  for (const StorageIndex s : whole.writes) hazards_.after(Stream::compute, s, true, point);
  if (whole.seconds > 0 && prepared_.virtual_time)  // as if the operation ran in one go
    track_.add(TimelineEvent::What::compute, id_, here.node, done - whole.seconds, done);
  return true;
}

}  // namespace cleave::runtime
