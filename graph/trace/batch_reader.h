// BatchReader records what a loop over batches reads, for all front ends.
//
// The order of a shuffled pass is a permutation of all rows, a function of the seed and of the number of passes before it; this number is a
// state of the program (Tracer::count_entries). Rows of an input are read on the host, where the input is: only the batch is transferred,
// so that an input may be larger than the accelerator's memory.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "graph/trace/tracer.h"

namespace cleave {

/// The treatment of the rows that are left after the last whole batch.
enum class Remainder : std::uint8_t {
  drop,     ///< a pass leaves them out
  pad,      ///< the last batch has them, and zeros in the place of further rows
  smaller,  ///< the last batch has them alone; the body is recorded once more for its shapes
};

struct BatchOptions {
  std::int64_t size = 0;                     ///< rows of a batch
  std::optional<std::int64_t> shuffle = {};  ///< seed of the order of rows, another one in each pass; none: rows keep their order
  Remainder remainder = Remainder::drop;
};

namespace detail {

/// Records what a loop over batches reads.
class BatchReader {
 public:
  struct Source {
    Operand array;
    SourceLocation location;  ///< of mistakes in it
  };
  /// Records what a pass needs before its first batch. Mistakes are reported at the sources, or at `size`.
  BatchReader(Tracer& tracer, std::vector<Source> sources, const BatchOptions& options, SourceLocation location, SourceLocation size);

  /// False after a mistake: nothing may be read then.
  [[nodiscard]] bool good() const { return rows_ > 0; }
  /// Iterations of the loop.
  [[nodiscard]] std::int64_t trips() const;
  /// Rows of the smaller batch behind the loop; 0: there is none.
  [[nodiscard]] std::int64_t rest() const;

  /// The batch of iteration `counter`, one value for each array.
  [[nodiscard]] std::vector<Operand> read(const Operand& counter) const;
  /// The number of its rows that are no padding: an i32 scalar.
  [[nodiscard]] Operand real_rows(const Operand& counter) const;
  [[nodiscard]] std::vector<Operand> read_rest() const;

 private:
  bool check(const SourceLocation& size);
  [[nodiscard]] bool pads() const { return options_.remainder == Remainder::pad && rows_ % options_.size != 0; }
  [[nodiscard]] Operand first_row(const Operand& counter) const;
  /// Gives the places of rows, and the rows of one array at given places.
  using Places = std::function<Operand()>;
  using Rows = std::function<Operand(const Operand& array, const Operand& places)>;
  /// Records the reading of each source: on the host if it is an input and the program asks for no other place.
  [[nodiscard]] std::vector<Operand> each_source(const Places& places, const Rows& rows) const;
  /// `count` rows of each array, from `first` on in the order of the pass.
  [[nodiscard]] std::vector<Operand> slices(const Places& first, std::int64_t count) const;
  [[nodiscard]] std::vector<Operand> padded(const Operand& counter) const;

  Tracer& tracer_;
  std::vector<Source> sources_;
  BatchOptions options_;
  SourceLocation location_;
  std::int64_t rows_ = 0;
  Operand order_;  ///< of a shuffled pass
};

}  // namespace detail
}  // namespace cleave
