// Activation functions.
#include "models/onnx/broadcasting.h"

namespace cleave::models::onnx {
namespace {

Values relu(Call& c) {
  c.ignore({"consumed_inputs"});
  return {c("relu", {c[0]})};
}

}  // namespace

std::span<const Lowering> activation_lowerings() {
  static constexpr Lowering kRows[] = {
      {"Relu", 1, relu},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
