// Some rows at a time, all steps on them before the next: what one step hands to another stays in the cache, and a row is reduced as by a
// kernel of its own. Rows that are too long: long_rows.cpp.
#include "executor/host/row_group.h"

#include <algorithm>
#include <array>
#include <vector>

#include "executor/host/long_rows.h"
#include "executor/host/reductions.h"
#include "executor/host/row_domain.h"
#include "executor/host/rows.h"
#include "executor/host/scratch.h"
#include "executor/host/slots.h"
#include "executor/host/tile_reader.h"
#include "graph/ops/strided.h"

namespace cleave::runtime::host {
namespace {

constexpr std::size_t kMostSteps = 32;
constexpr std::size_t kMostValues = 64;                ///< inputs and what the steps compute
constexpr std::int64_t kTileBytes = 8 << 10;           ///< of the widest value in some rows: three of them fit into any first-level cache
constexpr std::int64_t kMostRowBytes = 128 << 10;      ///< of the widest value in one row: some of them fit into any second-level cache
constexpr std::int64_t kPieceBytes = 16 * kTileBytes;  ///< what a thread takes at once
constexpr std::size_t kNone = static_cast<std::size_t>(-1);

bool short_enough(const RowDomain& domain) {
  return domain.columns <= RowReduction::kPiece && domain.columns * domain.widest <= kMostRowBytes;
}

/// How a step over whole rows reads an operand: from one row to the next, and inside a row. Irregular: by a TileReader, row by row.
struct Access {
  std::size_t value = 0;
  std::int64_t row_bytes = 0, step = 0;
  std::size_t reader = kNone;   ///< irregular, or of a step on values a row: by this one
  std::size_t scratch = kNone;  ///< where that puts a row together
};

class RowGroupKernel final : public HostKernel {
 public:
  RowGroupKernel(const KernelRequest& request, RowDomain domain);
  Status run(const KernelCall& call) override;

 private:
  struct Value {
    std::int64_t size = 0;       ///< of an element
    std::int64_t row_bytes = 0;  ///< of what a step makes in a row
    std::size_t at = kNone;      ///< in the scratch memory; none: an input, or a result that is written where it lies
    std::size_t result = kNone;  ///< which of the call's results it is
    std::size_t last_read = 0;   ///< the step
  };
  struct Step {
    RowStep kind = RowStep::full;
    RowLoop loop = nullptr;
    std::optional<RowReduction> reduction;
    std::array<Access, 3> operands;
    bool whole = false;  ///< all operands go on from row to row as inside one
  };
  struct Tile;

  Access access(const KernelRequest& request, std::size_t operand, RowStep kind, const Shape& to);
  void place(const KernelRequest& request);
  void run_tile(const Tile& tile) const;
  void fetch_next(const Tile& tile, std::size_t step) const;
  void run_full(const Tile& tile, const Step& step, std::byte* to) const;

  RowDomain domain_;
  std::size_t inputs_;
  std::int64_t tile_rows_ = 1, piece_rows_ = 1;
  std::vector<TileReader> readers_;
  std::vector<Value> values_;
  std::vector<Step> steps_;
  std::vector<std::size_t> streams_;  ///< values outside the scratch memory that go on from row to row
  std::size_t scratch_bytes_ = 0;
  Scratch<std::byte> scratch_;
};

/// Some rows of a call.
struct RowGroupKernel::Tile {
  const KernelCall& call;
  std::int64_t begin, rows;
  std::byte* scratch;
  std::array<std::byte*, kMostValues> values{};  ///< where the first row is of what steps have made, and where inputs begin
};

RowGroupKernel::RowGroupKernel(const KernelRequest& request, RowDomain domain)
    : domain_(std::move(domain)), inputs_(request.input_types.size()) {
  const std::int64_t row_bytes = domain_.columns * domain_.widest;
  tile_rows_ = std::clamp<std::int64_t>(kTileBytes / row_bytes, 1, domain_.rows);
  piece_rows_ = std::max<std::int64_t>(1, kPieceBytes / (tile_rows_ * row_bytes)) * tile_rows_;
  for (const TensorType& input : request.input_types) values_.push_back({size_of(input.dtype)});
  for (std::size_t s = 0; s < request.steps.size(); ++s) {
    const FusedStep& step = request.steps[s];
    Step made;
    made.kind = domain_.steps[s];
    std::vector<TensorType> types;
    for (std::size_t k = 0; k < 3; ++k) {
      const std::size_t operand = step.operands[k < step.operands.size() ? k : 0];
      types.push_back(operand < inputs_ ? request.input_types[operand] : request.steps[operand - inputs_].type);
      made.operands[k] = access(request, operand, made.kind, step.type.shape);
      if (operand < inputs_ && made.operands[k].step == 1) values_[operand].row_bytes = made.operands[k].row_bytes;
      values_[operand].last_read = s;
    }
    if (made.kind == RowStep::reduction) {
      made.reduction = row_reduction(*step.op, types[0].dtype, step.type.dtype);
    } else {
      made.loop = loop_for(*step.op, types, step.type);
    }
    made.whole = std::all_of(made.operands.begin(), made.operands.end(), [&](const Access& each) {
      return each.reader == kNone && each.row_bytes == domain_.columns * each.step * values_[each.value].size;
    });
    const std::int64_t size = size_of(step.type.dtype);
    values_.push_back({size, made.kind == RowStep::full ? domain_.columns * size : size});
    steps_.push_back(std::move(made));
  }
  for (std::size_t r = 0; r < request.written.size(); ++r) values_[inputs_ + request.written[r]].result = r;
  place(request);
}

/// How an operand of any shape is read: broadcasting goes along the rows and inside each, or it does not, and where neither is plain there
/// is a reader.
Access RowGroupKernel::access(const KernelRequest& request, std::size_t operand, RowStep kind, const Shape& to) {
  Access made{operand, 0, 0, kNone, kNone};
  const bool inside = operand >= inputs_;
  const TensorType& type = inside ? request.steps[operand - inputs_].type : request.input_types[operand];
  const std::int64_t size = size_of(type.dtype);
  if (kind == RowStep::row) {
    made.row_bytes = inside ? size : 0;
    made.step = inside ? 1 : 0;
    if (inside) return made;
    made.reader = readers_.size();
    readers_.emplace_back(type, to);
    return made;
  }
  const Shape& shape = domain_.shape;
  const ops::Strides strides =
      kind == RowStep::reduction ? ops::broadcast_strides(shape, shape) : ops::broadcast_strides(type.shape, shape);
  // 1: as dense elements, 0: always the same, -1: neither; in a row and along rows, counted in what one step there should be.
  const auto along = [&](std::size_t first, std::size_t last, std::int64_t unit) {
    std::int64_t dense = unit;
    bool is_dense = true, is_still = true;
    for (std::size_t axis = last; axis-- > first;) {
      if (shape[axis] == 1) continue;
      is_dense = is_dense && strides[axis] == dense;
      is_still = is_still && strides[axis] == 0;
      dense *= shape[axis];
    }
    return is_still ? 0 : is_dense ? 1 : -1;
  };
  int in_row = along(domain_.outer_axes, shape.size(), 1);
  if (domain_.columns == 1) in_row = along(0, domain_.outer_axes, 1) == 1 ? 1 : 0;
  const std::int64_t row_elements = in_row == 1 ? domain_.columns : 1;
  const int over_rows = along(0, domain_.outer_axes, row_elements);
  if (in_row < 0 || over_rows < 0) {
    made.reader = readers_.size();
    readers_.emplace_back(type, shape);
    return made;
  }
  made.step = in_row;
  made.row_bytes = over_rows * row_elements * size;
  return made;
}

/// Scratch memory: slots for what whole rows hold, free again after the last reader, and a place each for what is small.
void RowGroupKernel::place(const KernelRequest& request) {
  const auto round = [](std::int64_t bytes) { return static_cast<std::size_t>(bytes + 63) / 64 * 64; };
  const std::size_t slot = round(tile_rows_ * domain_.columns * domain_.widest);
  Slots slots;
  std::vector<std::size_t> slot_of(values_.size(), kNone);
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    Value& made = values_[inputs_ + s];
    // A step may write on top of an operand that it is the last to read, if their elements are of one size; so these come free first.
    std::vector<std::size_t> free_after;
    std::vector<std::size_t> operands = request.steps[s].operands;
    std::sort(operands.begin(), operands.end());
    operands.erase(std::unique(operands.begin(), operands.end()), operands.end());
    for (const std::size_t operand : operands) {
      if (slot_of[operand] == kNone || values_[operand].last_read != s) continue;
      if (steps_[s].kind == RowStep::full && values_[operand].size == made.size) {
        slots.give_back(slot_of[operand]);
      } else {
        free_after.push_back(slot_of[operand]);
      }
    }
    if (steps_[s].kind == RowStep::full && made.result == kNone) slot_of[inputs_ + s] = slots.take();
    for (const std::size_t free : free_after) slots.give_back(free);
  }
  scratch_bytes_ = slots.count() * slot;
  for (std::size_t v = inputs_; v < values_.size(); ++v) {
    if (slot_of[v] != kNone) {
      values_[v].at = slot_of[v] * slot;
    } else if (values_[v].result == kNone) {
      values_[v].at = scratch_bytes_;
      scratch_bytes_ += round(tile_rows_ * values_[v].row_bytes);
    }
  }
  for (std::size_t v = 0; v < values_.size(); ++v) {
    if (v < inputs_ ? values_[v].row_bytes > 0 : values_[v].result != kNone) streams_.push_back(v);
  }
  for (Step& step : steps_) {
    for (Access& operand : step.operands) {
      if (operand.reader == kNone || !readers_[operand.reader].gathers()) continue;
      operand.scratch = scratch_bytes_;
      scratch_bytes_ += round((step.kind == RowStep::row ? tile_rows_ : domain_.columns) * values_[operand.value].size);
    }
  }
}

Status RowGroupKernel::run(const KernelCall& call) {
  scratch_.reserve(call.workers.threads(), static_cast<std::int64_t>(std::max<std::size_t>(1, scratch_bytes_)));
  const bool alone = domain_.rows * domain_.columns * domain_.widest < Workers::kWorthwhileBytes;
  call.workers.each_part(domain_.rows, alone ? domain_.rows : piece_rows_, [&](std::int64_t begin, std::int64_t end) {
    const Scratch<std::byte>::Part part(scratch_);
    Tile tile{call, 0, 0, part.data()};
    for (std::size_t i = 0; i < inputs_; ++i) tile.values[i] = call.inputs[i].data;
    for (; begin < end; begin += tile_rows_) {
      tile.begin = begin;
      tile.rows = std::min(tile_rows_, end - begin);
      for (std::size_t v = inputs_; v < values_.size(); ++v) {
        const Value& value = values_[v];
        tile.values[v] = value.result == kNone ? tile.scratch + value.at : call.results[value.result].data + begin * value.row_bytes;
      }
      run_tile(tile);
    }
  });
  return {};
}

void RowGroupKernel::run_tile(const Tile& tile) const {
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    const Step& step = steps_[s];
    std::byte* to = tile.values[inputs_ + s];
    fetch_next(tile, s);
    if (step.kind == RowStep::full) {
      run_full(tile, step, to);
    } else if (step.kind == RowStep::reduction) {
      const Access& operand = step.operands[0];
      const std::byte* from = tile.values[operand.value] + (operand.value < inputs_ ? tile.begin * operand.row_bytes : 0);
      step.reduction->rows(from, tile.rows, domain_.columns, to);
    } else {
      std::array<const std::byte*, 3> operands;
      std::array<std::int64_t, 3> steps;
      for (std::size_t k = 0; k < 3; ++k) {
        const Access& operand = step.operands[k];
        TileOperand part{tile.values[operand.value], operand.step};
        if (operand.reader != kNone)
          part = readers_[operand.reader].read(part.data, tile.begin, tile.rows,
                                               operand.scratch == kNone ? nullptr : tile.scratch + operand.scratch);
        operands[k] = part.data;
        steps[k] = part.step;
      }
      step.loop(operands.data(), steps.data(), to, tile.rows);
    }
  }
}

/// A part of what the next rows read and write is asked for before each step, so that memory works while the steps compute.
void RowGroupKernel::fetch_next(const Tile& tile, std::size_t step) const {
  constexpr std::int64_t kLine = 64;
  const std::int64_t next = std::min(tile_rows_, domain_.rows - tile.begin - tile.rows);
  for (const std::size_t v : streams_) {
    const std::int64_t bytes = next * values_[v].row_bytes, steps = static_cast<std::int64_t>(steps_.size());
    const std::byte* from = v < inputs_ ? tile.values[v] + tile.begin * values_[v].row_bytes : tile.values[v];
    from += tile.rows * values_[v].row_bytes;
    const std::int64_t lines = (bytes + kLine - 1) / kLine, at = static_cast<std::int64_t>(step);
    for (std::int64_t line = lines * at / steps; line < lines * (at + 1) / steps; ++line) __builtin_prefetch(from + line * kLine);
  }
}

void RowGroupKernel::run_full(const Tile& tile, const Step& step, std::byte* to) const {
  std::array<const std::byte*, 3> operands;
  std::array<std::int64_t, 3> steps;
  const std::int64_t row_bytes = values_[inputs_ + static_cast<std::size_t>(&step - steps_.data())].row_bytes;
  for (std::int64_t row = 0; row < tile.rows; ++row) {
    for (std::size_t k = 0; k < 3; ++k) {
      const Access& operand = step.operands[k];
      const std::int64_t of_call = tile.begin + row;
      TileOperand part{tile.values[operand.value] + operand.row_bytes * (operand.value < inputs_ ? of_call : row), operand.step};
      if (operand.reader != kNone)
        part = readers_[operand.reader].read(tile.values[operand.value], of_call * domain_.columns, domain_.columns,
                                             operand.scratch == kNone ? nullptr : tile.scratch + operand.scratch);
      operands[k] = part.data;
      steps[k] = part.step;
    }
    if (step.whole) return step.loop(operands.data(), steps.data(), to, tile.rows * domain_.columns);
    step.loop(operands.data(), steps.data(), to + row * row_bytes, domain_.columns);
  }
}

}  // namespace

bool fuses_rows(const KernelRequest& request) {
  if (request.steps.size() > kMostSteps || request.input_types.size() + request.steps.size() > kMostValues) return false;
  const std::optional<RowDomain> domain = row_domain(request);
  return domain && (short_enough(*domain) || fuses_long_rows(*domain));
}

std::unique_ptr<HostKernel> prepare_row_group(const KernelRequest& request) {
  RowDomain domain = *row_domain(request);
  if (short_enough(domain)) return std::make_unique<RowGroupKernel>(request, std::move(domain));
  return prepare_long_rows(request, std::move(domain));
}

}  // namespace cleave::runtime::host
