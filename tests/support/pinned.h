// Operations of a traced program that are pinned to the accelerator, however small they are.
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
