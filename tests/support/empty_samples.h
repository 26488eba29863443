// Samples of ops and composite functions with zero-sized axes, derived from the table of samples (tests/support/op_samples.h).
#pragma once

#include "tests/support/op_samples.h"

namespace cleave::testing {

/// Every sample with a zero-sized axis in each position of each operand that the type rule allows, and in each position of an attribute's
/// shape.
std::vector<OpSample> empty_samples();

}  // namespace cleave::testing
