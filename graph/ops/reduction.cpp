// Reductions (sum … argmin) over some or all axes. Floating-point numbers accumulate in double, integers wrap in i64.
#include <limits>

#include "graph/ops/domain.h"
#include "graph/ops/forms.h"
#include "graph/ops/gradient_rules.h"
#include "graph/ops/length_rules.h"
#include "graph/ops/op_table.h"
#include "graph/ops/rules.h"
#include "graph/ops/strided.h"
#include "graph/ops/sums.h"

namespace cleave::ops {
namespace {

enum class ReductionResult : std::uint8_t { same, sum, product, index, truth };

DType result_dtype(ReductionResult gives, DType from, std::int64_t count) {
  switch (gives) {
    case ReductionResult::same: break;
    case ReductionResult::sum: return sum_dtype(from, count);
    case ReductionResult::product: return product_dtype(from);
    case ReductionResult::index: return DType::i32;
    case ReductionResult::truth: return DType::boolean;
  }
  return from;
}

/// One reduction: its name and types, and its State: the initial value, the step for one element, and the result.
struct Sum {
  static constexpr Name name{"sum"};
  static constexpr auto length_rule = lengths::reduction<Neutral::zero>;
  static constexpr Domain takes = Domain::any;
  static constexpr ReductionResult gives = ReductionResult::sum;
  static constexpr bool needs_elements = false;
  template <class A>
  struct State {
    A sum = 0;
    void take(A x, std::int64_t) { sum = sum + x; }
    [[nodiscard]] A finish(std::int64_t) const { return sum; }
  };
};
struct Prod : Sum {
  static constexpr Name name{"prod"};
  static constexpr auto length_rule = lengths::reduction<Neutral::one>;
  static constexpr ReductionResult gives = ReductionResult::product;
  template <class A>
  struct State {
    A product = 1;
    void take(A x, std::int64_t) { product = product * x; }
    [[nodiscard]] A finish(std::int64_t) const { return product; }
  };
};
struct Mean : Sum {
  static constexpr Name name{"mean"};
  static constexpr auto length_rule = lengths::mean;
  static constexpr Domain takes = Domain::floating;
  static constexpr ReductionResult gives = ReductionResult::same;
  template <class A>
  struct State {
    A sum = 0;
    void take(A x, std::int64_t) { sum = sum + x; }
    [[nodiscard]] A finish(std::int64_t count) const { return sum / static_cast<A>(count); }
  };
};
struct Any {
  static constexpr Name name{"any"};
  static constexpr auto length_rule = lengths::reduction<Neutral::zero>;
  static constexpr Domain takes = Domain::any;
  static constexpr ReductionResult gives = ReductionResult::truth;
  static constexpr bool needs_elements = false;
  template <class A>
  struct State {
    bool truth = false;
    void take(A x, std::int64_t) { truth = truth || x != A(0); }
    [[nodiscard]] bool finish(std::int64_t) const { return truth; }
  };
};
struct All : Any {
  static constexpr Name name{"all"};
  static constexpr auto length_rule = lengths::reduction<Neutral::one>;
  template <class A>
  struct State {
    bool truth = true;
    void take(A x, std::int64_t) { truth = truth && x != A(0); }
    [[nodiscard]] bool finish(std::int64_t) const { return truth; }
  };
};
/// The first extreme element; a NaN beats every number.
template <class A, bool largest>
struct Extreme {
  A best = 0;
  std::int64_t place = -1;
  void take(A x, std::int64_t index) {
    if (place < 0 || (best == best && (x != x || (largest ? x > best : x < best)))) {
      best = x;
      place = index;
    }
  }
};
/// The type in which elements are compared: i64 does not hold all u64 values.
template <class T>
using Compared = std::conditional_t<std::is_same_v<T, std::uint64_t>, Wrapping<T>, Accumulator<T>>;
template <bool largest>
struct Best {
  static constexpr auto length_rule = lengths::reduction<(largest ? Neutral::lowest : Neutral::highest)>;
  static constexpr Domain takes = Domain::numeric;
  static constexpr ReductionResult gives = ReductionResult::same;
  static constexpr bool needs_elements = true;
  template <class A>
  struct State : Extreme<A, largest> {
    [[nodiscard]] A finish(std::int64_t) const { return this->best; }
  };
};
template <bool largest>
struct ExtremePosition : Best<largest> {
  static constexpr auto length_rule = lengths::position<(largest ? Neutral::lowest : Neutral::highest)>;
  static constexpr ReductionResult gives = ReductionResult::index;
  template <class A>
  struct State : Extreme<A, largest> {
    [[nodiscard]] Wrapping<std::int64_t> finish(std::int64_t) const { return this->place; }
  };
};
struct Max : Best<true> {
  static constexpr Name name{"max"};
};
struct Min : Best<false> {
  static constexpr Name name{"min"};
};
struct ArgMax : ExtremePosition<true> {
  static constexpr Name name{"argmax"};
};
struct ArgMin : ExtremePosition<false> {
  static constexpr Name name{"argmin"};
};

struct ReductionRule {
  std::string_view op;
  Domain takes;
  ReductionResult gives;
  bool needs_elements;
};

TypeResult reduction_type(const ReductionRule& rule, Types inputs, const Attributes& attributes) {
  const TensorType& x = inputs[0];
  if (!accepts(rule.takes, x.dtype)) {
    return refuse(DiagnosticKind::type, rule.op, inputs,
                  rule.takes == Domain::numeric ? "needs numbers, not bool; use `any` or `all`"
                                                : "needs floating-point elements; convert with astype");
  }
  auto axes = find_axes(rule.op, inputs, attributes, x.rank());
  if (auto* error = std::get_if<TypeError>(&axes)) return std::move(*error);
  const auto& marked = std::get<0>(axes);
  const std::int64_t count = marked_elements(x.shape, marked);
  if (rule.needs_elements && count == 0) return refuse(DiagnosticKind::shape, rule.op, inputs, "there are no elements to choose from");
  if (rule.gives == ReductionResult::index && count > std::numeric_limits<std::int32_t>::max()) {
    return refuse(DiagnosticKind::shape, rule.op, inputs, "too many elements for an i32 index");
  }
  return give(rule.op, inputs,
              {result_dtype(rule.gives, x.dtype, count), reduced_shape(x.shape, marked, attributes.get_or("keepdims", false))});
}

/// Row-major strides over the kept (or else the marked) axes of `shape`, 0 along the others.
Strides strides_along(const Shape& shape, const AxisMarks& marked, bool along_marked) {
  Strides strides(shape.size(), 0);
  std::int64_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (marked[axis] != along_marked) continue;
    strides[axis] = stride;
    stride *= shape[axis];
  }
  return strides;
}

/// Reads elements, of any element type with the accumulator type A, converted to A.
template <class A>
void read_elements(const Array& x, std::int64_t offset, std::int64_t step, std::vector<A>& elements) {
  dispatch(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_same_v<A, Accumulator<T>> || std::is_same_v<A, Compared<T>>) {
      const T* from = x.data<T>() + offset;
      for (std::size_t i = 0; i < elements.size(); ++i) {
        if constexpr (std::is_integral_v<T>) {
          elements[i] = A(from[static_cast<std::int64_t>(i) * step]);
        } else {
          elements[i] = widen(from[static_cast<std::int64_t>(i) * step]);
        }
      }
    }
  });
}

/// Stores the finished values as elements of `result`, of any type.
template <class F>
void store_elements(const std::vector<F>& finished, Array& result) {
  dispatch(result.dtype(), [&](auto zero) {
    using R = decltype(zero);
    R* out = result.mutable_data<R>();
    for (std::size_t i = 0; i < finished.size(); ++i) out[i] = store<R>(F(finished[i]));
  });
}

/// Instantiated for each accumulator type only; reading and storing are instantiated for each element type.
template <class Op, class A>
void reduce(const Array& x, Array& result, const AxisMarks& marked) {
  using State = typename Op::template State<A>;
  std::vector<State> states(static_cast<std::size_t>(result.size()));
  std::vector<A> elements;
  const Strides strides[] = {row_major_strides(x.shape()), strides_along(x.shape(), marked, false), strides_along(x.shape(), marked, true)};
  walk(x.shape(), strides, [&](std::span<const std::int64_t> offsets, std::int64_t count, std::span<const std::int64_t> steps) {
    elements.resize(static_cast<std::size_t>(count));
    read_elements(x, offsets[0], steps[0], elements);
    for (std::int64_t i = 0; i < count; ++i)
      states[offsets[1] + i * steps[1]].take(elements[static_cast<std::size_t>(i)], offsets[2] + i * steps[2]);
  });
  const std::int64_t count = states.empty() ? 0 : x.size() / result.size();
  std::vector<decltype(State().finish(count))> finished;
  finished.reserve(states.size());
  for (const State& state : states) finished.push_back(state.finish(count));
  store_elements(finished, result);
}

template <class Op>
Status reduction_reference(const OpCall& call) {
  const Array& x = call.inputs[0];
  Array& result = call.results[0];
  const AxisMarks marked = marked_axes(call.attributes, x.type().rank());
  constexpr bool kCompares = Op::gives == ReductionResult::same || Op::gives == ReductionResult::index;
  if (is_floating(x.dtype())) {
    reduce<Op, double>(x, result, marked);
  } else if constexpr (accepts(Op::takes, DType::i64)) {
    if (kCompares && x.dtype() == DType::u64) {
      reduce<Op, Wrapping<std::uint64_t>>(x, result, marked);
    } else {
      reduce<Op, Wrapping<std::int64_t>>(x, result, marked);
    }
  }
  return {};
}

template <class Op>
constexpr Record reduction(std::string_view signature, std::string_view summary) {
  return Record(
             signature, 1, {kAxesOrAll, kKeepdims}, summary,
             [](Types inputs, const Attributes& attributes) {
               return reduction_type({Op::name.view(), Op::takes, Op::gives, Op::needs_elements}, inputs, attributes);
             },
             linear_cost, reduction_reference<Op>)
      .with_lengths(Op::length_rule)
      .promoting(Op::takes == Domain::floating ? Promotion::floating : Promotion::none)
      .of_class(CostClass::reduction, form_of_axes);
}

}  // namespace

constexpr OpDef op::sum =
    reduction<Sum>("sum(x, axis?, keepdims?)",
                   "sum over the axes (absent: all); bool and integers of 8 and 16 bits give i32, or i64 where so many can sum to "
                   "more; others keep their type, and integers wrap")
        .differentiated(gradients::sum);

constexpr OpDef op::mean =
    reduction<Mean>("mean(x, axis?, keepdims?)", "mean over the axes (absent: all); integers give f32").differentiated(gradients::mean);

constexpr OpDef op::prod =
    reduction<Prod>("prod(x, axis?, keepdims?)",
                    "product over the axes (absent: all); bool and integers of 8 and 16 bits give i32; integers wrap")
        .differentiated(gradients::prod);

constexpr OpDef op::max = reduction<Max>("max(x, axis?, keepdims?)", "largest element over the axes (absent: all); NaN if there is one")
                              .differentiated(gradients::max);

constexpr OpDef op::min = reduction<Min>("min(x, axis?, keepdims?)", "smallest element over the axes (absent: all); NaN if there is one")
                              .differentiated(gradients::min);

constexpr OpDef op::any = reduction<Any>("any(x, axis?, keepdims?)", "is any element not zero?").differentiated(GradientRule::zero());

constexpr OpDef op::all = reduction<All>("all(x, axis?, keepdims?)", "are all elements not zero?").differentiated(GradientRule::zero());

constexpr OpDef op::argmax =
    reduction<ArgMax>("argmax(x, axis?, keepdims?)", "i32 index of the first largest element, row-major over the axes")
        .differentiated(GradientRule::zero());

constexpr OpDef op::argmin =
    reduction<ArgMin>("argmin(x, axis?, keepdims?)", "i32 index of the first smallest element, row-major over the axes")
        .differentiated(GradientRule::zero());

}  // namespace cleave::ops
