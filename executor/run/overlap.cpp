#include "executor/run/overlap.h"

#include <algorithm>

namespace cleave::runtime {
namespace {

class CrossingFinder {
 public:
  CrossingFinder(const Prepared& prepared, const std::function<PlacedKernel(NodeId)>& kernel_of)
      : prepared_(prepared), kernel_of_(kernel_of), found_(prepared.graph().nodes.size()) {}

  /// Between an operation and what crosses there stands nothing but what crosses the same way: so the order of all that the host waits
  /// for stays as it is.
  IdVector<NodeId, Overlap> run() {
    for (const Block& block : prepared_.program->devices[kHost].blocks) {
      const std::vector<Step>& steps = block.steps;
      for (std::size_t i = 0; i < steps.size(); ++i) {
        if (steps[i].kind != StepKind::compute) continue;
        const PlacedKernel placed = kernel_of_(steps[i].node);
        if (!placed.kernel) continue;
        Overlap& overlap = found_[steps[i].node];
        for (std::size_t k = i; k > 0 && passes(steps[k - 1], StepKind::receive); --k) add(steps[k - 1], *placed.reads, overlap.coming);
        for (std::size_t k = i + 1; k < steps.size() && passes(steps[k], StepKind::send); ++k)
          add(steps[k], *placed.writes, overlap.leaving);
      }
    }
    return std::move(found_);
  }

 private:
  /// Or does nothing: constants and the like, and what runs with a later operation.
  [[nodiscard]] bool passes(const Step& step, StepKind kind) const {
    if (step.kind == kind) return true;
    return step.kind == StepKind::compute && prepared_.graph().nodes[step.node].kind != NodeKind::counter && !kernel_of_(step.node).kernel;
  }
  void add(const Step& step, const std::vector<ValueId>& values, std::vector<Overlap::Crossing>& to) const {
    if (step.kind == StepKind::compute || prepared_.channel(step.channel).packet || prepared_.exchanges[step.channel]) return;
    const bool large = prepared_.parts(prepared_.graph().values[step.value].type.bytes()) > 1;
    if (large && std::find(values.begin(), values.end(), step.value) != values.end()) to.push_back({step.channel, step.value, {}});
  }

  const Prepared& prepared_;
  const std::function<PlacedKernel(NodeId)>& kernel_of_;
  IdVector<NodeId, Overlap> found_;
};

class Cutter {
 public:
  Cutter(Overlap& overlap, const PlacedKernel& placed, const Prepared& prepared)
      : overlap_(overlap), placed_(placed), prepared_(prepared), pieces_(placed.kernel->pieces()) {}

  void run() {
    std::vector<std::int64_t> ends{pieces_};
    for (const Overlap::Crossing& each : overlap_.coming) {
      for (std::int64_t bound = prepared_.part_bytes; bound < bytes(each.value); bound += prepared_.part_bytes)
        ends.push_back(first([&](std::int64_t done) { return read(each.value, done) > bound; }) - 1);
    }
    for (const Overlap::Crossing& each : overlap_.leaving) {
      for (std::int64_t bound = prepared_.part_bytes; bound < bytes(each.value); bound += prepared_.part_bytes)
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
    for (Overlap::Crossing& each : overlap_.coming) {
      for (const std::int64_t end : ends) each.parts.push_back(prepared_.parts(read(each.value, end)));
    }
    for (Overlap::Crossing& each : overlap_.leaving) {
      for (const std::int64_t end : ends) each.parts.push_back(end < pieces_ ? whole_parts(written(each.value, end)) : parts(each.value));
    }
    std::erase_if(overlap_.coming, [&](const Overlap::Crossing& each) { return each.parts.front() == parts(each.value); });
    std::erase_if(overlap_.leaving, [&](const Overlap::Crossing& each) { return ends.size() < 2 || each.parts[ends.size() - 2] == 0; });
    if (overlap_.coming.empty() && overlap_.leaving.empty()) overlap_ = {};
  }

 private:
  /// The first number of pieces for which that holds; all of them where it never does.
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
  [[nodiscard]] std::size_t parts(ValueId value) const { return prepared_.parts(bytes(value)); }
  [[nodiscard]] std::size_t whole_parts(std::int64_t bytes) const { return static_cast<std::size_t>(bytes / prepared_.part_bytes); }
  /// By the first `done` pieces; the kernel may read a value as several operands.
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
  return CrossingFinder(prepared, kernel_of).run();
}

void cut(Overlap& overlap, const PlacedKernel& placed, const Prepared& prepared) {
  Cutter(overlap, placed, prepared).run();
}

}  // namespace cleave::runtime
