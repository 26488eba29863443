// Samples of operations at computed places, for op_samples.cpp.
#pragma once

#include "tests/support/op_samples/samples.h"

namespace cleave::testing {

void add_scatters(Samples& samples);
void add_windows(Samples& samples);

}  // namespace cleave::testing
