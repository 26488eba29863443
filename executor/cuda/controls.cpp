// The loops and branches of a CudaDevice that the GPU decides without the host, and their graphs. If the driver has no conditional nodes,
// or rejects a graph, that is no error: the host then walks the loop or branch.
#include <algorithm>

#include "executor/cuda/cuda_device.h"

namespace cleave::runtime::cuda {
namespace {

void append_steps(const std::vector<DeviceItem>& items, std::vector<DeviceStep>& steps);
void append_steps(const DeviceControl& control, std::vector<DeviceStep>& steps) {
  for (const std::vector<DeviceItem>* items : {&control.condition, &control.body, &control.otherwise}) append_steps(*items, steps);
  steps.insert(steps.end(), control.copies.begin(), control.copies.end());
}
void append_steps(const std::vector<DeviceItem>& items, std::vector<DeviceStep>& steps) {
  for (const DeviceItem& item : items) {
    if (item.control) {
      append_steps(*item.control, steps);
    } else if (!item.counts) {
      steps.push_back(item.step);
    }
  }
}

}  // namespace

ControlId CudaDevice::prepare_control(DeviceControl control) {
  if (options_.stream_mode || !driver().cuGraphAddNode || !driver().cuGraphConditionalHandleCreate) return {};
  PreparedControl prepared;
  append_steps(control, prepared.steps);
  for (const DeviceStep& step : prepared.steps) {
    prepared.end = std::max(prepared.end, step.to.offset + step.to.bytes);
    if (!step.kernel.valid()) continue;
    const PreparedKernel& kernel = kernels_[step.kernel.index];
    prepared.end = std::max(prepared.end, kernel.end);
    if (kernel.fault) faults_[*kernel.fault].order = step.order;
  }
  prepared.control = std::move(control);
  controls_.push_back(std::move(prepared));
  return ControlId(controls_.size() - 1);
}

Status CudaDevice::open_controls() {
  if (controls_.empty() || decide_) return {};
  const Result<CUfunction> decide = function(deciding_text(), deciding_launch());
  if (!decide) return decide.error();
  const Result<std::byte*> words = staging_->take(sizeof(HostWords));
  if (!words) return words.error();
  host_words_ = new (*words) HostWords();
  decide_ = *decide;
  for (PreparedControl& control : controls_) {
    if (Status status = build(control); !status && context_->lost()) return status;
  }
  return {};
}

Status CudaDevice::build(PreparedControl& prepared) {
  Result<DeviceMemory> words = make_device_memory(*context_, ControlGraph::bytes_of_words(prepared.control));
  if (!words) return words.error();
  ControlParts parts;
  parts.context = context_.get();
  parts.decide = decide_;
  parts.arena = arena_.get();
  parts.words = words->get();
  parts.host_words = reinterpret_cast<std::uint64_t>(host_words_);
  parts.touched = [this](const DeviceStep& step) { return touched_by(step); };
  parts.faulty = [this](const DeviceStep& step) { return step.kernel.valid() && kernels_[step.kernel.index].fault; };
  parts.any_faulty = std::any_of(prepared.steps.begin(), prepared.steps.end(), parts.faulty);
  parts.add = [&](SegmentGraph& graph, const DeviceStep& step) { return add_step(graph, step, kTicketInMemory | parts.words, nullptr); };
  Result<ControlGraph> graph = ControlGraph::make(parts, prepared.control);
  if (!graph) return graph.error();
  prepared.words = *std::move(words);
  prepared.graph = *std::move(graph);
  return {};
}

/// Tells the run that a loop on the GPU makes progress, which may take long, so that the watchdog does not end the run.
void CudaDevice::watch_controls(RunState& run) const {
  if (!host_words_) return;
  std::atomic_ref(host_words_->stop).store(0, std::memory_order_relaxed);
  run.watch(&host_words_->progress);
}

Status CudaDevice::launch_control(ControlId id, std::int64_t count, const Origin& origin) {
  PreparedControl& prepared = controls_[id.index];
  touch(prepared.end);
  const auto launch = [&](CUstream stream, std::uint64_t command) { return prepared.graph->launch(stream, command, count); };
  return streams_->enqueue(Stream::compute, origin, launch, std::max<std::size_t>(prepared.steps.size(), 1));
}

}  // namespace cleave::runtime::cuda
