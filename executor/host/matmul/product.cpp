#include "executor/host/matmul/product.h"

#include <algorithm>
#include <bit>
#include <new>
#include <optional>
#include <string>
#include <type_traits>

#include "graph/base/stop.h"
#include "graph/shared_constants.h"

namespace cleave::runtime::host {
namespace {

// Measured on Zen 4 with caches of 32 KiB and 1 MiB; not measured on other machines.
constexpr std::int64_t kInnerBlock = 512;  ///< inner axis of a packed panel: three registers wide, 96 KiB, read from the second-level cache
constexpr std::int64_t kRowBlock = 96;     ///< the most rows multiplied by one packed panel while it is in cache
constexpr std::int64_t kPanels = 48;       ///< columns: a multiple of the panel width for every instruction set
constexpr std::int64_t kColumnBlock = 11 * kPanels;                     ///< the most columns of a piece
constexpr std::int64_t kStrip = 4 * kColumnBlock;                       ///< the most columns packed at a time: 4 MiB
constexpr std::int64_t kFirstCache = 32 << 10, kSecondCache = 1 << 20;  ///< bytes
/// Multiplications of one piece: about 5 us, where dispatching it takes less than one. Large products have larger pieces, to reread less.
constexpr std::int64_t kLeastPiece = 1 << 18, kMostPiece = 1 << 22, kPieces = 128;
constexpr std::int64_t kPart = 1 << 21;          ///< multiplications that justify one more part of the inner axis and its additions
constexpr std::int64_t kPieceBytes = 128 << 10;  ///< bytes read by a piece of memory-bound work
constexpr std::int64_t kMostParts = 8;           ///< parts of the inner axis
constexpr std::int64_t kLeastPart = 128;
constexpr double kLeastKept = 64 << 10, kMostKept = 64 << 20;  ///< bytes of panels that are kept packed
constexpr std::int64_t kFewForKept = 256;                      ///< the most rows for which packing dominates

constexpr std::int64_t ceil_div(std::int64_t x, std::int64_t y) {
  return (x + y - 1) / y;
}
constexpr std::int64_t round_up(std::int64_t x, std::int64_t to) {
  return ceil_div(x, to) * to;
}

template <class T>
Matrix<T> transposed(const Matrix<T>& matrix) {
  return {matrix.at, matrix.column, matrix.row};
}

}  // namespace

template <class T>
Product<T>::Product(const MatmulPlan& plan, bool keeps) : plan_(plan), code_(product_code<T>()), keeps_(keeps) {
  matrices_ = plan.batch;
  for (const MatmulPlan::Repeat& repeat : plan.repeats) matrices_ *= repeat.count;
  if (matrices_ == 0 || plan.m == 0 || plan.n == 0) return;  // no results: `run` has nothing to do, and there is nothing to cut
  choose();
  cut();
}

/// The operands of one product by its index.
template <class T>
typename Product<T>::Operands Product<T>::operands(std::int64_t index, const T* a, const T* b, T* c) const {
  const auto step = [&](std::int64_t count, std::int64_t stride_a, std::int64_t stride_b, std::int64_t stride_c) {
    const std::int64_t i = index % count;
    index /= count;
    a += i * stride_a;
    b += i * stride_b;
    c += i * stride_c;
  };
  step(plan_.batch, plan_.stride_a, plan_.stride_b, plan_.stride_c);
  for (const MatmulPlan::Repeat& repeat : plan_.repeats) step(repeat.count, repeat.stride_a, repeat.stride_b, repeat.stride_c);
  Operands all{plan_.m, plan_.n, plan_.k, {a, plan_.k, 1}, {b, plan_.n, 1}, {c, plan_.n, 1}};
  if (plan_.transpose_a) all.a = {a, 1, plan_.m};
  if (plan_.transpose_b) all.b = {b, 1, plan_.k};
  if (!swapped_) return all;
  return {all.columns, all.rows, all.inner, transposed(all.b), transposed(all.a), transposed(all.c)};
}

template <class T>
void Product<T>::choose() {
  const bool dots = !plan_.transpose_a && plan_.transpose_b;  // both are contiguous along the inner axis
  constexpr std::int64_t kFew = 8;
  // A one-column result is a one-row result of the transposed product; and dot products need their few rows on the left.
  swapped_ = (plan_.n == 1 && plan_.m > 1) || (dots && plan_.n <= kFew && plan_.n < plan_.m);
  rows_ = swapped_ ? plan_.n : plan_.m;
  columns_ = swapped_ ? plan_.m : plan_.n;
  const Operands view = operands(0, nullptr, nullptr, nullptr);
  const bool a_by_row = view.a.column == 1 || plan_.k == 1, b_by_row = view.b.column == 1;
  const std::int64_t b_bytes = columns_ * plan_.k * static_cast<std::int64_t>(sizeof(T));
  if (plan_.k == 0) {
    method_ = Method::dots;  // an empty sum: zeros
  } else if (keeps_) {
    pack_b_ = true;
  } else if (b_by_row && (rows_ <= 2 || (rows_ <= 2 * kFew && b_bytes > kSecondCache)) && (view.c.column == 1 || rows_ == 1)) {
    method_ = Method::combine;
  } else if (view.b.row == 1 && ((a_by_row && rows_ <= kFew) || rows_ == 1)) {
    method_ = Method::dots;
  } else {
    pack_a_ = !a_by_row && columns_ > 6 * code_.width;
    pack_b_ = !b_by_row || (rows_ > 128 && b_bytes > kSecondCache / 2);
  }
}

template <class T>
void Product<T>::cut() {
  constexpr std::int64_t size = sizeof(T);
  const std::int64_t inner = std::max<std::int64_t>(1, plan_.k), width = std::max<std::int64_t>(1, columns_);
  const double work = static_cast<double>(rows_) * static_cast<double>(width) * static_cast<double>(inner);
  double parts = 0;  // the number of pieces that one product's work justifies
  strip_ = round_up(ceil_div(width, ceil_div(width, kStrip)), kPanels);
  if (method_ == Method::tiles) {
    cut_tiles(std::clamp(static_cast<std::int64_t>(work / kPieces), kLeastPiece, kMostPiece) / std::min(inner, kInnerBlock));
    parts = work / kPart;
  } else {
    row_block_ = std::max<std::int64_t>(1, rows_);
    // Combinations use blocks whose results stay in the first-level cache; a piece of dot products has as many columns as its work
    // justifies.
    column_block_ = method_ == Method::combine ? std::max<std::int64_t>(64, round_up(kFirstCache / size / row_block_, 64))
                                               : round_up(ceil_div(kPieceBytes, inner * size), 8);
    parts = static_cast<double>(width) * static_cast<double>(inner) * size / kPieceBytes;
  }
  const std::int64_t blocks = ceil_div(rows_, row_block_) * across(width);
  if (!keeps_ && matrices_ == 1 && blocks < kMostParts && parts >= 4.0 * static_cast<double>(blocks) && inner >= 2 * kLeastPart)
    parts_ = static_cast<std::int64_t>(std::bit_floor(
        static_cast<std::uint64_t>(std::min({kMostParts / blocks, static_cast<std::int64_t>(parts) / (2 * blocks), inner / kLeastPart}))));
  // Small products stay whole, several to a piece; large ones are divided if they are few.
  const bool small = method_ == Method::tiles ? work <= kLeastPiece : parts <= 2;
  const bool whole = !keeps_ && (small || (matrices_ >= 4 && parts <= 2) || (matrices_ >= 16 && parts <= 64));
  together_ = whole ? std::clamp<std::int64_t>(static_cast<std::int64_t>(1 / std::max(parts, 1e-9)), 1, matrices_) : 0;
}

template <class T>
bool Product<T>::would_keep() const {
  const double bytes = static_cast<double>(columns_) * static_cast<double>(plan_.k) * sizeof(T);
  if (matrices_ != 1 || swapped_ || bytes > kMostKept || bytes < kLeastKept || rows_ > kFewForKept) return false;
  return method_ == Method::tiles ? pack_b_ : method_ == Method::dots;
}

/// Divides into pieces of `elements` results: one panel wide, and as high as remains. If each piece packs its rows of the left operand, it
/// has few rows and many columns instead, to reuse the packed rows.
template <class T>
void Product<T>::cut_tiles(std::int64_t elements) {
  const std::int64_t rows = std::max<std::int64_t>(1, rows_);
  const std::int64_t most = columns_ > kPanels ? kRowBlock : 8 * kRowBlock;  // a single panel stays in cache for all rows
  row_block_ = std::clamp(pack_a_ ? 2 * code_.rows : round_up(elements / kPanels, code_.rows), code_.rows, most);
  row_block_ = round_up(ceil_div(rows, ceil_div(rows, row_block_)), code_.rows);
  column_block_ = std::clamp(round_up(elements / row_block_, kPanels), kPanels, kColumnBlock);
}

/// The number of blocks into which `columns` columns are divided. The last one includes a remainder of one register.
template <class T>
std::int64_t Product<T>::across(std::int64_t columns) const {
  const std::int64_t rest = method_ == Method::tiles ? code_.width : 0;
  return ceil_div(std::max<std::int64_t>(1, columns - rest), column_block_);
}

template <class T>
void Product<T>::run(Workers& workers, const T* a, const T* b, T* c, const T* bias) {
  if (rows_ == 0 || columns_ == 0 || matrices_ == 0) return;
  if (method_ == Method::tiles) {
    // A thread packs the right operand by itself unless `packed` does so for all; else at most the panel at the edge.
    const bool for_all = pack_b_ && parts_ == 1 && together_ == 0;
    const std::int64_t columns = for_all ? 0 : pack_b_ ? packed_columns(std::min(columns_, strip_), code_.width) : code_.width;
    scratch_.reserve(workers.threads(), (columns + (pack_a_ ? kRowBlock : 0)) * std::min(kInnerBlock, plan_.k) + code_.width);
  }
  if (together_ == 0) {
    for (std::int64_t i = 0; i < matrices_; ++i) one(workers, operands(i, a, b, c), bias);
    return;
  }
  workers.each_part(matrices_, together_, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const Operands all = operands(i, a, b, c);
      alone(all);
      finish(all, 0, 0, bias);
    }
  });
}

template <class T>
typename Product<T>::Operands Product<T>::part(const Operands& all, std::int64_t row, std::int64_t rows, std::int64_t column,
                                               std::int64_t columns) {
  rows = std::min(rows, all.rows - row);
  columns = std::min(columns, all.columns - column);
  return {rows, columns, all.inner, all.a.from(row, 0), all.b.from(0, column), all.c.from(row, column)};
}

/// Block `index` in the horizontal direction, with a block of rows from `row` on.
template <class T>
typename Product<T>::Operands Product<T>::block_of(const Operands& all, std::int64_t row, std::int64_t index) const {
  const bool last = index + 1 == across(all.columns);
  return part(all, row, row_block_, index * column_block_, last ? all.columns : column_block_);
}

/// Calls `body(row, horizontal block)` for each block of the result, vertically first, because vertical neighbours read the same columns.
template <class T>
template <class Body>
void Product<T>::each_block(Workers& workers, std::int64_t columns, const Body& body) {
  const std::int64_t down = ceil_div(rows_, row_block_);
  workers.each(down * across(columns), [&](std::int64_t piece) { body(piece % down * row_block_, piece / down); });
}

template <class T>
void Product<T>::one(Workers& workers, const Operands& all, const T* bias) {
  if (parts_ > 1) return in_parts(workers, all, bias);
  if (pack_b_) return packed(workers, all, bias);
  each_block(workers, columns_, [&](std::int64_t row, std::int64_t index) {
    const Operands block = block_of(all, row, index);
    alone(block);
    finish(block, row, index * column_block_, bias);
  });
}

/// Splits the inner axis, because there are few blocks of results and long sums; partial sums are added in order.
template <class T>
void Product<T>::in_parts(Workers& workers, const Operands& all, const T* bias) {
  const std::int64_t deep = round_up(ceil_div(all.inner, parts_), 16), size = rows_ * columns_;
  const std::int64_t parts = ceil_div(all.inner, deep);
  shared_.reserve(1, parts * size);
  const typename Scratch<T>::Part sums(shared_);
  const std::int64_t down = ceil_div(rows_, row_block_), wide = across(columns_);
  workers.each(parts * down * wide, [&](std::int64_t piece) {
    const std::int64_t p = piece / down / wide;
    Operands slice = all;
    slice.inner = std::min(deep, all.inner - p * deep);
    slice.a = all.a.from(0, p * deep);
    slice.b = all.b.from(p * deep, 0);
    slice.c = {sums.data() + p * size, columns_, 1};
    alone(block_of(slice, piece % down * row_block_, piece / down % wide));
  });
  T* first = sums.data();
  for (std::int64_t p = 1; p < parts; ++p) {
    for (std::int64_t i = 0; i < size; ++i) first[i] += first[p * size + i];
  }
  for (std::int64_t i = 0; i < rows_; ++i) {
    for (std::int64_t j = 0; j < columns_; ++j) all.c.at[i * all.c.row + j * all.c.column] = first[i * columns_ + j];
  }
  finish(all, 0, 0, bias);
}

/// Packs the panels of a strip of the right operand, for a part of the inner axis.
template <class T>
void Product<T>::pack(Workers& workers, const Operands& slice, T* panels) const {
  workers.each(across(slice.columns), [&](std::int64_t index) {
    const Operands block = block_of(slice, 0, index);
    code_.pack_b(block.b, block.columns, block.inner, panels + index * column_block_ * block.inner);
  });
}

/// Packs all panels of the right operand. Where they are depends on the operand and the micro-kernels alone, not on the rows.
template <class T>
std::shared_ptr<T> Product<T>::all_panels(Workers& workers, const Operands& all, std::int64_t elements) const {
  constexpr auto kAlignment = std::align_val_t(Scratch<T>::kAlignment);
  const std::shared_ptr<T> panels(static_cast<T*>(::operator new[](static_cast<std::size_t>(elements) * sizeof(T), kAlignment)),
                                  [](T* memory) { ::operator delete[](memory, kAlignment); });
  for (std::int64_t first = 0; first < columns_; first += strip_) {
    const Operands strip = part(all, 0, rows_, first, strip_);
    for (std::int64_t k = 0; k < all.inner; k += kInnerBlock) {
      Operands slice = strip;
      slice.inner = std::min(kInnerBlock, all.inner - k);
      slice.b = strip.b.from(k, 0);
      pack(workers, slice, panels.get() + first * all.inner + packed_columns(strip.columns, code_.width) * k);
    }
  }
  return panels;
}

/// Keeps all panels of the right operand.
template <class T>
void Product<T>::keep(Workers& workers, const Operands& all) {
  const std::int64_t elements = packed_columns(columns_, code_.width) * all.inner + code_.width;
  const auto make = [&] { return all_panels(workers, all, elements); };
  if (constants_) {
    std::string form = std::string("panels of ") + (std::is_integral_v<T> ? "u" : "f") + std::to_string(sizeof(T));
    for (const std::int64_t number : {columns_, all.inner, all.b.row, all.b.column, static_cast<std::int64_t>(code_.width)})
      form += " " + std::to_string(number);
    kept_ = std::static_pointer_cast<T>(constants_->derived(all.b.at, form, elements * static_cast<std::int64_t>(sizeof(T)), make));
  } else {
    kept_ = make();
  }
  kept_from_ = all.b.at;
}

template <class T>
void Product<T>::keep(Workers& workers, const T* b) {
  if (keeps_ && pack_b_ && rows_ > 0 && columns_ > 0 && matrices_ == 1) keep(workers, operands(0, nullptr, b, nullptr));
}

/// Packs the panels of the right operand once, by all threads, for all threads.
template <class T>
void Product<T>::packed(Workers& workers, const Operands& all, const T* bias) {
  if (!keeps_) shared_.reserve(1, packed_columns(std::min(strip_, columns_), code_.width) * std::min(kInnerBlock, all.inner));
  if (keeps_ && kept_from_ != all.b.at) keep(workers, all);
  std::optional<typename Scratch<T>::Part> room;
  if (!keeps_) room.emplace(shared_);
  for (std::int64_t first = 0; first < columns_; first += strip_) {
    const Operands strip = part(all, 0, rows_, first, strip_);
    for (std::int64_t k = 0; k < all.inner; k += kInnerBlock) {
      Operands slice = strip;
      slice.inner = std::min(kInnerBlock, all.inner - k);
      slice.a = strip.a.from(0, k);
      slice.b = strip.b.from(k, 0);
      T* panels = keeps_ ? kept_.get() + first * all.inner + packed_columns(strip.columns, code_.width) * k : room->data();
      if (!keeps_) pack(workers, slice, panels);
      each_block(workers, strip.columns, [&](std::int64_t row, std::int64_t index) {
        const typename Scratch<T>::Part scratch(scratch_);
        const Operands piece = block_of(slice, row, index);
        block(piece, panels + index * column_block_ * piece.inner, k > 0, scratch.data());
        if (k + slice.inner == all.inner) finish(piece, row, first + index * column_block_, bias);
      });
    }
  }
}

template <class T>
void Product<T>::alone(const Operands& part) {
  switch (method_) {
    case Method::dots: return code_.dots(part.rows, part.columns, part.inner, part.a, transposed(part.b), part.c);
    case Method::combine:
      for (std::int64_t j = 0; j < part.columns; j += column_block_)
        code_.combine(part.rows, std::min(column_block_, part.columns - j), part.inner, part.a, part.b.from(0, j), part.c.from(0, j));
      return;
    case Method::tiles: return tiles(part, typename Scratch<T>::Part(scratch_).data());
  }
}

/// Computes a part on one thread. The right operand is packed, or read in place except for a narrow panel at its edge.
template <class T>
void Product<T>::tiles(const Operands& all, T* scratch) const {
  for (std::int64_t first = 0; first < all.columns; first += strip_) {
    const Operands strip = part(all, 0, all.rows, first, strip_);
    for (std::int64_t k = 0; k < all.inner; k += kInnerBlock) {
      if (k > 0) look_at_stop();
      Operands slice = strip;
      slice.inner = std::min(kInnerBlock, all.inner - k);
      slice.a = strip.a.from(0, k);
      slice.b = strip.b.from(k, 0);
      const std::int64_t edge = pack_b_ ? 0 : strip.columns - strip.columns % code_.width;
      T* rest = scratch + packed_columns(strip.columns - edge, code_.width) * slice.inner;
      if (edge < strip.columns) {
        code_.pack_b(slice.b.from(0, edge), strip.columns - edge, slice.inner, scratch);
        block(part(slice, 0, all.rows, edge, strip.columns), scratch, k > 0, rest);
      }
      if (edge > 0) block(part(slice, 0, all.rows, 0, edge), nullptr, k > 0, rest);
    }
  }
}

/// `all` has at most kInnerBlock elements along the inner axis.
template <class T>
void Product<T>::block(const Operands& all, const T* packed_b, bool add, T* scratch) const {
  const std::int64_t rows = pack_a_ ? kRowBlock : all.rows;
  for (std::int64_t row = 0; row < all.rows; row += rows) {
    const Operands each = part(all, row, rows, 0, all.columns);
    BlockCall<T> call{each.rows, each.columns, each.inner, each.a, pack_a_, each.b, packed_b != nullptr, each.c, add};
    if (packed_b) call.b.at = packed_b;
    if (pack_a_) {
      code_.pack_a(each.a, each.rows, each.inner, scratch);
      call.a.at = scratch;
    }
    code_.block(call);
  }
}

/// `row` and `column` are the origin of `part` in the product.
template <class T>
void Product<T>::finish(const Operands& part, std::int64_t row, std::int64_t column, const T* bias) const {
  const bool relu = plan_.epilogue == Epilogue::relu || plan_.epilogue == Epilogue::bias_relu;
  if (!has_bias(plan_.epilogue) && !relu) return;
  if (bias) bias += swapped_ ? row : column;
  if (swapped_) {
    code_.finish(part.columns, part.rows, transposed(part.c), {bias, relu});
  } else {
    code_.finish(part.rows, part.columns, part.c, {bias, relu});
  }
}

template class Product<float>;
template class Product<double>;
template class Product<std::uint32_t>;
template class Product<std::uint64_t>;

}  // namespace cleave::runtime::host
