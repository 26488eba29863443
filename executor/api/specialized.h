// specialize(): makes a program for inputs of any size. Types in a Graph are fixed, so the function is traced and compiled once for each
// new tuple of input types; compiled programs are cached.
//
//   Specialized normalize = specialize("normalize", {"x"}, [](Tensor x) { return named("y", x / sum(x)); });
//   Result<RunResult> small = normalize.run(Array::of<float>({2}, {1, 3}));
//   Result<RunResult> large = normalize.run({{"x", million_numbers}});
//
// trace.h documents tracing, executable.h planning and running.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "executor/api/executable.h"
#include "graph/trace/trace.h"

namespace cleave {

/// A function with the programs compiled from it so far. A handle: copies share them. May be used by several threads at once; the function
/// and the sink are called by one thread at a time and must not use the handle themselves.
class Specialized {
 public:
  /// The first of several arrays, with the source location of the call.
  struct First {
    First(Array a, Here h = Here::now()) : array(std::move(a)), here(h) {}
    Array array;
    Here here;
  };

  /// Runs the program for these inputs, given in the order of their names, and waits. Compiles it if their types are new. Errors are those
  /// of compile(), each at its line; a failed compilation is not cached.
  template <std::convertible_to<Array>... Rest>
  [[nodiscard]] Result<RunResult> run(const First& first, const Rest&... rest) const {
    return run_in_order({first.array, rest...}, first.here);
  }
  /// The same with inputs by name, which may include parameters.
  [[nodiscard]] Result<RunResult> run(std::map<std::string, Array> inputs = {}, Here here = Here::now()) const;

  /// The program for inputs of these types, compiled now if there is none yet. Errors as above.
  [[nodiscard]] Result<Executable> executable(const std::vector<TensorType>& types, Here here = Here::now()) const;
  /// The number of compiled programs.
  [[nodiscard]] std::size_t specializations() const;
  /// Bytes of the programs that are kept: the arenas of each, and constants and what the host's kernels derive from them, each once.
  [[nodiscard]] std::int64_t memory_bytes() const;

  /// The type-erased function of specialize(): `record` traces it on inputs of given types.
  using Record = std::function<Graph(const std::vector<Input>&)>;
  Specialized(std::string name, std::vector<std::string> inputs, Record record, CompileOptions options, DiagnosticSink sink, Here here);

 private:
  struct State;
  Result<RunResult> run_in_order(std::vector<Array> arrays, Here here) const;
  Result<Executable> find_or_make(const std::vector<TensorType>& types, const SourceLocation& caller) const;
  std::shared_ptr<State> state_;
};

/// `body` takes one Tensor for each input, or all of them as a `const std::vector<Tensor>&`, and returns anything that a traced function
/// may return. The sink receives the diagnostics of every program, and one diagnostic when a ninth program is compiled, which says that
/// there are so many.
template <class F>
requires std::invocable < F&, const std::vector<Tensor>
& > Specialized specialize(std::string name, std::vector<std::string> inputs, F body, CompileOptions options = {},
                           DiagnosticSink sink = nullptr, Here here = Here::now()) {
  // trace() moves the column back by the five letters of its own name.
  auto record = [name, body = std::move(body), there = here.of("speci")](const std::vector<Input>& typed) mutable {
    return trace(name, typed, body, {}, there);
  };
  return {std::move(name), std::move(inputs), std::move(record), std::move(options), std::move(sink), here.of("specialize")};
}

template <std::size_t n, class F>
Specialized specialize(std::string name, const std::string (&inputs)[n], F body, CompileOptions options = {}, DiagnosticSink sink = nullptr,
                       Here here = Here::now()) {
  auto spread = [body = std::move(body)](const std::vector<Tensor>& tensors) mutable {
    return [&]<std::size_t... i>(std::index_sequence<i...>) {
      static_assert(std::invocable<F&, decltype((void)i, Tensor())...>, "the function must take one Tensor an input");
      return body(tensors[i]...);
    }
    (std::make_index_sequence<n>());
  };
  return specialize(std::move(name), std::vector<std::string>(inputs, inputs + n), std::move(spread), std::move(options), std::move(sink),
                    here);
}

}  // namespace cleave
