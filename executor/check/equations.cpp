#include "executor/check/equations.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <vector>

#include "graph/base/number_text.h"
#include "graph/base/stop.h"
#include "graph/ops/decompositions.h"
#include "graph/ops/matrices.h"
#include "graph/vocabulary.h"

namespace cleave::runtime {
namespace {

using ops::naive::Matrix;

/// The constants of the theorems are small numbers that depend on details of the algorithm; this one is far above those observed.
constexpr double kConstant = 20;

double norm(const Matrix& a) {  // Frobenius
  double sum = 0;
  for (const double x : a.elements) sum += x * x;
  return std::sqrt(sum);
}
Matrix product(const Matrix& a, const Matrix& b) {
  Matrix c(a.rows, b.columns);
  StopLooks looks;
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t k = 0; k < a.columns; ++k) {
      looks.worked(b.columns);
      for (std::int64_t j = 0; j < b.columns; ++j) c(i, j) += a(i, k) * b(k, j);
    }
  }
  return c;
}
Matrix minus(Matrix a, const Matrix& b) {
  for (std::size_t i = 0; i < a.elements.size(); ++i) a.elements[i] -= b.elements[i];
  return a;
}
Matrix scaled_columns(Matrix a, const Matrix& by) {
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t j = 0; j < a.columns; ++j) a(i, j) *= by.elements[static_cast<std::size_t>(j)];
  return a;
}

/// One matrix of the batch: operands, results, and the unit roundoff times the constant and the extents.
struct Problem {
  std::vector<Matrix> in, out;
  double small = 0;
  bool upper = false;

  using Said = std::optional<std::string>;
  /// The message if a residual is too large.
  static Said above(const char* what, double is, double allowed) {
    if (is <= allowed) return std::nullopt;
    return std::string(what) + " is " + general_text(is, 3) + " (norm), more than the " + general_text(allowed, 3) + " of rounding";
  }
};
using Said = Problem::Said;

Said first_of(std::initializer_list<Said> all) {
  for (const Said& said : all)
    if (said) return said;
  return std::nullopt;
}

/// Checks that the columns are orthonormal, except those whose `weight` is nearly 0.
Said orthonormal(const char* what, const Matrix& q, double small, const std::vector<double>& weights = {}) {
  const Matrix gram = product(transposed(q), q);
  const auto counts = [&](std::int64_t j) {
    return weights.empty() || weights[static_cast<std::size_t>(j)] > small * *std::max_element(weights.begin(), weights.end());
  };
  double worst = 0;
  for (std::int64_t i = 0; i < gram.rows; ++i)
    for (std::int64_t j = 0; j < gram.rows; ++j)
      if (counts(i) && counts(j)) worst = std::max(worst, std::fabs(gram(i, j) - (i == j ? 1 : 0)));
  // Vectors of a small singular value are as orthogonal as the others in a kernel, but not in the reference implementation.
  return Problem::above(what, worst, weights.empty() ? small : std::max(small, 1e3 * small));
}

/// Checks that the first component that is at least half as large as the largest is positive; rounding may decide which one that is.
Said signs(const Matrix& vectors) {
  constexpr double kNear = 1e-3;
  for (std::int64_t j = 0; j < vectors.columns; ++j) {
    double largest = 0;
    for (std::int64_t i = 0; i < vectors.rows; ++i) largest = std::max(largest, std::fabs(vectors(i, j)));
    for (std::int64_t i = 0; i < vectors.rows; ++i) {
      const double size = std::fabs(vectors(i, j));
      if (size < largest * (0.5 - kNear) || size == 0) continue;
      if (size > largest * (0.5 + kNear) && vectors(i, j) < 0) return "vector " + std::to_string(j) + " has the other sign";
      break;
    }
  }
  return std::nullopt;
}

Said in_order(const Matrix& values, bool rising, double small, double scale) {
  for (std::size_t i = 1; i < values.elements.size(); ++i) {
    const double step = values.elements[i] - values.elements[i - 1];
    if ((rising ? step : -step) < -small * scale) return "value " + std::to_string(i) + " is out of order";
  }
  return std::nullopt;
}

Said solve(const Problem& of) {
  const Matrix rest = minus(product(of.in[0], of.out[0]), of.in[1]);
  const double size = norm(of.in[0]);
  for (std::int64_t j = 0; j < rest.columns; ++j) {
    double residual = 0, x = 0, b = 0;
    for (std::int64_t i = 0; i < rest.rows; ++i) {
      residual = std::hypot(residual, rest(i, j));
      x = std::hypot(x, of.out[0](i, j));
      b = std::hypot(b, of.in[1](i, j));
    }
    if (Said said = Problem::above("a @ x - b", residual, of.small * (size * x + b))) return said;
  }
  return std::nullopt;
}

/// Checks the two residuals of an inverse: an algorithm promises one of them, and algorithms differ in which.
Said invert(const Problem& of) {
  const Matrix one = ops::naive::identity(of.in[0].rows);
  const double right = norm(minus(product(of.in[0], of.out[0]), one)), left = norm(minus(product(of.out[0], of.in[0]), one));
  return Problem::above("x @ inv(x) - 1", std::min(left, right), of.small * norm(of.in[0]) * norm(of.out[0]));
}

Matrix lower_mirrored(Matrix a) {
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t j = i + 1; j < a.rows; ++j) a(i, j) = a(j, i);
  return a;
}

Said cholesky(const Problem& of) {
  const Matrix l = of.upper ? transposed(of.out[0]) : of.out[0];
  for (std::int64_t i = 0; i < l.rows; ++i) {
    if (!(l(i, i) > 0)) return "the diagonal is not positive at " + std::to_string(i);
    for (std::int64_t j = i + 1; j < l.rows; ++j)
      if (l(i, j) != 0) return std::string("the other triangle is not 0");
  }
  const Matrix a = lower_mirrored(of.in[0]);
  return Problem::above("x - L @ transpose(L)", norm(minus(product(l, transposed(l)), a)), of.small * norm(a));
}

Said qr(const Problem& of) {
  const Matrix &q = of.out[0], &r = of.out[1];
  const double size = norm(of.in[0]);
  for (std::int64_t i = 0; i < r.rows; ++i) {
    if (r(i, i) < -of.small * size) return "the diagonal is negative at " + std::to_string(i);
    for (std::int64_t j = 0; j < std::min(i, r.columns); ++j)
      if (r(i, j) != 0) return std::string("the lower triangle is not 0");
  }
  return first_of({Problem::above("x - q @ r", norm(minus(product(q, r), of.in[0])), of.small * size),
                   orthonormal("transpose(q) @ q - 1", q, of.small)});
}

Said eigen(const Problem& of) {
  const Matrix a = lower_mirrored(of.in[0]), &values = of.out[0], &vectors = of.out[1];
  const double size = norm(a);
  return first_of({Problem::above("x @ v - v * values", norm(minus(product(a, vectors), scaled_columns(vectors, values))), of.small * size),
                   orthonormal("transpose(v) @ v - 1", vectors, of.small), in_order(values, true, of.small, size), signs(vectors)});
}

Said singular(const Problem& of) {
  const Matrix &u = of.out[0], &s = of.out[1], &vh = of.out[2];
  const double size = norm(of.in[0]);
  for (const double value : s.elements)
    if (value < 0) return std::string("a singular value is negative");
  return first_of({Problem::above("x - u * s @ vh", norm(minus(product(scaled_columns(u, s), vh), of.in[0])), of.small * size),
                   orthonormal("transpose(u) @ u - 1", u, of.small, s.elements),
                   orthonormal("vh @ transpose(vh) - 1", transposed(vh), of.small, s.elements), in_order(s, false, of.small, size)});
}

/// Checks that values differ by no more than the norm of the matrix's error (Weyl), whatever the condition number.
Said values_near(const Matrix& is, const std::vector<double>& should, double small, double size) {
  double worst = 0;
  for (std::size_t i = 0; i < should.size(); ++i) worst = std::max(worst, std::fabs(is.elements[i] - should[i]));
  return Problem::above("the largest difference from the reference's values", worst, small * size);
}
Said eigenvalues(const Problem& of) {
  const Matrix a = lower_mirrored(of.in[0]);
  return values_near(of.out[0], ops::naive::eigh(a).values, of.small, norm(a));
}
Said singular_values(const Problem& of) {
  return values_near(of.out[0], ops::naive::svd(of.in[0]).s, of.small, norm(of.in[0]));
}

/// The reference's determinant, and the relative error of a computed one: rounding times the condition number. Infinity: no digit is
/// certain.
struct Expected {
  ops::naive::Determinant determinant;
  double relative;
};
Expected expected_determinant(const Problem& of) {
  Matrix inverse = ops::naive::identity(of.in[0].rows);
  const ops::naive::Determinant determinant = ops::naive::eliminate(of.in[0], inverse);
  const double condition = determinant.sign == 0 ? HUGE_VAL : norm(of.in[0]) * norm(inverse);
  return {determinant, std::isfinite(condition) && of.small * condition < 1 ? of.small * condition : HUGE_VAL};
}

/// Checks a determinant. That of a nearly singular matrix may be any number up to the rounding error of the product of the rows' lengths.
Said determinant(const Problem& of) {
  const Expected expected = expected_determinant(of);
  const double should = expected.determinant.sign * std::exp(expected.determinant.logarithm), is = of.out[0](0, 0);
  if (is == should) return std::nullopt;
  double allowed = expected.relative * std::fabs(should) + of.small * std::fabs(should);
  if (!std::isfinite(expected.relative)) {
    allowed = of.small;
    for (std::int64_t i = 0; i < of.in[0].rows; ++i) {
      double length = 0;
      for (std::int64_t j = 0; j < of.in[0].columns; ++j) length = std::hypot(length, of.in[0](i, j));
      allowed *= length;
    }
  }
  return Problem::above("the difference from the reference's determinant", std::fabs(is - should), allowed);
}
Said log_determinant(const Problem& of) {
  const Expected expected = expected_determinant(of);
  if (!std::isfinite(expected.relative)) return std::nullopt;
  if (of.out[0](0, 0) != expected.determinant.sign) return std::string("the sign is the other one");
  const double should = expected.determinant.logarithm;
  return Problem::above("the difference from the reference's logarithm", std::fabs(of.out[1](0, 0) - should),
                        2 * expected.relative + of.small * (1 + std::fabs(should)));
}

struct Equation {
  std::string_view op;
  Said (*check)(const Problem& of);
};
constexpr Equation kEquations[] = {
    {"solve", solve}, {"inv", invert},           {"det", determinant}, {"slogdet", log_determinant}, {"cholesky", cholesky}, {"qr", qr},
    {"eigh", eigen},  {"eigvalsh", eigenvalues}, {"svd", singular},    {"svdvals", singular_values}};

const Equation* equation_of(const OpDef& op) {
  const Equation* found =
      std::find_if(std::begin(kEquations), std::end(kEquations), [&](const Equation& each) { return each.op == op.name; });
  return found == std::end(kEquations) ? nullptr : found;
}

bool finite(const Array& array) {
  for (std::int64_t i = 0; i < array.size(); ++i)
    if (!std::isfinite(array.at(i))) return false;
  return true;
}

Matrix read(const Array& array, std::int64_t offset, std::int64_t rows, std::int64_t columns) {
  Matrix matrix(rows, columns);
  for (std::size_t i = 0; i < matrix.elements.size(); ++i) matrix.elements[i] = array.at(offset + static_cast<std::int64_t>(i));
  return matrix;
}

/// One matrix of a result: its rows and columns are all axes after the batch axes, at least one of each.
Matrix read_result(const Array& result, std::int64_t i, std::size_t batch_axes, bool column) {
  std::int64_t rows = 1, columns = 1;
  const Shape& shape = result.shape();
  if (shape.size() >= batch_axes + 2) rows = shape[shape.size() - 2];
  if (shape.size() >= batch_axes + 1) columns = shape.back();
  if (column) std::swap(rows, columns);
  return read(result, i * rows * columns, rows, columns);
}

}  // namespace

bool has_equation(const OpDef& op, std::span<const Array> inputs, std::span<const Array> results) {
  return equation_of(op) && std::all_of(inputs.begin(), inputs.end(), finite) &&
         (&op == &op::det || &op == &op::slogdet || std::all_of(results.begin(), results.end(), finite));
}

std::optional<std::string> unsatisfied(const OpDef& op, const Attributes& attributes, std::span<const Array> inputs,
                                       std::span<const Array> results) {
  const auto empty = [](const Array& result) { return result.size() == 0; };
  if (std::all_of(results.begin(), results.end(), empty)) return std::nullopt;
  const ops::MatrixBatch batch(results[0].shape(), inputs);
  const bool column = inputs.size() > 1 && inputs[1].shape().size() == 1;
  const auto [m, n] = batch.extents(0);
  const double roundoff = inputs[0].dtype() == DType::f64 ? DBL_EPSILON / 2 : static_cast<double>(FLT_EPSILON) / 2;
  const std::size_t batch_axes = inputs.size() > 1 ? results[0].shape().size() - (column ? 1 : 2) : inputs[0].shape().size() - 2;
  for (std::int64_t i = 0; i < batch.count(); ++i) {
    Problem problem;
    problem.small = kConstant * roundoff * static_cast<double>(std::max<std::int64_t>({m, n, 1}));
    problem.upper = attributes.get_or("upper", false);
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const auto [rows, columns] = batch.extents(k);
      problem.in.push_back(read(inputs[k], batch.offset(k, i), rows, columns));
    }
    for (const Array& result : results) problem.out.push_back(read_result(result, i, batch_axes, column));
    if (const Said said = equation_of(op)->check(problem))
      return batch.count() == 1 ? *said : "in matrix " + std::to_string(i) + ", " + *said;
  }
  return std::nullopt;
}

}  // namespace cleave::runtime
