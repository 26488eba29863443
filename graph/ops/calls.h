// Helpers of the tracing API's functions: record a call, convert options to attributes. Internal to the .cpp files of graph/ops.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "graph/ops/ops.h"
#include "graph/trace/trace_context.h"
#include "graph/vocabulary.h"

namespace cleave::ops {

/// Records `op`, which has the name of the function that the user called at `here`.
template <class Inputs = std::initializer_list<Tensor>>
Tensor call(const OpDef& op, const Inputs& inputs, Attributes attributes, const Here& here) {
  return detail::call(op, inputs, std::move(attributes), here.of(op.name));
}

/// The results of a function with two results; void handles outside a trace.
template <class T>
T call_two(const OpDef& op, std::span<const Tensor> inputs, Attributes attributes, const Here& here) {
  std::vector<Tensor> results = detail::apply(op, inputs, std::move(attributes), here.of(op.name));
  results.resize(2, results.empty() ? Tensor() : results.front());  // after a mistake there is one void handle
  return {results[0], results[1]};
}

inline void set(Attributes& attributes, const char* name, const Axes& axes) {
  if (axes.list) attributes.set(name, *axes.list);
}
inline void set(Attributes& attributes, const char* name, std::optional<int> axis) {
  if (axis) attributes.set(name, std::int64_t{*axis});
}
inline void set(Attributes& attributes, const char* name, std::optional<DType> dtype) {
  if (dtype) attributes.set(name, *dtype);
}
inline void set(Attributes& attributes, const char* name, const std::optional<Number>& number) {
  if (!number) return;
  switch (number->literal.type) {
    case Literal::Type::boolean: return attributes.set(name, number->literal.integer != 0);
    case Literal::Type::integer:
      if (number->literal.above_i64) return attributes.set(name, number->literal.rounded());
      return attributes.set(name, number->literal.integer);
    case Literal::Type::floating: return attributes.set(name, number->literal.floating);
  }
}

template <class T>
Attributes axis(const T& axes) {
  Attributes attributes;
  set(attributes, "axis", axes);
  return attributes;
}

}  // namespace cleave::ops
