// Runs all steps on a few rows before the next rows, so intermediate values stay in cache; a row is reduced as by the kernel of a single
// reduction. Runs of simple steps become generated machine code if there is any for them. Longer rows: long_rows.cpp.
#include "executor/host/row_group.h"

#include <algorithm>
#include <array>
#include <vector>

#include "executor/host/long_rows.h"
#include "executor/host/past_cache.h"
#include "executor/host/row_group_kernel.h"
#include "executor/host/slots.h"
#include "graph/ops/strided.h"

namespace cleave::runtime::host {
namespace {

constexpr std::int64_t kTileBytes = 8 << 10;       ///< bytes of a tile of the widest elements: three fit into any first-level cache
constexpr std::int64_t kMostRowBytes = 128 << 10;  ///< bytes of a row of the widest elements: several fit into any second-level cache
constexpr std::int64_t kLeastPiece = 4 * kTileBytes, kMostPiece = 16 * kTileBytes, kPieces = 64;  ///< bytes of one piece of the work
constexpr std::int64_t kWorthCode = 1024;  ///< elements: below it, code takes longer to generate than its runs save

bool short_enough(const RowDomain& domain) {
  return domain.columns <= RowReduction::kPiece && domain.columns * domain.widest <= kMostRowBytes;
}

}  // namespace

RowGroupKernel::RowGroupKernel(const MovedGroup& request, RowDomain domain)
    : domain_(std::move(domain)), inputs_(request.input_types.size()) {
  const std::int64_t row_bytes = domain_.columns * domain_.widest;
  tile_rows_ = std::clamp<std::int64_t>(kTileBytes / row_bytes, 1, domain_.rows);
  const std::int64_t piece = std::clamp(domain_.rows * row_bytes / kPieces, kLeastPiece, kMostPiece);
  part_rows_ = std::max<std::int64_t>(1, piece / (tile_rows_ * row_bytes)) * tile_rows_;
  if (domain_.rows * row_bytes < Workers::kWorthwhileBytes) part_rows_ = domain_.rows;
  for (const TensorType& input : request.input_types) values_.push_back({size_of(input.dtype)});
  for (std::size_t s = 0; s < request.steps.size(); ++s) {
    const std::int64_t size = size_of(request.steps[s].type.dtype);
    values_.push_back({size, domain_.steps[s] == RowStep::full ? domain_.columns * size : size});
  }
  for (std::size_t r = 0; r < request.written.size(); ++r) values_[inputs_ + request.written[r]].result = r;
  make_pieces(request);
  choose_ways_past_cache();
  place(request);
}

/// How an operand of any shape is addressed: by a constant stride between rows and a step of 0 or 1 inside a row, or else by a TileReader.
Access RowGroupKernel::access(const MovedGroup& request, std::size_t operand, RowStep kind, const Shape& to) {
  Access made{operand, 0, 0, kNoRowPlace, kNoRowPlace};
  const bool inside = operand >= inputs_;
  const TensorType& type = inside ? request.steps[operand - inputs_].type : request.input_types[operand];
  const std::int64_t size = size_of(type.dtype);
  if (kind == RowStep::row) {
    made.row_bytes = inside ? size : 0;
    made.step = inside ? 1 : 0;
    if (inside) return made;
    made.reader = readers_.size();
    readers_.emplace_back(size, request.strides(operand, to), to);
    return made;
  }
  const Shape& shape = domain_.shape;
  const ops::Strides strides = kind == RowStep::reduction ? ops::broadcast_strides(shape, shape) : request.strides(operand, shape);
  // The stride between neighbours along axes `first` to `last`, if it is constant.
  const auto along = [&](std::size_t first, std::size_t last) -> std::optional<std::int64_t> {
    std::optional<std::int64_t> step;
    for (std::int64_t run = 1; last-- > first; run *= shape[last]) {
      if (shape[last] == 1) continue;
      if (!step) step = strides[last];
      if (strides[last] != *step * run) return std::nullopt;
    }
    return step.value_or(0);
  };
  std::optional<std::int64_t> in_row = along(domain_.outer_axes, shape.size());
  const std::optional<std::int64_t> over_rows = along(0, domain_.outer_axes);
  if (domain_.columns == 1) in_row = over_rows == 1 ? 1 : 0;
  if (!over_rows || (in_row != 0 && in_row != 1)) {
    made.reader = readers_.size();
    readers_.emplace_back(size, strides, shape);
    return made;
  }
  made.step = *in_row;
  made.row_bytes = *over_rows * size;
  if (kind == RowStep::full && domain_.columns < kShortRow && made.row_bytes != domain_.columns * made.step * size) {
    made.spread = {made.row_bytes, made.step};
    made.step = 1;
    made.row_bytes = domain_.columns * size;
    return made;
  }
  if (!inside && in_row == 1 && over_rows == domain_.columns) values_[operand].row_bytes = made.row_bytes;
  return made;
}

void RowGroupKernel::make_pieces(const MovedGroup& request) {
  for (std::size_t s = 0; s < request.steps.size();) {
    const std::size_t taken = domain_.rows * domain_.columns < kWorthCode ? 0 : make_code(request, s);
    if (taken == 0) add(step_alone(request, s));
    s += std::max<std::size_t>(1, taken);
  }
}

void RowGroupKernel::add(Piece piece) {
  piece.whole = std::all_of(piece.reads.begin(), piece.reads.end(), [&](const Access& each) {
    return each.reader == kNoRowPlace && each.row_bytes == domain_.columns * each.step * values_[each.value].size;
  });
  for (const Access& read : piece.reads) values_[read.value].last_read = pieces_.size();
  for (const std::size_t made : piece.writes) values_[made].made_by = pieces_.size();
  pieces_.push_back(std::move(piece));
}

RowGroupKernel::Piece RowGroupKernel::step_alone(const MovedGroup& request, std::size_t s) {
  const FusedStep& step = request.steps[s];
  Piece made;
  made.kind = domain_.steps[s];
  std::vector<TensorType> types;
  for (std::size_t k = 0; k < 3; ++k) {
    const std::size_t operand = step.operands[k < step.operands.size() ? k : 0];
    types.push_back(operand < inputs_ ? request.input_types[operand] : request.steps[operand - inputs_].type);
    made.reads.push_back(access(request, operand, made.kind, step.type.shape));
  }
  if (made.kind == RowStep::reduction) {
    made.reduction = row_reduction(*step.op, types[0].dtype, step.type.dtype);
  } else {
    made.loop = loop_for(*step.op, types, step.type);
  }
  made.writes = {inputs_ + s};
  return made;
}

/// Adds generated code for as many consecutive steps over whole rows as possible; returns their number.
std::size_t RowGroupKernel::make_code(const MovedGroup& request, std::size_t first) {
  std::size_t end = first;
  KernelRequest run;  // these steps as a request of their own, with the values of earlier steps as inputs
  std::vector<Access> inputs;
  std::vector<std::size_t> place(values_.size(), kNoRowPlace);
  for (; end < request.steps.size() && domain_.steps[end] == RowStep::full; ++end) {
    const FusedStep& step = request.steps[end];
    const std::size_t readers = readers_.size();
    std::vector<Access> more;
    for (const std::size_t operand : step.operands)
      if (operand < inputs_ + first && place[operand] == kNoRowPlace)
        more.push_back(access(request, operand, RowStep::full, domain_.shape));
    if (std::any_of(more.begin(), more.end(), [](const Access& each) { return each.reader != kNoRowPlace; })) {
      readers_.resize(readers, readers_.front());
      break;
    }
    for (const Access& each : more) {
      if (place[each.value] != kNoRowPlace) continue;
      place[each.value] = inputs.size();
      inputs.push_back(each);
      run.input_types.push_back(each.value < inputs_ ? request.input_types[each.value] : request.steps[each.value - inputs_].type);
    }
  }
  if (end < first + 2) return 0;
  std::vector<bool> repeats;
  for (const Access& input : inputs) repeats.push_back(input.step == 0);
  for (std::size_t s = first; s < end; ++s) {
    place[inputs_ + s] = inputs.size() + s - first;
    FusedStep step = request.steps[s];
    for (std::size_t& operand : step.operands) operand = place[operand];
    run.steps.push_back(std::move(step));
    const auto reads = [&](const FusedStep& later) {
      return std::find(later.operands.begin(), later.operands.end(), inputs_ + s) != later.operands.end();
    };
    const auto outside = request.steps.begin() + static_cast<std::ptrdiff_t>(end);
    if (values_[inputs_ + s].result != kNoRowPlace || std::any_of(outside, request.steps.end(), reads)) run.written.push_back(s - first);
  }
  Piece piece;
  piece.code = Code::make(run, repeats, 0, 2);
  if (!piece.code) return 0;
  for (const std::size_t read : piece.code->reads()) piece.reads.push_back(inputs[read]);
  for (const std::size_t write : piece.code->writes()) piece.writes.push_back(inputs_ + first + write - inputs.size());
  const std::size_t taken = piece.code->steps();
  add(std::move(piece));
  return taken;
}

/// Code stores its results past the caches itself, unless it also writes values that are read again.
void RowGroupKernel::choose_ways_past_cache() {
  for (std::size_t p = 0; p < pieces_.size(); ++p) {
    Piece& piece = pieces_[p];
    piece.past_cache =
        piece.code && std::all_of(piece.writes.begin(), piece.writes.end(), [&](std::size_t v) {
          return values_[v].result != kNoRowPlace && values_[v].last_read <= p && past_cache(domain_.rows * values_[v].row_bytes);
        });
    for (const std::size_t v : piece.writes) values_[v].past_cache = piece.past_cache;
  }
}

/// Lays out the scratch memory: slots for values over whole rows, reused after the last reader, and an area of its own for each small
/// value.
void RowGroupKernel::place(const KernelRequest& request) {
  const auto round = [](std::int64_t bytes) { return static_cast<std::size_t>(bytes + 63) / 64 * 64; };
  const std::size_t slot = round(tile_rows_ * domain_.columns * domain_.widest);
  Slots slots;
  std::vector<std::size_t> slot_of(values_.size(), kNoRowPlace);
  for (std::size_t p = 0; p < pieces_.size(); ++p) {
    const Piece& piece = pieces_[p];
    std::vector<std::size_t> dying;
    for (const Access& read : piece.reads) {
      const bool dies = slot_of[read.value] != kNoRowPlace && values_[read.value].last_read == p;
      if (dies && std::find(dying.begin(), dying.end(), read.value) == dying.end()) dying.push_back(read.value);
    }
    for (const std::size_t made : piece.writes) {
      if (piece.kind != RowStep::full || values_[made].result != kNoRowPlace) continue;
      // A piece may overwrite an operand that it is the last to read, if their elements have the same size.
      const auto under = std::find_if(dying.begin(), dying.end(), [&](std::size_t v) { return values_[v].size == values_[made].size; });
      slot_of[made] = under == dying.end() ? slots.take() : slot_of[*under];
      if (under != dying.end()) dying.erase(under);
    }
    for (const std::size_t v : dying) slots.give_back(slot_of[v]);
  }
  scratch_bytes_ = slots.count() * slot;
  for (std::size_t v = inputs_; v < values_.size(); ++v) {
    if (slot_of[v] != kNoRowPlace) {
      values_[v].at = slot_of[v] * slot;
    } else if (values_[v].result == kNoRowPlace && values_[v].row_bytes == values_[v].size) {
      values_[v].at = scratch_bytes_;
      scratch_bytes_ += round(tile_rows_ * values_[v].row_bytes);
    }
  }
  for (std::size_t v = inputs_; v < values_.size(); ++v) {
    const auto read_later = [&](std::size_t input) {
      return request.input_types[input] == request.steps[v - inputs_].type && values_[input].last_read > values_[v].made_by;
    };
    bool waits = false;
    for (std::size_t input = 0; input < inputs_; ++input) waits = waits || read_later(input);
    if (values_[v].result == kNoRowPlace || !waits) continue;
    values_[v].held_at = scratch_bytes_;
    scratch_bytes_ += round(tile_rows_ * values_[v].row_bytes);
  }
  held_.reserve(values_.size());
  for (std::size_t v = 0; v < values_.size(); ++v) {
    if (v < inputs_ ? values_[v].row_bytes > 0 : values_[v].result != kNoRowPlace && !values_[v].past_cache) streams_.push_back(v);
  }
  for (Piece& piece : pieces_) {
    for (Access& operand : piece.reads) {
      const bool gathers = operand.reader != kNoRowPlace && readers_[operand.reader].gathers();
      if (!gathers && !operand.spread) continue;
      operand.scratch = scratch_bytes_;
      const std::int64_t size = values_[operand.value].size;
      scratch_bytes_ += operand.spread ? round(tile_rows_ * operand.row_bytes + kSpreadAtOnce)
                                       : round((piece.kind == RowStep::row ? tile_rows_ : domain_.columns) * size);
    }
  }
}

bool fuses_rows(const KernelRequest& request) {
  if (request.steps.size() > kMostSteps || request.input_types.size() + request.steps.size() > RowGroupKernel::kMostValues) return false;
  const std::optional<RowDomain> domain = row_domain(request);
  return domain && (short_enough(*domain) || fuses_long_rows(*domain));
}

std::unique_ptr<HostKernel> prepare_row_group(const MovedGroup& group) {
  RowDomain domain = *row_domain(group);
  if (short_enough(domain)) return std::make_unique<RowGroupKernel>(group, std::move(domain));
  return prepare_long_rows(group, std::move(domain));
}

}  // namespace cleave::runtime::host
