#include "executor/run/prepare/overlap.h"

#include <algorithm>
#include <utility>

#include "partitioner/apply/copy_overlap.h"

namespace cleave::runtime {
namespace {

class Cutter {
 public:
  Cutter(Overlap& overlap, const PlacedKernel& placed, const Prepared& prepared)
      : overlap_(overlap), placed_(placed), prepared_(prepared), pieces_(placed.kernel->pieces()) {}

  void run() {
    std::vector<std::int64_t> ends{pieces_};
    for (const Overlap::OverlappedTransfer& each : overlap_.coming) {
      for (std::int64_t bound = prepared_.chunks.size; bound < bytes(each.value); bound += prepared_.chunks.size)
        ends.push_back(first([&](std::int64_t done) { return read(each.value, done) > bound; }) - 1);
    }
    for (const Overlap::OverlappedTransfer& each : overlap_.leaving) {
      for (std::int64_t bound = prepared_.chunks.size; bound < bytes(each.value); bound += prepared_.chunks.size)
        ends.push_back(first([&](std::int64_t done) { return written(each.value, done) >= bound; }));
    }
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    if (ends.front() == 0) ends.erase(ends.begin());
    std::int64_t begin = 0;
    for (const std::int64_t end : ends) {
      overlap_.ranges.push_back({end, static_cast<double>(end - begin) / static_cast<double>(pieces_)});
      begin = end;
    }
    for (Overlap::OverlappedTransfer& each : overlap_.coming) {
      for (const std::int64_t end : ends) each.parts.push_back(prepared_.chunks.count(read(each.value, end)));
    }
    for (Overlap::OverlappedTransfer& each : overlap_.leaving) {
      for (const std::int64_t end : ends) each.parts.push_back(end < pieces_ ? whole_parts(written(each.value, end)) : parts(each.value));
    }
    std::erase_if(overlap_.coming, [&](const Overlap::OverlappedTransfer& each) { return each.parts.front() == parts(each.value); });
    std::erase_if(overlap_.leaving,
                  [&](const Overlap::OverlappedTransfer& each) { return ends.size() < 2 || each.parts[ends.size() - 2] == 0; });
    if (overlap_.coming.empty() && overlap_.leaving.empty()) overlap_ = {};
  }

 private:
  /// The smallest number of pieces for which `holds` is true; all pieces if it never is.
  template <class Holds>
  [[nodiscard]] std::int64_t first(const Holds& holds) const {
    std::int64_t low = 0, high = pieces_;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (holds(middle)) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return high;
  }
  [[nodiscard]] std::int64_t bytes(ValueId value) const { return prepared_.graph().values[value].type.bytes(); }
  [[nodiscard]] std::size_t parts(ValueId value) const { return prepared_.chunks.count(bytes(value)); }
  [[nodiscard]] std::size_t whole_parts(std::int64_t bytes) const { return static_cast<std::size_t>(bytes / prepared_.chunks.size); }
  /// Bytes of `value` that the first `done` pieces read; the kernel may read it as several operands.
  [[nodiscard]] std::int64_t read(ValueId value, std::int64_t done) const {
    std::int64_t most = 0;
    for (std::size_t i = 0; done > 0 && i < placed_.reads->size(); ++i)
      if ((*placed_.reads)[i] == value) most = std::max(most, placed_.kernel->read(i, done));
    return std::min(most, bytes(value));
  }
  [[nodiscard]] std::int64_t written(ValueId value, std::int64_t done) const {
    const auto at = std::find(placed_.writes->begin(), placed_.writes->end(), value) - placed_.writes->begin();
    return std::min(placed_.kernel->written(static_cast<std::size_t>(at), done), bytes(value));
  }

  Overlap& overlap_;
  const PlacedKernel& placed_;
  const Prepared& prepared_;
  const std::int64_t pieces_;
};

}  // namespace

IdVector<NodeId, Overlap> find_overlaps(const Prepared& prepared, const std::function<PlacedKernel(NodeId)>& kernel_of) {
  const std::function<KernelValues(NodeId)> values_of = [&](NodeId id) {
    const PlacedKernel placed = kernel_of(id);
    return placed.kernel ? KernelValues{placed.reads, placed.writes} : KernelValues();
  };
  IdVector<NodeId, Overlap> found(prepared.graph().nodes.size());
  const auto note = [&](const std::vector<ChannelId>& channels, std::vector<Overlap::OverlappedTransfer>& to) {
    for (const ChannelId channel : channels)
      if (prepared.by_mailbox[channel] == 0) to.push_back({channel, prepared.channel(channel).value, {}});
  };
  for (const auto& [node, beside] : find_copy_overlaps(*prepared.program, kHost, prepared.chunks.size, values_of)) {
    note(beside.coming, found[node].coming);
    note(beside.leaving, found[node].leaving);
  }
  return found;
}

void cut(Overlap& overlap, const PlacedKernel& placed, const Prepared& prepared) {
  Cutter(overlap, placed, prepared).run();
}

}  // namespace cleave::runtime
