// KernelRequests for samples of ops, without value ranges, and the results of a request by the reference implementation.
#pragma once

#include <gtest/gtest.h>

#include "graph/kernel/kernel_request.h"
#include "tests/support/namespaces.h"
#include "tests/support/op_samples.h"

namespace cleave::testing {

/// The request refers to the sample's attributes.
inline KernelRequest request_for(const OpSample& sample) {
  KernelRequest request;
  request.op = sample.op;
  request.attributes = &sample.attributes;
  for (const Array& input : sample.inputs) request.input_types.push_back(input.type());
  request.result_types = std::get<0>(sample.op->type_rule(request.input_types, sample.attributes));
  return request;
}

/// Results by the reference implementations of the request's steps, run one after the other and each rounded to its type; for a single
/// operation, by its own reference implementation.
inline std::vector<Array> reference_results(const KernelRequest& request, const std::vector<Array>& inputs) {
  const OpContext context{[](std::string_view) {}};
  const auto run = [&](const OpDef& op, const Attributes& attributes, const std::vector<Array>& operands, std::vector<Array>& results) {
    EXPECT_TRUE(op.reference({attributes, operands, results, context}).ok());
  };
  std::vector<Array> known = inputs, written;
  if (request.steps.empty()) {
    for (const TensorType& type : request.result_types) written.emplace_back(type);
    run(*request.op, *request.attributes, inputs, written);
  }
  for (const FusedStep& step : request.steps) {
    std::vector<Array> operands, results;
    for (const std::size_t operand : step.operands) operands.push_back(known[operand]);
    results.emplace_back(step.type);
    run(*step.op, *step.attributes, operands, results);
    known.push_back(results[0]);
  }
  for (const std::size_t step : request.written) written.push_back(known[inputs.size() + step]);
  return written;
}

}  // namespace cleave::testing
