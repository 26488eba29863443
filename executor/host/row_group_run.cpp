// Runs the pieces that row_group.cpp planned, tile by tile: all pieces on some rows, while the next rows are prefetched.
#include <algorithm>
#include <array>
#include <cstring>

#include "executor/host/past_cache.h"
#include "executor/host/row_group_kernel.h"

namespace cleave::runtime::host {

/// Some rows of a call.
struct RowGroupKernel::Tile {
  const KernelCall& call;
  std::int64_t begin, rows;
  std::byte* scratch;
  std::array<std::byte*, kMostValues> values{};  ///< addresses: the first row of values made by steps, the beginning of inputs
};

/// Holds back each result that shares its memory with an input that a later piece reads, until all pieces have processed the tile.
void RowGroupKernel::hold_what_is_read(const KernelCall& call) {
  held_.clear();
  for (std::size_t v = inputs_; v < values_.size(); ++v) {
    const Value& value = values_[v];
    if (value.held_at == kNoRowPlace) continue;
    for (std::size_t input = 0; input < inputs_; ++input) {
      if (values_[input].last_read <= value.made_by || call.inputs[input].data != call.results[value.result].data) continue;
      held_.push_back(v);
      break;
    }
  }
}

/// The bytes of an operand that one row reads, if rows read consecutive memory; else kAll.
std::int64_t RowGroupKernel::bytes_of_row(const Piece& piece, const Access& operand) const {
  const std::int64_t size = values_[operand.value].size;
  if (operand.reader != kNoRowPlace) return piece.kind == RowStep::row && readers_[operand.reader].in_order() ? size : kAll;
  const std::int64_t apart = operand.spread ? operand.spread->row_bytes : operand.row_bytes;
  const std::int64_t step = operand.spread ? operand.spread->step : operand.step;
  return apart == (step == 1 ? domain_.columns * size : size) ? apart : kAll;
}

std::int64_t RowGroupKernel::read(std::size_t input, std::int64_t pieces) const {
  std::int64_t of_row = 0;
  for (const Piece& piece : pieces_) {
    for (const Access& operand : piece.reads)
      if (operand.value == input) of_row = std::max(of_row, bytes_of_row(piece, operand));
  }
  return of_row == kAll ? kAll : std::min(domain_.rows, pieces * part_rows_) * of_row;
}

std::int64_t RowGroupKernel::written(std::size_t result, std::int64_t done) const {
  const auto value = std::find_if(values_.begin(), values_.end(), [&](const Value& each) { return each.result == result; });
  return std::min(domain_.rows, done * part_rows_) * value->row_bytes;
}

Status RowGroupKernel::run_pieces(const KernelCall& call, std::int64_t begin, std::int64_t end) {
  if (begin == 0) {
    hold_what_is_read(call);
    scratch_.reserve(call.workers.threads(), static_cast<std::int64_t>(std::max<std::size_t>(1, scratch_bytes_)));
  }
  call.workers.each(end - begin, [&](std::int64_t piece) {
    run_rows(call, (begin + piece) * part_rows_, std::min(domain_.rows, (begin + piece + 1) * part_rows_));
  });
  return {};
}

void RowGroupKernel::run_rows(const KernelCall& call, std::int64_t begin, std::int64_t end) {
  const Scratch<std::byte>::Part part(scratch_);
  Tile tile{call, 0, 0, part.data()};
  for (std::size_t i = 0; i < inputs_; ++i) tile.values[i] = call.inputs[i].data;
  for (; begin < end; begin += tile_rows_) {
    tile.begin = begin;
    tile.rows = std::min(tile_rows_, end - begin);
    for (std::size_t v = inputs_; v < values_.size(); ++v) {
      const Value& value = values_[v];
      if (value.result != kNoRowPlace) tile.values[v] = call.results[value.result].data + begin * value.row_bytes;
      if (value.at != kNoRowPlace) tile.values[v] = tile.scratch + value.at;
    }
    for (const std::size_t v : held_) tile.values[v] = tile.scratch + values_[v].held_at;
    run_tile(tile);
    for (const std::size_t v : held_) {
      const std::int64_t bytes = values_[v].row_bytes;
      std::memcpy(call.results[values_[v].result].data + begin * bytes, tile.values[v], static_cast<std::size_t>(tile.rows * bytes));
    }
  }
  finish_past_cache();
}

void RowGroupKernel::run_tile(const Tile& tile) const {
  for (std::size_t p = 0; p < pieces_.size(); ++p) {
    const Piece& piece = pieces_[p];
    fetch_next(tile, p);
    switch (piece.kind) {
      case RowStep::full: run_full(tile, piece); break;
      case RowStep::row: run_on_rows(tile, piece); break;
      case RowStep::reduction: {
        const Access& operand = piece.reads[0];
        const std::byte* from = tile.values[operand.value] + (operand.value < inputs_ ? tile.begin * operand.row_bytes : 0);
        piece.reduction->rows(from, tile.rows, domain_.columns, tile.values[piece.writes[0]]);
      }
    }
  }
}

/// Before each piece, prefetches a part of the next rows' inputs and results, so that memory transfers overlap with computation. Into the
/// second-level cache, because the first is full of the current rows.
void RowGroupKernel::fetch_next(const Tile& tile, std::size_t piece) const {
  constexpr std::int64_t kLine = 64;
  const std::int64_t next = std::min(tile_rows_, domain_.rows - tile.begin - tile.rows);
  const auto pieces = static_cast<std::int64_t>(pieces_.size()), at = static_cast<std::int64_t>(piece);
  for (const std::size_t v : streams_) {
    const std::int64_t row = values_[v].row_bytes, lines = (next * row + kLine - 1) / kLine;
    const std::byte* from = tile.values[v] + ((v < inputs_ ? tile.begin : 0) + tile.rows) * row;
    for (std::int64_t line = lines * at / pieces; line < lines * (at + 1) / pieces; ++line) __builtin_prefetch(from + line * kLine, 0, 2);
  }
}

/// Writes each row in blocks of kSpreadAtOnce bytes; the excess falls into the next row, which is written later.
void RowGroupKernel::spread(const Tile& tile, const Access& operand) const {
  const std::int64_t size = values_[operand.value].size, bytes = operand.row_bytes, apart = operand.spread->row_bytes;
  const std::byte* from = tile.values[operand.value] + (operand.value < inputs_ ? tile.begin * apart : 0);
  std::byte* to = tile.scratch + operand.scratch;
  alignas(64) std::byte line[kShortRow * sizeof(double)] = {};
  if (operand.spread->step == 1) {
    std::memcpy(line, from, static_cast<std::size_t>(bytes));
    for (std::int64_t row = 0; row < tile.rows; ++row, to += bytes, from += apart) {
      if (apart != 0) std::memcpy(line, from, static_cast<std::size_t>(bytes));
      for (std::int64_t at = 0; at < bytes; at += kSpreadAtOnce) std::memcpy(to + at, line + at, kSpreadAtOnce);
    }
    return;
  }
  const auto repeat = [&](auto value) {
    for (std::int64_t row = 0; row < tile.rows; ++row, to += bytes, from += apart) {
      std::memcpy(&value, from, sizeof value);
      for (std::size_t at = 0; at < kSpreadAtOnce; at += sizeof value) std::memcpy(line + at, &value, sizeof value);
      for (std::int64_t at = 0; at < bytes; at += kSpreadAtOnce) std::memcpy(to + at, line, kSpreadAtOnce);
    }
  };
  switch (size) {
    case 1: return repeat(std::uint8_t{});
    case 2: return repeat(std::uint16_t{});
    case 4: return repeat(std::uint32_t{});
    default: return repeat(std::uint64_t{});
  }
}

void RowGroupKernel::run_full(const Tile& tile, const Piece& piece) const {
  for (const Access& operand : piece.reads)
    if (operand.spread) spread(tile, operand);
  std::array<const std::byte*, kMostValues> operands;
  std::array<std::int64_t, 3> steps{};
  std::array<std::byte*, kMostSteps> to;
  const std::int64_t rows = piece.whole ? 1 : tile.rows, count = piece.whole ? tile.rows * domain_.columns : domain_.columns;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::size_t k = 0; k < piece.reads.size(); ++k) {
      const Access& operand = piece.reads[k];
      const std::int64_t of_call = tile.begin + row;
      TileOperand part{tile.values[operand.value] + operand.row_bytes * (operand.value < inputs_ ? of_call : row), operand.step};
      if (operand.spread) part.data = tile.scratch + operand.scratch + operand.row_bytes * row;
      if (operand.reader != kNoRowPlace)
        part = readers_[operand.reader].read(tile.values[operand.value], of_call * domain_.columns, domain_.columns,
                                             operand.scratch == kNoRowPlace ? nullptr : tile.scratch + operand.scratch);
      operands[k] = part.data;
      if (k < steps.size()) steps[k] = part.step;
    }
    for (std::size_t k = 0; k < piece.writes.size(); ++k) to[k] = tile.values[piece.writes[k]] + row * values_[piece.writes[k]].row_bytes;
    if (piece.code) {
      piece.code->run(operands.data(), to.data(), count, piece.past_cache);
    } else {
      piece.loop(operands.data(), steps.data(), to[0], count);
    }
  }
}

void RowGroupKernel::run_on_rows(const Tile& tile, const Piece& piece) const {
  std::array<const std::byte*, 3> operands;
  std::array<std::int64_t, 3> steps;
  for (std::size_t k = 0; k < 3; ++k) {
    const Access& operand = piece.reads[k];
    TileOperand part{tile.values[operand.value], operand.step};
    if (operand.reader != kNoRowPlace)
      part = readers_[operand.reader].read(part.data, tile.begin, tile.rows,
                                           operand.scratch == kNoRowPlace ? nullptr : tile.scratch + operand.scratch);
    operands[k] = part.data;
    steps[k] = part.step;
  }
  piece.loop(operands.data(), steps.data(), tile.values[piece.writes[0]], tile.rows);
}

}  // namespace cleave::runtime::host
