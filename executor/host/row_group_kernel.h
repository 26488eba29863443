// RowGroupKernel: the kernel of steps that run row by row. Planned in row_group.cpp, run in row_group_run.cpp; only these two include it.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "executor/device/kernel.h"
#include "executor/host/code/code.h"
#include "executor/host/moved_group.h"
#include "executor/host/reductions.h"
#include "executor/host/row_domain.h"
#include "executor/host/rows.h"
#include "executor/host/scratch.h"
#include "executor/host/tile_reader.h"

namespace cleave::runtime::host {

inline constexpr std::int64_t kSpreadAtOnce = 64;  ///< bytes that spreading may write beyond the end of the last row
inline constexpr std::size_t kNoRowPlace = static_cast<std::size_t>(-1);

/// How a step over whole rows addresses an operand: stride between rows, step inside a row. Irregular operands are read by a TileReader,
/// row by row.
struct Access {
  std::size_t value = 0;
  std::int64_t row_bytes = 0, step = 0;
  std::size_t reader = kNoRowPlace;   ///< index of the TileReader: irregular operands, and those of a step on per-row values
  std::size_t scratch = kNoRowPlace;  ///< the scratch area in which the reader assembles a row, or into which rows are spread
  /// The layout of short rows before they are spread into `scratch`: bytes from row to row, and a step of 1 or 0.
  struct Spread {
    std::int64_t row_bytes = 0, step = 0;
  };
  std::optional<Spread> spread{};
};

class RowGroupKernel final : public HostKernel {
 public:
  static constexpr std::size_t kMostValues = 64;  ///< inputs plus values that the steps compute
  static constexpr std::int64_t kShortRow = 64;   ///< elements: below it, the remainder after whole vectors is most of a row

  RowGroupKernel(const MovedGroup& request, RowDomain domain);
  Status run(const KernelCall& call) override { return run_pieces(call, 0, pieces()); }
  [[nodiscard]] std::int64_t pieces() const override { return (domain_.rows + part_rows_ - 1) / part_rows_; }
  [[nodiscard]] std::int64_t read(std::size_t input, std::int64_t pieces) const override;
  [[nodiscard]] std::int64_t written(std::size_t result, std::int64_t done) const override;
  Status run_pieces(const KernelCall& call, std::int64_t begin, std::int64_t end) override;

 private:
  struct Value {
    std::int64_t size = 0;                   ///< bytes of an element
    std::int64_t row_bytes = 0;              ///< bytes of a row
    std::size_t at = kNoRowPlace;            ///< offset in the scratch memory; none for inputs and for results that are written in place
    std::size_t result = kNoRowPlace;        ///< index among the call's results
    std::size_t made_by = 0, last_read = 0;  ///< indices of pieces
    std::size_t held_at = kNoRowPlace;       ///< offset in the scratch memory where a result is held back while it may overlap an input
    bool past_cache = false;                 ///< a result that no later step reads
  };
  /// One step, or generated code for several steps.
  struct Piece {
    RowStep kind = RowStep::full;
    RowLoop loop = nullptr;
    std::optional<RowReduction> reduction;
    std::unique_ptr<Code> code;
    std::vector<Access> reads;
    std::vector<std::size_t> writes;
    bool past_cache = false;  ///< all that the code writes are results stored past the caches
    bool whole = false;       ///< all operands have the same step between rows as inside a row
  };
  struct Tile;

  Access access(const MovedGroup& request, std::size_t operand, RowStep kind, const Shape& to);
  void make_pieces(const MovedGroup& request);
  Piece step_alone(const MovedGroup& request, std::size_t s);
  std::size_t make_code(const MovedGroup& request, std::size_t first);
  void add(Piece piece);
  void choose_ways_past_cache();
  [[nodiscard]] std::int64_t bytes_of_row(const Piece& piece, const Access& operand) const;
  void hold_what_is_read(const KernelCall& call);
  void run_rows(const KernelCall& call, std::int64_t begin, std::int64_t end);
  void place(const KernelRequest& request);
  void run_tile(const Tile& tile) const;
  void fetch_next(const Tile& tile, std::size_t piece) const;
  void run_full(const Tile& tile, const Piece& piece) const;
  void spread(const Tile& tile, const Access& operand) const;
  void run_on_rows(const Tile& tile, const Piece& piece) const;

  RowDomain domain_;
  std::size_t inputs_;
  std::int64_t tile_rows_ = 1, part_rows_ = 1;
  std::vector<TileReader> readers_;
  std::vector<Value> values_;
  std::vector<Piece> pieces_;
  std::vector<std::size_t> held_;     ///< of the current call: results that overlap an input that is still to be read
  std::vector<std::size_t> streams_;  ///< values outside the scratch memory that advance from row to row
  std::size_t scratch_bytes_ = 0;
  Scratch<std::byte> scratch_;
};

}  // namespace cleave::runtime::host
