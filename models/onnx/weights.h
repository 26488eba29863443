// The initializers of an ONNX file that become parameters of a program: `--parameters`, and the weights of a file that a program calls.
// Only names and types are read here; values are read where they are declared.
#pragma once

#include <string>
#include <vector>

#include "graph/base/result.h"
#include "models/onnx/proto.h"

namespace cleave::models::onnx {

/// The floating-point initializers that `patterns` choose, in the order of the file: `all`, a name, or a pattern with `*` and `?`. Patterns
/// leave out scalars, which are mostly numbers of a formula; a name alone chooses one. Never chosen are initializers that no node reads,
/// and those that decide a shape or are a statistic, such as the means of BatchNormalization. An Error (user) names a pattern that chooses
/// none, with the reason.
Result<std::vector<TensorProto>> choose_weights(const ModelProto& model, const std::vector<std::string>& patterns);

}  // namespace cleave::models::onnx
