// For tests that record a program by hand: source locations in a model file that does not exist, and calls at these locations.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/trace/tracer.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {

/// model.yaml:number:3
inline SourceLocation line(int number) {
  return {std::make_shared<const std::string>("model.yaml"), number, 3, nullptr};
}

inline Operand call(Tracer& tracer, const char* op, const std::vector<Operand>& inputs, int at, Attributes attributes = {}) {
  return tracer.call(*find_op(op), inputs, std::move(attributes), line(at));
}

}  // namespace cleave::testing
