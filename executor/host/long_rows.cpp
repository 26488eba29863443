// Two phases. First all steps over whole rows run tile by tile, and reductions accumulate each tile while it is in cache; then the
// accumulated states become per-row values, and the steps on these run.
#include "executor/host/long_rows.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "executor/host/reductions.h"
#include "executor/host/rows.h"
#include "executor/host/scratch.h"
#include "executor/host/slots.h"
#include "executor/host/tile_reader.h"

namespace cleave::runtime::host {
namespace {

constexpr std::int64_t kTile = Reducer::kBlock;  ///< elements
constexpr std::size_t kMostValues = 64;
constexpr std::int64_t kMostBytes = 8;  ///< of one element, or of one state
constexpr std::size_t kNone = static_cast<std::size_t>(-1);

class LongRowsKernel final : public HostKernel {
 public:
  LongRowsKernel(const MovedGroup& request, RowDomain domain);
  Status run(const KernelCall& call) override { return run_pieces(call, 0, pieces()); }
  [[nodiscard]] std::int64_t pieces() const override { return domain_.rows * pieces_; }
  [[nodiscard]] std::int64_t read(std::size_t input, std::int64_t pieces) const override;
  [[nodiscard]] std::int64_t written(std::size_t result, std::int64_t done) const override;
  Status run_pieces(const KernelCall& call, std::int64_t begin, std::int64_t end) override;

 private:
  struct Value {
    std::int64_t size = 0;        ///< bytes of an element
    bool in_rows = true;          ///< one element for each element of a row; else one for each row
    std::size_t at = kNone;       ///< offset in the scratch memory, or for per-row values in `row_values_`
    std::size_t result = kNone;   ///< index among the call's results
    std::size_t last_read = 0;    ///< index of the last step that reads it
    std::size_t held_at = kNone;  ///< offset in the scratch memory where a result is held back while it may overlap an input
  };
  struct Operand {
    std::size_t value = 0, reader = kNone, scratch = kNone;
  };
  struct Step {
    RowStep kind = RowStep::full;
    RowLoop loop = nullptr;
    std::optional<RowReduction> reduction;
    std::size_t states = 0;  ///< a reduction's first state, as an offset in `states_`
    std::array<Operand, 3> operands;
  };

  void add_step(const MovedGroup& request, std::size_t s);
  void place(const KernelRequest& request);
  /// The number of elements of the whole shape in the first `pieces` pieces.
  [[nodiscard]] std::int64_t elements_in(std::int64_t pieces) const {
    return pieces / pieces_ * domain_.columns + pieces % pieces_ * piece_;
  }
  void start(const KernelCall& call);
  void run_tile(const KernelCall& call, std::int64_t row, std::int64_t begin, std::int64_t count, std::byte* scratch);
  void run_loop(const KernelCall& call, const Step& step, std::int64_t begin, std::int64_t count, std::byte* const* made,
                std::byte* scratch, std::byte* to) const;
  void finish(const KernelCall& call, std::byte* scratch);
  [[nodiscard]] std::byte* state(const Step& step, std::int64_t row, std::int64_t piece) {
    return states_.data() + step.states + row * pieces_ * kMostBytes + piece * step.reduction->reducer->state_size;
  }

  RowDomain domain_;
  std::size_t inputs_;
  std::int64_t piece_ = 1, pieces_ = 1;  ///< elements of each piece of a row, and pieces of a row
  std::vector<TileReader> readers_;
  std::vector<Value> values_;
  std::vector<Step> steps_;
  std::vector<std::byte> states_, row_values_;
  std::vector<std::uint8_t> held_;  ///< by value, for the current call: the result overlaps an input that is still to be read
  std::size_t scratch_bytes_ = 0;
  Scratch<std::byte> scratch_;
};

LongRowsKernel::LongRowsKernel(const MovedGroup& request, RowDomain domain)
    : domain_(std::move(domain)), inputs_(request.input_types.size()), piece_(RowReduction::piece_of(domain_.columns)) {
  pieces_ = (domain_.columns + piece_ - 1) / piece_;
  for (const TensorType& input : request.input_types) values_.push_back({size_of(input.dtype)});
  for (std::size_t s = 0; s < request.steps.size(); ++s) add_step(request, s);
  for (std::size_t r = 0; r < request.written.size(); ++r) values_[inputs_ + request.written[r]].result = r;
  place(request);
}

void LongRowsKernel::add_step(const MovedGroup& request, std::size_t s) {
  const FusedStep& step = request.steps[s];
  Step made;
  made.kind = domain_.steps[s];
  std::vector<TensorType> types;
  for (std::size_t k = 0; k < 3; ++k) {
    const std::size_t operand = made.operands[k].value = step.operands[k < step.operands.size() ? k : 0];
    types.push_back(operand < inputs_ ? request.input_types[operand] : request.steps[operand - inputs_].type);
    values_[operand].last_read = s;
    if (operand >= inputs_) continue;
    made.operands[k].reader = readers_.size();
    const Shape& to = made.kind == RowStep::reduction ? domain_.shape : step.type.shape;
    readers_.emplace_back(values_[operand].size, request.strides(operand, to), to);
  }
  if (made.kind == RowStep::reduction) {
    made.reduction = row_reduction(*step.op, types[0].dtype, step.type.dtype);
    made.states = states_.size();
    states_.resize(states_.size() + static_cast<std::size_t>(domain_.rows * pieces_ * kMostBytes));
  } else {
    made.loop = loop_for(*step.op, types, step.type);
  }
  values_.push_back({size_of(step.type.dtype), made.kind == RowStep::full});
  steps_.push_back(std::move(made));
}

void LongRowsKernel::place(const KernelRequest& request) {
  const std::size_t slot = static_cast<std::size_t>(kTile * domain_.widest);
  Slots slots;
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    Value& made = values_[inputs_ + s];
    if (made.in_rows && made.result == kNone) made.at = slots.take() * slot;
    std::vector<std::size_t> operands = request.steps[s].operands;
    std::sort(operands.begin(), operands.end());
    operands.erase(std::unique(operands.begin(), operands.end()), operands.end());
    for (const std::size_t operand : operands) {
      if (values_[operand].at != kNone && values_[operand].in_rows && values_[operand].last_read == s)
        slots.give_back(values_[operand].at / slot);
    }
  }
  scratch_bytes_ = slots.count() * slot;
  for (std::size_t v = inputs_; v < values_.size(); ++v) {
    if (values_[v].in_rows || values_[v].result != kNone) continue;
    values_[v].at = row_values_.size();
    row_values_.resize(row_values_.size() + static_cast<std::size_t>(domain_.rows * kMostBytes));
  }
  for (std::size_t v = inputs_; v < values_.size(); ++v) {
    bool waits = false;
    for (std::size_t input = 0; input < inputs_; ++input)
      waits = waits || (request.input_types[input] == request.steps[v - inputs_].type && values_[input].last_read + inputs_ > v);
    if (!values_[v].in_rows || values_[v].result == kNone || !waits) continue;
    values_[v].held_at = scratch_bytes_;
    scratch_bytes_ += slot;
  }
  held_.resize(values_.size());
  for (Step& step : steps_) {
    for (Operand& operand : step.operands) {
      if (operand.reader == kNone || !readers_[operand.reader].gathers()) continue;
      operand.scratch = scratch_bytes_;
      scratch_bytes_ += static_cast<std::size_t>((step.kind == RowStep::row ? domain_.rows : kTile) * kMostBytes);
    }
  }
}

std::int64_t LongRowsKernel::read(std::size_t input, std::int64_t pieces) const {
  if (pieces == this->pieces()) return kAll;
  bool in_rows = false;  // else it is read at the end
  for (const Step& step : steps_) {
    for (const Operand& operand : step.operands) {
      if (operand.value != input || step.kind == RowStep::row) continue;
      if (!readers_[operand.reader].in_order()) return kAll;
      in_rows = true;
    }
  }
  return in_rows ? elements_in(pieces) * values_[input].size : 0;
}

std::int64_t LongRowsKernel::written(std::size_t result, std::int64_t done) const {
  const auto value = std::find_if(values_.begin(), values_.end(), [&](const Value& each) { return each.result == result; });
  return value->in_rows ? elements_in(done) * value->size : HostKernel::written(result, done);
}

void LongRowsKernel::start(const KernelCall& call) {
  scratch_.reserve(call.workers.threads(), static_cast<std::int64_t>(std::max<std::size_t>(1, scratch_bytes_)));
  for (std::size_t v = inputs_; v < values_.size(); ++v) {
    held_[v] = 0;
    for (std::size_t input = 0; input < inputs_ && values_[v].held_at != kNone; ++input) {
      if (values_[input].last_read + inputs_ > v && call.inputs[input].data == call.results[values_[v].result].data) held_[v] = 1;
    }
  }
  for (const Step& step : steps_) {
    if (step.kind != RowStep::reduction) continue;
    for (std::int64_t row = 0; row < domain_.rows; ++row) step.reduction->reducer->start(state(step, row, 0), pieces_);
  }
}

Status LongRowsKernel::run_pieces(const KernelCall& call, std::int64_t begin, std::int64_t end) {
  if (begin == 0) start(call);
  call.workers.each(end - begin, [&](std::int64_t task) {
    const std::int64_t row = (begin + task) / pieces_, first = (begin + task) % pieces_ * piece_;
    const std::int64_t last = std::min(domain_.columns, first + piece_);
    const Scratch<std::byte>::Part part(scratch_);
    for (std::int64_t at = first; at < last; at += kTile) run_tile(call, row, at, std::min(kTile, last - at), part.data());
  });
  if (end == pieces()) finish(call, Scratch<std::byte>::Part(scratch_).data());
  return {};
}

/// Runs the steps over whole rows on one tile; `begin` counts from the start of its row.
void LongRowsKernel::run_tile(const KernelCall& call, std::int64_t row, std::int64_t begin, std::int64_t count, std::byte* scratch) {
  std::array<std::byte*, kMostValues> made{};
  const std::int64_t at = row * domain_.columns + begin;
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    const Step& step = steps_[s];
    const Value& value = values_[inputs_ + s];
    if (step.kind == RowStep::full) {
      std::byte* to = value.result == kNone ? scratch + value.at : call.results[value.result].data + at * value.size;
      if (held_[inputs_ + s]) to = scratch + value.held_at;
      run_loop(call, step, at, count, made.data(), scratch, to);
      made[inputs_ + s] = to;
    } else if (step.kind == RowStep::reduction) {
      const std::size_t operand = step.operands[0].value;
      const std::byte* from = operand < inputs_ ? call.inputs[operand].data + at * values_[operand].size : made[operand];
      step.reduction->reducer->take_row(from, count, state(step, row, begin / piece_));
    }
  }
  for (std::size_t v = inputs_; v < values_.size(); ++v) {
    const std::int64_t size = values_[v].size;
    if (held_[v]) std::memcpy(call.results[values_[v].result].data + at * size, made[v], static_cast<std::size_t>(count * size));
  }
}

void LongRowsKernel::run_loop(const KernelCall& call, const Step& step, std::int64_t begin, std::int64_t count, std::byte* const* made,
                              std::byte* scratch, std::byte* to) const {
  std::array<const std::byte*, 3> operands;
  std::array<std::int64_t, 3> steps;
  for (std::size_t k = 0; k < 3; ++k) {
    const Operand& operand = step.operands[k];
    TileOperand part{made[operand.value], 1};
    if (operand.reader != kNone)
      part = readers_[operand.reader].read(call.inputs[operand.value].data, begin, count,
                                           operand.scratch == kNone ? nullptr : scratch + operand.scratch);
    operands[k] = part.data;
    steps[k] = part.step;
  }
  step.loop(operands.data(), steps.data(), to, count);
}

/// Finishes the reductions and runs the steps on per-row values.
void LongRowsKernel::finish(const KernelCall& call, std::byte* scratch) {
  std::array<std::byte*, kMostValues> made{};
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    const Step& step = steps_[s];
    const Value& value = values_[inputs_ + s];
    if (step.kind == RowStep::full) continue;
    std::byte* to = value.result == kNone ? row_values_.data() + value.at : call.results[value.result].data;
    made[inputs_ + s] = to;
    if (step.kind == RowStep::row) {
      run_loop(call, step, 0, domain_.rows, made.data(), scratch, to);
      continue;
    }
    const Reducer& by = *step.reduction->reducer;
    for (std::int64_t row = 0; row < domain_.rows; ++row) {
      for (std::int64_t piece = 1; piece < pieces_; ++piece) by.join(state(step, row, 0), state(step, row, piece), 1);
      step.reduction->finish(state(step, row, 0), 1, domain_.columns, to + row * value.size);
    }
  }
}

}  // namespace

bool fuses_long_rows(const RowDomain& domain) {
  return !domain.spreads && !domain.finds;
}

std::unique_ptr<HostKernel> prepare_long_rows(const MovedGroup& group, RowDomain domain) {
  return std::make_unique<LongRowsKernel>(group, std::move(domain));
}

}  // namespace cleave::runtime::host
