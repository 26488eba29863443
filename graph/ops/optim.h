// Training in the tracing API: optimizers, schedules of the rate, limits of gradients, and mixed precision, as functions of Tensors and
// nests of them (nest.h). They hold nothing: moments and counters are values of the program, which it carries and keeps from run to run
// like its weights. The same functions are in share/cleave/optimizers.yaml and in Python's cleave.optim; all three trace to equal programs.
//
//   #include <cleave/optim.h>
//   Layer gradients = gradient(loss, weights);
//   std::tie(weights, m, v) = optim::adamw(weights, gradients, m, v, {.rate = optim::cosine(1e-3, step, 1000), .step = step});
#pragma once

#include <tuple>
#include <vector>

#include "graph/trace/nest.h"

namespace cleave::optim {

struct SgdOptions {
  Tensor rate;              ///< a number or a floating-point scalar
  double weight_decay = 0;  ///< adds `weight_decay * value` to the gradient
};
struct MomentumOptions {
  Tensor rate;
  double momentum = 0.9;
  bool nesterov = false;
  double weight_decay = 0;
};
struct AdamOptions {
  Tensor rate;
  Tensor step;  ///< how many steps were made before this one, an integer scalar
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double weight_decay = 0;  ///< adds `weight_decay * value` to the gradient
};
struct AdamwOptions {
  Tensor rate;
  Tensor step;  ///< as for adam
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double weight_decay = 0.01;
};
struct AdagradOptions {
  Tensor rate;
  double epsilon = 1e-10;
};
struct RmspropOptions {
  Tensor rate;
  double decay = 0.99, epsilon = 1e-8;
};
struct LionOptions {
  Tensor rate;
  double beta1 = 0.9, beta2 = 0.99, weight_decay = 0;
};
struct LossScaleOptions {
  double growth = 2, backoff = 0.5;
  std::int64_t interval = 2000;  ///< steps in a row with finite gradients before the scale grows
};

namespace detail {

// One tensor at a time. Those with moments replace them and return the new value.
Tensor sgd(const Tensor& value, const Tensor& gradient, const SgdOptions& options, const Here& here);
Tensor momentum(const Tensor& value, const Tensor& gradient, Tensor& speed, const MomentumOptions& options, const Here& here);
Tensor adam(const Tensor& value, const Tensor& gradient, Tensor& m, Tensor& v, const AdamOptions& options, bool decoupled,
            const Here& here);
Tensor adagrad(const Tensor& value, const Tensor& gradient, Tensor& sum, const AdagradOptions& options, const Here& here);
Tensor rmsprop(const Tensor& value, const Tensor& gradient, Tensor& v, const RmspropOptions& options, const Here& here);
Tensor lion(const Tensor& value, const Tensor& gradient, Tensor& m, const LionOptions& options, const Here& here);
void clip_by_norm(const std::vector<Leaf>& gradients, const Tensor& limit, const Here& here);
void clip_by_value(const std::vector<Leaf>& gradients, const Tensor& limit, const Here& here);
void ema(const std::vector<Leaf>& averages, const std::vector<Leaf>& values, double decay, const Here& here);
void convert(const std::vector<Leaf>& values, DType dtype, const char* name, const Here& here);
Tensor unscale(const std::vector<Leaf>& gradients, const Tensor& scale, const Here& here);
void update_if(const Tensor& finite, const std::vector<Leaf>& next, const std::vector<Leaf>& values, const Here& here);

/// Calls `update(i)` for each leaf; the nests must have equally many.
template <class F, class... Rest>
void for_each_leaf(std::vector<Leaf>& values, F&& update, const Rest&... rest) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (((i < rest.size()) && ...)) *values[i].tensor = update(i);
}

}  // namespace detail

/// Stochastic gradient descent: `value - rate * gradient`.
template <class N>
NestOf<N> sgd(const N& values, const N& gradients, const SgdOptions& options, Here here = Here::now()) {
  NestOf<N> next = values, given = gradients;
  std::vector<Leaf> v = leaves(next), g = leaves(given);
  detail::for_each_leaf(
      v, [&](std::size_t i) { return detail::sgd(*v[i].tensor, *g[i].tensor, options, here); }, g);
  return next;
}

/// Gradient descent with momentum, `speed = momentum * speed + gradient`; returns the next values and speeds. `nesterov`: the step looks
/// ahead by `gradient + momentum * speed` (Sutskever et al., 2013). `speed` begins with zeros.
template <class N>
std::tuple<NestOf<N>, NestOf<N>> momentum(const N& values, const N& gradients, const N& speed, const MomentumOptions& options,
                                          Here here = Here::now()) {
  NestOf<N> next = values, given = gradients, moved = speed;
  std::vector<Leaf> v = leaves(next), g = leaves(given), s = leaves(moved);
  detail::for_each_leaf(
      v, [&](std::size_t i) { return detail::momentum(*v[i].tensor, *g[i].tensor, *s[i].tensor, options, here); }, g, s);
  return {next, moved};
}

namespace detail {

template <class N>
std::tuple<NestOf<N>, NestOf<N>, NestOf<N>> adam_nest(const N& values, const N& gradients, const N& m, const N& v,
                                                      const AdamOptions& options, bool decoupled, const Here& here) {
  NestOf<N> next = values, given = gradients, first = m, second = v;
  std::vector<Leaf> x = leaves(next), g = leaves(given), a = leaves(first), b = leaves(second);
  for_each_leaf(
      x, [&](std::size_t i) { return adam(*x[i].tensor, *g[i].tensor, *a[i].tensor, *b[i].tensor, options, decoupled, here); }, g, a, b);
  return {next, first, second};
}

}  // namespace detail

/// Adam (Kingma and Ba, 2015), with moments `m` and `v` that begin with zeros. Returns the next values and moments.
template <class N>
std::tuple<NestOf<N>, NestOf<N>, NestOf<N>> adam(const N& values, const N& gradients, const N& m, const N& v, const AdamOptions& options,
                                                 Here here = Here::now()) {
  return detail::adam_nest(values, gradients, m, v, options, false, here);
}

/// Adam with decoupled weight decay (Loshchilov and Hutter, 2019): the value first shrinks by `rate * weight_decay`.
template <class N>
std::tuple<NestOf<N>, NestOf<N>, NestOf<N>> adamw(const N& values, const N& gradients, const N& m, const N& v, const AdamwOptions& options,
                                                  Here here = Here::now()) {
  return detail::adam_nest(values, gradients, m, v,
                           {options.rate, options.step, options.beta1, options.beta2, options.epsilon, options.weight_decay}, true, here);
}

/// Adagrad (Duchi et al., 2011), with the sum of squared gradients, which begins with zeros. Returns the next values and sums.
template <class N>
std::tuple<NestOf<N>, NestOf<N>> adagrad(const N& values, const N& gradients, const N& sums, const AdagradOptions& options,
                                         Here here = Here::now()) {
  NestOf<N> next = values, given = gradients, summed = sums;
  std::vector<Leaf> v = leaves(next), g = leaves(given), s = leaves(summed);
  detail::for_each_leaf(
      v, [&](std::size_t i) { return detail::adagrad(*v[i].tensor, *g[i].tensor, *s[i].tensor, options, here); }, g, s);
  return {next, summed};
}

/// RMSprop (Hinton, 2012), with a running mean of squared gradients, which begins with zeros. Returns the next values and means.
template <class N>
std::tuple<NestOf<N>, NestOf<N>> rmsprop(const N& values, const N& gradients, const N& means, const RmspropOptions& options,
                                         Here here = Here::now()) {
  NestOf<N> next = values, given = gradients, squares = means;
  std::vector<Leaf> v = leaves(next), g = leaves(given), s = leaves(squares);
  detail::for_each_leaf(
      v, [&](std::size_t i) { return detail::rmsprop(*v[i].tensor, *g[i].tensor, *s[i].tensor, options, here); }, g, s);
  return {next, squares};
}

/// Lion (Chen et al., 2023), with one moment, which begins with zeros. Returns the next values and moments.
template <class N>
std::tuple<NestOf<N>, NestOf<N>> lion(const N& values, const N& gradients, const N& m, const LionOptions& options,
                                      Here here = Here::now()) {
  NestOf<N> next = values, given = gradients, moment = m;
  std::vector<Leaf> v = leaves(next), g = leaves(given), s = leaves(moment);
  detail::for_each_leaf(
      v, [&](std::size_t i) { return detail::lion(*v[i].tensor, *g[i].tensor, *s[i].tensor, options, here); }, g, s);
  return {next, moment};
}

/// The gradients, scaled down together if the square root of the sum of all their squares exceeds `limit` (Pascanu et al., 2013).
template <class N>
NestOf<N> clip_by_norm(const N& gradients, const Tensor& limit, Here here = Here::now()) {
  NestOf<N> clipped = gradients;
  detail::clip_by_norm(leaves(clipped), limit, here);
  return clipped;
}

/// The gradients with each element between `-limit` and `limit`.
template <class N>
NestOf<N> clip_by_value(const N& gradients, const Tensor& limit, Here here = Here::now()) {
  NestOf<N> clipped = gradients;
  detail::clip_by_value(leaves(clipped), limit, here);
  return clipped;
}

/// The exponential moving average `decay * average + (1 - decay) * value`.
template <class N>
NestOf<N> ema(const N& averages, const N& values, double decay = 0.999, Here here = Here::now()) {
  NestOf<N> next = averages, given = values;
  detail::ema(leaves(next), leaves(given), decay, here);
  return next;
}

/// The values in bf16, for the loss. Their gradients come back in the types of the values.
template <class N>
NestOf<N> as_bf16(const N& values, Here here = Here::now()) {
  NestOf<N> converted = values;
  detail::convert(leaves(converted), DType::bf16, "as_bf16", here);
  return converted;
}

/// The values in f16, for a loss that is scaled (unscale).
template <class N>
NestOf<N> as_f16(const N& values, Here here = Here::now()) {
  NestOf<N> converted = values;
  detail::convert(leaves(converted), DType::f16, "as_f16", here);
  return converted;
}

/// The gradients of `loss * scale`, divided by the scale, and a bool scalar: whether all of them are finite. Small gradients of f16 become
/// 0, and the scale keeps them above that (Micikevicius et al., 2018).
///
///   const auto [gradients, finite] = optim::unscale(gradient(loss * scale, weights), scale);
///   const Layer next = optim::sgd(weights, gradients, {.rate = 0.1});
///   weights = optim::update_if(finite, next, weights);
///   std::tie(scale, steps) = optim::loss_scale(scale, steps, finite);
template <class N>
std::tuple<NestOf<N>, Tensor> unscale(const N& gradients, const Tensor& scale, Here here = Here::now()) {
  NestOf<N> unscaled = gradients;
  const Tensor finite = detail::unscale(leaves(unscaled), scale, here);
  return {unscaled, finite};
}

/// `next` if `finite`, a bool scalar, else `values`: an update that gradients which are not finite leave out.
template <class N>
NestOf<N> update_if(const Tensor& finite, const N& next, const N& values, Here here = Here::now()) {
  NestOf<N> chosen = next, old = values;
  detail::update_if(finite, leaves(chosen), leaves(old), here);
  return chosen;
}

/// The next scale, and the next number of steps in a row with finite gradients, by the rule of torch.amp.GradScaler: the scale is
/// multiplied by `backoff` behind gradients that are not finite, and by `growth` behind `interval` steps in a row that are. They are an
/// f32 and an i32 scalar, which begin with 65536 and 0.
std::tuple<Tensor, Tensor> loss_scale(const Tensor& scale, const Tensor& steps, const Tensor& finite, const LossScaleOptions& options = {},
                                      Here here = Here::now());

// Schedules: the rate at a step, an integer scalar that counts from 0.

/// `rate` at every step.
Tensor constant(const Tensor& rate, const Tensor& step);
/// From 0 to `rate` in the first `steps` steps, then `rate`.
Tensor linear_warmup(const Tensor& rate, const Tensor& step, double steps, Here here = Here::now());
/// From `rate` down to 0 along half a cosine wave in `steps` steps, then 0 (Loshchilov and Hutter, 2017).
Tensor cosine(const Tensor& rate, const Tensor& step, double steps, Here here = Here::now());
/// `rate`, multiplied by `factor` behind every `every` steps.
Tensor step_decay(const Tensor& rate, const Tensor& step, double every, double factor = 0.1, Here here = Here::now());

}  // namespace cleave::optim
