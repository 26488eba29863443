// The functions of ops.h and elementary.h. Each records a call: the name of the op, its operands and its attributes.
#include "graph/ops/ops.h"

#include "graph/ops/calls.h"
#include "graph/ops/elementary.h"

namespace cleave {
namespace {

using Integers = std::vector<std::int64_t>;
using ops::axis;
using ops::call;
using ops::call_two;
using ops::set;

Tensor cumulate(const OpDef& op, const Tensor& x, const CumulativeOptions& options, const Here& here) {
  Attributes attributes = axis(options.axis);
  if (options.exclusive) attributes.set("exclusive", true);
  if (options.reverse) attributes.set("reverse", true);
  return call(op, {x}, std::move(attributes), here);
}

Tensor reduce(const OpDef& op, const Tensor& x, const ReduceOptions& options, const Here& here) {
  Attributes attributes = axis(options.axis);
  attributes.set("keepdims", options.keepdims);
  return call(op, {x}, std::move(attributes), here);
}

}  // namespace

Tensor astype(const Tensor& x, DType dtype, Here here) {
  return call(op::astype, {x}, {{"dtype", dtype}}, here);
}

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b, Here here) {
  return call(op::where, {condition, a, b}, {}, here);
}

Tensor matmul(const Tensor& a, const Tensor& b, Here here) {
  return call(op::matmul, {a, b}, {}, here);
}
Tensor sum(const Tensor& x, const ReduceOptions& options, Here here) {
  return reduce(op::sum, x, options, here);
}
Tensor mean(const Tensor& x, const ReduceOptions& options, Here here) {
  return reduce(op::mean, x, options, here);
}
Tensor prod(const Tensor& x, const ReduceOptions& options, Here here) {
  return reduce(op::prod, x, options, here);
}
Tensor max(const Tensor& x, const ReduceOptions& options, Here here) {
  return reduce(op::max, x, options, here);
}
Tensor min(const Tensor& x, const ReduceOptions& options, Here here) {
  return reduce(op::min, x, options, here);
}
Tensor any(const Tensor& x, const ReduceOptions& options, Here here) {
  return reduce(op::any, x, options, here);
}
Tensor all(const Tensor& x, const ReduceOptions& options, Here here) {
  return reduce(op::all, x, options, here);
}
Tensor argmax(const Tensor& x, const ReduceOptions& options, Here here) {
  return reduce(op::argmax, x, options, here);
}
Tensor argmin(const Tensor& x, const ReduceOptions& options, Here here) {
  return reduce(op::argmin, x, options, here);
}
Tensor cumulative_sum(const Tensor& x, const CumulativeOptions& options, Here here) {
  return cumulate(op::cumulative_sum, x, options, here);
}
Tensor cumulative_prod(const Tensor& x, const CumulativeOptions& options, Here here) {
  return cumulate(op::cumulative_prod, x, options, here);
}
Tensor bitcast(const Tensor& x, DType dtype, Here here) {
  return call(op::bitcast, {x}, {{"dtype", dtype}}, here);
}
Tensor softmax(const Tensor& x, const AxisOptions& options, Here here) {
  return call(op::softmax, {x}, axis(options.axis), here);
}
Tensor log_softmax(const Tensor& x, const AxisOptions& options, Here here) {
  return call(op::log_softmax, {x}, axis(options.axis), here);
}

Tensor transpose(const Tensor& x, Here here) {
  return call(op::transpose, {x}, {}, here);
}
Tensor permute_dims(const Tensor& x, std::vector<std::int64_t> axes, Here here) {
  return call(op::permute_dims, {x}, {{"axes", std::move(axes)}}, here);
}
Tensor reshape(const Tensor& x, Shape shape, Here here) {
  return call(op::reshape, {x}, {{"shape", std::move(shape)}}, here);
}
Tensor expand_dims(const Tensor& x, int at, Here here) {
  return call(op::expand_dims, {x}, {{"axis", std::int64_t{at}}}, here);
}
Tensor squeeze(const Tensor& x, Axes axes, Here here) {
  return call(op::squeeze, {x}, axis(axes), here);
}
Tensor broadcast_to(const Tensor& x, Shape shape, Here here) {
  return call(op::broadcast_to, {x}, {{"shape", std::move(shape)}}, here);
}
Tensor flip(const Tensor& x, Axes axes, Here here) {
  return call(op::flip, {x}, axis(axes), here);
}
Tensor concat(const std::vector<Tensor>& arrays, const AxisOptions& options, Here here) {
  return call(op::concat, arrays, axis(options.axis), here);
}
Tensor stack(const std::vector<Tensor>& arrays, const AxisOptions& options, Here here) {
  return call(op::stack, arrays, axis(options.axis), here);
}
Tensor pad(const Tensor& x, const std::vector<std::pair<std::int64_t, std::int64_t>>& before_after, const PadOptions& options, Here here) {
  Integers widths;
  for (const auto& [before, after] : before_after) widths.insert(widths.end(), {before, after});
  return call(op::pad, {x}, {{"widths", std::move(widths)}, {"value", options.value}}, here);
}
Tensor repeat(const Tensor& x, std::int64_t repeats, const AxisOptions& options, Here here) {
  Attributes attributes = axis(options.axis);
  attributes.set("repeats", repeats);
  return call(op::repeat, {x}, std::move(attributes), here);
}
Tensor tile(const Tensor& x, std::vector<std::int64_t> repetitions, Here here) {
  return call(op::tile, {x}, {{"repetitions", std::move(repetitions)}}, here);
}

Tensor slice(const Tensor& x, std::initializer_list<Pick> picks, Here here) {
  return detail::slice(x, picks, here.of("slice"));
}

/// Normalizes the slice as models write it, so that equal programs have equal graphs: an open end becomes the extent, and steps of 1 are
/// left out.
Tensor detail::slice(const Tensor& x, std::initializer_list<Pick> picks, const Here& here) {
  constexpr std::int64_t kFirst = std::numeric_limits<std::int64_t>::min(), kLast = std::numeric_limits<std::int64_t>::max();
  const Shape shape = x.shape();
  Integers starts, stops, steps, squeeze;
  bool stepped = false;
  for (const Pick& pick : picks) {
    const std::size_t axis = starts.size();
    const bool forward = pick.step >= 0;
    const std::int64_t start = pick.start.value_or(forward ? 0 : kLast);
    const std::int64_t end = !forward ? kFirst : axis < shape.size() ? shape[axis] : kLast;
    starts.push_back(start);
    stops.push_back(pick.index ? start + (start < kLast ? 1 : 0) : pick.stop.value_or(end));
    steps.push_back(pick.step);
    stepped = stepped || pick.step != 1;
    if (pick.index) squeeze.push_back(static_cast<std::int64_t>(axis));
  }
  Attributes attributes{{"starts", std::move(starts)}, {"stops", std::move(stops)}};
  if (stepped) attributes.set("steps", std::move(steps));
  if (!squeeze.empty()) attributes.set("squeeze", std::move(squeeze));
  return call(op::slice, {x}, std::move(attributes), here);
}
Tensor take(const Tensor& x, const Tensor& indices, const AxisOptions& options, Here here) {
  return call(op::take, {x, indices}, axis(options.axis), here);
}
Tensor one_hot(const Tensor& indices, std::int64_t depth, const CreateOptions& options, Here here) {
  return call(op::one_hot, {indices}, {{"depth", depth}, {"dtype", options.dtype}}, here);
}

Tensor arange(Number stop, const ArangeOptions& options, Here here) {
  Attributes attributes;
  if (options.step) set(attributes, "stop", stop);
  set(attributes, "start", options.step ? Number(0) : stop);
  set(attributes, "step", options.step);
  set(attributes, "dtype", options.dtype);
  return call(op::arange, {}, std::move(attributes), here);
}
Tensor arange(Number start, Number stop, const ArangeOptions& options, Here here) {
  Attributes attributes;
  set(attributes, "start", start);
  set(attributes, "stop", stop);
  set(attributes, "step", options.step);
  set(attributes, "dtype", options.dtype);
  return call(op::arange, {}, std::move(attributes), here);
}
Tensor zeros(Shape shape, const CreateOptions& options, Here here) {
  return call(op::zeros, {}, {{"shape", std::move(shape)}, {"dtype", options.dtype}}, here);
}
Tensor ones(Shape shape, const CreateOptions& options, Here here) {
  return call(op::ones, {}, {{"shape", std::move(shape)}, {"dtype", options.dtype}}, here);
}
Tensor full(Shape shape, Number value, std::optional<DType> dtype, Here here) {
  Attributes attributes{{"shape", std::move(shape)}};
  set(attributes, "value", value);
  set(attributes, "dtype", dtype);
  return call(op::full, {}, std::move(attributes), here);
}
Tensor eye(std::int64_t rows, std::optional<std::int64_t> columns, const CreateOptions& options, Here here) {
  Attributes attributes{{"rows", rows}, {"dtype", options.dtype}};
  if (columns) attributes.set("columns", *columns);
  return call(op::eye, {}, std::move(attributes), here);
}

namespace {

Tensor random(const OpDef& op, Attributes attributes, Shape shape, const RandomOptions& options, const Here& here) {
  attributes.set("shape", std::move(shape));
  attributes.set("seed", options.seed);
  attributes.set("dtype", options.dtype);
  if (options.step) return call(op, {*options.step}, std::move(attributes), here);
  return call(op, {}, std::move(attributes), here);
}

Tensor ordered(const OpDef& op, const Tensor& x, const SortOptions& options, const Here& here) {
  return call(op, {x}, {{"axis", std::int64_t{options.axis}}, {"descending", options.descending}}, here);
}

}  // namespace

Tensor random_uniform(Shape shape, double low, double high, const RandomOptions& options, Here here) {
  return random(op::random_uniform, {{"low", low}, {"high", high}}, std::move(shape), options, here);
}
Tensor random_normal(Shape shape, double mean, double deviation, const RandomOptions& options, Here here) {
  return random(op::random_normal, {{"mean", mean}, {"std", deviation}}, std::move(shape), options, here);
}

Tensor random_integers(Shape shape, std::int64_t low, std::int64_t high, const RandomIntegersOptions& options, Here here) {
  return random(op::random_integers, {{"low", low}, {"high", high}}, std::move(shape), {options.seed, options.step, options.dtype}, here);
}

Tensor random_permutation(std::int64_t n, const RandomPermutationOptions& options, Here here) {
  Attributes attributes{{"n", n}, {"seed", options.seed}};
  if (options.step) return call(op::random_permutation, {*options.step}, std::move(attributes), here);
  return call(op::random_permutation, {}, std::move(attributes), here);
}

Tensor operator<<(const Term& a, const Term& b) {
  return detail::operate("<<", op::bitwise_left_shift, {a.tensor, b.tensor}, a.here);
}
Tensor operator>>(const Term& a, const Term& b) {
  return detail::operate(">>", op::bitwise_right_shift, {a.tensor, b.tensor}, a.here);
}

Tensor sort(const Tensor& x, const SortOptions& options, Here here) {
  return ordered(op::sort, x, options, here);
}
Tensor argsort(const Tensor& x, const SortOptions& options, Here here) {
  return ordered(op::argsort, x, options, here);
}
TopK top_k(const Tensor& x, std::int64_t k, Here here) {
  return call_two<TopK>(op::top_k, {&x, 1}, {{"k", k}}, here);
}
Unique unique(const Tensor& x, Here here) {
  return call_two<Unique>(op::unique, {&x, 1}, {}, here);
}

void print(std::string label, const Tensor& x, Here here) {
  call(op::print, {x}, {{"label", std::move(label)}}, here);
}
void log(std::string label, const Tensor& x, Here here) {
  call(op::log_metric, {x}, {{"label", std::move(label)}}, here);
}
void write_npy(std::string path, const Tensor& x, Here here) {
  call(op::write_npy, {x}, {{"path", std::move(path)}}, here);
}
Tensor to_host(const Tensor& x, Here here) {
  return call(op::to_host, {x}, {}, here);
}
Tensor to_accelerator(const Tensor& x, Here here) {
  return call(op::to_accelerator, {x}, {}, here);
}

}  // namespace cleave

// NOLINTBEGIN(cppcoreguidelines-macro-usage): a function of each line of elementwise.def, with as many operands. They stand outside the
// namespace, so that a function without a declaration in a header is an error.
#define CLEAVE_FUNCTION_1(name)                             \
  cleave::Tensor cleave::name(const Tensor& x, Here here) { \
    return call(op::name, {x}, {}, here);                   \
  }
#define CLEAVE_FUNCTION_2(name)                                              \
  cleave::Tensor cleave::name(const Tensor& a, const Tensor& b, Here here) { \
    return call(op::name, {a, b}, {}, here);                                 \
  }
#define CLEAVE_FUNCTION_3(name)                                                               \
  cleave::Tensor cleave::name(const Tensor& a, const Tensor& b, const Tensor& c, Here here) { \
    return call(op::name, {a, b, c}, {}, here);                                               \
  }
#define CLEAVE_OP(family, Struct, name, operands, ...) CLEAVE_FUNCTION_##operands(name)
#include "graph/ops/elementwise.def"
// NOLINTEND(cppcoreguidelines-macro-usage)
