#include "models/onnx/products.h"

#include "models/onnx/lengths.h"
#include "models/onnx/quantized_origin.h"
#include "models/onnx/written_out_attention.h"

namespace cleave::models::onnx {

Part scaled(Call& c, const Part& x, double factor) {
  return factor == 1 ? x : c.as(x.dtype(), c.multiply(x, factor));
}

/// A transposed operand is not copied: products absorb `transpose`.
std::optional<Part> gemm_product(Call& c) {
  c.ignore({"broadcast"});  // in versions below 7; C broadcasts in any case
  const double alpha = c.number("alpha", 1), beta = c.number("beta", 1);
  const Part a = c.flag("transA") ? c(op::transpose, {c[0]}) : c[0];
  const Part b = c.flag("transB") ? c(op::transpose, {c[1]}) : c[1];
  const Part product = scaled(c, c(op::matmul, {a, b}), alpha);
  if (!c.has(2) || beta == 0 || product.operand().poisoned()) return product;
  if (broadcast(c[2].shape(), product.shape()) == product.shape()) return c.add(product, scaled(c, c[2], beta));
  c.mistake(DiagnosticKind::shape,
            "`" + std::string(c.op()) + "`: C, " + to_string(c[2].type()) + ", does not broadcast to " + to_string(product.type()));
  return std::nullopt;
}

namespace {

Values matmul(Call& c) {
  if (!bounded(c, c[0]) && !bounded(c, c[1]))
    if (const std::optional<Part> attention = written_out_attention(c, c[0], c[1])) return {*attention};
  if (const int rank = c[1].rank(); rank >= 2) {
    if (std::optional<Values> y = product_of_integers(c, op::quantized_matmul, {.weight_axis = rank - 1}, {})) return *std::move(y);
  }
  return {c(op::matmul, {c[0], c[1]})};
}

/// A product without factors whose weight has a scale, or one for each column.
std::optional<Values> gemm_of_integers(Call& c) {
  if (c.number("alpha", 1) != 1 || c.number("beta", 1) != 1 || c.flag("transA") || c[1].rank() != 2) return std::nullopt;
  if (c.has(2) && c[2].rank() > 1) return std::nullopt;
  const bool turns = c.flag("transB");
  return product_of_integers(c, op::quantized_matmul, {.weight_axis = turns ? 0 : 1, .transposed = turns}, {});
}

Values gemm(Call& c) {
  if (std::optional<Values> y = gemm_of_integers(c)) {
    c.ignore({"broadcast"});
    return *std::move(y);
  }
  const std::optional<Part> product = gemm_product(c);
  return product ? Values{*product} : c.poison();
}

Values einsum(Call& c) {
  const std::optional<std::string> equation = c.text("equation");
  if (!equation) return c.mistake(DiagnosticKind::value, "`Einsum` needs an `equation`");
  return {c(op::einsum, c.parts(), {{"equation", *equation}})};
}

}  // namespace

std::span<const Lowering> product_lowerings() {
  static constexpr Lowering kRows[] = {
      {"Einsum", 12, einsum},
      {"Gemm", 1, gemm, {}, true},
      {"MatMul", 1, matmul, {}, true},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
