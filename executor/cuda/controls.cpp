#include "executor/cuda/controls.h"

#include <algorithm>
#include <atomic>
#include <new>

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

ControlId CudaControls::prepare(DeviceControl control) {
  PreparedControl prepared;
  append_steps(control, prepared.steps);
  prepared.end = kernels_.join(prepared.steps);
  prepared.control = std::move(control);
  controls_.push_back(std::move(prepared));
  return ControlId(controls_.size() - 1);
}

Status CudaControls::build() {
  if (controls_.empty() || decide_) return {};
  const Result<CUfunction> decide = modules_.function(deciding_text(), deciding_launch());
  if (!decide) return decide.error();
  const Result<std::byte*> words = memory_.stage(sizeof(HostWords));
  if (!words) return words.error();
  host_words_ = new (*words) HostWords();
  decide_ = *decide;
  for (PreparedControl& control : controls_) {
    if (Status status = build(control); !status && context_.lost()) return status;
  }
  return {};
}

Status CudaControls::build(PreparedControl& prepared) {
  Result<DeviceMemory> words = make_device_memory(context_, ControlGraph::bytes_of_words(prepared.control));
  if (!words) return words.error();
  ControlParts parts;
  parts.context = &context_;
  parts.decide = decide_;
  parts.arena = memory_.at(0);
  parts.words = words->get();
  parts.host_words = reinterpret_cast<std::uint64_t>(host_words_);
  parts.touched = [this](const DeviceStep& step) { return kernels_.touched_by(step); };
  parts.faulty = [this](const DeviceStep& step) { return step.kernel.valid() && kernels_[step.kernel].fault; };
  parts.any_faulty = std::any_of(prepared.steps.begin(), prepared.steps.end(), parts.faulty);
  parts.add = [&](SegmentGraph& graph, const DeviceStep& step) {
    return kernels_.add_step(graph, step, kTicketInMemory | parts.words, nullptr);
  };
  Result<ControlGraph> graph = ControlGraph::make(parts, prepared.control);
  if (!graph) return graph.error();
  prepared.words = *std::move(words);
  prepared.graph = *std::move(graph);
  return {};
}

void CudaControls::watch(RunState& run) const {
  if (!host_words_) return;
  std::atomic_ref(host_words_->stop).store(0, std::memory_order_relaxed);
  run.watch(&host_words_->progress);
}

Status CudaControls::launch(ControlId id, std::int64_t count, const Origin& origin) {
  PreparedControl& prepared = controls_[id.index];
  memory_.touch(prepared.end);
  const auto launch = [&](CUstream stream, std::uint64_t command) { return prepared.graph->launch(stream, command, count); };
  return streams_.enqueue(Stream::compute, origin, launch, std::max<std::size_t>(prepared.steps.size(), 1));
}

void CudaControls::stop() const {
  if (host_words_) std::atomic_ref(host_words_->stop).store(1, std::memory_order_release);
}

}  // namespace cleave::runtime::cuda
