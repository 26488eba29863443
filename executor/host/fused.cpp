// Tile by tile, all steps on a tile before the next: what one step hands to another stays in the first-level cache. A value that nobody
// else reads lies in a slot, of which there are as many as are needed at once.
#include "executor/host/fused.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "executor/host/rows.h"
#include "executor/host/scratch.h"
#include "executor/host/tile_reader.h"

namespace cleave::runtime::host {
namespace {

constexpr std::size_t kMostSteps = 32;
constexpr std::size_t kMostValues = 64;       ///< inputs and what the steps compute
constexpr std::int64_t kTileBytes = 8 << 10;  ///< of the widest value in a tile: three of them fit into any first-level cache
constexpr std::int64_t kTilesAPiece = 16;     ///< what a thread takes at once
constexpr std::size_t kNone = static_cast<std::size_t>(-1);

class FusedKernel final : public HostKernel {
 public:
  explicit FusedKernel(const KernelRequest& request);
  Status run(const KernelCall& call) override;

 private:
  /// An input, then the steps' results: where its part of a tile is.
  struct Value {
    std::int64_t size = 0;       ///< of an element
    std::size_t slot = kNone;    ///< none: an input that is read where it lies, or a result that is written there
    std::size_t result = kNone;  ///< which of the call's results it is
    std::size_t last_read = 0;   ///< the step
  };
  struct Step {
    RowLoop loop = nullptr;
    std::array<std::size_t, 3> operands{};
  };
  /// Slots for a kernel's values in the order in which they come to be.
  class Slots;
  void assign_slots(const KernelRequest& request);
  void run_tile(const KernelCall& call, std::int64_t begin, std::int64_t count, std::byte* scratch) const;
  [[nodiscard]] bool overwritten_early(const KernelCall& call, std::size_t value) const;

  std::vector<TileReader> readers_;  ///< one an input
  std::vector<Value> values_;
  std::vector<Step> steps_;
  std::vector<std::uint8_t> held_;  ///< by step, of the call under way: its result goes to a slot first, since its memory is still read
  std::int64_t total_ = 0, tile_ = 0;
  std::size_t slots_ = 0;
  Scratch<std::byte> scratch_;
};

class FusedKernel::Slots {
 public:
  std::size_t take() {
    if (free_.empty()) return count_++;
    const std::size_t slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void give_back(std::size_t slot) { free_.push_back(slot); }
  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  std::vector<std::size_t> free_;
  std::size_t count_ = 0;
};

FusedKernel::FusedKernel(const KernelRequest& request) {
  const Shape& shape = request.steps[0].type.shape;
  total_ = request.steps[0].type.elements();
  std::int64_t widest = 1;
  for (const TensorType& input : request.input_types) {
    readers_.emplace_back(input, shape);
    values_.push_back({size_of(input.dtype), kNone, kNone, 0});
  }
  for (const FusedStep& step : request.steps) {
    Step made;
    std::vector<TensorType> types;
    for (std::size_t k = 0; k < 3; ++k) {
      const std::size_t operand = made.operands[k] = step.operands[k < step.operands.size() ? k : 0];
      types.push_back(operand < readers_.size() ? request.input_types[operand] : request.steps[operand - readers_.size()].type);
      values_[operand].last_read = steps_.size();
    }
    made.loop = loop_for(*step.op, types, step.type);
    steps_.push_back(made);
    values_.push_back({size_of(step.type.dtype), kNone, kNone, 0});
  }
  for (std::size_t r = 0; r < request.written.size(); ++r) values_[readers_.size() + request.written[r]].result = r;
  for (const Value& value : values_) widest = std::max(widest, value.size);
  tile_ = kTileBytes / widest;
  assign_slots(request);
  held_.resize(steps_.size());
}

/// Results have a slot too, for the calls in which they are held back.
void FusedKernel::assign_slots(const KernelRequest& request) {
  Slots slots;
  for (std::size_t i = 0; i < readers_.size(); ++i) {
    if (readers_[i].gathers()) values_[i].slot = slots.take();
  }
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    Value& made = values_[readers_.size() + s];
    // A step may write on top of an operand that it is the last to read, if their elements are of one size; so these come free first.
    const auto dies = [&](std::size_t value, bool same_size) {
      return values_[value].slot != kNone && values_[value].last_read == s && values_[value].result == kNone &&
             (values_[value].size == made.size) == same_size;
    };
    std::vector<std::size_t> operands(steps_[s].operands.begin(), steps_[s].operands.begin() + request.steps[s].operands.size());
    std::sort(operands.begin(), operands.end());
    operands.erase(std::unique(operands.begin(), operands.end()), operands.end());
    for (const std::size_t operand : operands)
      if (dies(operand, true)) slots.give_back(values_[operand].slot);
    made.slot = slots.take();
    for (const std::size_t operand : operands)
      if (dies(operand, false)) slots.give_back(values_[operand].slot);
  }
  slots_ = slots.count();
}

/// Whether a result lies where a later step still reads an input.
bool FusedKernel::overwritten_early(const KernelCall& call, std::size_t value) const {
  const std::size_t step = value - readers_.size();
  for (std::size_t input = 0; input < readers_.size(); ++input) {
    if (values_[input].last_read > step && call.inputs[input].data == call.results[values_[value].result].data) return true;
  }
  return false;
}

Status FusedKernel::run(const KernelCall& call) {
  if (total_ == 0) return {};
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    const std::size_t value = readers_.size() + s;
    held_[s] = values_[value].result == kNone || overwritten_early(call, value);
  }
  scratch_.reserve(call.workers.threads(), static_cast<std::int64_t>(std::max<std::size_t>(1, slots_)) * kTileBytes);
  call.workers.each_part(total_, total_ * kTileBytes / tile_ < Workers::kWorthwhileBytes ? total_ : tile_ * kTilesAPiece,
                         [&](std::int64_t begin, std::int64_t end) {
                           const Scratch<std::byte>::Part part(scratch_);
                           for (; begin < end; begin += tile_) run_tile(call, begin, std::min(tile_, end - begin), part.data());
                         });
  return {};
}

void FusedKernel::run_tile(const KernelCall& call, std::int64_t begin, std::int64_t count, std::byte* scratch) const {
  std::array<TileOperand, kMostValues> parts;
  const auto slot = [&](std::size_t value) { return scratch + values_[value].slot * static_cast<std::size_t>(kTileBytes); };
  const auto home = [&](std::size_t value) { return call.results[values_[value].result].data + begin * values_[value].size; };
  for (std::size_t i = 0; i < readers_.size(); ++i)
    parts[i] = readers_[i].read(call.inputs[i].data, begin, count, values_[i].slot == kNone ? nullptr : slot(i));
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    const std::size_t made = readers_.size() + s;
    std::byte* to = held_[s] ? slot(made) : home(made);
    std::array<const std::byte*, 3> operands;
    std::array<std::int64_t, 3> steps;
    for (std::size_t k = 0; k < 3; ++k) {
      operands[k] = parts[steps_[s].operands[k]].data;
      steps[k] = parts[steps_[s].operands[k]].step;
    }
    steps_[s].loop(operands.data(), steps.data(), to, count);
    parts[made] = {to, 1};
  }
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    const std::size_t made = readers_.size() + s;
    if (held_[s] && values_[made].result != kNone)
      std::memcpy(home(made), slot(made), static_cast<std::size_t>(count * values_[made].size));
  }
}

}  // namespace

bool fuses_elementwise(const KernelRequest& request) {
  const std::span<const FusedStep> steps = request.steps;
  if (steps.empty() || steps.size() > kMostSteps || request.input_types.size() + steps.size() > kMostValues) return false;
  return std::all_of(steps.begin(), steps.end(),
                     [&](const FusedStep& step) { return step.op->elementwise() && step.type.shape == steps[0].type.shape; });
}

std::unique_ptr<HostKernel> prepare_fused(const KernelRequest& request) {
  return std::make_unique<FusedKernel>(request);
}

}  // namespace cleave::runtime::host
