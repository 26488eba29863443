// ProductCode: the micro-kernels of matrix products for one element type, compiled for one instruction set (code_*.cpp), and their
// selection for this processor. Plain functions on plain memory; product.cpp divides products into blocks.
//
// Written for cleave, because it measures within a tenth of the best of oneDNN, OpenBLAS and BLIS of Debian 12 at most shapes
// (docs/benchmarks.md lists the exceptions), reads small and row-major operands without packing them, packs large ones once for all
// threads, and adds no second thread pool.
#pragma once

#include <cstdint>

namespace cleave::runtime::host {

// Inline functions here are always inlined, so that no copy compiled for one instruction set serves another.

/// A strided view: element (row, column) is at `at + row * row_stride + column * column_stride`; null: the elements are packed elsewhere.
template <class T>
struct Matrix {
  T* at = nullptr;
  std::int64_t row = 0, column = 0;  ///< strides in elements

  [[nodiscard, gnu::always_inline]] Matrix from(std::int64_t r, std::int64_t c) const {
    return {at ? at + r * row + c * column : at, row, column};
  }
};

/// Computes c = a x b or c += a x b, plus an optional bias for each row; c's columns are contiguous.
template <class T>
struct BlockCall {
  std::int64_t rows = 0, columns = 0, inner = 0;
  Matrix<const T> a;
  bool packed_a = false;  ///< panels of `ProductCode::rows` rows, each [inner][rows]
  Matrix<const T> b;      ///< if not packed, its rows are contiguous
  bool packed_b = false;  ///< panels of `panel_width` columns, each [inner][width]
  Matrix<T> c;
  bool add = false;
  const T* bias = nullptr;  ///< a number for each row, added to c, or null
};

/// The epilogue of a product: adds a bias row to each row, and applies relu.
template <class T>
struct Finish {
  const T* bias = nullptr;
  bool relu = false;
};

template <class T>
struct ProductCode {
  std::int64_t rows = 0;   ///< rows of a register tile
  std::int64_t width = 0;  ///< elements of a vector register; register tiles are up to three wide
  void (*block)(const BlockCall<T>& call) = nullptr;
  /// Packs into panels as BlockCall describes. `count`: rows of a, or columns of b. Both pack functions may write up to a register's width
  /// past the end.
  void (*pack_a)(const Matrix<const T>& a, std::int64_t count, std::int64_t inner, T* to) = nullptr;
  void (*pack_b)(const Matrix<const T>& b, std::int64_t count, std::int64_t inner, T* to) = nullptr;
  /// result[i, j] = sum over k of left[i, k] * right[j, k]; both operands are contiguous along k. For few rows of `left`.
  void (*dots)(std::int64_t rows, std::int64_t columns, std::int64_t inner, const Matrix<const T>& left, const Matrix<const T>& right,
               const Matrix<T>& result) = nullptr;
  /// result[i, j] = sum over k of factors[i, k] * lines[k, j]; the result and the lines are contiguous along j. For few rows; works line by
  /// line.
  void (*combine)(std::int64_t rows, std::int64_t columns, std::int64_t inner, const Matrix<const T>& factors, const Matrix<const T>& lines,
                  const Matrix<T>& result) = nullptr;
  void (*finish)(std::int64_t rows, std::int64_t columns, const Matrix<T>& c, const Finish<T>& finish) = nullptr;
};

/// The width of the panel of b that begins with `left` columns remaining: three registers, or two to avoid a last panel of one.
[[gnu::always_inline]] constexpr std::int64_t panel_width(std::int64_t left, std::int64_t width) {
  const std::int64_t registers = (left + width - 1) / width;
  return (registers == 4 ? 2 : registers < 3 ? registers : 3) * width;
}
/// Elements of a row of packed b.
[[gnu::always_inline]] constexpr std::int64_t packed_columns(std::int64_t columns, std::int64_t width) {
  return (columns + width - 1) / width * width;
}

/// The code for this processor, for T = float, double, std::uint32_t and std::uint64_t (integers wrap).
template <class T>
const ProductCode<T>& product_code();

}  // namespace cleave::runtime::host
