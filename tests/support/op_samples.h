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

/// Samples by op name, the same in every run. Element-wise ops get samples of every element type and broadcast automatically.
std::vector<OpSample> op_samples();
/// Samples of the composite functions.
std::vector<OpSample> composite_samples();
/// "matmul(f32[4, 3], f32[3, 2])"
std::string describe(const OpSample& sample);
/// The name of the family that an op belongs to (graph/ops/op_table.h); empty if there is no such op.
std::string_view family_of(std::string_view op);

}  // namespace cleave::testing
