// host_call: opaque C++ functions in a traced program, which run on the host between other operations. This header turns a callable into a
// HostFunction and records the call; the executor runs it.
#pragma once

#include <array>
#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "graph/array/array.h"
#include "graph/base/result.h"
#include "graph/trace/custom_gradient.h"
#include "graph/trace/trace.h"

namespace cleave {

/// Completes one call of an asynchronous host function, once and from any thread. If all copies are destroyed before that, the call fails
/// with an Error. The memory of inputs and results stays valid as long as a copy exists: completing a call that the run no longer waits for
/// (cancelled, or past the deadline) has no effect.
class HostToken {
 public:
  void done() const;
  void fail(std::string message) const;

 private:
  friend struct HostTokenState;
  explicit HostToken(std::shared_ptr<struct HostTokenState> state);
  std::shared_ptr<void> alive_;
  std::shared_ptr<struct HostTokenState> state_;
};

namespace detail {

using HostInputs = std::span<const Array>;
using HostResults = std::span<Array>;

/// A callable with the input and result types that its parameters declare.
struct HostCallable {
  /// The same as HostFunction::call and HostFunction::begin.
  std::function<Status(HostInputs, HostResults, const CallLimits&)> call;
  std::function<Result<std::unique_ptr<PendingCall>>(HostInputs, HostResults)> begin = nullptr;
  bool typed = false;                                           ///< the two lists below are valid; else any types are accepted
  std::vector<std::optional<DType>> inputs = {}, results = {};  ///< unset: an Array of any type
  bool fills_in_place = false;  ///< as HostFunction::fills_in_place: the callable gets spans, not Arrays, for its results
};

/// Wrap `f` so that exceptions become Errors. With a token, the call is complete when the token is.
HostCallable guarded(std::function<Status(HostInputs, HostResults)> f);
HostCallable guarded(std::function<Status(HostInputs, HostResults, HostToken)> f);

/// The arguments of one call, from which the parameters of a typed host function are bound in order.
struct HostBinding {
  HostInputs inputs;
  HostResults results;
  const HostToken* token;
  std::size_t next_input = 0, next_result = 0;
};
template <class P>
struct HostParameter {
  static_assert(sizeof(P) == 0, "a host function takes std::span<const T> or const Array& for inputs, std::span<T> or Array& for results");
};
template <class T>
struct HostParameter<std::span<const T>> {
  static void declare(HostCallable& c) { c.inputs.push_back(DTypeOf<T>::value); }
  static std::span<const T> bind(HostBinding& b) { return b.inputs[b.next_input++].values<T>(); }
};
template <class T>
requires(!std::is_const_v<T>) struct HostParameter<std::span<T>> {
  static void declare(HostCallable& c) { c.results.push_back(DTypeOf<T>::value); }
  static std::span<T> bind(HostBinding& b) {
    Array& array = b.results[b.next_result++];
    return {array.mutable_data<T>(), static_cast<std::size_t>(array.size())};
  }
};
template <>
struct HostParameter<const Array&> {
  static void declare(HostCallable& c) { c.inputs.emplace_back(); }
  static const Array& bind(HostBinding& b) { return b.inputs[b.next_input++]; }
};
template <>
struct HostParameter<Array&> {
  static void declare(HostCallable& c) { c.results.emplace_back(); }
  static Array& bind(HostBinding& b) { return b.results[b.next_result++]; }
};
template <>
struct HostParameter<HostToken> {
  static void declare(HostCallable&) {}
  static HostToken bind(HostBinding& b) { return *b.token; }
};

/// The parameter types of a function, a function pointer, an object with one call operator, or a std::reference_wrapper of one of them.
template <class F>
struct Parameters {
  static_assert(
      requires { &F::operator(); },
      "a host function has one call operator that is no template: its parameters say the types of inputs and results");
  using types = typename Parameters<decltype(&F::operator())>::types;
};
template <class R, class... P>
struct Parameters<R(P...)> {
  using types = std::tuple<P...>;
};
template <class R, class... P>
struct Parameters<R(P...) noexcept> : Parameters<R(P...)> {};
template <class F>
struct Parameters<F*> : Parameters<F> {};
template <class F>
struct Parameters<std::reference_wrapper<F>> : Parameters<F> {};
template <class R, class C, class... P>
struct Parameters<R (C::*)(P...)> : Parameters<R(P...)> {};
template <class R, class C, class... P>
struct Parameters<R (C::*)(P...) const> : Parameters<R(P...)> {};
template <class R, class C, class... P>
struct Parameters<R (C::*)(P...) noexcept> : Parameters<R(P...)> {};
template <class R, class C, class... P>
struct Parameters<R (C::*)(P...) const noexcept> : Parameters<R(P...)> {};

template <class F, class... A>
Status status_of(F& f, A&&... arguments) {
  if constexpr (std::is_void_v<std::invoke_result_t<F&, A...>>) {
    f(std::forward<A>(arguments)...);
    return {};
  } else {
    return f(std::forward<A>(arguments)...);
  }
}

template <class F, class... P>
HostCallable typed_callable(F f, std::type_identity<std::tuple<P...>>) {
  auto bound = [f]([[maybe_unused]] HostBinding binding) mutable {
    std::tuple<P...> arguments{HostParameter<P>::bind(binding)...};  // braces guarantee evaluation from left to right
    return std::apply([&](auto&&... a) { return status_of(f, static_cast<P>(a)...); }, arguments);
  };
  HostCallable callable;
  if constexpr ((std::is_same_v<P, HostToken> || ...))
    callable = guarded([bound](HostInputs i, HostResults r, HostToken token) mutable { return bound(HostBinding{i, r, &token}); });
  else
    callable = guarded([bound](HostInputs i, HostResults r) mutable { return bound(HostBinding{i, r, nullptr}); });
  callable.typed = true;
  (HostParameter<P>::declare(callable), ...);
  callable.fills_in_place = !((std::is_same_v<P, Array&> || std::is_same_v<P, HostToken>) || ...);
  return callable;
}

template <class F>
HostCallable host_callable(F f) {
  if constexpr (std::invocable<F&, HostInputs, HostResults>)
    return guarded([f](HostInputs i, HostResults r) mutable { return status_of(f, i, r); });
  else if constexpr (std::invocable<F&, HostInputs, HostResults, HostToken>)
    return guarded([f](HostInputs i, HostResults r, HostToken t) mutable { return status_of(f, i, r, std::move(t)); });
  else
    return typed_callable(f, std::type_identity<typename Parameters<F>::types>());
}

}  // namespace detail

/// The gradient of a host function: a function that the host calls in its place. It takes the inputs, then the results, then the cotangents
/// of the results (the derivatives of the loss by them), and fills a cotangent for each floating input, of its type; as host_call takes
/// functions. With `reads`, it takes no inputs or no results, which are then not kept for it. It is as pure as the function, and is called
/// behind it, in reverse order of the calls; `bind` names it "NAME_gradient".
///
///   host_call("plant", {"f32[3]"}, {.pure = true, .gradient = {slope, {.results = false}}}, plant, x);
struct HostGradient {
  HostGradient() = default;
  template <class F>
  requires(!std::is_same_v<F, HostGradient>)
      HostGradient(F function, RuleReads what_it_reads = {}, std::optional<double> seconds_of_a_call = {})
      : callable(std::make_shared<const detail::HostCallable>(detail::host_callable(std::move(function)))),
        reads(what_it_reads),
        seconds(seconds_of_a_call) {}

  /// The same with a gradient of its own, for gradients of gradients.
  [[nodiscard]] HostGradient with_gradient(HostGradient second) const {
    HostGradient both = *this;
    both.gradient = std::make_shared<const HostGradient>(std::move(second));
    return both;
  }

  std::shared_ptr<const detail::HostCallable> callable;  ///< null: none
  RuleReads reads = {};
  std::optional<double> seconds = {};                      ///< declared cost of one call
  std::shared_ptr<const HostGradient> gradient = nullptr;  ///< of this function
};

struct HostOptions {
  /// Deterministic and without effects: calls may be merged or dropped, and calls of asynchronous functions may overlap. A synchronous
  /// function is called by one thread at a time, unless ExecutorOptions::workers allows more and `seconds` is at least 0.1 ms. Impure
  /// functions keep their program order.
  bool pure = false;
  std::optional<double> seconds = {};  ///< declared cost of one call
  /// Seconds that one call may take; a longer call is an Error (machine) at its line. An asynchronous call ends at the deadline; a
  /// synchronous one cannot be interrupted, and its overrun is detected when it returns. Without a deadline, the wait for an asynchronous
  /// call is limited by the executor's watchdog, and for a synchronous call it is not limited.
  std::optional<double> deadline = {};
  HostGradient gradient = {};  ///< for gradients that lead through the call; without one they are refused
};

/// The name of a host function and the place of its call.
struct HostName {
  HostName(const char* n, Here h = Here::now()) : name(n), here(h) {}
  HostName(std::string n, Here h = Here::now()) : name(std::move(n)), here(h) {}
  std::string name;
  Here here;
};
struct NoResults {};

namespace detail {
Result<Graph> bind_host_function(Graph graph, std::string_view name, HostCallable callable);
/// Records the call and returns one Tensor per result type, void Tensors after a mistake.
std::vector<Tensor> record_host_call(const HostName& name, std::span<const TypeSpec> results, const HostOptions& options,
                                     HostCallable callable, const std::vector<Tensor>& inputs);
}  // namespace detail

/// Calls `function` on the host each time the program reaches the call: `host_call(name, result types, [options,] function, inputs…)`.
/// Gives a Tensor for one result type, a std::array of Tensors for several.
///
///   Tensor next = host_call("simulate", {"f32[84, 84]"}, {.pure = true, .seconds = 2e-3},
///                           [](std::span<const float> state, std::span<float> next) { … }, state);
///   auto [q, r] = host_call("divide", {"i32[4]", "i32[4]"}, divide_with_rest, a, b);
///
/// The function takes a `std::span<const T>` (or `const Array&`) for each input, then a `std::span<T>` (or `Array&`) for each result, all
/// row-major; or `(std::span<const Array> inputs, std::span<Array> results)`. Results come zero-filled. A last parameter `HostToken` makes
/// it asynchronous: the call is complete when the token is, and the spans stay valid as long as a copy of the token exists. It returns
/// nothing or a Status; an Error or an exception ends the run with an Error that names the call's line. Element types that do not fit are
/// an error here (`type`). The function is copied (`std::ref(f)` is not, and must outlive the runs); it may be called from another thread
/// than this one.
template <std::size_t n, class F, class... Inputs>
requires(std::convertible_to<const Inputs&, Tensor>&&...) auto host_call(const HostName& name, const TypeSpec (&results)[n],
                                                                         const HostOptions& options, F function, const Inputs&... inputs) {
  const std::vector<Tensor> given =
      detail::record_host_call(name, results, options, detail::host_callable(std::move(function)), {Tensor(inputs)...});
  if constexpr (n == 1) {
    return given[0];
  } else {
    std::array<Tensor, n> tensors;
    for (std::size_t i = 0; i < n; ++i) tensors[i] = given[i];
    return tensors;
  }
}
template <std::size_t n, class F, class... Inputs>
requires(std::convertible_to<const Inputs&, Tensor>&&...) auto host_call(const HostName& name, const TypeSpec (&results)[n], F function,
                                                                         const Inputs&... inputs) {
  return host_call(name, results, HostOptions{}, std::move(function), inputs...);
}
/// The same without results, for its effect: `host_call("show", {}, [](std::span<const float> x) { … }, x);`
template <class F, class... Inputs>
requires(std::convertible_to<const Inputs&, Tensor>&&...) void host_call(const HostName& name, NoResults, const HostOptions& options,
                                                                         F function, const Inputs&... inputs) {
  detail::record_host_call(name, {}, options, detail::host_callable(std::move(function)), {Tensor(inputs)...});
}
template <class F, class... Inputs>
requires(std::convertible_to<const Inputs&, Tensor>&&...) void host_call(const HostName& name, NoResults, F function,
                                                                         const Inputs&... inputs) {
  host_call(name, NoResults{}, HostOptions{}, std::move(function), inputs...);
}

/// The graph with every call of the host function `name` bound to `function`, since a graph that was saved and loaded has lost its C++
/// functions. Takes the functions that `host_call` takes. An Error if the graph calls no such function (kind `unknown`) or the element
/// types do not fit (at the call).
///
///   Result<Graph> graph = Graph::load("controller.graph");
///   if (graph) graph = bind(*graph, "simulate", [](std::span<const float> state, std::span<float> next) { … });
template <class F>
Result<Graph> bind(Graph graph, std::string_view name, F function) {
  return detail::bind_host_function(std::move(graph), name, detail::host_callable(std::move(function)));
}

}  // namespace cleave
