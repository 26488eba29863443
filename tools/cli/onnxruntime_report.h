// The comparison printed by `explain --placement onnxruntime`: copies that ONNX Runtime would make, and the optimal plan.
#pragma once

#include <optional>
#include <string>

#include "graph/base/json_writer.h"
#include "models/onnx/ort_rule.h"
#include "tools/cli/session.h"

namespace cleave::cli {

struct OnnxRuntimeReport {
  models::onnx::OrtPlacement rule;
  std::int64_t copied_bytes = 0;  ///< copied by ONNX Runtime in a run that executes each node once
  Plan placed;                    ///< the plan with ONNX Runtime's placement of the program as cleave reads it: with shapes folded
  Plan optimum;
};

/// Reads and plans the model again. `placed`: the plan with ONNX Runtime's rule.
Result<OnnxRuntimeReport> compare_with_onnxruntime(const Options& options, const Plan& placed);
std::string to_text(const OnnxRuntimeReport& report, std::size_t most_rows);
void write_json(JsonWriter& json, const OnnxRuntimeReport& report);

}  // namespace cleave::cli
