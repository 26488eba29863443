// Loops and branches of a traced program: recorded as regions, never unrolled (a plain C++ loop unrolls). State and results are nests
// (nest.h): one Tensor, a tuple, a vector, a struct. The templates flatten a nest; control_flow.cpp records.
#pragma once

#include <concepts>
#include <optional>
#include <tuple>
#include <utility>

#include "graph/trace/nest.h"
#include "graph/trace/tensor.h"

namespace cleave {

struct LoopOptions {
  std::optional<double> expect = {};         ///< trip count that the plan assumes if the count is unknown
  std::optional<std::int64_t> at_most = {};  ///< more trips are an Error of the run; a bound for gradients of the loop
  /// `for_loop`: the number of trips whose data are made ahead on worker threads (ExecutorOptions::workers). Data are what pure host work
  /// makes of the counter and of values from outside the loop. Default: 2, for host work that takes at least 0.1 ms; 0: none.
  std::optional<std::int64_t> prefetch = {};
};
struct BranchOptions {
  std::optional<double> probability = {};  ///< probability that the first arm is taken
};

/// The result of a `for_loop`'s body that may stop early: the new state, and whether this iteration was the last.
template <class S>
struct Until {
  S state;
  Tensor stop;
};
/// `return until(change < 1e-3, state);` The predicate (a scalar bool) is tested after each trip.
template <class S>
Until<NestOf<S>> until(const Tensor& stop, S&& state) {
  return {std::forward<S>(state), stop};
}
/// The same for a loop without state.
inline Until<std::tuple<>> until(const Tensor& stop) {
  return {{}, stop};
}

namespace detail {

/// Records one loop. Outside a trace it does nothing; if an exception leaves the body, the destructor closes the loop in its current state.
class LoopRecorder {
 public:
  enum class Kind { count, condition };
  /// Opens the loop and replaces `state` by the carried values as seen inside.
  LoopRecorder(Kind kind, const Tensor& count, std::vector<Leaf> state, const LoopOptions& options, const Here& here);
  LoopRecorder(const LoopRecorder&) = delete;
  LoopRecorder& operator=(const LoopRecorder&) = delete;
  ~LoopRecorder();

  [[nodiscard]] bool open() const { return context_ != nullptr; }
  [[nodiscard]] const Tensor& counter() const { return counter_; }
  void condition(const Tensor& predicate);
  /// Ends the loop and replaces `state` by the values after it.
  void close(const std::vector<Leaf>& yielded, const Tensor* stop = nullptr);

 private:
  std::shared_ptr<TraceContext> context_;
  Kind kind_;
  std::vector<Leaf> state_;
  Tensor counter_;
  Here here_;
  bool condition_given_ = false;
};

class BranchRecorder {
 public:
  BranchRecorder(const Tensor& predicate, const BranchOptions& options, const Here& here);
  BranchRecorder(const BranchRecorder&) = delete;
  BranchRecorder& operator=(const BranchRecorder&) = delete;
  ~BranchRecorder();

  [[nodiscard]] bool open() const { return context_ != nullptr; }
  void otherwise();
  /// Ends the branch and replaces `then_values` by its results.
  void close(const std::vector<Leaf>& then_values, const std::vector<Leaf>& else_values);

 private:
  std::shared_ptr<TraceContext> context_;
  Here here_;
};

/// Calls `f(first..., state)`, or unpacks the tuple `state` if `f` takes its parts as separate parameters.
template <class F, class S, class... First>
decltype(auto) call_with_state(F& f, S& state, const First&... first) {
  if constexpr (std::invocable<F&, const First&..., S&>)
    return f(first..., state);
  else
    return std::apply([&](auto&... parts) -> decltype(auto) { return f(first..., parts...); }, state);
}

template <class S>
void close_loop(LoopRecorder& loop, Until<S> result) {
  loop.close(leaves(result.state), &result.stop);
}
template <class R>
void close_loop(LoopRecorder& loop, const R& result) {
  NestOf<R> yielded = result;
  loop.close(leaves(yielded));
}

}  // namespace detail

/// `state = body(i, state)`, `count` times, with `i` an i32 scalar from 0. With 0 trips the state is unchanged.
///
///   Tensor w = for_loop(1000, w0, [&](Tensor step, Tensor w) { return w - 0.01 * gradient_of(w); });
///   auto [a, b] = for_loop(n, std::tuple(a0, b0), [](Tensor i, Tensor a, Tensor b) { return std::tuple(b, a + b); }, {.expect = 50});
///
/// `count` is a number or an integer scalar. The body returns as many Tensors as the state has, each of its type and shape (error
/// `carried`), or `until(stop, state)`. Runs the body once, to record it.
template <class S, class F>
requires(!std::invocable<S&, Tensor>) NestOf<S> for_loop(const Tensor& count, S&& initial, F&& body, const LoopOptions& options = {},
                                                         Here here = Here::now()) {
  NestOf<S> state = std::forward<S>(initial);
  detail::LoopRecorder loop(detail::LoopRecorder::Kind::count, count, leaves(state), options, here);
  if (!loop.open()) return state;
  NestOf<S> inside = state;
  detail::close_loop(loop, detail::call_with_state(body, inside, loop.counter()));
  return state;
}

/// A loop for its effects: `for_loop(10, [&](Tensor i) { print("i", i); })`. The body may return `until(stop)`.
template <class F>
requires std::invocable<F&, Tensor>
void for_loop(const Tensor& count, F&& body, const LoopOptions& options = {}, Here here = Here::now()) {
  detail::LoopRecorder loop(detail::LoopRecorder::Kind::count, count, {}, options, here);
  if (!loop.open()) return;
  if constexpr (std::is_void_v<std::invoke_result_t<F&, Tensor>>) {
    body(loop.counter());
    loop.close({});
  } else {
    const Until<std::tuple<>> result = body(loop.counter());
    loop.close({}, &result.stop);
  }
}

/// `while (condition(state)) state = body(state)`. The condition is a scalar bool, tested before each trip; `expect` says how many trips
/// the plan assumes (else 10, shown as assumed). A condition that nothing in the loop changes is an error (`endless_loop`).
///
///   Tensor x = while_loop([](Tensor x) { return x > 1; }, x0, [](Tensor x) { return x / 2; });
template <class C, class S, class F>
NestOf<S> while_loop(C&& condition, S&& initial, F&& body, const LoopOptions& options = {}, Here here = Here::now()) {
  NestOf<S> state = std::forward<S>(initial);
  detail::LoopRecorder loop(detail::LoopRecorder::Kind::condition, {}, leaves(state), options, here);
  if (!loop.open()) return state;
  NestOf<S> inside = state, tested = state;
  loop.condition(detail::call_with_state(condition, tested));
  NestOf<S> yielded = detail::call_with_state(body, inside);
  loop.close(leaves(yielded));
  return state;
}

/// A while loop for its effects, with a condition from the host: `while_loop([&] { return !key_pressed(); }, [&] { … })`.
template <class C, class F>
requires std::invocable<C&> && std::invocable<F&>
void while_loop(C&& condition, F&& body, const LoopOptions& options = {}, Here here = Here::now()) {
  detail::LoopRecorder loop(detail::LoopRecorder::Kind::condition, {}, {}, options, here);
  if (!loop.open()) return;
  loop.condition(condition());
  body();
  loop.close({});
}

/// `predicate ? then() : otherwise()`; only the arm taken is executed. Both arms return the same kind of nest, of equal types (numbers
/// adapt). `probability` of the first arm: by rule (`i % k == 0` on a loop counter: 1/k), else 0.5, shown as assumed.
///
///   Tensor y = cond(sum(x) > 0, [&] { return x; }, [&] { return -x; }, {.probability = 0.9});
template <class T, class E>
auto cond(const Tensor& predicate, T&& then, E&& otherwise, const BranchOptions& options = {}, Here here = Here::now()) {
  detail::BranchRecorder branch(predicate, options, here);
  if constexpr (std::is_void_v<std::invoke_result_t<T&>>) {
    if (!branch.open()) return;
    then();
    branch.otherwise();
    otherwise();
    branch.close({}, {});
  } else {
    NestOf<std::invoke_result_t<T&>> result = then();
    branch.otherwise();
    NestOf<std::invoke_result_t<E&>> other = otherwise();
    branch.close(leaves(result), leaves(other));
    return result;
  }
}

/// A branch for its effects: `cond(i % 100 == 0, [&] { print("weights", w); });`
template <class T>
requires std::invocable<T&>
void cond(const Tensor& predicate, T&& then, const BranchOptions& options = {}, Here here = Here::now()) {
  detail::BranchRecorder branch(predicate, options, here);
  if (!branch.open()) return;
  then();
  branch.close({}, {});
}

}  // namespace cleave
