#include "graph/ops/decompositions.h"
#include "graph/base/stop.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace cleave::ops::naive {

Matrix identity(std::int64_t n) {
  Matrix one(n, n);
  for (std::int64_t i = 0; i < n; ++i) one(i, i) = 1;
  return one;
}

Matrix transposed(const Matrix& a) {
  Matrix t(a.columns, a.rows);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    look_at_stop();
    for (std::int64_t j = 0; j < a.columns; ++j) t(j, i) = a(i, j);
  }
  return t;
}

Determinant eliminate(Matrix a, Matrix& right) {
  Determinant result;
  StopLooks looks;
  for (std::int64_t k = 0; k < a.rows; ++k) {
    std::int64_t pivot = k;
    for (std::int64_t i = k + 1; i < a.rows; ++i)
      if (std::fabs(a(i, k)) > std::fabs(a(pivot, k))) pivot = i;
    if (a(pivot, k) == 0) return {0, -std::numeric_limits<double>::infinity()};
    if (pivot != k) {
      for (std::int64_t j = 0; j < a.columns; ++j) std::swap(a(k, j), a(pivot, j));
      for (std::int64_t j = 0; j < right.columns; ++j) std::swap(right(k, j), right(pivot, j));
      result.sign = -result.sign;
    }
    if (a(k, k) < 0) result.sign = -result.sign;
    result.logarithm += std::log(std::fabs(a(k, k)));
    for (std::int64_t i = 0; i < a.rows; ++i) {
      looks.worked(a.columns + right.columns);
      if (i == k) continue;
      const double factor = a(i, k) / a(k, k);
      for (std::int64_t j = k; j < a.columns; ++j) a(i, j) -= factor * a(k, j);
      for (std::int64_t j = 0; j < right.columns; ++j) right(i, j) -= factor * right(k, j);
    }
  }
  for (std::int64_t i = 0; i < a.rows; ++i) {
    looks.worked(right.columns);
    for (std::int64_t j = 0; j < right.columns; ++j) right(i, j) /= a(i, i);
  }
  return result;
}

std::optional<Matrix> cholesky(const Matrix& a) {
  Matrix l(a.rows, a.rows);
  StopLooks looks;
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      looks.worked(j + 1);
      double rest = a(i, j);
      for (std::int64_t k = 0; k < j; ++k) rest -= l(i, k) * l(j, k);
      if (i == j && !(rest > 0)) return std::nullopt;
      l(i, j) = i == j ? std::sqrt(rest) : rest / l(j, j);
    }
  }
  return l;
}

QR qr(const Matrix& a) {
  const std::int64_t m = a.rows, n = a.columns, k = std::min(m, n);
  Matrix r = a, q = identity(m);
  StopLooks looks;
  for (std::int64_t j = 0; j < k; ++j) {
    std::vector<double> v(static_cast<std::size_t>(m));
    double square = 0;
    for (std::int64_t i = j; i < m; ++i) square += r(i, j) * r(i, j);
    const double length = std::sqrt(square);
    for (std::int64_t i = j; i < m; ++i) v[static_cast<std::size_t>(i)] = r(i, j);
    v[static_cast<std::size_t>(j)] += r(j, j) < 0 ? -length : length;
    const double norm = std::inner_product(v.begin(), v.end(), v.begin(), 0.0);
    if (norm == 0) continue;
    const auto reflect = [&](Matrix& x, bool from_right) {  // by I - 2 v v^T / |v|^2
      for (std::int64_t line = 0; line < (from_right ? x.rows : x.columns); ++line) {
        looks.worked(8 * (m - j));  // with a stride, from column to column
        double along = 0;
        for (std::int64_t i = j; i < m; ++i) along += v[static_cast<std::size_t>(i)] * (from_right ? x(line, i) : x(i, line));
        for (std::int64_t i = j; i < m; ++i) (from_right ? x(line, i) : x(i, line)) -= 2 * along / norm * v[static_cast<std::size_t>(i)];
      }
    };
    reflect(r, false);
    reflect(q, true);
  }
  QR result{Matrix(m, k), Matrix(k, n)};
  for (std::int64_t j = 0; j < k; ++j) {
    const double sign = r(j, j) < 0 ? -1 : 1;
    for (std::int64_t i = 0; i < m; ++i) result.q(i, j) = sign * q(i, j);
    for (std::int64_t i = j; i < n; ++i) result.r(j, i) = sign * r(j, i);
  }
  return result;
}

Eigen eigh(Matrix a) {
  const std::int64_t n = a.rows;
  Matrix v = identity(n);
  constexpr int kSweeps = 60;
  StopLooks looks;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    bool turned = false;
    for (std::int64_t p = 0; p < n; ++p) {
      for (std::int64_t q = p + 1; q < n; ++q) {
        looks.worked(8 * n);
        if (std::fabs(a(p, q)) <= 1e-17 * std::sqrt(std::fabs(a(p, p) * a(q, q))) || std::fabs(a(p, q)) < 1e-300) continue;
        turned = true;
        const double theta = (a(q, q) - a(p, p)) / (2 * a(p, q));
        const double t = (theta < 0 ? -1 : 1) / (std::fabs(theta) + std::hypot(theta, 1.0)), c = 1 / std::hypot(t, 1.0), s = t * c;
        for (std::int64_t i = 0; i < n; ++i) {
          const double x = a(i, p), y = a(i, q);
          a(i, p) = c * x - s * y;
          a(i, q) = s * x + c * y;
        }
        for (std::int64_t i = 0; i < n; ++i) {
          const double x = a(p, i), y = a(q, i);
          a(p, i) = c * x - s * y;
          a(q, i) = s * x + c * y;
        }
        for (std::int64_t i = 0; i < n; ++i) {
          const double x = v(i, p), y = v(i, q);
          v(i, p) = c * x - s * y;
          v(i, q) = s * x + c * y;
        }
      }
    }
    if (!turned) break;
  }
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) { return a(i, i) < a(j, j); });
  Eigen result{{}, Matrix(n, n)};
  for (std::int64_t k = 0; k < n; ++k) {
    const std::int64_t from = order[static_cast<std::size_t>(k)];
    result.values.push_back(a(from, from));
    const double sign = wrong_sign(n, [&](std::int64_t i) { return v(i, from); }) ? -1 : 1;
    for (std::int64_t i = 0; i < n; ++i) result.vectors(i, k) = sign * v(i, from);
  }
  return result;
}

SVD svd(const Matrix& a) {
  if (a.rows < a.columns) {
    SVD of = svd(transposed(a));
    SVD result{transposed(of.vh), std::move(of.s), transposed(of.u)};
    for (std::int64_t k = 0; k < a.rows; ++k) {
      if (!wrong_sign(a.rows, [&](std::int64_t i) { return result.u(i, k); })) continue;
      for (std::int64_t i = 0; i < a.rows; ++i) result.u(i, k) = -result.u(i, k);
      for (std::int64_t j = 0; j < a.columns; ++j) result.vh(k, j) = -result.vh(k, j);
    }
    return result;
  }
  const std::int64_t m = a.rows, n = a.columns;
  Matrix w = a, v = identity(n);
  const auto product = [&](std::int64_t p, std::int64_t q) {
    double sum = 0;
    for (std::int64_t i = 0; i < m; ++i) sum += w(i, p) * w(i, q);
    return sum;
  };
  constexpr int kSweeps = 60;
  StopLooks looks;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    bool turned = false;
    for (std::int64_t p = 0; p < n; ++p) {
      for (std::int64_t q = p + 1; q < n; ++q) {
        looks.worked(8 * (m + n));
        const double along = product(p, q), one = product(p, p), other = product(q, q);
        if (std::fabs(along) <= 1e-15 * std::sqrt(one * other) || std::fabs(along) < 1e-300) continue;
        turned = true;
        const double theta = (other - one) / (2 * along);
        const double t = (theta < 0 ? -1 : 1) / (std::fabs(theta) + std::hypot(theta, 1.0)), c = 1 / std::hypot(t, 1.0), s = t * c;
        for (Matrix* x : {&w, &v}) {
          for (std::int64_t i = 0; i < x->rows; ++i) {
            const double first = (*x)(i, p), second = (*x)(i, q);
            (*x)(i, p) = c * first - s * second;
            (*x)(i, q) = s * first + c * second;
          }
        }
      }
    }
    if (!turned) break;
  }
  std::vector<double> lengths;
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  for (std::int64_t k = 0; k < n; ++k) lengths.push_back(std::sqrt(product(k, k)));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) {
    return lengths[static_cast<std::size_t>(i)] > lengths[static_cast<std::size_t>(j)];
  });
  SVD result{Matrix(m, n), {}, Matrix(n, n)};
  for (std::int64_t k = 0; k < n; ++k) {
    const std::int64_t from = order[static_cast<std::size_t>(k)];
    const double length = lengths[static_cast<std::size_t>(from)];
    result.s.push_back(length);
    const double sign = wrong_sign(m, [&](std::int64_t i) { return w(i, from); }) ? -1 : 1;
    for (std::int64_t i = 0; i < m; ++i) result.u(i, k) = length > 0 ? sign * w(i, from) / length : 0;
    for (std::int64_t j = 0; j < n; ++j) result.vh(k, j) = sign * v(j, from);
  }
  return result;
}

}  // namespace cleave::ops::naive
