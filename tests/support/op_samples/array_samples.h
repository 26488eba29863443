// Samples of array functions, linear algebra and transforms.
#pragma once

#include "tests/support/op_samples/samples.h"

namespace cleave::testing {

void add_linear_algebra(Samples& samples);
void add_fourier(Samples& samples);
void add_array_functions(Samples& samples);  ///< composite

}  // namespace cleave::testing
