// ProductCode: the inner loops of matrix products for one element type, compiled for one set of instructions (code_*.cpp), and the choice
// among them for the processor that this runs on. Plain functions on plain memory: what is cut into which pieces is product.cpp's.
//
// Own code: it measures within a tenth of the best of oneDNN, OpenBLAS and BLIS of Debian 12 at most shapes (docs/benchmarks.md says where
// not), reads small and row-major operands without packing them, packs large ones once for all threads, and brings no second pool of
// threads.
#pragma once

#include <cstdint>

namespace cleave::runtime::host {

// All inline here is always inlined: no copy that was compiled for one set of instructions may serve others.

/// Where element (row, column) of a matrix lies: `at + row * row_stride + column * column_stride`; null: its elements are packed elsewhere.
template <class T>
struct Matrix {
  T* at = nullptr;
  std::int64_t row = 0, column = 0;  ///< strides in elements

  [[nodiscard, gnu::always_inline]] Matrix from(std::int64_t r, std::int64_t c) const {
    return {at ? at + r * row + c * column : at, row, column};
  }
};

/// c = a x b, or c += a x b, and a number a row; c's columns lie side by side.
template <class T>
struct BlockCall {
  std::int64_t rows = 0, columns = 0, inner = 0;
  Matrix<const T> a;
  bool packed_a = false;  ///< panels of `ProductCode::rows` rows, each [inner][rows]
  Matrix<const T> b;      ///< its columns lie side by side, if not packed
  bool packed_b = false;  ///< panels of `panel_width` columns, each [inner][width]
  Matrix<T> c;
  bool add = false;
  const T* bias = nullptr;  ///< a number a row that goes into c as well, or null
};

/// What is done to elements of the product: a row added to each row, negative ones to zero.
template <class T>
struct Finish {
  const T* bias = nullptr;
  bool relu = false;
};

template <class T>
struct ProductCode {
  std::int64_t rows = 0;   ///< of a tile, held in registers
  std::int64_t width = 0;  ///< elements of a register; tiles are up to three wide
  void (*block)(const BlockCall<T>& call) = nullptr;
  /// Into panels as BlockCall says. `count` is of rows of a, or columns of b; each may write a register's width past the end.
  void (*pack_a)(const Matrix<const T>& a, std::int64_t count, std::int64_t inner, T* to) = nullptr;
  void (*pack_b)(const Matrix<const T>& b, std::int64_t count, std::int64_t inner, T* to) = nullptr;
  /// result[i, j] = sum over k of left[i, k] * right[j, k]: both have their k side by side. For few rows of `left`.
  void (*dots)(std::int64_t rows, std::int64_t columns, std::int64_t inner, const Matrix<const T>& left, const Matrix<const T>& right,
               const Matrix<T>& result) = nullptr;
  /// result[i, j] = sum over k of factors[i, k] * lines[k, j]: the result and the lines have their j side by side. For few rows, line by
  /// line.
  void (*combine)(std::int64_t rows, std::int64_t columns, std::int64_t inner, const Matrix<const T>& factors, const Matrix<const T>& lines,
                  const Matrix<T>& result) = nullptr;
  void (*finish)(std::int64_t rows, std::int64_t columns, const Matrix<T>& c, const Finish<T>& finish) = nullptr;
};

/// Width of the panel of b that begins with `left` columns to go: three registers, but for no narrow one at the end.
[[gnu::always_inline]] constexpr std::int64_t panel_width(std::int64_t left, std::int64_t width) {
  const std::int64_t registers = (left + width - 1) / width;
  return (registers == 4 ? 2 : registers < 3 ? registers : 3) * width;
}
/// Elements that a packed b has a row.
[[gnu::always_inline]] constexpr std::int64_t packed_columns(std::int64_t columns, std::int64_t width) {
  return (columns + width - 1) / width * width;
}

/// The code for this processor; float, double, std::uint32_t, std::uint64_t (integers wrap).
template <class T>
const ProductCode<T>& product_code();

}  // namespace cleave::runtime::host
