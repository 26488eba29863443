// Records of the linear algebra ops. The reference implementations process one matrix at a time by the textbook algorithms of
// decompositions.h, in double.
#include "graph/ops/linear_algebra.h"

#include <cmath>

#include "graph/ops/calls.h"
#include "graph/ops/decompositions.h"
#include "graph/ops/gradient_rules.h"
#include "graph/ops/matrices.h"
#include "graph/ops/op_table.h"
#include "graph/ops/rules.h"

namespace cleave {
namespace ops {
namespace {

using naive::Matrix;
using Type = AttributeDef::Type;

// --- types -------------------------------------------------------------------------------------------------------------------------------

std::optional<TypeError> refuse_matrix(std::string_view op, Types inputs, const TensorType& x, bool square) {
  if (x.dtype != DType::f32 && x.dtype != DType::f64)
    return refuse(DiagnosticKind::type, op, inputs, "computes in f32 or f64; convert with astype");
  if (x.rank() < 2) return refuse(DiagnosticKind::shape, op, inputs, "needs matrices, in the last two axes");
  const std::int64_t rows = x.shape[x.shape.size() - 2], columns = x.shape.back();
  if (square && rows != columns) {
    return refuse(DiagnosticKind::shape, op, inputs,
                  "the matrix is not square: it has " + std::to_string(rows) + " rows and " + std::to_string(columns) + " columns");
  }
  if (std::max(rows, columns) > kLargestExtent) return refuse(DiagnosticKind::shape, op, inputs, "the matrix is too large for LAPACK");
  return std::nullopt;
}

Shape with(Shape batch, std::initializer_list<std::int64_t> extents) {
  batch.insert(batch.end(), extents.begin(), extents.end());
  return batch;
}

/// Returns the shapes of the results without the batch, for x [.., m, n]; `k` is the smaller of `m` and `n`.
using ResultShapes = std::vector<Shape> (*)(std::int64_t m, std::int64_t n, std::int64_t k);

template <Name op, bool square, ResultShapes shapes>
TypeResult matrix_type(Types inputs, const Attributes&) {
  const TensorType& x = inputs[0];
  if (auto refused = refuse_matrix(op.view(), inputs, x, square)) return *std::move(refused);
  const std::int64_t m = x.shape[x.shape.size() - 2], n = x.shape.back();
  std::vector<TensorType> results;
  for (const Shape& shape : shapes(m, n, std::min(m, n))) {
    TensorType result{x.dtype, batch_of(x.shape)};
    result.shape.insert(result.shape.end(), shape.begin(), shape.end());
    results.push_back(std::move(result));
  }
  return give(op.view(), inputs, std::move(results));
}

std::vector<Shape> same_matrix(std::int64_t m, std::int64_t n, std::int64_t) {
  return {{m, n}};
}
std::vector<Shape> one_number(std::int64_t, std::int64_t, std::int64_t) {
  return {{}};
}
std::vector<Shape> two_numbers(std::int64_t, std::int64_t, std::int64_t) {
  return {{}, {}};
}
std::vector<Shape> diagonal_shape(std::int64_t, std::int64_t, std::int64_t k) {
  return {{k}};
}
std::vector<Shape> values_and_vectors(std::int64_t m, std::int64_t n, std::int64_t) {
  return {{n}, {m, n}};
}
std::vector<Shape> two_factors(std::int64_t m, std::int64_t n, std::int64_t k) {
  return {{m, k}, {k, n}};
}
std::vector<Shape> three_factors(std::int64_t m, std::int64_t n, std::int64_t k) {
  return {{m, k}, {k}, {k, n}};
}

TypeResult solve_type(Types inputs, const Attributes&) {
  const TensorType &a = inputs[0], &b = inputs[1];
  if (auto refused = refuse_matrix("solve", inputs, a, true)) return *std::move(refused);
  const std::int64_t n = a.shape.back();
  if (b.dtype != a.dtype) return refuse(DiagnosticKind::type, "solve", inputs, "the element types differ");
  const auto wrong = [&](std::int64_t rows) {
    return refuse(DiagnosticKind::shape, "solve", inputs,
                  "the matrix has " + std::to_string(n) + " rows, the right side " + std::to_string(rows));
  };
  if (b.scalar()) return refuse(DiagnosticKind::shape, "solve", inputs, "the right side is a vector or has matrices in its last two axes");
  if (b.rank() == 1)
    return b.shape[0] == n ? give("solve", inputs, {a.dtype, with(batch_of(a.shape), {n})}) : TypeResult(wrong(b.shape[0]));
  const std::int64_t rows = b.shape[b.shape.size() - 2];
  if (rows != n) return wrong(rows);
  const auto batch = broadcast(batch_of(a.shape), batch_of(b.shape));
  if (!batch) return refuse(DiagnosticKind::shape, "solve", inputs, "the axes before the matrices do not broadcast");
  return give("solve", inputs, {a.dtype, with(*batch, {n, b.shape.back()})});
}

/// About `factor` * m * n * min(m, n) for each matrix, and the product with the right-hand side if there is one.
template <int factor>
Cost cubic_cost(Types inputs, Types results, const Attributes&) {
  const TensorType& x = inputs[0];
  const auto m = static_cast<double>(x.shape[x.shape.size() - 2]), n = static_cast<double>(x.shape.back());
  const double matrices = static_cast<double>(element_count(batch_of(results[0].rank() >= x.rank() ? results[0].shape : x.shape)));
  double flops = factor * m * n * std::min(m, n) * matrices;
  if (inputs.size() > 1) flops += 2 * n * static_cast<double>(results[0].elements());
  return {flops, traffic(inputs, results)};
}

// --- reference implementations -----------------------------------------------------------------------------------------------------------

/// The algorithm for one matrix. It fills `results`, or returns a message about the matrix; an empty one means success.
using Work = std::string (*)(const std::vector<Matrix>& inputs, std::vector<Matrix>& results, const Attributes& attributes);

template <class T>
Matrix read(const T* data, std::int64_t rows, std::int64_t columns) {
  Matrix matrix(rows, columns);
  std::copy_n(data, rows * columns, matrix.elements.begin());
  return matrix;
}

template <class T>
Status run_matrices(std::string_view op, const OpCall& call, Work work) {
  const auto empty = [](const Array& result) { return result.size() == 0; };
  if (std::all_of(call.results.begin(), call.results.end(), empty)) return {};  // the number of empty matrices may be large
  const MatrixBatch batch(call.inputs.size() > 1 ? call.results[0].shape() : Shape(), call.inputs);
  for (std::int64_t i = 0; i < batch.count(); ++i) {
    std::vector<Matrix> inputs, results;
    for (std::size_t k = 0; k < call.inputs.size(); ++k) {
      const auto [rows, columns] = batch.extents(k);
      inputs.push_back(read(call.inputs[k].data<T>() + batch.offset(k, i), rows, columns));
    }
    if (const std::string wrong = work(inputs, results, call.attributes); !wrong.empty())
      return Error{"`" + std::string(op) + "`: " + batch.problem(i, wrong)};
    for (std::size_t r = 0; r < results.size(); ++r) {
      T* out = call.results[r].mutable_data<T>() + i * static_cast<std::int64_t>(results[r].elements.size());
      std::transform(results[r].elements.begin(), results[r].elements.end(), out, [](double x) { return static_cast<T>(x); });
    }
  }
  return {};
}

template <Name op, Work work>
Status matrix_reference(const OpCall& call) {
  return call.inputs[0].dtype() == DType::f32 ? run_matrices<float>(op.view(), call, work) : run_matrices<double>(op.view(), call, work);
}

Matrix column(std::vector<double> values) {
  Matrix result(static_cast<std::int64_t>(values.size()), 1);
  result.elements = std::move(values);
  return result;
}
bool finite(const Matrix& a) {
  return std::all_of(a.elements.begin(), a.elements.end(), [](double x) { return std::isfinite(x); });
}
Matrix lower_mirrored(Matrix a) {
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t j = i + 1; j < a.rows; ++j) a(i, j) = a(j, i);
  return a;
}

std::string solve_one(const std::vector<Matrix>& in, std::vector<Matrix>& out, const Attributes&) {
  Matrix x = in[1];
  if (naive::eliminate(in[0], x).sign == 0) return kSingular;
  out.push_back(std::move(x));
  return {};
}
std::string invert_one(const std::vector<Matrix>& in, std::vector<Matrix>& out, const Attributes& attributes) {
  return solve_one({in[0], naive::identity(in[0].rows)}, out, attributes);
}
std::string log_determine_one(const std::vector<Matrix>& in, std::vector<Matrix>& out, const Attributes&) {
  Matrix nothing(in[0].rows, 0);
  const naive::Determinant of = naive::eliminate(in[0], nothing);
  out = {column({of.sign}), column({of.logarithm})};
  return {};
}
std::string determine_one(const std::vector<Matrix>& in, std::vector<Matrix>& out, const Attributes& attributes) {
  log_determine_one(in, out, attributes);
  const double sign = out[0](0, 0), magnitude = std::exp(out[1](0, 0));
  out = {column({sign == 0 ? 0 : sign * magnitude})};
  return {};
}
std::string cholesky_one(const std::vector<Matrix>& in, std::vector<Matrix>& out, const Attributes& attributes) {
  auto l = naive::cholesky(in[0]);
  if (!l) return kNotPositiveDefinite;
  out.push_back(attributes.get_or("upper", false) ? naive::transposed(*l) : *std::move(l));
  return {};
}
std::string qr_one(const std::vector<Matrix>& in, std::vector<Matrix>& out, const Attributes&) {
  naive::QR of = naive::qr(in[0]);
  out = {std::move(of.q), std::move(of.r)};
  return {};
}
std::string eigen_one(const std::vector<Matrix>& in, std::vector<Matrix>& out, const Attributes&) {
  Matrix a = lower_mirrored(in[0]);
  if (!finite(a)) return kNotFinite;
  naive::Eigen of = naive::eigh(std::move(a));
  out = {column(std::move(of.values)), std::move(of.vectors)};
  return {};
}
std::string eigenvalues_one(const std::vector<Matrix>& in, std::vector<Matrix>& out, const Attributes& attributes) {
  std::string wrong = eigen_one(in, out, attributes);
  if (wrong.empty()) out.pop_back();
  return wrong;
}
std::string svd_one(const std::vector<Matrix>& in, std::vector<Matrix>& out, const Attributes&) {
  if (!finite(in[0])) return kNotFinite;
  naive::SVD of = naive::svd(in[0]);
  out = {std::move(of.u), column(std::move(of.s)), std::move(of.vh)};
  return {};
}
std::string singular_values_one(const std::vector<Matrix>& in, std::vector<Matrix>& out, const Attributes& attributes) {
  std::string wrong = svd_one(in, out, attributes);
  if (wrong.empty()) out = {out[1]};
  return wrong;
}

}  // namespace

constexpr OpDef op::solve = Record("solve(a, b)", 2, {}, "`x` with `a @ x = b`; b is a vector, or has matrices in its last two axes",
                                   solve_type, cubic_cost<1>, matrix_reference<"solve", solve_one>)
                                .promoting(Promotion::floating)
                                .of_class(CostClass::factorization)
                                .may_fail()
                                .differentiated(gradients::solve);

constexpr OpDef op::inv = Record("inv(x)", 1, {}, "inverse of the matrices in the last two axes", matrix_type<"inv", true, same_matrix>,
                                 cubic_cost<2>, matrix_reference<"inv", invert_one>)
                              .promoting(Promotion::floating)
                              .of_class(CostClass::factorization)
                              .may_fail()
                              .also_called("inverse")
                              .differentiated(gradients::inv);

constexpr OpDef op::det = Record("det(x)", 1, {}, "determinant of the matrices in the last two axes", matrix_type<"det", true, one_number>,
                                 cubic_cost<1>, matrix_reference<"det", determine_one>)
                              .promoting(Promotion::floating)
                              .of_class(CostClass::factorization)
                              .differentiated(gradients::det);

constexpr OpDef op::slogdet =
    Record("slogdet(x)", 1, {}, "two results: sign of the determinant, and logarithm of its magnitude",
           matrix_type<"slogdet", true, two_numbers>, cubic_cost<1>, matrix_reference<"slogdet", log_determine_one>)
        .promoting(Promotion::floating)
        .of_class(CostClass::factorization)
        .differentiated(gradients::slogdet);

constexpr OpDef op::cholesky =
    Record("cholesky(x, upper?)", 1, {with_default("upper", Type::boolean, false)},
           "`L` with `x = L @ transpose(L)`, or `upper` its transposed, of a positive definite matrix (lower triangle)",
           matrix_type<"cholesky", true, same_matrix>, cubic_cost<1>, matrix_reference<"cholesky", cholesky_one>)
        .promoting(Promotion::floating)
        .of_class(CostClass::factorization)
        .may_fail()
        .differentiated(gradients::cholesky);

constexpr OpDef op::qr = Record("qr(x)", 1, {}, "two results: orthonormal columns, and an upper triangle whose diagonal is not negative",
                                matrix_type<"qr", false, two_factors>, cubic_cost<4>, matrix_reference<"qr", qr_one>)
                             .promoting(Promotion::floating)
                             .of_class(CostClass::factorization)
                             .differentiated(gradients::qr);

constexpr OpDef op::eigh =
    Record("eigh(x)", 1, {}, "two results: eigenvalues of a symmetric matrix (lower triangle), smallest first, and vectors",
           matrix_type<"eigh", true, values_and_vectors>, cubic_cost<9>, matrix_reference<"eigh", eigen_one>)
        .promoting(Promotion::floating)
        .of_class(CostClass::factorization)
        .may_fail()
        .differentiated(gradients::eigh);

constexpr OpDef op::eigvalsh =
    Record("eigvalsh(x)", 1, {}, "eigenvalues of a symmetric matrix (lower triangle), smallest first",
           matrix_type<"eigvalsh", true, diagonal_shape>, cubic_cost<4>, matrix_reference<"eigvalsh", eigenvalues_one>)
        .promoting(Promotion::floating)
        .of_class(CostClass::factorization)
        .may_fail()
        .differentiated(gradients::eigvalsh);

constexpr OpDef op::svd = Record("svd(x)", 1, {}, "three results `u`, `s`, `vh` with `x = u * s @ vh`; singular values largest first",
                                 matrix_type<"svd", false, three_factors>, cubic_cost<20>, matrix_reference<"svd", svd_one>)
                              .promoting(Promotion::floating)
                              .of_class(CostClass::factorization)
                              .may_fail()
                              .differentiated(gradients::svd);

constexpr OpDef op::svdvals = Record("svdvals(x)", 1, {}, "singular values, largest first", matrix_type<"svdvals", false, diagonal_shape>,
                                     cubic_cost<6>, matrix_reference<"svdvals", singular_values_one>)
                                  .promoting(Promotion::floating)
                                  .of_class(CostClass::factorization)
                                  .may_fail()
                                  .differentiated(gradients::svdvals);

}  // namespace ops

using ops::call;

Tensor solve(const Tensor& a, const Tensor& b, Here here) {
  return call(op::solve, {a, b}, {}, here);
}
Tensor inv(const Tensor& x, Here here) {
  return call(op::inv, {x}, {}, here);
}
Tensor det(const Tensor& x, Here here) {
  return call(op::det, {x}, {}, here);
}
SignAndLogarithm slogdet(const Tensor& x, Here here) {
  return ops::call_two<SignAndLogarithm>(op::slogdet, {&x, 1}, {}, here);
}
Tensor cholesky(const Tensor& x, const CholeskyOptions& options, Here here) {
  return call(op::cholesky, {x}, {{"upper", options.upper}}, here);
}
QR qr(const Tensor& x, Here here) {
  return ops::call_two<QR>(op::qr, {&x, 1}, {}, here);
}
Eigen eigh(const Tensor& x, Here here) {
  return ops::call_two<Eigen>(op::eigh, {&x, 1}, {}, here);
}
Tensor eigvalsh(const Tensor& x, Here here) {
  return call(op::eigvalsh, {x}, {}, here);
}
SingularValues svd(const Tensor& x, Here here) {
  std::vector<Tensor> results = detail::apply(op::svd, {&x, 1}, {}, here.of("svd"));
  results.resize(3, results.empty() ? Tensor() : results.front());
  return {results[0], results[1], results[2]};
}
Tensor svdvals(const Tensor& x, Here here) {
  return call(op::svdvals, {x}, {}, here);
}

}  // namespace cleave
