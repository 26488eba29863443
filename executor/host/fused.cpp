// Runs all steps on one tile before the next tile, so intermediate values stay in the first-level cache. Runs of simple steps are one piece
// of generated machine code (code/code.h), which keeps them in registers; every other step is the loop of its op. Values between pieces are
// in slots, of which there are as many as are live at once.
#include "executor/host/fused.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "executor/host/code/code.h"
#include "executor/host/past_cache.h"
#include "executor/host/rows.h"
#include "executor/host/scratch.h"
#include "executor/host/slots.h"
#include "executor/host/tile_reader.h"

namespace cleave::runtime::host {
namespace {

constexpr std::size_t kMostValues = 64;       ///< inputs plus values that the steps compute
constexpr std::int64_t kTileBytes = 8 << 10;  ///< bytes of a tile of the widest elements: three fit into any first-level cache
constexpr std::int64_t kLeastTiles = 4, kMostTiles = 16, kParts = 64;  ///< limits on a piece's tiles; pieces aimed at
/// The shortest rows (of inputs that broadcast) at whose ends tiles are cut: if one piece of code runs, and if several pieces run.
constexpr std::int64_t kWorthCuttingCode = 32, kWorthCutting = 512;
constexpr std::int64_t kWorthCode = 1024;  ///< elements: below it, code takes longer to generate than its runs save
constexpr std::size_t kNone = static_cast<std::size_t>(-1);

/// The first step that reads an input.
const FusedStep* reader_of(const KernelRequest& request, std::size_t input) {
  for (const FusedStep& step : request.steps)
    if (std::find(step.operands.begin(), step.operands.end(), input) != step.operands.end()) return &step;
  return nullptr;
}

/// Whether all readers of an input that broadcasts have the same shape.
bool is_read_one_way(const KernelRequest& request, std::size_t input) {
  const FusedStep* first = reader_of(request, input);
  const std::int64_t elements = request.input_types[input].elements();
  if (!first || elements == 1 || elements == first->type.elements()) return first != nullptr;
  return std::all_of(request.steps.begin(), request.steps.end(), [&](const FusedStep& step) {
    const bool reads = std::find(step.operands.begin(), step.operands.end(), input) != step.operands.end();
    return !reads || step.type.shape == first->type.shape;
  });
}

class FusedKernel final : public PartKernel {
 public:
  /// `in_parts`: for parts of results that were just made and are still in the caches.
  explicit FusedKernel(const MovedGroup& request, bool in_parts = false);
  Status run(const KernelCall& call) override;
  void start(const KernelCall& call) override;
  void run_part(const KernelCall& call, std::int64_t begin, std::int64_t end) override;
  void run_all(const KernelCall& call) override;
  [[nodiscard]] std::int64_t pieces() const override { return std::max<std::int64_t>(1, (total_ + part_ - 1) / part_); }
  [[nodiscard]] std::int64_t read(std::size_t input, std::int64_t pieces) const override {
    return readers_[input].in_order() ? elements_in(pieces) * values_[input].size : kAll;
  }
  [[nodiscard]] std::int64_t written(std::size_t result, std::int64_t done) const override { return elements_in(done) * results_[result]; }
  Status run_pieces(const KernelCall& call, std::int64_t begin, std::int64_t end) override;

 private:
  /// An input, or a step's result: how its part of a tile is addressed.
  struct Value {
    std::int64_t size = 0;       ///< bytes of an element
    std::size_t slot = kNone;    ///< none: an input that is read in place, or a result that is written in place
    std::size_t result = kNone;  ///< index among the call's results
    std::size_t last_read = 0;   ///< index of the last piece that reads it
    bool side_by_side = false;   ///< an input that code reads: a single element is repeated over the whole tile
    bool cut = false;            ///< tiles end where the input's rows end
    bool held = false;           ///< a result that is written to a slot first, and copied from there past the caches
  };
  /// One step's loop, or generated code for several steps.
  struct Piece {
    RowLoop loop = nullptr;
    RowLoop loop_past_cache = nullptr;  ///< null if the op has none
    std::unique_ptr<Code> code;
    std::vector<std::size_t> reads, writes;
    bool past_cache = false;  ///< it can store past the caches, and all that it writes are results stored so
  };
  [[nodiscard]] std::int64_t elements_in(std::int64_t pieces) const { return std::min(total_, pieces * part_); }
  void cut_tiles(std::int64_t shortest);
  void make_pieces(const KernelRequest& request);
  void choose_ways_past_cache();
  void assign_slots();
  [[nodiscard]] std::int64_t end_of_tile(std::int64_t begin, std::int64_t end) const;
  void run_tile(const KernelCall& call, std::int64_t begin, std::int64_t count, std::byte* scratch) const;
  [[nodiscard]] bool runs_in_place() const;
  void run_code(const KernelCall& call, std::int64_t begin, std::int64_t end) const;
  [[nodiscard]] bool overwritten_early(const KernelCall& call, std::size_t value, std::size_t piece) const;

  std::vector<TileReader> readers_;  ///< one for each input
  std::vector<std::int64_t> rows_;   ///< row lengths at whose multiples tiles end
  std::vector<Value> values_;
  std::vector<std::int64_t> results_;  ///< bytes of an element of each result
  std::vector<Piece> pieces_;
  std::vector<std::uint8_t> in_slot_;  ///< by value, for the current call: it is not a result, or its memory is still to be read
  std::int64_t total_ = 0, tile_ = 0, part_ = 0;
  std::size_t slots_ = 0;
  Scratch<std::byte> scratch_;
};

FusedKernel::FusedKernel(const MovedGroup& request, bool in_parts) {
  total_ = request.steps[0].type.elements();
  for (std::size_t i = 0; i < request.input_types.size(); ++i) {
    const std::int64_t size = size_of(request.input_types[i].dtype);
    const Shape& shape = reader_of(request, i)->type.shape;
    readers_.emplace_back(size, request.strides(i, shape), shape);
    values_.push_back({size});
  }
  for (const FusedStep& step : request.steps) values_.push_back({size_of(step.type.dtype)});
  for (std::size_t r = 0; r < request.written.size(); ++r) {
    values_[readers_.size() + request.written[r]].result = r;
    results_.push_back(values_[readers_.size() + request.written[r]].size);
  }
  cut_tiles(kWorthCuttingCode);
  make_pieces(request);
  const bool short_rows = std::any_of(rows_.begin(), rows_.end(), [](std::int64_t row) { return row < kWorthCutting; });
  if (short_rows && (pieces_.size() > 1 || !pieces_[0].code)) {
    cut_tiles(kWorthCutting);
    make_pieces(request);
  }
  if (!in_parts) choose_ways_past_cache();  // such stores need whole cache lines, but parts begin anywhere
  assign_slots();
  std::int64_t widest = 1;
  for (const Value& value : values_) widest = std::max(widest, value.size);
  part_ = kTileBytes / widest * std::clamp(total_ * widest / kTileBytes / kParts, kLeastTiles, kMostTiles);
  tile_ = slots_ > 0 ? kTileBytes / widest : part_;
  if (total_ * widest < Workers::kWorthwhileBytes) part_ = std::max<std::int64_t>(1, total_);
  in_slot_.resize(values_.size());
}

/// Ends tiles at the row ends of inputs that broadcast, if rows are long: tiles are then read in place, and a repeated element stays in a
/// register.
void FusedKernel::cut_tiles(std::int64_t shortest) {
  rows_.clear();
  for (std::size_t i = 0; i < readers_.size(); ++i) {
    const std::int64_t row = readers_[i].row();
    values_[i].cut = row >= shortest;
    if (values_[i].cut && std::find(rows_.begin(), rows_.end(), row) == rows_.end()) rows_.push_back(row);
  }
}

std::int64_t FusedKernel::end_of_tile(std::int64_t begin, std::int64_t end) const {
  end = std::min(end, begin + tile_);
  for (const std::int64_t row : rows_) end = std::min(end, begin + row - begin % row);
  return end;
}

void FusedKernel::make_pieces(const KernelRequest& request) {
  pieces_.clear();
  for (Value& value : values_) value.side_by_side = false;
  std::vector<bool> repeats;
  for (std::size_t i = 0; i < readers_.size(); ++i)
    repeats.push_back(readers_[i].repeats() || (values_[i].cut && readers_[i].repeats_in_row()));
  for (std::size_t s = 0; s < request.steps.size();) {
    Piece piece;
    const bool large = past_cache(request.steps[s].type.bytes());
    if (total_ >= kWorthCode) piece.code = Code::make(request, repeats, s, large ? 1 : 2);
    if (piece.code) {
      piece.reads.assign(piece.code->reads().begin(), piece.code->reads().end());
      piece.writes.assign(piece.code->writes().begin(), piece.code->writes().end());
      for (const std::size_t read : piece.reads)
        values_[read].side_by_side = read < readers_.size() && !repeats[read] && !values_[read].cut;
      s += piece.code->steps();
    } else {
      const FusedStep& step = request.steps[s];
      std::vector<TensorType> types;
      for (std::size_t k = 0; k < 3; ++k) {
        const std::size_t operand = step.operands[k < step.operands.size() ? k : 0];
        piece.reads.push_back(operand);
        types.push_back(operand < readers_.size() ? request.input_types[operand] : request.steps[operand - readers_.size()].type);
      }
      piece.loop = loop_for(*step.op, types, step.type);
      piece.loop_past_cache = loop_past_cache_for(*step.op, types[0].dtype);
      piece.writes.push_back(readers_.size() + s++);
    }
    for (const std::size_t read : piece.reads) values_[read].last_read = pieces_.size();
    pieces_.push_back(std::move(piece));
  }
}

/// Code and some loops store past the caches themselves, unless they also write values that are read again; other results are copied there.
void FusedKernel::choose_ways_past_cache() {
  for (std::size_t p = 0; p < pieces_.size(); ++p) {
    Piece& piece = pieces_[p];
    const auto goes_there = [&](std::size_t value) { return values_[value].result != kNone && past_cache(total_ * values_[value].size); };
    piece.past_cache = (piece.code || piece.loop_past_cache) &&
                       std::all_of(piece.writes.begin(), piece.writes.end(),
                                   [&](std::size_t value) { return goes_there(value) && values_[value].last_read <= p; });
    for (const std::size_t value : piece.writes) values_[value].held = goes_there(value) && !piece.past_cache;
  }
}

/// Results get a slot too, for calls in which they are held back.
void FusedKernel::assign_slots() {
  Slots slots;
  for (std::size_t i = 0; i < readers_.size(); ++i) {
    if (readers_[i].gathers() && !values_[i].cut) values_[i].slot = slots.take();
  }
  for (std::size_t p = 0; p < pieces_.size(); ++p) {
    std::vector<std::size_t> dying;
    for (const std::size_t read : pieces_[p].reads) {
      const Value& value = values_[read];
      const bool dies = value.slot != kNone && value.last_read == p && value.result == kNone;
      if (dies && std::find(dying.begin(), dying.end(), read) == dying.end()) dying.push_back(read);
    }
    for (const std::size_t write : pieces_[p].writes) {
      Value& made = values_[write];
      if (made.result != kNone && !made.held && p + 1 == pieces_.size()) continue;
      // A piece may overwrite an operand that it is the last to read, if their elements have the same size.
      const auto under = std::find_if(dying.begin(), dying.end(), [&](std::size_t value) { return values_[value].size == made.size; });
      if (under == dying.end()) {
        made.slot = slots.take();
      } else {
        made.slot = values_[*under].slot;
        dying.erase(under);
      }
    }
    for (const std::size_t read : dying) slots.give_back(values_[read].slot);
  }
  slots_ = slots.count();
}

/// Whether a result shares its memory with an input that a later piece still reads.
bool FusedKernel::overwritten_early(const KernelCall& call, std::size_t value, std::size_t piece) const {
  for (std::size_t input = 0; input < readers_.size(); ++input) {
    if (values_[input].last_read > piece && call.inputs[input].data == call.results[values_[value].result].data) return true;
  }
  return false;
}

Status FusedKernel::run(const KernelCall& call) {
  return run_pieces(call, 0, pieces());
}

Status FusedKernel::run_pieces(const KernelCall& call, std::int64_t begin, std::int64_t end) {
  if (total_ == 0) return {};
  if (begin == 0) start(call);
  call.workers.each(end - begin, [&](std::int64_t piece) { run_part(call, (begin + piece) * part_, elements_in(begin + piece + 1)); });
  return {};
}

void FusedKernel::start(const KernelCall& call) {
  for (std::size_t p = 0; p < pieces_.size(); ++p) {
    for (const std::size_t value : pieces_[p].writes)
      in_slot_[value] = values_[value].result == kNone || values_[value].held || overwritten_early(call, value, p);
  }
  scratch_.reserve(call.workers.threads(), static_cast<std::int64_t>(std::max<std::size_t>(1, slots_)) * kTileBytes);
}

/// Whether the call is one piece of code that reads and writes everything in place.
bool FusedKernel::runs_in_place() const {
  const auto lies_in_slot = [&](std::size_t value) { return in_slot_[value] != 0; };
  return pieces_.size() == 1 && pieces_[0].code && std::none_of(pieces_[0].writes.begin(), pieces_[0].writes.end(), lies_in_slot) &&
         std::all_of(pieces_[0].reads.begin(), pieces_[0].reads.end(), [&](std::size_t input) { return values_[input].slot == kNone; });
}

/// Runs the one piece of code tile by tile with little overhead between tiles, which may be short.
void FusedKernel::run_code(const KernelCall& call, std::int64_t begin, std::int64_t end) const {
  const Piece& piece = pieces_[0];
  std::array<TileReader::OperandPosition, kMostValues> places;
  std::array<const std::byte*, kMostValues> reads;
  std::array<std::byte*, kMostSteps> to;
  for (std::size_t k = 0; k < piece.reads.size(); ++k) places[k] = readers_[piece.reads[k]].place(begin);
  while (begin < end) {
    const std::int64_t next = end_of_tile(begin, end);
    for (std::size_t k = 0; k < piece.reads.size(); ++k) reads[k] = call.inputs[piece.reads[k]].data + places[k].offset;
    for (std::size_t k = 0; k < piece.writes.size(); ++k) {
      const Value& made = values_[piece.writes[k]];
      to[k] = call.results[made.result].data + begin * made.size;
    }
    piece.code->run(reads.data(), to.data(), next - begin, piece.past_cache);
    for (std::size_t k = 0; k < piece.reads.size(); ++k) readers_[piece.reads[k]].advance(places[k], next - begin);
    begin = next;
  }
}

void FusedKernel::run_part(const KernelCall& call, std::int64_t begin, std::int64_t end) {
  if (runs_in_place()) {
    run_code(call, begin, end);
    finish_past_cache();
    return;
  }
  const Scratch<std::byte>::Part part(scratch_);
  for (std::int64_t next = begin; begin < end; begin = next) {
    next = end_of_tile(begin, end);
    run_tile(call, begin, next - begin, part.data());
  }
  finish_past_cache();
}

void FusedKernel::run_all(const KernelCall& call) {
  call.workers.each_part(total_, part_, [&](std::int64_t begin, std::int64_t end) { run_part(call, begin, end); });
}

void FusedKernel::run_tile(const KernelCall& call, std::int64_t begin, std::int64_t count, std::byte* scratch) const {
  std::array<TileOperand, kMostValues> parts;
  const auto slot = [&](std::size_t value) { return scratch + values_[value].slot * static_cast<std::size_t>(kTileBytes); };
  const auto home = [&](std::size_t value) { return call.results[values_[value].result].data + begin * values_[value].size; };
  for (std::size_t i = 0; i < readers_.size(); ++i)
    parts[i] = readers_[i].read(call.inputs[i].data, begin, count, values_[i].slot == kNone ? nullptr : slot(i), values_[i].side_by_side);
  for (const Piece& piece : pieces_) {
    std::array<std::byte*, kMostSteps> to;
    for (std::size_t k = 0; k < piece.writes.size(); ++k) {
      const std::size_t made = piece.writes[k];
      parts[made] = {to[k] = in_slot_[made] ? slot(made) : home(made), 1};
    }
    const bool past_cache =
        piece.past_cache && std::none_of(piece.writes.begin(), piece.writes.end(), [&](std::size_t value) { return in_slot_[value] != 0; });
    if (piece.code) {
      std::array<const std::byte*, kMostValues> reads;
      for (std::size_t k = 0; k < piece.reads.size(); ++k) reads[k] = parts[piece.reads[k]].data;
      piece.code->run(reads.data(), to.data(), count, past_cache);
      continue;
    }
    std::array<const std::byte*, 3> operands;
    std::array<std::int64_t, 3> steps;
    for (std::size_t k = 0; k < 3; ++k) {
      operands[k] = parts[piece.reads[k]].data;
      steps[k] = parts[piece.reads[k]].step;
    }
    (past_cache ? piece.loop_past_cache : piece.loop)(operands.data(), steps.data(), to[0], count);
  }
  for (std::size_t value = readers_.size(); value < values_.size(); ++value) {
    if (!in_slot_[value] || values_[value].result == kNone) continue;
    const auto bytes = static_cast<std::size_t>(count * values_[value].size);
    if (values_[value].held) {
      copy_past_cache(home(value), slot(value), bytes);
    } else {
      std::memcpy(home(value), slot(value), bytes);
    }
  }
}

}  // namespace

bool fuses_elementwise(const KernelRequest& request) {
  const std::span<const FusedStep> steps = request.steps;
  if (steps.empty() || steps.size() > kMostSteps || request.input_types.size() + steps.size() > kMostValues) return false;
  // The steps' results are read in order, whatever their shapes: broadcasting that adds no elements moves none.
  const std::int64_t total = steps[0].type.elements();
  const bool fits = std::all_of(steps.begin(), steps.end(),
                                [&](const FusedStep& step) { return step.op->elementwise() && step.type.elements() == total; });
  if (!fits) return false;
  for (std::size_t input = 0; input < request.input_types.size(); ++input)
    if (!is_read_one_way(request, input)) return false;
  return true;
}

std::unique_ptr<PartKernel> prepare_parts(const MovedGroup& group) {
  return std::make_unique<FusedKernel>(group, true);
}

std::unique_ptr<HostKernel> prepare_fused(const MovedGroup& group) {
  return std::make_unique<FusedKernel>(group);
}

KernelRequest as_steps(const KernelRequest& request) {
  KernelRequest one = request;
  one.steps.push_back({request.node, request.op, request.attributes, {}, request.result_types[0]});
  for (std::size_t k = 0; k < request.input_types.size(); ++k) one.steps[0].operands.push_back(k);
  one.written = {0};
  return one;
}

std::unique_ptr<HostKernel> prepare_past_cache(const KernelRequest& request) {
  return std::make_unique<FusedKernel>(*without_movement(as_steps(request)));
}

}  // namespace cleave::runtime::host
