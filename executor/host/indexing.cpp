// slice, take and one_hot. take prefetches rows, because they lie at arbitrary addresses.
#include <algorithm>
#include <cstring>

#include "executor/host/long_copy.h"
#include "executor/host/movement.h"
#include "graph/base/map_guard.h"
#include "graph/ops/positions.h"
#include "graph/ops/views.h"
#include "graph/ops/wrapping.h"

namespace cleave::runtime::host {
namespace {

/// Bytes of one piece of the work.
constexpr std::int64_t kPiece = 256 << 10;

Movement slice_plan(const TensorType& x, const TensorType& result, const Attributes& attributes) {
  const ops::View view = ops::slice_view(x, attributes);
  const auto own = row_major_strides(result.shape);
  Movement movement;
  if (result.elements() > 0) movement.from = view.offset;
  for (std::size_t axis = 0; axis < own.size(); ++axis) movement.copy.add(result.shape[axis], view.strides[axis], own[axis]);
  return movement;
}

// --- take --------------------------------------------------------------------------------------------------------------------------------

/// Views the operand as `before` tables of `extent` rows of `run` bytes.
struct Table {
  std::int64_t before = 1, extent = 1, run = 1;
};

Table table_of(const TensorType& x, std::int64_t axis) {
  Table table{1, 1, size_of(x.dtype)};
  if (axis < 0) axis += x.rank();
  for (std::int64_t i = 0; i < x.rank(); ++i)
    (i < axis ? table.before : i == axis ? table.extent : table.run) *= x.shape[static_cast<std::size_t>(i)];
  return table;
}

/// The result of checking indices: whether some count from the end, and the first index that is out of range.
template <class Index>
struct Looked {
  bool from_end = false;
  const Index* outside = nullptr;
};
template <class Index>
Looked<Index> look_at(const Index* indices, std::int64_t count, std::int64_t extent) {
  Looked<Index> found;
  unsigned outside = 0, negative = 0;
  each_with_looks(count, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t index = ops::to_position(indices[i]);
      negative |= static_cast<unsigned>(index < 0);
      outside |=
          static_cast<unsigned>(static_cast<std::uint64_t>(index < 0 ? index + extent : index) >= static_cast<std::uint64_t>(extent));
    }
  });
  found.from_end = negative != 0;
  if (outside != 0)
    found.outside = std::find_if(indices, indices + count, [&](Index i) { return ops::place_of(ops::to_position(i), extent) < 0; });
  return found;
}

/// Maps index `i` to a row; `from_end`: negative indices are allowed and count from the end.
template <bool from_end, class Index>
struct Rows {
  const Index* indices;
  std::int64_t extent;
  std::int64_t operator[](std::int64_t i) const {
    const auto index = static_cast<std::int64_t>(indices[i]);
    return from_end && index < 0 ? index + extent : index;
  }
};

/// Copies rows of one register's size: several elements, or one. A row is aligned only for its element type, so rows are copied as bytes;
/// the compiler turns each copy into one load and one store.
template <std::size_t size, class Places>
void take_words(const std::byte* table, Places rows, std::byte* out, std::int64_t count) {
  constexpr auto kSize = static_cast<std::int64_t>(size);
  for (std::int64_t i = 0; i < count; ++i) std::memcpy(out + i * kSize, table + rows[i] * kSize, size);
}

/// Copies rows of `size` bytes, a compile-time constant; `size` 0: of `any` bytes.
template <std::int64_t size, class Places>
void take_rows(const std::byte* table, std::int64_t any, Places rows, std::byte* out, std::int64_t count) {
  constexpr std::int64_t kAhead = 12, kLine = 64, kMostLines = 16;
  const std::int64_t run = size > 0 ? size : any, fetched = std::min(run, kMostLines * kLine);
  for (std::int64_t i = 0; i < count; ++i) {
    if (i + kAhead < count) {
      const std::byte* later = table + rows[i + kAhead] * run;
      for (std::int64_t at = 0; at < fetched; at += kLine) __builtin_prefetch(later + at);
    }
    if constexpr (size > 0) {
      std::memcpy(out + i * run, table + rows[i] * run, static_cast<std::size_t>(run));
    } else {
      copy_long(out + i * run, table + rows[i] * run, run);
    }
  }
}

template <class Places>
void take_part(const std::byte* table, std::int64_t run, Places rows, std::byte* out, std::int64_t count) {
  switch (run) {
    case 1: return take_words<1>(table, rows, out, count);
    case 2: return take_words<2>(table, rows, out, count);
    case 4: return take_words<4>(table, rows, out, count);
    case 8: return take_words<8>(table, rows, out, count);
    case 16: return take_rows<16>(table, run, rows, out, count);
    case 64: return take_rows<64>(table, run, rows, out, count);
    case 128: return take_rows<128>(table, run, rows, out, count);
    case 256: return take_rows<256>(table, run, rows, out, count);
    default: return take_rows<0>(table, run, rows, out, count);
  }
}

/// A file that is mapped stays out of memory, except for what was read last.
void release_read(const KernelCall& call, const Table& table) {
  count_reads(call.inputs[0].data, static_cast<std::size_t>(table.run),
              static_cast<std::size_t>(table.before * call.inputs[1].type->elements()));
}

template <class Index>
Status take(const KernelCall& call, const Table& table) {
  const auto* indices = call.inputs[1].as<Index>();
  const std::int64_t count = call.inputs[1].type->elements();
  const Looked<Index> looked = look_at(indices, count, table.extent);
  if (looked.outside) {
    const std::string wrong = std::to_string(ops::to_position(*looked.outside));
    return Error{"`take`: the index " + wrong + " is outside the axis of extent " + std::to_string(table.extent)};
  }
  if (call.results[0].type->elements() == 0) return {};
  const std::int64_t grain = std::clamp<std::int64_t>(kPiece / table.run, 1, count), parts = (count + grain - 1) / grain;
  const auto piece = [&](std::int64_t which) {
    const std::int64_t begin = which % parts * grain, end = std::min(count, begin + grain), before = which / parts;
    const std::byte* from = call.inputs[0].data + before * table.extent * table.run;
    std::byte* out = call.results[0].data + (before * count + begin) * table.run;
    if (looked.from_end)
      take_part(from, table.run, Rows<true, Index>{indices + begin, table.extent}, out, end - begin);
    else
      take_part(from, table.run, Rows<false, Index>{indices + begin, table.extent}, out, end - begin);
  };
  const std::int64_t pieces = table.before * parts;
  if (call.results[0].type->bytes() >= Workers::kWorthwhileBytes) {
    const std::int64_t together = std::max<std::int64_t>(1, kPiece / (grain * table.run));
    call.workers.each_part(pieces, together, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t which = begin; which < end; ++which) piece(which);
    });
  } else {
    for (std::int64_t which = 0; which < pieces; ++which) piece(which);
  }
  release_read(call, table);
  return {};
}

Status take_kernel(const KernelCall& call) {
  const Table table = table_of(*call.inputs[0].type, call.attributes.get_or<std::int64_t>("axis", 0));
  return dispatch(call.inputs[1].type->dtype, [&](auto zero) -> Status {
    using Index = decltype(zero);
    if constexpr (std::is_integral_v<Index> && !std::is_same_v<Index, bool>) return take<Index>(call, table);
    return run_reference(call);
  });
}

// --- one_hot -----------------------------------------------------------------------------------------------------------------------------

template <class Index, class T>
void one_hot(const KernelCall& call, std::int64_t depth) {
  const auto* indices = call.inputs[0].as<Index>();
  const std::int64_t grain = std::max<std::int64_t>(1, kPiece / (depth * static_cast<std::int64_t>(sizeof(T))));
  const auto one = ops::store<T>(true);
  call.workers.each_part(call.inputs[0].type->elements(), grain, [&](std::int64_t begin, std::int64_t end) {
    T* out = call.results[0].as<T>() + begin * depth;
    fill_long(reinterpret_cast<std::byte*>(out), (end - begin) * depth * static_cast<std::int64_t>(sizeof(T)), std::byte{0});
    for (std::int64_t i = begin; i < end; ++i, out += depth) {
      const auto index = static_cast<std::int64_t>(indices[i]);
      if (index >= 0 && index < depth) out[index] = one;
    }
  });
}

Status one_hot_kernel(const KernelCall& call) {
  const TensorType& result = *call.results[0].type;
  if (result.elements() == 0) return {};
  dispatch(call.inputs[0].type->dtype, [&](auto index) {
    dispatch(result.dtype, [&](auto zero) {
      using Index = decltype(index);
      if constexpr (std::is_integral_v<Index>) {
        one_hot<Index, decltype(zero)>(call, result.shape.back());
      } else {
        (void)zero;  // unreachable: the type rule allows no other positions
      }
    });
  });
  return {};
}

}  // namespace

constexpr KernelRow rows::slice = movement<slice_plan>();
constexpr KernelRow rows::take{take_kernel};
constexpr KernelRow rows::one_hot{one_hot_kernel};

}  // namespace cleave::runtime::host
