// The functions of optim.h. Each is the formula of its paper; what it records has the location of the user's call, in a scope with the
// function's name.
#include "graph/ops/optim.h"

#include "graph/ops/calls.h"
#include "graph/trace/scope.h"

namespace cleave::optim {
namespace {

/// A Tensor in a formula whose operations all stand at the user's call.
class Value {
 public:
  Value(Tensor tensor, const Here& here) : tensor_(std::move(tensor)), here_(&here) {}
  Value(double number) : tensor_(number) {}
  Value(int number) : tensor_(number) {}
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

// The order of operations is that of optimizers.yaml: C++ leaves the order of operands open, so that each operation with two computed
// operands follows statements which compute them.

/// `1 - beta ** (step + 1)` in the type of `like`, exact where `beta` is close to 1.
Value bias_correction(double beta, const Value& step, const Tensor& like, const Here& here) {
  const Attributes type{{"dtype", like.type().dtype}};
  const Value steps(cleave::detail::call(op::astype, {step + 1}, type, here), here);
  Attributes scalar = type;
  scalar.set("shape", std::vector<std::int64_t>{});
  const Value one(cleave::detail::call(op::ones, std::initializer_list<Tensor>{}, std::move(scalar), here), here);
  return 0.0 - call(op::expm1, steps * call(op::log1p, (beta - 1) * one));
}

/// `share * a + (1 - share) * b`
Value mean_of(double share, const Value& a, const Value& b) {
  const Value first = share * a, second = (1 - share) * b;
  return first + second;
}

/// The gradient with the part of a weight decay that is not decoupled.
Value decayed(const Value& g, double weight_decay, const Value& w) {
  return weight_decay == 0 ? g : g + weight_decay * w;
}

/// The value, shrunk by a decoupled weight decay.
Value shrunk(const Value& w, const Value& rate, double weight_decay) {
  return weight_decay == 0 ? w : w * (1 - rate * weight_decay);
}

}  // namespace

namespace detail {

Tensor sgd(const Tensor& value, const Tensor& gradient, const SgdOptions& options, const Here& here) {
  const Scope in = scope("sgd", here);
  const Value w(value, here), rate(options.rate, here);
  return w - rate * decayed(Value(gradient, here), options.weight_decay, w);
}

Tensor momentum(const Tensor& value, const Tensor& gradient, Tensor& speed, const MomentumOptions& options, const Here& here) {
  const Scope in = scope("momentum", here);
  const Value w(value, here), rate(options.rate, here), g = decayed(Value(gradient, here), options.weight_decay, w);
  const Value next = options.momentum * Value(speed, here) + g;
  speed = next;
  return w - rate * (options.nesterov ? g + options.momentum * next : next);
}

Tensor adam(const Tensor& value, const Tensor& gradient, Tensor& m, Tensor& v, const AdamOptions& options, bool decoupled,
            const Here& here) {
  const Scope in = scope(decoupled ? "adamw" : "adam", here);
  const Value rate(options.rate, here), step(options.step, here);
  const Value w = shrunk(Value(value, here), rate, decoupled ? options.weight_decay : 0);
  const Value g = decayed(Value(gradient, here), decoupled ? 0 : options.weight_decay, w);
  const Value first = mean_of(options.beta1, Value(m, here), g);
  const Value kept = options.beta2 * Value(v, here);
  const Value second = kept + (1 - options.beta2) * square(g);
  m = first;
  v = second;
  const Value root = sqrt(second), corrected = sqrt(bias_correction(options.beta2, step, value, here));
  const Value deviation = root / corrected + options.epsilon;
  const Value size = rate / bias_correction(options.beta1, step, value, here), direction = first / deviation;
  return w - size * direction;
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
  const Value kept = options.decay * Value(v, here);
  const Value next = kept + (1 - options.decay) * square(g);
  v = next;
  return w - rate * (g / (sqrt(next) + options.epsilon));
}

Tensor lion(const Tensor& value, const Tensor& gradient, Tensor& m, const LionOptions& options, const Here& here) {
  const Scope in = scope("lion", here);
  const Value rate(options.rate, here), g(gradient, here), moment(m, here);
  const Value w = shrunk(Value(value, here), rate, options.weight_decay);
  const Value direction = call(op::sign, mean_of(options.beta1, moment, g));
  m = mean_of(options.beta2, moment, g);
  return w - rate * direction;
}

void clip_by_norm(const std::vector<Leaf>& gradients, const Tensor& limit, const Here& here) {
  if (gradients.empty()) return;
  const Scope in = scope("clip_by_norm", here);
  std::vector<Tensor> squares;
  for (const Leaf& leaf : gradients) squares.push_back(call(op::sum, square(Value(*leaf.tensor, here))));
  const Value all(cleave::detail::call(op::stack, squares, {}, here), here);
  const Value norm = sqrt(call(op::sum, all));
  const Value scale = call(op::minimum, Value(limit, here) / (norm + 1e-6), Value(1.0));
  for (const Leaf& leaf : gradients) *leaf.tensor = Value(*leaf.tensor, here) * scale;
}

void clip_by_value(const std::vector<Leaf>& gradients, const Tensor& limit, const Here& here) {
  const Scope in = scope("clip_by_value", here);
  const Value most(limit, here);
  for (const Leaf& leaf : gradients) {
    const Value below = call(op::minimum, Value(*leaf.tensor, here), most);
    *leaf.tensor = call(op::maximum, below, 0.0 - most);
  }
}

void ema(const std::vector<Leaf>& averages, const std::vector<Leaf>& values, double decay, const Here& here) {
  const Scope in = scope("ema", here);
  for (std::size_t i = 0; i < averages.size() && i < values.size(); ++i)
    *averages[i].tensor = mean_of(decay, Value(*averages[i].tensor, here), Value(*values[i].tensor, here));
}

void convert(const std::vector<Leaf>& values, DType dtype, const char* name, const Here& here) {
  const Scope in = scope(name, here);
  for (const Leaf& leaf : values) *leaf.tensor = cleave::detail::call(op::astype, {*leaf.tensor}, {{"dtype", dtype}}, here);
}

Tensor unscale(const std::vector<Leaf>& gradients, const Tensor& scale, const Here& here) {
  if (gradients.empty()) return true;
  const Scope in = scope("unscale", here);
  std::vector<Tensor> flags;
  for (const Leaf& leaf : gradients) flags.push_back(call(op::all, call(op::isfinite, Value(*leaf.tensor, here))));
  const Value finite = call(op::all, Value(cleave::detail::call(op::stack, flags, {}, here), here));
  const Value inverse = 1.0 / Value(scale, here);
  for (const Leaf& leaf : gradients) *leaf.tensor = Value(*leaf.tensor, here) * inverse;
  return finite;
}

void update_if(const Tensor& finite, const std::vector<Leaf>& next, const std::vector<Leaf>& values, const Here& here) {
  const Scope in = scope("update_if", here);
  for (std::size_t i = 0; i < next.size() && i < values.size(); ++i)
    *next[i].tensor = cleave::detail::call(op::where, {finite, *next[i].tensor, *values[i].tensor}, {}, here);
}

}  // namespace detail

std::tuple<Tensor, Tensor> loss_scale(const Tensor& scale, const Tensor& steps, const Tensor& finite, const LossScaleOptions& options,
                                      Here here) {
  const Scope in = scope("loss_scale", here);
  const auto where = [&](const Value& condition, const Tensor& x, const Tensor& y) {
    return Value(cleave::detail::call(op::where, {condition, x, y}, {}, here), here);
  };
  const Value old(scale, here), good(finite, here), more = Value(steps, here) + 1;
  const Value due = call(op::greater_equal, more, Value(Tensor(options.interval), here)), grown = old * options.growth;
  const Value larger = where(call(op::logical_and, due, call(op::isfinite, grown)), grown, scale), smaller = old * options.backoff;
  const Tensor next = where(good, larger, smaller), counted = where(due, 0, more);
  return {next, where(good, counted, 0)};
}

Tensor constant(const Tensor& rate, const Tensor&) {
  return rate;
}

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
