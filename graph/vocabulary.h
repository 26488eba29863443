// The records of all operations and composite functions as objects: `op::matmul`. A record is a constant that the file
// of its family in graph/ops defines; a name that is not in graph/vocabulary.list does not compile, one without a record does not link.
#pragma once

#include "graph/op.h"

namespace cleave {
namespace ops::op {

// NOLINTBEGIN(cppcoreguidelines-macro-usage)
#define CLEAVE_OP(name) extern const OpDef name;
#define CLEAVE_COMPOSITE(name) extern const OpDef name;
#define CLEAVE_TRANSFORM(name) extern const OpDef name;
#include "graph/vocabulary.list"
// NOLINTEND(cppcoreguidelines-macro-usage)

}  // namespace ops::op
namespace op = ops::op;
}  // namespace cleave
