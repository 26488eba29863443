// Changes of a sample call: other extents, element types and attributes, of which a type rule accepts some.
#pragma once

#include "tests/random/vocabulary.h"

namespace cleave::testing {

/// Changes `call`, a copy of one of `samples`. With `near`: its first operand often gets that type.
void change_call(Draw& draw, const std::vector<OpSample>& samples, const TensorType* near, bool large, DrawnCall& call);

}  // namespace cleave::testing
