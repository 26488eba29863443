// Linear algebra: solutions, determinants and decompositions of matrices in the last two axes; axes before them are a batch. f32 and f64
// (integers give f32), on the host, by LAPACK (docs/guide/running.md says how it is found). Names, and what is returned, are those of the
// Python array API. Error `shape`: not square, extents that do not fit; at run time: a singular matrix, one that is not positive definite,
// or eigenvalues of a matrix that is not finite, with its index in the batch. Signs that the mathematics leaves open are chosen so that
// results do not depend on the library: no negative number on the diagonal of R; of each eigenvector, and of each column of U, the first
// component that is at least half as large as the largest is positive.
#pragma once

#include "graph/ops/ops.h"

namespace cleave {

/// x with `a x = b`: [.., n, n] and [.., n, k] -> [.., n, k], batches broadcast; a vector b [n] gives [.., n].
///   Tensor x = solve(a, b);
Tensor solve(const Tensor& a, const Tensor& b, Here here = Here::now());
Tensor inv(const Tensor& x, Here here = Here::now());
Tensor det(const Tensor& x, Here here = Here::now());  ///< [.., n, n] -> [..]

struct SignAndLogarithm {
  Tensor sign, logabsdet;  ///< [..] each: 1, -1 or 0, and the logarithm of the magnitude
};
/// The determinant where it would overflow or vanish: of a singular matrix 0 and minus infinity.
SignAndLogarithm slogdet(const Tensor& x, Here here = Here::now());

struct CholeskyOptions {
  bool upper = false;  ///< the factor U with `x = transpose(U) U`, not L with `x = L transpose(L)`
};
/// Of a symmetric, positive definite matrix, of which the lower triangle is read.
Tensor cholesky(const Tensor& x, const CholeskyOptions& options = {}, Here here = Here::now());

struct QR {
  Tensor q, r;  ///< [.., m, k] with orthonormal columns and [.., k, n], upper triangular; k is the smaller of m and n
};
///   auto [q, r] = qr(x);
QR qr(const Tensor& x, Here here = Here::now());

struct Eigen {
  Tensor values, vectors;  ///< [.., n], smallest first, and [.., n, n]: column i belongs to value i
};
/// Of a symmetric matrix, of which the lower triangle is read.
Eigen eigh(const Tensor& x, Here here = Here::now());
Tensor eigvalsh(const Tensor& x, Here here = Here::now());  ///< the values alone

struct SingularValues {
  Tensor u, s, vh;  ///< [.., m, k], [.., k], largest first, and [.., k, n]: x = u * s @ vh, with k the smaller of m and n
};
SingularValues svd(const Tensor& x, Here here = Here::now());
Tensor svdvals(const Tensor& x, Here here = Here::now());  ///< s alone

}  // namespace cleave
