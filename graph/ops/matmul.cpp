// matmul as in the array API: leading axes broadcast; a one-dimensional operand is a row on the left and a column on the right.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "graph/base/stop.h"
#include "graph/ops/gradient_rules.h"
#include "graph/ops/length_rules.h"
#include "graph/ops/op_table.h"
#include "graph/ops/rules.h"
#include "graph/ops/strided.h"
#include "graph/ops/sums.h"

namespace cleave::ops {
namespace {

/// Both operands as batches of matrices: rows x inner and inner x columns.
struct Product {
  Shape batch;
  std::int64_t rows = 1, inner = 1, columns = 1;
  Strides left_batch, right_batch;  ///< in elements, over `batch`
};

Shape product_batch(const TensorType& type) {
  return type.rank() <= 2 ? Shape{} : Shape(type.shape.begin(), type.shape.end() - 2);
}

Product product_of(const TensorType& left, const TensorType& right) {
  Product p;
  p.batch = broadcast(product_batch(left), product_batch(right)).value_or(Shape{});
  p.inner = left.shape.back();
  if (left.rank() > 1) p.rows = left.shape[left.rank() - 2];
  if (right.rank() > 1) p.columns = right.shape.back();
  p.left_batch = broadcast_strides(product_batch(left), p.batch);
  p.right_batch = broadcast_strides(product_batch(right), p.batch);
  for (std::int64_t& stride : p.left_batch) stride *= p.rows * p.inner;
  for (std::int64_t& stride : p.right_batch) stride *= p.inner * p.columns;
  return p;
}

TypeResult matmul_type(Types inputs, const Attributes&) {
  const TensorType &left = inputs[0], &right = inputs[1];
  if (left.dtype == DType::boolean || right.dtype == DType::boolean) {
    return refuse(DiagnosticKind::type, "matmul", inputs, "needs numbers, not bool; convert with astype");
  }
  if (left.dtype != right.dtype) return refuse(DiagnosticKind::type, "matmul", inputs, "the element types differ");
  if (left.scalar() || right.scalar()) return refuse(DiagnosticKind::shape, "matmul", inputs, "a scalar is no matrix; multiply with `*`");
  const std::int64_t inner_left = left.shape.back();
  const std::int64_t inner_right = right.shape[right.rank() == 1 ? 0 : right.rank() - 2];
  if (inner_left != inner_right) {
    return refuse(DiagnosticKind::shape, "matmul", inputs,
                  "the inner extents " + std::to_string(inner_left) + " and " + std::to_string(inner_right) + " differ");
  }
  std::optional<Shape> shape = broadcast(product_batch(left), product_batch(right));
  if (!shape) return refuse(DiagnosticKind::shape, "matmul", inputs, "the leading axes do not broadcast");
  if (left.rank() > 1) shape->push_back(left.shape[left.rank() - 2]);
  if (right.rank() > 1) shape->push_back(right.shape.back());
  return give("matmul", inputs, {dot_dtype(left.dtype, inner_left), *std::move(shape)});
}

Cost matmul_cost(Types inputs, Types results, const Attributes&) {
  const auto inner = static_cast<double>(inputs[0].shape.back());
  return {2 * inner * static_cast<double>(results[0].elements()), traffic(inputs, results)};
}

/// The shortest dimension: `rows` of the left operand, `columns` of the right one, or `depth`, the length of the sums. If only the left
/// operand has a batch, its matrices count as more rows.
WorkForm matmul_form(Types inputs, Types, const Attributes&) {
  const Product p = product_of(inputs[0], inputs[1]);
  double batch = 1;
  for (const std::int64_t extent : p.batch) batch *= static_cast<double>(extent);
  const auto columns = static_cast<double>(p.columns), depth = static_cast<double>(p.inner);
  auto rows = static_cast<double>(p.rows);
  const bool shared = std::all_of(p.right_batch.begin(), p.right_batch.end(), [](std::int64_t stride) { return stride == 0; });
  if (shared) rows *= std::exchange(batch, 1);
  const WorkForm square{{}, 0, std::cbrt(rows * columns * depth), batch};
  const double shortest = std::min({rows, columns, depth});
  if (shortest < 1 || shortest >= square.full) return square;
  return {shortest == rows ? "rows" : shortest == columns ? "columns" : "depth", shortest, square.full, batch};
}

constexpr std::int64_t kLongLine = 1 << 18;  ///< elements between two polls of the stop sign
/// One matrix product, a row at a time; each sum runs over k in order, in the accumulator type. The right matrix is read by rows, which are
/// contiguous: reading columns would take minutes instead of seconds.
template <class T, class R>
void multiply(const Product& p, const T* left, const T* right, R* result) {
  std::vector<Accumulator<T>> sums(static_cast<std::size_t>(p.columns));
  StopLooks looks;
  for (std::int64_t row = 0; row < p.rows; ++row) {
    std::fill(sums.begin(), sums.end(), Accumulator<T>(0));
    for (std::int64_t k = 0; k < p.inner; ++k) {
      const Accumulator<T> factor = widen(left[row * p.inner + k]);
      const T* line = right + k * p.columns;
      for (std::int64_t begin = 0; begin < p.columns; begin += kLongLine) {
        const std::int64_t end = std::min(p.columns, begin + kLongLine);
        looks.worked(end - begin);
        for (std::int64_t column = begin; column < end; ++column) {
          Accumulator<T>& sum = sums[static_cast<std::size_t>(column)];
          sum = sum + factor * widen(line[column]);
        }
      }
    }
    for (const Accumulator<T>& sum : sums) *result++ = store<R>(sum);
  }
}

template <class T, class R>
void multiply_all(const Product& p, const T* left, const T* right, R* result) {
  const Strides strides[] = {p.left_batch, p.right_batch};
  walk(p.batch, strides, [&](std::span<const std::int64_t> offsets, std::int64_t count, std::span<const std::int64_t> steps) {
    for (std::int64_t i = 0; i < count; ++i) {
      multiply(p, left + offsets[0] + i * steps[0], right + offsets[1] + i * steps[1], result);
      result += p.rows * p.columns;
    }
  });
}

Status matmul_reference(const OpCall& call) {
  const Product p = product_of(call.inputs[0].type(), call.inputs[1].type());
  dispatch(call.inputs[0].dtype(), [&](auto element) {
    using T = decltype(element);
    dispatch_sum<T>(call.results[0].dtype(), [&](auto sum) {
      multiply_all(p, call.inputs[0].data<T>(), call.inputs[1].data<T>(), call.results[0].mutable_data<decltype(sum)>());
    });
  });
  return {};
}

}  // namespace

constexpr OpDef op::matmul{
    .name = "matmul",
    .min_inputs = 2,
    .max_inputs = 2,
    .promotion = Promotion::common,
    .signature = "matmul(x1, x2)",
    .summary =
        "matrix product over the last two axes; the others broadcast; integers of 8 and 16 bits give i32, or i64 where so many products "
        "can sum to more; integers wrap",
    .type_rule = matmul_type,
    .length_rule = lengths::matmul,
    .cost = matmul_cost,
    .cost_class = CostClass::product,
    .form = matmul_form,
    .reference = matmul_reference,
    .gradient = gradients::matmul};

}  // namespace cleave::ops
