// Matrix products: Eigen on the operands where they lie, row-major, batch by batch. Integers wrap and have loops of their own.
#include <algorithm>

#include "executor/host/kernels.h"
#include "graph/ops/strided.h"
#include "graph/ops/wrapping.h"

#define EIGEN_DONT_PARALLELIZE  // equal sums from run to run
#define EIGEN_NO_EXCEPTIONS
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#include <Eigen/Core>
#pragma GCC diagnostic pop

namespace cleave::runtime::host {
namespace {

struct Sizes {
  std::int64_t rows = 1, inner = 1, columns = 1;
};

template <class T>
void multiply(const Sizes& n, const T* left, const T* right, T* result) {
  using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;
  if (n.inner == 0) {
    std::fill_n(result, n.rows * n.columns, T(0));
    return;
  }
  Eigen::Map<const Matrix> a(left, n.rows, n.inner), b(right, n.inner, n.columns);
  if (n.columns == 1) {
    Eigen::Map<Vector>(result, n.rows).noalias() = a * Eigen::Map<const Vector>(right, n.inner);
  } else if (n.rows == 1) {
    Eigen::Map<Vector>(result, n.columns).noalias() = b.transpose() * Eigen::Map<const Vector>(left, n.inner);
  } else {
    Eigen::Map<Matrix>(result, n.rows, n.columns).noalias() = a * b;
  }
}

/// Row by row of the right operand, in unsigned arithmetic that wraps as the type does.
template <class T>
void multiply_integers(const Sizes& n, const T* left, const T* right, T* result) {
  using Unsigned = std::make_unsigned_t<T>;
  std::fill_n(result, n.rows * n.columns, T(0));
  for (std::int64_t i = 0; i < n.rows; ++i) {
    for (std::int64_t k = 0; k < n.inner; ++k) {
      const auto factor = static_cast<std::uint64_t>(left[i * n.inner + k]);
      const T* line = right + k * n.columns;
      T* out = result + i * n.columns;
      for (std::int64_t j = 0; j < n.columns; ++j) {
        out[j] = static_cast<T>(static_cast<Unsigned>(static_cast<std::uint64_t>(out[j]) + factor * static_cast<std::uint64_t>(line[j])));
      }
    }
  }
}

Shape batch_of(const TensorType& type) {
  return type.rank() <= 2 ? Shape{} : Shape(type.shape.begin(), type.shape.end() - 2);
}

template <class T>
void run(const KernelCall& call) {
  const TensorType &left = *call.inputs[0].type, &right = *call.inputs[1].type;
  Sizes n;
  n.inner = left.shape.back();
  if (left.rank() > 1) n.rows = left.shape[left.shape.size() - 2];
  if (right.rank() > 1) n.columns = right.shape.back();
  const Shape batch = broadcast(batch_of(left), batch_of(right)).value_or(Shape{});
  const ops::Strides strides[] = {ops::broadcast_strides(batch_of(left), batch), ops::broadcast_strides(batch_of(right), batch)};
  T* result = call.results[0].as<T>();
  ops::walk(batch, strides, [&](std::span<const std::int64_t> offsets, std::int64_t count, std::span<const std::int64_t> steps) {
    for (std::int64_t i = 0; i < count; ++i, result += n.rows * n.columns) {
      const T* a = call.inputs[0].as<T>() + (offsets[0] + i * steps[0]) * n.rows * n.inner;
      const T* b = call.inputs[1].as<T>() + (offsets[1] + i * steps[1]) * n.inner * n.columns;
      if constexpr (std::is_floating_point_v<T>) {
        multiply(n, a, b, result);
      } else {
        multiply_integers(n, a, b, result);
      }
    }
  });
}

Status matmul_kernel(const KernelCall& call) {
  switch (call.results[0].type->dtype) {
    case DType::f32: run<float>(call); return {};
    case DType::f64: run<double>(call); return {};
    case DType::i32: run<std::int32_t>(call); return {};
    case DType::i64: run<std::int64_t>(call); return {};
    default: return run_meaning(call);
  }
}

}  // namespace

std::span<const KernelRow> matmul_kernels() {
  static constexpr KernelRow rows[] = {{"matmul", matmul_kernel}};
  return rows;
}

}  // namespace cleave::runtime::host
