// Reference algorithms of linear algebra: textbook algorithms on one matrix of doubles, without a library. Kernels are compared with them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace cleave::ops::naive {

struct Matrix {
  Matrix(std::int64_t r, std::int64_t c) : rows(r), columns(c), elements(static_cast<std::size_t>(r * c)) {}
  double& operator()(std::int64_t i, std::int64_t j) { return elements[static_cast<std::size_t>(i * columns + j)]; }
  double operator()(std::int64_t i, std::int64_t j) const { return elements[static_cast<std::size_t>(i * columns + j)]; }

  std::int64_t rows, columns;
  std::vector<double> elements;
};
Matrix identity(std::int64_t n);
Matrix transposed(const Matrix& a);

/// The determinant as sign and logarithm.
struct Determinant {
  double sign = 1, logarithm = 0;
};
/// Elimination with the largest pivot of each column; replaces `right` by the solutions. For a singular matrix the sign is 0 and `right` is
/// undefined.
Determinant eliminate(Matrix a, Matrix& right);

/// L with a = L L^T, or nothing if a is not positive definite.
std::optional<Matrix> cholesky(const Matrix& a);

/// Orthonormal columns and an upper triangle without negative numbers on its diagonal, by Householder's reflections.
struct QR {
  Matrix q, r;
};
QR qr(const Matrix& a);

/// Eigenvalues and eigenvectors of a symmetric matrix, smallest value first, by Jacobi rotations; column i belongs to value i, with signs
/// as `settle_signs` has them.
struct Eigen {
  std::vector<double> values;
  Matrix vectors;
};
Eigen eigh(Matrix a);

/// a = u diag(s) vh, largest first, by rotations of columns (Hestenes).
struct SVD {
  Matrix u;
  std::vector<double> s;
  Matrix vh;
};
SVD svd(const Matrix& a);

/// Whether the sign of column `j` must be flipped, so that its first component of at least half the largest magnitude is positive.
template <class At>
bool wrong_sign(std::int64_t rows, const At& at) {
  double largest = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    const double magnitude = at(i) < 0 ? -static_cast<double>(at(i)) : static_cast<double>(at(i));
    largest = magnitude > largest ? magnitude : largest;
  }
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto value = static_cast<double>(at(i));
    if (value >= largest / 2 || value <= -largest / 2) return value < 0;
  }
  return false;
}

}  // namespace cleave::ops::naive
