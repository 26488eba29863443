// Composer: what a composite function is traced with. Every part stands at the place of the user's call, inside of a scope with the
// function's name, so that messages, paths and pictures say `layer_norm` and not only its parts. Knows no function; graph/ops has them.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "graph/trace/tensor.h"

namespace cleave {

/// A value inside of a composite function: an operand, or what was computed from some. Numbers are literals, as for Tensor. After a mistake
/// it is poison, and nothing more is reported about what is computed from it.
class Part {
 public:
  Part() = default;
  template <class T>
  requires std::is_arithmetic_v<T> Part(T number) : operand_(make_literal(number)) {}
  Part(Tracer& tracer, Operand operand) : tracer_(&tracer), operand_(std::move(operand)) {}

  [[nodiscard]] const Operand& operand() const { return operand_; }
  /// Element type and shape; of poison `f32[]`.
  [[nodiscard]] TensorType type() const;
  [[nodiscard]] Shape shape() const { return type().shape; }
  [[nodiscard]] DType dtype() const { return type().dtype; }
  [[nodiscard]] int rank() const { return type().rank(); }

 private:
  Tracer* tracer_ = nullptr;  ///< null: a literal or nothing
  Operand operand_;
};

using Parts = std::vector<Part>;

class Composer {
 public:
  /// Everything is recorded at `location`.
  Composer(Tracer& tracer, SourceLocation location) : tracer_(tracer), location_(std::move(location)) {}

  /// Calls an operation or another composite function: `c("sum", {x}, {{"axis", axis}})`.
  Part operator()(std::string_view function, std::span<const Part> inputs, Attributes attributes = {});
  Part operator()(std::string_view function, std::initializer_list<Part> inputs, Attributes attributes = {});
  /// The same with every result.
  Parts all(std::string_view function, std::span<const Part> inputs, Attributes attributes = {});
  Part constant(Array value);

  // Element by element, with broadcasting and promotion.
  Part add(const Part& a, const Part& b) { return (*this)("add", {a, b}); }
  Part subtract(const Part& a, const Part& b) { return (*this)("subtract", {a, b}); }
  Part multiply(const Part& a, const Part& b) { return (*this)("multiply", {a, b}); }
  Part divide(const Part& a, const Part& b) { return (*this)("divide", {a, b}); }

  /// Of element type `dtype`: itself, if it has that.
  Part as(DType dtype, const Part& x) { return x.dtype() == dtype ? x : (*this)("astype", {x}, {{"dtype", dtype}}); }
  Part reshape(const Part& x, Shape shape) { return (*this)("reshape", {x}, {{"shape", std::move(shape)}}); }
  /// `count` trips over carried values: `body` gets the counter (i32) and the values as they are, and gives them as they become.
  Parts for_loop(const Part& count, const Parts& initial, const std::function<Parts(const Part& counter, const Parts& carried)>& body);

  /// A mistake that no part would find, at the user's call. Returns poison.
  Part error(DiagnosticKind kind, std::string message);

 private:
  Tracer& tracer_;
  SourceLocation location_;
};

}  // namespace cleave
