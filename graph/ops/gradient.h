// Gradients in the tracing API. A call is recorded as it stands; compile() replaces it by the operations that compute it.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "graph/trace/custom_gradient.h"
#include "graph/trace/nest.h"

namespace cleave {
namespace detail {

/// The rule of a function with a gradient of its own, while it is traced.
class TracedRule {
 public:
  /// Replaces `results` by those that the program goes on with, and `cotangents` by theirs.
  TracedRule(const std::vector<Leaf>& operands, const std::vector<Leaf>& results, const std::vector<Leaf>& cotangents, const Here& here);
  void end(const std::vector<Leaf>& gradients);

 private:
  Here here_;
  std::shared_ptr<CustomGradient> rule_;
};

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

/// `function`, whose gradient `rule` states. `rule` takes what the function takes, then its results and their cotangents (the derivatives
/// of the loss by them), nests of the same kind; it gives the cotangents of the floating operands, in their order and of their types.
///
///   auto rounded = custom_gradient([](Tensor x) { return round(x); }, [](Tensor x, Tensor y, Tensor dy) { return dy; });
///   Tensor loss = mean(square(rounded(w) - target));
///
/// Values that `rule` does not use are not kept for it. Gradients of the gradient lead through the operations of `rule`, and through the
/// results that it is given to the operands. Other values that the function reads count as constants. A wrong number or type of cotangents
/// is an error (`type`) at this line.
template <class F, class G>
auto custom_gradient(F function, G rule, Here here = Here::now()) {
  return [function = std::move(function), rule = std::move(rule), here](const auto&... inputs) {
    std::tuple<NestOf<decltype(inputs)>...> operands{inputs...};
    NestOf<decltype(std::apply(function, operands))> results = std::apply(function, operands);
    auto cotangents = results;
    detail::TracedRule traced(leaves(operands), leaves(results), leaves(cotangents), here);
    const auto gradients = [&](const auto&... given) { return rule(given..., results, cotangents); };
    NestOf<decltype(std::apply(gradients, operands))> given = std::apply(gradients, operands);
    traced.end(leaves(given));
    return results;
  };
}

/// `x`, which gradients take for a constant.
Tensor stop_gradient(const Tensor& x, Here here = Here::now());

}  // namespace cleave
