// Gradients in the tracing API. A call is recorded as it stands; compile() replaces it by the operations that compute it.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "graph/trace/nest.h"

namespace cleave {
namespace detail {

/// Replaces each Tensor of `values` by the gradient of `loss` by it.
void record_gradient(const Tensor& loss, const std::vector<Leaf>& values, const Here& here);

}  // namespace detail

/// The gradient of `loss`, a floating-point scalar, by `values`: a Tensor, or a nest of Tensors (nest.h), which gives a nest of the same
/// kind. Each gradient has type and shape of its value. Any floating-point value of the program may be asked for, also an intermediate one.
/// Reverse-mode differentiation; the result is made of ordinary operations, so that its gradient can be asked for, too.
///
///   Tensor w = …, loss = mean(square(matmul(x, w) - y));
///   w = w - 0.1 * gradient(loss, w);
///   auto [dw, db] = gradient(loss, {w, b});
///
/// Errors, at this line unless said otherwise: `shape` or `type` if the loss is no floating-point scalar; `type` by an integer value;
/// `value` if the loss does not depend on a value; `unsupported`, at the operation, if an operation on the way has no gradient or a loop
/// has no bound for its trips.
template <class T>
NestOf<T> gradient(const Tensor& loss, const T& values, Here here = Here::now()) {
  NestOf<T> gradients = values;
  detail::record_gradient(loss, leaves(gradients), here);
  return gradients;
}
template <std::size_t n>
std::array<Tensor, n> gradient(const Tensor& loss, const Tensor (&values)[n], Here here = Here::now()) {
  std::array<Tensor, n> gradients;
  for (std::size_t i = 0; i < n; ++i) gradients[i] = values[i];
  detail::record_gradient(loss, leaves(gradients), here);
  return gradients;
}

/// `x`, which gradients take for a constant.
Tensor stop_gradient(const Tensor& x, Here here = Here::now());

}  // namespace cleave
