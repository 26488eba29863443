// Gradients of linear algebra, for batches of matrices. What reads one triangle of a symmetric matrix gives a symmetric gradient: that by
// the symmetric matrix. Where the gradient divides by differences of eigenvalues or singular values, they must be distinct.
#include <algorithm>

#include "graph/ops/gradient_rules.h"
#include "graph/ops/gradient_term.h"
#include "graph/ops/rules.h"

namespace cleave::ops::gradients {
namespace {

Term transposed(const Term& x) {
  return {*x.composer(), (*x.composer())(op::transpose, {x.part()})};
}
Term product(const Term& a, const Term& b) {
  return {*a.composer(), (*a.composer())(op::matmul, {a.part(), b.part()})};
}
/// a^-1 b
Term solution(const Term& a, const Term& b) {
  return {*a.composer(), (*a.composer())(op::solve, {a.part(), b.part()})};
}
/// a b^-1
Term right_solution(const Term& a, const Term& b) {
  return transposed(solution(transposed(b), transposed(a)));
}
Term lower(const Term& x) {
  return {*x.composer(), (*x.composer())(op::tril, {x.part()})};
}
Term symmetric(const Term& x) {
  return (x + transposed(x)) * Term(0.5);
}
Term reshaped(const Term& x, Shape shape) {
  return {*x.composer(), x.composer()->reshape(x.part(), std::move(shape))};
}
/// A vector [.., n] as rows [.., 1, n] or columns [.., n, 1]; a number [..] as a matrix [.., 1, 1].
Term as_row(const Term& x) {
  Shape shape = x.part().shape();
  shape.insert(shape.end() - 1, 1);
  return reshaped(x, shape);
}
Term as_column(const Term& x) {
  Shape shape = x.part().shape();
  shape.push_back(1);
  return reshaped(x, shape);
}
Term as_matrix(const Term& x) {
  return as_column(as_column(x));
}
Term identity(Composer& c, std::int64_t n, DType dtype) {
  return {c, c(op::eye, {}, {{"rows", n}, {"dtype", dtype}})};
}

/// 1 / (x[j] - x[i]) in row i and column j; zeros on the diagonal.
Term of_differences(const Term& x) {
  Composer& c = *x.composer();
  const Term diagonal = identity(c, x.part().shape().back(), DType::boolean);
  return where(diagonal, 0, Term(1) / where(diagonal, 1, as_row(x) - as_column(x)));
}

/// The part of a matrix that is orthogonal to orthonormal columns.
Term without(const Term& columns, const Term& x) {
  return x - product(columns, product(transposed(columns), x));
}

}  // namespace

void solve(Composer& c, GradientCall& call) {
  const bool vector = call.operand_type(1).rank() == 1;
  const Term g(c, call.cotangent(0));
  const Term by_right = solution(transposed(Term(c, call.operand(0))), vector ? as_column(g) : g);
  if (call.wants(1)) call.give(1, (vector ? reshaped(by_right, call.result_type(0).shape) : by_right).part());
  if (!call.wants(0)) return;
  const Term x(c, call.result(0));
  call.give(0, (-product(by_right, transposed(vector ? as_column(x) : x))).part());
}

void inv(Composer& c, GradientCall& call) {
  const Term turned = transposed(Term(c, call.result(0)));
  call.give(0, (-product(product(turned, Term(c, call.cotangent(0))), turned)).part());
}

void det(Composer& c, GradientCall& call) {
  const Term inverse(c, c(op::inv, {call.operand(0)}));
  call.give(0, (as_matrix(Term(c, call.cotangent(0)) * Term(c, call.result(0))) * transposed(inverse)).part());
}

/// The sign is piecewise constant.
void slogdet(Composer& c, GradientCall& call) {
  if (!call.has_cotangent(1)) return;
  const Term inverse(c, c(op::inv, {call.operand(0)}));
  call.give(0, (as_matrix(Term(c, call.cotangent(1))) * transposed(inverse)).part());
}

void cholesky(Composer& c, GradientCall& call) {
  const bool upper = call.attributes().get<bool>("upper");
  const auto straight = [&](const Term& x) { return upper ? transposed(x) : x; };
  const Term l = straight(Term(c, call.result(0))), g = straight(Term(c, call.cotangent(0)));
  const Term both = product(transposed(l), g);
  const Term half = identity(c, both.part().shape().back(), both.part().dtype()) * Term(0.5);
  const Term inner = lower(both) - both * half;
  call.give(0, symmetric(right_solution(solution(transposed(l), inner), l)).part());
}

/// The matrix has full rank. If it is wide, the columns to the right of its first square do not change Q: their part of R is Q^T times
/// them.
void qr(Composer& c, GradientCall& call) {
  const Shape& shape = call.operand_type(0).shape;
  const std::int64_t rows = shape[shape.size() - 2], columns = shape.back(), square = std::min(rows, columns);
  const auto between = [&](const Part& x, std::int64_t first, std::int64_t last) {
    Integers starts(shape.size(), 0), stops = x.shape();
    starts.back() = first;
    stops.back() = last;
    return Term(c, c(op::slice, {x}, {{"starts", starts}, {"stops", stops}}));
  };
  const Term q(c, call.result(0));
  Term r(c, call.result(1)), by_q(c, call.cotangent(0)), by_r(c, call.cotangent(1)), by_right(0);
  if (columns > square) {
    const Term by_right_of_r = between(by_r.part(), square, columns);
    by_q = by_q + product(between(call.operand(0), square, columns), transposed(by_right_of_r));
    by_right = product(q, by_right_of_r);
    r = between(r.part(), 0, square);
    by_r = between(by_r.part(), 0, square);
  }
  const Term both = product(r, transposed(by_r)) - product(transposed(by_q), q);
  const Term mirrored = lower(both) + transposed(lower(both)) - both * identity(c, square, both.part().dtype());
  const Term by_square = right_solution(by_q + product(q, mirrored), transposed(r));
  if (columns == square) return call.give(0, by_square.part());
  call.give(0, c(op::concat, {by_square.part(), by_right.part()}, {{"axis", std::int64_t{-1}}}));
}

/// Equal eigenvalues give infinities, unless the loss depends on the eigenvalues alone.
void eigh(Composer& c, GradientCall& call) {
  const Term vectors(c, call.result(1));
  const Term values(c, call.result(0)), by_values(c, call.cotangent(0));
  Term inner = identity(c, values.part().shape().back(), values.part().dtype()) * as_row(by_values);
  if (call.has_cotangent(1)) inner = inner + product(transposed(vectors), Term(c, call.cotangent(1))) * of_differences(values);
  call.give(0, symmetric(product(product(vectors, inner), transposed(vectors))).part());
}

void eigvalsh(Composer& c, GradientCall& call) {
  const Part operand[] = {call.operand(0)};
  const Term vectors(c, c.all(op::eigh, operand).at(1));
  call.give(0, product(vectors * as_row(Term(c, call.cotangent(0))), transposed(vectors)).part());
}

/// Equal singular values give infinities, unless the loss depends on the singular values alone; so do zeros where the matrix is not square.
void svd(Composer& c, GradientCall& call) {
  const Term u(c, call.result(0)), s(c, call.result(1)), vh(c, call.result(2));
  Term by_matrix = product(u * as_row(Term(c, call.cotangent(1))), vh);
  const auto turned = [&](const Term& factor, const Term& by_factor) {
    const Term both = product(transposed(factor), by_factor);
    return (both - transposed(both)) * of_differences(s * s);
  };
  if (call.has_cotangent(0)) {
    const Term g(c, call.cotangent(0));
    Term by_u = product(u, turned(u, g) * as_row(s));
    if (u.part().shape()[u.part().shape().size() - 2] > s.part().shape().back()) by_u = by_u + without(u, g) / as_row(s);
    by_matrix = by_matrix + product(by_u, vh);
  }
  if (call.has_cotangent(2)) {
    const Term v = transposed(vh), g = transposed(Term(c, call.cotangent(2)));
    Term by_v = product(v, transposed(as_column(s) * turned(v, g)));
    if (v.part().shape()[v.part().shape().size() - 2] > s.part().shape().back()) by_v = by_v + without(v, g) / as_row(s);
    by_matrix = by_matrix + product(u, transposed(by_v));
  }
  call.give(0, by_matrix.part());
}

void svdvals(Composer& c, GradientCall& call) {
  const Part operand[] = {call.operand(0)};
  const Parts factors = c.all(op::svd, operand);
  const Term u(c, factors.at(0)), vh(c, factors.at(2));
  call.give(0, product(u * as_row(Term(c, call.cotangent(0))), vh).part());
}

}  // namespace cleave::ops::gradients
