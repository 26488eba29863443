// The gradient rules of all operations that have one: `gradients::NAME` is the rule in the record `op::NAME`. One file for each family;
// those of element-wise operations are in elementwise.def.
#pragma once

#include "graph/op.h"
#include "graph/vocabulary.h"

namespace cleave::ops::gradients {

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage)
#define CLEAVE_OP(name) void name(Composer& c, GradientCall& call);
#include "graph/vocabulary.list"

}  // namespace cleave::ops::gradients
