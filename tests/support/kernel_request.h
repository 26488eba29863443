// What a device is asked for by a sample of an op; without ranges.
#pragma once

#include "executor/device/device.h"
#include "tests/support/namespaces.h"
#include "tests/support/op_samples.h"

namespace cleave::testing {

/// Refers to the sample's attributes.
inline KernelRequest request_for(const OpSample& sample) {
  KernelRequest request;
  request.op = sample.op;
  request.attributes = &sample.attributes;
  for (const Array& input : sample.inputs) request.input_types.push_back(input.type());
  request.result_types = std::get<0>(sample.op->type_rule(request.input_types, sample.attributes));
  return request;
}

}  // namespace cleave::testing
