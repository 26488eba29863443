// Conversions to ONNX's narrow element types, as compositions of element-wise operations that fuse.
#pragma once

#include <string>

#include "models/onnx/call.h"

namespace cleave::models::onnx {

/// How values that a narrow type does not have are converted.
struct Narrowing {
  bool saturate = true;           ///< floating point beyond the largest finite value becomes it; else infinity, or NaN in types without one
  std::string round_mode = "up";  ///< of e8m0: up, down or nearest
};

/// A value in another element type, as ONNX's Cast converts it: to narrow floats it rounds to nearest, halves to even; to narrow integers
/// it drops the fraction and the high bits.
Value converted(Call& c, const Value& x, const ElementType& to, const Narrowing& how = {});

}  // namespace cleave::models::onnx
