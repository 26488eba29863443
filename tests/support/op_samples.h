// The table of op samples: calls with real data for every op of the vocabulary. The contract test runs the ops' rules and reference
// implementations on it, and kernel tests compare each device with the reference implementations. An op without a sample fails the contract
// test.
#pragma once

#include <string>
#include <vector>

#include "graph/op.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {

struct OpSample {
  const OpDef* op = nullptr;
  std::vector<Array> inputs;
  Attributes attributes;  ///< complete, as normalize_call leaves them
  bool special = false;   ///< the data are NaN, infinities and the ends of integer types
};

/// By op name; equal in every run. Element-wise ops get samples of every element type and broadcast by themselves.
std::vector<OpSample> op_samples();
/// The same for the composite functions.
std::vector<OpSample> composite_samples();
/// "matmul(f32[4, 3], f32[3, 2])"
std::string describe(const OpSample& sample);
/// The name of the family that an op stands in (graph/ops/op_table.h); empty: there is no such op.
std::string_view family_of(std::string_view op);

}  // namespace cleave::testing
