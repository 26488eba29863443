// trace(): runs a C++ function once on Tensors and returns the Graph that it describes. Mistakes are collected in `graph.diagnostics`, each
// at the line of the call; tracing goes on to find further ones, and nothing throws.
//
//   Graph graph = trace("regression", {{"x", "f32[4, 2]"}, {"y", "f32[4, 1]"}}, [](Tensor x, Tensor y) {
//     Tensor w = parameter("w", "f32[2, 1]", Init::uniform(-1, 1, 1));
//     return for_loop(1000, w, [&](Tensor step, Tensor w) {
//       return named("w", w - 0.01 * matmul(transpose(x), matmul(x, w) - y));
//     });
//   });
//   if (!graph.ok()) std::fputs(to_text(graph.diagnostics).c_str(), stderr);
//
// Statements are recorded in their order. Within one expression C++ leaves the order of the operands open: where it matters (effects),
// write two statements.
#pragma once

#include <concepts>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "graph/graph.h"
#include "graph/trace/control_flow.h"
#include "graph/trace/nest.h"
#include "graph/trace/scope.h"
#include "graph/trace/tensor.h"

namespace cleave {

/// A tensor type as it stands in models, `"f32[4, 2]"`, or as a value, `{DType::f32, {4, 2}}`. Malformed text is reported where it is used.
struct TypeSpec {
  TypeSpec(const char* text);
  TypeSpec(const std::string& text) : TypeSpec(text.c_str()) {}
  TypeSpec(TensorType t) : type(std::move(t)) {}
  TypeSpec(DType dtype, Shape shape) : type(TensorType{dtype, std::move(shape)}) {}

  TensorType type;
  std::string malformed;  ///< the text, if it is not a valid type
};

/// An input of a program: name, type and, if wanted, a file with default data (see read_array in graph/array/npy.h).
struct Input {
  Input(std::string n, TypeSpec t, Here h = Here::now()) : Input(std::move(n), std::move(t), {}, h) {}
  Input(std::string n, TypeSpec t, std::string f, Here h = Here::now())
      : name(std::move(n)), type(std::move(t)), file(std::move(f)), here(h) {}

  std::string name;
  TypeSpec type;
  std::string file;
  Here here;
};

/// The initial value of a parameter: one number for all elements (0 is `Init(0)`), which must be representable in its type, an Array of its
/// type, a file, or random numbers.
struct Init {
  template <class T>
  requires std::is_arithmetic_v<T> Init(T number) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      if (std::in_range<std::int64_t>(number)) {
        value = static_cast<std::int64_t>(number);
        return;
      }
    }
    value = static_cast<double>(number);
  }
  Init(Array array) : value(std::move(array)) {}
  static Init uniform(double low, double high, std::int64_t seed = 0) { return Random{"uniform", {low, high}, seed}; }
  static Init normal(double mean, double deviation, std::int64_t seed = 0) { return Random{"normal", {mean, deviation}, seed}; }
  /// Normal, and drawn again beyond two deviations.
  static Init truncated_normal(double mean, double deviation, std::int64_t seed = 0) {
    return Random{"truncated_normal", {mean, deviation}, seed};
  }
  /// `gain` times orthonormal columns, or rows if there are more columns than rows; the last axis of the type counts the columns.
  static Init orthogonal(double gain = 1, std::int64_t seed = 0) { return Random{"orthogonal", {gain}, seed}; }
  /// Normal of deviation sqrt(2 / inputs), for a layer of that many inputs before a relu (He et al., 2015).
  static Init he(double inputs, std::int64_t seed = 0) { return Random{"he", {inputs}, seed}; }
  /// Uniform within sqrt(6 / (inputs + outputs)) of 0 (Glorot and Bengio, 2010).
  static Init xavier(double inputs, double outputs, std::int64_t seed = 0) { return Random{"xavier", {inputs, outputs}, seed}; }
  /// The contents of a file; of a .safetensors file, the array with the name of the parameter.
  static Init file(std::string path) { return Init(std::move(path)); }

  struct Random {
    std::string distribution;
    std::vector<double> numbers;
    std::int64_t seed;
  };
  std::variant<double, std::int64_t, Array, std::string, Random> value;

 private:
  Init(Random random) : value(std::move(random)) {}
  Init(std::string path) : value(std::move(path)) {}
};

struct TraceOptions {
  std::vector<std::string> outputs = {};  ///< names of the function's results, in order; empty: names of members, of `named`, or `output0`…
  Limits limits = {};                     ///< limits on the plan, as `limits:` in a model
  Diagnostics* diagnostics = nullptr;     ///< gets a copy of `graph.diagnostics`
};

/// Records a value that is initialized once and then kept. Must be called outside of loops and branches.
Tensor parameter(std::string name, const TypeSpec& type, const Init& init, Here here = Here::now());
/// Records data that is known while tracing and becomes part of the program.
Tensor constant(Array value, Here here = Here::now());
/// Sets the name of a value in messages, pictures and outputs; the last name counts. An input or parameter keeps its own name in messages;
/// the new name applies to it only as an output. Returns the value.
Tensor named(std::string_view name, const Tensor& x, Here here = Here::now());

namespace detail {

/// The type; if the text is not a valid type, reports that and returns nothing.
std::optional<TensorType> resolve(const TypeSpec& spec, const Here& here);

/// One trace from begin to end. The destructor restores the trace that was in progress before, also after an exception.
class TraceRecorder {
 public:
  TraceRecorder(std::string name, const Here& here);
  TraceRecorder(const TraceRecorder&) = delete;
  TraceRecorder& operator=(const TraceRecorder&) = delete;
  ~TraceRecorder();

  std::vector<Tensor> inputs(const Input* inputs, std::size_t count);
  void outputs(const std::vector<Leaf>& leaves, const TraceOptions& options);
  Graph finish(const TraceOptions& options);

 private:
  std::shared_ptr<TraceContext> context_;
  TraceContext* before_;
  Here here_;
};

/// The result of a trace that ran out of memory.
Graph without_memory(const std::string& name, const Here& here, const TraceOptions& options);

/// Runs `work`, which traces, and returns its graph. Exceptions of the traced function propagate, except that exhausted memory becomes a
/// diagnostic.
template <class F>
Graph guarded_trace(const std::string& name, const Here& here, const TraceOptions& options, F&& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return without_memory(name, here, options);
  }
}

template <class Call>
Graph record(TraceRecorder& recorder, Call&& call, const TraceOptions& options) {
  if constexpr (std::is_void_v<std::invoke_result_t<Call&>>) {
    call();
  } else {
    NestOf<std::invoke_result_t<Call&>> result = call();
    recorder.outputs(leaves(result), options);
  }
  return recorder.finish(options);
}

}  // namespace detail

/// Records `body`, which takes one Tensor per input and returns the outputs as a nest of Tensors (or void, for a program that has only
/// effects).
template <std::size_t n, class F>
Graph trace(std::string name, const Input (&inputs)[n], F&& body, const TraceOptions& options = {}, Here here = Here::now()) {
  return detail::guarded_trace(name, here, options, [&] {
    detail::TraceRecorder recorder(name, here);
    const std::vector<Tensor> tensors = recorder.inputs(inputs, n);
    auto call = [&]<std::size_t... i>(std::index_sequence<i...>) {
      static_assert(std::invocable<F&, decltype((void)i, Tensor())...>, "the traced function must take one Tensor an input");
      return detail::record(
          recorder, [&] { return body(tensors[i]...); }, options);
    };
    return call(std::make_index_sequence<n>());
  });
}

/// The same for a number of inputs that is known only at run time: `body` takes a `const std::vector<Tensor>&`.
template <class F>
requires std::invocable < F&, const std::vector<Tensor>
& > Graph trace(std::string name, const std::vector<Input>& inputs, F&& body, const TraceOptions& options = {}, Here here = Here::now()) {
  return detail::guarded_trace(name, here, options, [&] {
    detail::TraceRecorder recorder(name, here);
    const std::vector<Tensor> tensors = recorder.inputs(inputs.data(), inputs.size());
    return detail::record(
        recorder, [&] { return body(tensors); }, options);
  });
}

/// The same without inputs.
template <class F>
requires std::invocable<F&> Graph trace(std::string name, F&& body, const TraceOptions& options = {}, Here here = Here::now()) {
  return detail::guarded_trace(name, here, options, [&] {
    detail::TraceRecorder recorder(name, here);
    return detail::record(recorder, body, options);
  });
}

}  // namespace cleave
