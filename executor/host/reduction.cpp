// Reductions over adjacent axes, the common case, with the operand as [outer, count, inner], and over two runs of adjacent axes, with the
// operand as [outer, repeats, kept, count, inner], as in the gradient of a bias by channel. Sums accumulate in double or wrapping i64, as
// in the reference implementations. Other shapes run their reference implementation. Work is divided by the shape alone, so results do not
// depend on the number of threads.
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>

#include "executor/host/independent.h"
#include "executor/host/kernels.h"
#include "executor/host/long_copy.h"
#include "executor/host/reductions.h"
#include "graph/base/stop.h"
#include "graph/ops/rules.h"
#include "graph/ops/sums.h"

namespace cleave::runtime::host {
namespace {

template <class T>
constexpr bool kLoopsFor = true;
#include "executor/host/reducers-inl.h"
#include "graph/vocabulary.h"

template <class Made, class OfLevel, class OfAny>
const Made& best(OfLevel of_level, OfAny of_any, std::string_view op, DType element) {
  const Made* found = levels().empty() ? nullptr : of_level(levels().front(), op, element);
  return found != nullptr ? *found : *of_any(op, element);
}

constexpr std::int64_t kMostPieces = RowReduction::kMostPieces, kPiece = RowReduction::kPiece;
constexpr std::int64_t kWidth = 2048;    ///< columns whose states are accumulated at once: they stay in the first-level cache
constexpr std::int64_t kStateBytes = 8;  ///< at most, of one state
constexpr std::int64_t kShortRow = 64, kRowsAtOnce = 64;

/// The number of elements in each piece of `count`.
std::int64_t piece_of(std::int64_t count, std::int64_t least, std::int64_t most_pieces) {
  return std::max(least, (count + most_pieces - 1) / most_pieces);
}

/// The extents of an operand with two runs of reduced axes, `repeats` and `count`.
struct TwoRuns {
  std::int64_t outer = 1, repeats = 1, kept = 1, count = 1, inner = 1;
};

/// Nothing if there are more runs.
std::optional<TwoRuns> two_runs(const Shape& shape, const Attributes& attributes) {
  const ops::AxisMarks marked = ops::marked_axes(attributes, static_cast<int>(shape.size()));
  TwoRuns extents;
  std::int64_t* const parts[] = {&extents.outer, &extents.repeats, &extents.kept, &extents.count, &extents.inner};
  std::size_t part = 0;  // odd: a run of reduced axes
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 1) continue;
    if (marked[axis] != (part % 2 == 1) && ++part == std::size(parts)) return std::nullopt;
    *parts[part] *= shape[axis];
  }
  return extents;
}

struct Reduction {
  const KernelCall& call;
  const RowReduction& of_rows;
  const Reducer& by;
  decltype(RowReduction::finish) finish;
  ReducedExtents n;
  std::int64_t element, result;  ///< bytes of one operand element, and of one result element

  [[nodiscard]] const std::byte* in(std::int64_t index) const { return call.inputs[0].data + index * element; }
  [[nodiscard]] std::byte* out(std::int64_t index) const { return call.results[0].data + index * result; }
  [[nodiscard]] bool small() const { return n.outer * n.count * n.inner * element < Workers::kWorthwhileBytes; }
  Workers& workers() const { return small() ? Workers::none() : call.workers; }
};

/// Reduces one row in pieces, sequentially or in parallel.
void reduce_row(const Reduction& of, std::int64_t row, Workers& workers) {
  const std::int64_t piece = piece_of(of.n.count, kPiece, kMostPieces), pieces = (of.n.count + piece - 1) / piece;
  alignas(64) std::byte states[kMostPieces * kStateBytes];
  of.by.start(states, std::max<std::int64_t>(1, pieces));
  workers.each_part(of.n.count, piece, [&](std::int64_t begin, std::int64_t end) {
    of.by.take_blocks(of.in(row * of.n.count + begin), of.element, end - begin, states + begin / piece * of.by.state_size);
  });
  for (std::int64_t p = 1; p < pieces; ++p) of.by.join(states, states + p * of.by.state_size, 1);
  of.finish(states, 1, of.n.count, of.out(row));
}

void reduce_rows(const Reduction& of) {
  if (of.n.outer * 8 < of.n.count / kPiece) {  // few and long
    for (std::int64_t row = 0; row < of.n.outer; ++row) reduce_row(of, row, of.workers());
    return;
  }
  of.workers().each_part(of.n.outer, std::max<std::int64_t>(1, kPiece / std::max<std::int64_t>(1, of.n.count)),
                         [&](std::int64_t begin, std::int64_t end) {
                           if (of.n.count <= kPiece)
                             return of.of_rows.rows(of.in(begin * of.n.count), end - begin, of.n.count, of.out(begin));
                           for (std::int64_t row = begin; row < end; ++row) reduce_row(of, row, Workers::none());
                         });
}

/// Accumulates rows in chunks between polls. A chunk is a multiple of eight rows, because reducers take eight or four rows at once: so the
/// chunks do not change the result.
void take_rows(const Reduction& of, const std::byte* in, std::int64_t rows, std::int64_t width, std::int64_t stride, std::byte* states) {
  const std::int64_t grain = std::max<std::int64_t>(1, (1 << 17) / std::max<std::int64_t>(1, width)) * 8;
  each_long(
      rows,
      [&](std::int64_t begin, std::int64_t end) { of.by.take_rows(in + begin * stride * of.element, end - begin, width, stride, states); },
      grain);
}

/// For few columns: several rows are taken as one, wide enough for vectors, and joined at the end. Pieces of rows run in parallel.
void reduce_few_columns(const Reduction& of, std::int64_t outer, Workers& workers) {
  constexpr std::int64_t wide = 128, pieces_at_most = 16;
  const std::int64_t inner = of.n.inner, group = std::max<std::int64_t>(1, wide / inner), width = group * inner;
  alignas(64) std::byte states[pieces_at_most * wide * kStateBytes];
  const std::int64_t piece = (piece_of(of.n.count, kPiece / inner, pieces_at_most) + group - 1) / group * group;
  const std::int64_t pieces = std::max<std::int64_t>(1, (of.n.count + piece - 1) / piece);
  of.by.start(states, pieces * width);
  workers.each_part(of.n.count, piece, [&](std::int64_t begin, std::int64_t end) {
    std::byte* mine = states + begin / piece * width * of.by.state_size;
    const std::int64_t whole = (end - begin) / group, first = outer * of.n.count + begin;
    take_rows(of, of.in(first * inner), whole, width, width, mine);
    of.by.take_rows(of.in((first + whole * group) * inner), 1, (end - begin - whole * group) * inner, 0, mine);
    for (std::int64_t g = 1; g < group; ++g) of.by.join(mine, mine + g * inner * of.by.state_size, inner);
  });
  for (std::int64_t p = 1; p < pieces; ++p) of.by.join(states, states + p * width * of.by.state_size, inner);
  of.finish(states, inner, of.n.count, of.out(outer * inner));
}

/// Accumulates columns side by side, with pieces of rows in parallel.
void reduce_panel(const Reduction& of, std::int64_t outer, std::int64_t column, Workers& workers) {
  constexpr std::int64_t pieces_at_most = 8;
  alignas(64) std::byte states[pieces_at_most * kWidth * kStateBytes];
  const std::int64_t width = std::min(kWidth, of.n.inner - column), first = outer * of.n.count;
  const std::int64_t piece = piece_of(of.n.count, kPiece / 32, pieces_at_most);
  const std::int64_t pieces = std::max<std::int64_t>(1, (of.n.count + piece - 1) / piece);
  of.by.start(states, pieces * width);
  workers.each_part(of.n.count, piece, [&](std::int64_t begin, std::int64_t end) {
    take_rows(of, of.in((first + begin) * of.n.inner + column), end - begin, width, of.n.inner,
              states + begin / piece * width * of.by.state_size);
  });
  for (std::int64_t p = 1; p < pieces; ++p) of.by.join(states, states + p * width * of.by.state_size, width);
  of.finish(states, width, of.n.count, of.out(outer * of.n.inner + column));
}

void reduce_columns(const Reduction& of) {
  const bool few_columns = of.n.inner <= 64;
  const std::int64_t panels = (of.n.inner + kWidth - 1) / kWidth, tasks = of.n.outer * panels;
  const auto run = [&](std::int64_t task, Workers& workers) {
    if (few_columns) {
      reduce_few_columns(of, task, workers);
    } else {
      reduce_panel(of, task / panels, task % panels * kWidth, workers);
    }
  };
  if (tasks < 4) {
    for (std::int64_t task = 0; task < tasks; ++task) run(task, of.workers());
    return;
  }
  const std::int64_t work = std::max<std::int64_t>(1, of.n.count * std::min(of.n.inner, kWidth));
  of.workers().each_part(tasks, std::max<std::int64_t>(1, kPiece / work), [&](std::int64_t begin, std::int64_t end) {
    for (; begin < end; ++begin) run(begin, Workers::none());
  });
}

/// Reduces some consecutive kept elements over two runs of axes: all lines of a repeat, then those of the next one.
void reduce_kept(const Reduction& of, const TwoRuns& n, std::int64_t outer, std::int64_t kept, std::int64_t many) {
  alignas(64) std::byte states[kWidth * kStateBytes];
  const std::int64_t count = n.repeats * n.count;
  const auto at = [&](std::int64_t repeat) { return ((outer * n.repeats + repeat) * n.kept + kept) * n.count * n.inner; };
  const std::int64_t result = (outer * n.kept + kept) * n.inner;
  StopLooks looks;
  if (n.inner == 1) {
    of.by.start(states, many);
    for (std::int64_t repeat = 0; repeat < n.repeats; ++repeat) {
      if (n.count <= kPiece) {
        looks.worked(many * n.count);
        of.by.take_lines(of.in(at(repeat)), many, n.count, states);
        continue;
      }
      for (std::int64_t k = 0; k < many; ++k) {
        for (std::int64_t begin = 0; begin < n.count; begin += kPiece) {
          const std::int64_t some = std::min(kPiece, n.count - begin);
          looks.worked(some);
          of.by.take_blocks(of.in(at(repeat) + k * n.count + begin), of.element, some, states + k * of.by.state_size);
        }
      }
    }
    return of.finish(states, many, count, of.out(result));
  }
  for (std::int64_t k = 0; k < many; ++k) {
    for (std::int64_t column = 0; column < n.inner; column += kWidth) {
      const std::int64_t width = std::min(kWidth, n.inner - column);
      of.by.start(states, width);
      for (std::int64_t repeat = 0; repeat < n.repeats; ++repeat) {
        looks.worked(std::min<std::int64_t>(n.count * width, kPiece));
        take_rows(of, of.in(at(repeat) + k * n.count * n.inner + column), n.count, width, n.inner, states);
      }
      of.finish(states, width, count, of.out(result + k * n.inner + column));
    }
  }
}

void reduce_two_runs(const Reduction& of, const TwoRuns& n) {
  const std::int64_t piece = std::clamp<std::int64_t>(n.kept / 16, 1, n.inner == 1 ? kRowsAtOnce : 1);
  const std::int64_t pieces = (n.kept + piece - 1) / piece, work = std::max<std::int64_t>(1, n.repeats * piece * n.count * n.inner);
  of.workers().each_part(n.outer * pieces, std::max<std::int64_t>(1, kPiece / work), [&](std::int64_t task, std::int64_t end) {
    for (; task < end; ++task) {
      const std::int64_t kept = task % pieces * piece;
      reduce_kept(of, n, task / pieces, kept, std::min(piece, n.kept - kept));
    }
  });
}

template <class S, class R, bool mean = false>
void finish(const std::byte* states, std::int64_t width, std::int64_t count, std::byte* out) {
  const auto* from = reinterpret_cast<const S*>(states);
  auto* to = reinterpret_cast<R*>(out);
  for (std::int64_t j = 0; j < width; ++j) {
    if constexpr (mean) {
      to[j] = ops::store<R>(from[j] / static_cast<S>(count));
    } else {
      to[j] = ops::store<R>(from[j]);
    }
  }
}

using Finish = decltype(RowReduction::finish);

template <bool mean>
Finish sum_finish(DType element, DType result) {
  return dispatch(element, [&](auto zero) -> Finish {
    using T = decltype(zero);
    if constexpr (mean && std::is_integral_v<T>) {
      return nullptr;  // unreachable: the type rule has made them f32
    } else {
      return ops::dispatch_sum<T>(result, [](auto sum) -> Finish { return finish<ops::Accumulator<T>, decltype(sum), mean>; });
    }
  });
}

Finish extreme_finish(DType element) {
  return dispatch(element, [](auto zero) -> Finish {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, bool>) {
      return nullptr;
    } else {
      return finish<typename ExtremeElement<T, true>::State, T>;
    }
  });
}

Status reduction_kernel(const KernelCall& call) {
  const TensorType &from = *call.inputs[0].type, &to = *call.results[0].type;
  const std::optional<ReducedExtents> n = reduced_extents(from.shape, call.attributes);
  const std::optional<TwoRuns> two = n ? std::nullopt : two_runs(from.shape, call.attributes);
  const std::optional<RowReduction> by = row_reduction(call.op, from.dtype, to.dtype);
  if ((!n && !two) || !by) return run_reference(call);
  if (to.elements() == 0) return {};
  const ReducedExtents extents = n ? *n : ReducedExtents{two->outer * two->kept, two->repeats * two->count, two->inner};
  const Reduction of{call, *by, *by->reducer, by->finish, extents, by->element, by->result};
  if (two) {
    reduce_two_runs(of, *two);
  } else if (n->inner == 1) {
    reduce_rows(of);
  } else {
    reduce_columns(of);
  }
  return {};
}

/// The position of the extreme in a long row, from the positions in its pieces.
std::int32_t place_in_row(const ExtremeFinder& by, const std::byte* in, std::int64_t count, std::int64_t element, Workers& workers) {
  const std::int64_t piece = piece_of(count, kPiece, kMostPieces), pieces = (count + piece - 1) / piece;
  std::array<std::int64_t, kMostPieces> places{};
  workers.each_part(count, piece, [&](std::int64_t begin, std::int64_t end) {
    places[static_cast<std::size_t>(begin / piece)] = begin + by.in_row(in + begin * element, end - begin);
  });
  std::int64_t place = places[0];
  for (std::int64_t p = 1; p < pieces; ++p) {
    const std::int64_t other = places[static_cast<std::size_t>(p)];
    if (by.beats(in + other * element, in + place * element)) place = other;
  }
  return static_cast<std::int32_t>(place);
}

/// Positions in short rows, where starting a search for each would dominate: some rows are transposed to columns and searched together.
void places_in_short_rows(const ExtremeFinder& by, const std::byte* in, std::int64_t rows, std::int64_t count, std::int64_t element,
                          std::int32_t* out) {
  alignas(64) std::byte columns[kShortRow * kRowsAtOnce * sizeof(double)];
  const auto turn = [&](auto zero, std::int64_t many) {
    constexpr std::int64_t size = sizeof zero;
    for (std::int64_t r = 0; r < many; ++r) {
      for (std::int64_t k = 0; k < count; ++k)
        std::memcpy(columns + (k * kRowsAtOnce + r) * size, in + (r * count + k) * size, sizeof zero);
    }
  };
  for (; rows > 0; rows -= kRowsAtOnce, in += kRowsAtOnce * count * element, out += kRowsAtOnce) {
    const std::int64_t many = std::min(rows, kRowsAtOnce);
    switch (element) {
      case 1: turn(std::uint8_t{}, many); break;
      case 2: turn(std::uint16_t{}, many); break;
      case 4: turn(std::uint32_t{}, many); break;
      default: turn(std::uint64_t{}, many);
    }
    by.in_columns(columns, count, many, kRowsAtOnce, out);
  }
}

void places_in_rows(const ExtremeFinder& by, const std::byte* in, std::int64_t rows, std::int64_t count, std::int64_t element,
                    std::int32_t* out) {
  if (count < by.least_line && count <= kShortRow) return places_in_short_rows(by, in, rows, count, element, out);
  if (count <= kPiece) return by.in_lines(in, rows, count, out);
  for (std::int64_t row = 0; row < rows; ++row) out[row] = place_in_row(by, in + row * count * element, count, element, Workers::none());
}

/// Positions in each of `width` columns, in chunks of rows.
void places_in_columns(const ExtremeFinder& by, const std::byte* in, const ReducedExtents& n, std::int64_t width, std::int64_t element,
                       std::int32_t* out) {
  std::array<std::int32_t, ExtremeFinder::kMostWidth> here{};
  const auto at = [&](std::int64_t row, std::int64_t column) { return in + (row * n.inner + column) * element; };
  each_long(
      n.count,
      [&](std::int64_t begin, std::int64_t end) {
        by.in_columns(at(begin, 0), end - begin, width, n.inner, begin == 0 ? out : here.data());
        for (std::int64_t j = 0; begin > 0 && j < width; ++j) {
          const std::int64_t other = begin + here[static_cast<std::size_t>(j)];
          if (by.beats(at(other, j), at(out[j], j))) out[j] = static_cast<std::int32_t>(other);
        }
      },
      std::max<std::int64_t>(1, (1 << 20) / width));
}

Status place_kernel(const KernelCall& call) {
  const std::optional<ReducedExtents> n = reduced_extents(call.inputs[0].type->shape, call.attributes);
  if (!n || n->count == 0) return run_reference(call);
  if (call.results[0].type->elements() == 0) return {};
  const ExtremeFinder& by = best<ExtremeFinder>(finder, find_place, call.op.name, call.inputs[0].type->dtype);
  const std::int64_t element = size_of(call.inputs[0].type->dtype);
  Workers& workers = n->outer * n->count * n->inner * element < Workers::kWorthwhileBytes ? Workers::none() : call.workers;
  auto* out = call.results[0].as<std::int32_t>();
  const auto in = [&](std::int64_t index) { return call.inputs[0].data + index * element; };
  if (n->inner == 1 && n->outer * 8 < n->count / kPiece) {
    for (std::int64_t row = 0; row < n->outer; ++row) out[row] = place_in_row(by, in(row * n->count), n->count, element, workers);
  } else if (n->inner == 1) {
    workers.each_part(n->outer, std::max<std::int64_t>(1, kPiece / n->count), [&](std::int64_t begin, std::int64_t end) {
      places_in_rows(by, in(begin * n->count), end - begin, n->count, element, out + begin);
    });
  } else {
    const std::int64_t panels = (n->inner + ExtremeFinder::kMostWidth - 1) / ExtremeFinder::kMostWidth;
    workers.each(n->outer * panels, [&](std::int64_t task) {
      const std::int64_t outer = task / panels, column = task % panels * ExtremeFinder::kMostWidth;
      places_in_columns(by, in(outer * n->count * n->inner + column), *n, std::min(ExtremeFinder::kMostWidth, n->inner - column), element,
                        out + outer * n->inner + column);
    });
  }
  return {};
}

}  // namespace

constexpr KernelRow rows::sum{reduction_kernel};
constexpr KernelRow rows::mean{reduction_kernel};
constexpr KernelRow rows::prod{reduction_kernel};
constexpr KernelRow rows::any{reduction_kernel};
constexpr KernelRow rows::all{reduction_kernel};
constexpr KernelRow rows::max{reduction_kernel};
constexpr KernelRow rows::min{reduction_kernel};
constexpr KernelRow rows::argmax{place_kernel};
constexpr KernelRow rows::argmin{place_kernel};

std::optional<ReducedExtents> reduced_extents(const Shape& shape, const Attributes& attributes) {
  const ops::AxisMarks marked = ops::marked_axes(attributes, static_cast<int>(shape.size()));
  ReducedExtents extents;
  int part = 0;  // 0: before the reduced axes, 1: in them, 2: after them
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 1) continue;
    if (marked[axis] ? part == 2 : false) return std::nullopt;
    if (marked[axis]) part = 1;
    if (!marked[axis] && part == 1) part = 2;
    (part == 0 ? extents.outer : part == 1 ? extents.count : extents.inner) *= shape[axis];
  }
  return extents;
}

std::int64_t RowReduction::piece_of(std::int64_t count) {
  return host::piece_of(count, kPiece, kMostPieces);
}

void RowReduction::rows(const std::byte* in, std::int64_t rows, std::int64_t count, std::byte* out) const {
  if (finder != nullptr) return places_in_rows(*finder, in, rows, count, element, reinterpret_cast<std::int32_t*>(out));
  alignas(64) std::byte states[kRowsAtOnce * kStateBytes];
  for (std::int64_t row = 0; row < rows; row += kRowsAtOnce) {
    const std::int64_t many = std::min(kRowsAtOnce, rows - row);
    reducer->start(states, many);
    if (count <= Reducer::kBlock) {
      reducer->take_lines(in + row * count * element, many, count, states);
    } else {
      for (std::int64_t r = 0; r < many; ++r)
        reducer->take_blocks(in + (row + r) * count * element, element, count, states + r * reducer->state_size);
    }
    finish(states, many, count, out + row * result);
  }
}

std::optional<RowReduction> row_reduction(const OpDef& op, DType element, DType result) {
  RowReduction by{nullptr, nullptr, nullptr, size_of(element), size_of(result)};
  const std::string_view name = op.name;
  if (&op == &op::argmax || &op == &op::argmin) {
    by.finder = &best<ExtremeFinder>(finder, find_place, name, element);
  } else if (&op == &op::max || &op == &op::min) {
    by.reducer = &best<Reducer>(extreme_reducer, find_extreme, name, element);
    by.finish = extreme_finish(element);
  } else if (&op == &op::sum || &op == &op::mean || &op == &op::prod) {
    by.reducer = &best<Reducer>(sum_reducer, find_sum, name, element);
    by.finish = &op == &op::mean ? sum_finish<true>(element, result) : sum_finish<false>(element, result);
  } else if (&op == &op::any || &op == &op::all) {
    by.reducer = &best<Reducer>(sum_reducer, find_sum, name, element);
    by.finish = finish<std::uint8_t, std::uint8_t>;
  } else {
    return std::nullopt;
  }
  return by;
}

}  // namespace cleave::runtime::host
