// Work of a traced program that must run on the accelerator, however small it is.
#pragma once

#include "graph/trace/scope.h"
#include "graph/trace/tensor.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {

template <class Operations>
Tensor on_accelerator(Operations&& operations) {
  const auto pin = place(Device::accelerator);
  return operations();
}

}  // namespace cleave::testing
