// Composer: the interface through which a composite function records its operations. Each has the location of the user's call and a scope
// with the function's name, so that messages, paths and pictures name `layer_norm`, not only its parts. It knows no particular function;
// graph/ops has them.
#pragma once

#include <functional>
#include <span>
#include <type_traits>
#include <vector>

#include "graph/trace/tensor.h"
#include "graph/vocabulary.h"

namespace cleave {

/// A value inside a composite function: an operand or an intermediate result. Numbers are literals, as for Tensor. After a mistake the
/// value is poison, and no further mistake is reported for values computed from it.
class Part {
 public:
  Part() = default;
  template <class T>
  requires std::is_arithmetic_v<T> Part(T number) : operand_(make_literal(number)) {}
  Part(Tracer& tracer, Operand operand) : tracer_(&tracer), operand_(std::move(operand)) {}

  [[nodiscard]] const Operand& operand() const { return operand_; }
  /// Element type and shape; `f32[]` for poison.
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
  Composer(Tracer& tracer, SourceLocation location) : tracer_(&tracer), location_(std::move(location)) {}

  /// Calls an operation or another composite function: `c(op::sum, {x}, {{"axis", axis}})`.
  Part operator()(const OpDef& function, std::span<const Part> inputs, Attributes attributes = {});
  Part operator()(const OpDef& function, std::initializer_list<Part> inputs, Attributes attributes = {});
  /// The same for functions with several results: returns all of them.
  Parts all(const OpDef& function, std::span<const Part> inputs, Attributes attributes = {});
  Part constant(Array value);

  // Element by element, with broadcasting and promotion.
  Part add(const Part& a, const Part& b) { return (*this)(op::add, {a, b}); }
  Part subtract(const Part& a, const Part& b) { return (*this)(op::subtract, {a, b}); }
  Part multiply(const Part& a, const Part& b) { return (*this)(op::multiply, {a, b}); }
  Part divide(const Part& a, const Part& b) { return (*this)(op::divide, {a, b}); }

  /// `x` converted to element type `dtype`; `x` itself if it has that type.
  Part as(DType dtype, const Part& x) { return x.dtype() == dtype ? x : (*this)(op::astype, {x}, {{"dtype", dtype}}); }
  /// `x` in another shape; `x` itself if it has that shape.
  Part reshape(const Part& x, Shape shape) { return x.shape() == shape ? x : (*this)(op::reshape, {x}, {{"shape", std::move(shape)}}); }
  /// `count` trips over carried values: `body` gets the counter (i32) and the current values, and returns their next values.
  Parts for_loop(const Part& count, const Parts& initial, const std::function<Parts(const Part& counter, const Parts& carried)>& body);

  /// `x`, a result that nothing else reads, of which only the first `count` elements along `axis` count: an i64 scalar.
  Part with_length(Part x, int axis, const Part& count);
  /// `count`, an i64 scalar. If it exceeds `most`, the run ends with an Error at the user's call: "there are 7 elements" and `advice`.
  Part at_most(std::string_view function, const Part& count, std::int64_t most, std::string advice);

  /// Reports a mistake that no recorded operation would detect, at the user's call. Returns poison.
  Part error(DiagnosticKind kind, std::string message);

 private:
  Tracer* tracer_;
  SourceLocation location_;
};

}  // namespace cleave
