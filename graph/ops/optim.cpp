// The functions of optim.h. Each is the formula of its paper; what it records has the location of the user's call, in a scope with the
// function's name.
#include "graph/ops/optim.h"

#include <cmath>

#include "graph/ops/calls.h"
#include "graph/trace/scope.h"

namespace cleave::optim {
namespace {

/// A Tensor in a formula whose operations all stand at the user's call.
class Value {
 public:
  Value(Tensor tensor, const Here& here) : tensor_(std::move(tensor)), here_(&here) {}
  Value(double number) : tensor_(number) {}
  operator Tensor() const { return tensor_; }

  friend Value call(const OpDef& op, const Value& a) { return {cleave::detail::call(op, {a.tensor_}, {}, *a.here_), *a.here_}; }
  friend Value call(const OpDef& op, const Value& a, const Value& b) {
    const Here& here = a.here_ ? *a.here_ : *b.here_;
    return {cleave::detail::call(op, {a.tensor_, b.tensor_}, {}, here), here};
  }
  friend Value operator+(const Value& a, const Value& b) { return call(op::add, a, b); }
  friend Value operator-(const Value& a, const Value& b) { return call(op::subtract, a, b); }
  friend Value operator*(const Value& a, const Value& b) { return call(op::multiply, a, b); }
  friend Value operator/(const Value& a, const Value& b) { return call(op::divide, a, b); }

 private:
  Tensor tensor_;
  const Here* here_ = nullptr;
};

Value sqrt(const Value& x) {
  return call(op::sqrt, x);
}

Value square(const Value& x) {
  return call(op::square, x);
}

/// `1 - beta ** (step + 1)`, exact in f32 where `beta` is close to 1.
Value bias_correction(double beta, const Value& step) {
  return 0.0 - call(op::expm1, (step + 1) * std::log(beta));
}

}  // namespace

namespace detail {

Tensor sgd(const Tensor& value, const Tensor& gradient, const SgdOptions& options, const Here& here) {
  const Scope in = scope("sgd", here);
  const Value w(value, here), rate(options.rate, here);
  Value g(gradient, here);
  if (options.weight_decay != 0) g = g + options.weight_decay * w;
  return w - rate * g;
}

Tensor momentum(const Tensor& value, const Tensor& gradient, Tensor& speed, const MomentumOptions& options, const Here& here) {
  const Scope in = scope("momentum", here);
  const Value w(value, here), rate(options.rate, here);
  Value g(gradient, here);
  if (options.weight_decay != 0) g = g + options.weight_decay * w;
  const Value next = options.momentum * Value(speed, here) + g;
  speed = next;
  return w - rate * (options.nesterov ? g + options.momentum * next : next);
}

Tensor adam(const Tensor& value, const Tensor& gradient, Tensor& m, Tensor& v, const AdamOptions& options, bool decoupled,
            const Here& here) {
  const Scope in = scope(decoupled ? "adamw" : "adam", here);
  const Value rate(options.rate, here), step(options.step, here);
  Value w(value, here), g(gradient, here);
  if (options.weight_decay != 0 && decoupled) w = w - rate * options.weight_decay * w;
  if (options.weight_decay != 0 && !decoupled) g = g + options.weight_decay * w;
  const Value first = options.beta1 * Value(m, here) + (1 - options.beta1) * g;
  const Value second = options.beta2 * Value(v, here) + (1 - options.beta2) * square(g);
  m = first;
  v = second;
  const Value deviation = sqrt(second) / sqrt(bias_correction(options.beta2, step)) + options.epsilon;
  return w - rate / bias_correction(options.beta1, step) * (first / deviation);
}

Tensor adagrad(const Tensor& value, const Tensor& gradient, Tensor& sum, const AdagradOptions& options, const Here& here) {
  const Scope in = scope("adagrad", here);
  const Value w(value, here), g(gradient, here), rate(options.rate, here);
  const Value next = Value(sum, here) + square(g);
  sum = next;
  return w - rate * (g / (sqrt(next) + options.epsilon));
}

Tensor rmsprop(const Tensor& value, const Tensor& gradient, Tensor& v, const RmspropOptions& options, const Here& here) {
  const Scope in = scope("rmsprop", here);
  const Value w(value, here), g(gradient, here), rate(options.rate, here);
  const Value next = options.decay * Value(v, here) + (1 - options.decay) * square(g);
  v = next;
  return w - rate * (g / (sqrt(next) + options.epsilon));
}

Tensor lion(const Tensor& value, const Tensor& gradient, Tensor& m, const LionOptions& options, const Here& here) {
  const Scope in = scope("lion", here);
  const Value rate(options.rate, here), g(gradient, here), moment(m, here);
  Value w(value, here);
  if (options.weight_decay != 0) w = w - rate * options.weight_decay * w;
  const Value direction = call(op::sign, options.beta1 * moment + (1 - options.beta1) * g);
  m = options.beta2 * moment + (1 - options.beta2) * g;
  return w - rate * direction;
}

void clip_by_norm(const std::vector<Leaf>& gradients, const Tensor& limit, const Here& here) {
  if (gradients.empty()) return;
  const Scope in = scope("clip_by_norm", here);
  const auto squares = [&](const Leaf& leaf) { return call(op::sum, square(Value(*leaf.tensor, here))); };
  Value total = squares(gradients.front());
  for (std::size_t i = 1; i < gradients.size(); ++i) total = total + squares(gradients[i]);
  const Value scale = call(op::minimum, Value(limit, here) / (sqrt(total) + 1e-6), Value(1.0));
  for (const Leaf& leaf : gradients) *leaf.tensor = Value(*leaf.tensor, here) * scale;
}

void clip_by_value(const std::vector<Leaf>& gradients, const Tensor& limit, const Here& here) {
  const Scope in = scope("clip_by_value", here);
  const Value most(limit, here);
  for (const Leaf& leaf : gradients)
    *leaf.tensor = call(op::maximum, call(op::minimum, Value(*leaf.tensor, here), most), Value(0.0) - most);
}

void ema(const std::vector<Leaf>& averages, const std::vector<Leaf>& values, double decay, const Here& here) {
  const Scope in = scope("ema", here);
  for (std::size_t i = 0; i < averages.size() && i < values.size(); ++i)
    *averages[i].tensor = decay * Value(*averages[i].tensor, here) + (1 - decay) * Value(*values[i].tensor, here);
}

}  // namespace detail

Tensor linear_warmup(const Tensor& rate, const Tensor& step, double steps, Here here) {
  const Scope in = scope("linear_warmup", here);
  return Value(rate, here) * call(op::minimum, (Value(step, here) + 1) / steps, Value(1.0));
}

Tensor cosine(const Tensor& rate, const Tensor& step, double steps, Here here) {
  const Scope in = scope("cosine", here);
  constexpr double kPi = 3.14159265358979323846;
  const Value part = call(op::minimum, Value(step, here) / steps, Value(1.0));
  return Value(rate, here) * (0.5 * (1 + call(op::cos, kPi * part)));
}

Tensor step_decay(const Tensor& rate, const Tensor& step, double every, double factor, Here here) {
  const Scope in = scope("step_decay", here);
  return Value(rate, here) * call(op::pow, Value(factor), call(op::floor, Value(step, here) / every));
}

}  // namespace cleave::optim
