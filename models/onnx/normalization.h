// Lowerings of normalizations: by batch, layer, group and instance statistics, and by norms; and the parts that ONNX Runtime's share.
#pragma once

#include <cstdint>

#include "models/onnx/call.h"

namespace cleave::models::onnx {

/// Converts operands to the widest of their types, since the vocabulary's functions take operands of one type.
Parts alike(Call& c, Parts parts);

/// A normalization over the axes from `axis` on, written out because its statistics are results, too.
struct WithStatistics {
  Part normalized, mean,
      factor;  ///< of at least f32, statistics with extent 1 for the normalized axes; without a mean, poison in its place
};
WithStatistics normalized_with_statistics(Call& c, const Part& x, std::int64_t axis, double epsilon, bool with_mean);

}  // namespace cleave::models::onnx
