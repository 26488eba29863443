// Rotary embeddings: pairs of elements of a head, taken as coordinates of points, are rotated by angles that depend on the position.
#pragma once

#include "models/onnx/call.h"

namespace cleave::models::onnx {

/// Rotates the first elements of the last axis, two for each element of the tables' last axis, and leaves the others as they are. The
/// tables broadcast over the leading axes. A pair is two neighbors if `interleaved`, else an element of the first half and one of the
/// second.
Part rotated(Call& c, const Part& x, const Part& cosine, const Part& sine, bool interleaved);
/// Whether the tables rotate at most `size` elements. If not, reports it.
bool tables_fit(Call& c, std::int64_t size, const Part& cosine, const Part& sine);

}  // namespace cleave::models::onnx
