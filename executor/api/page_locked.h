// page_locked(): allocates arrays that a device copies from and to directly. All other arrays are staged through the executor's own
// page-locked memory, which costs one more copy on the host in each direction.
//
//   Result<Array> images = page_locked({DType::f32, {64, 784}}, "cuda");
//   if (!images) return complain(images.error());
//   fill(images->mutable_data<float>());
//   RunOptions options;
//   options.inputs.emplace("images", *images);
//   options.results.emplace("scores", *scores);  // page-locked too: the device writes the output there
//   Result<RunResult> result = program->run(options);
//
// Such memory is slow to allocate: make it once, before the loop, and use it again.
#pragma once

#include <string_view>

#include "graph/array/array.h"
#include "graph/base/result.h"

namespace cleave {

/// A zero-filled array in memory that `device` (as of compile(): auto, none, simulated or cuda[:N]) copies from and to directly.
/// For cuda[:N] the GPU's driver locks it, for all GPUs; it is given back when the last Array on it is gone, from any thread. For the
/// simulated accelerator, page-locking is simulated: it is ordinary memory, copied from directly. For `none` there are no copies, and the
/// Array is an ordinary one. Errors: (usage) no such device; (machine) no usable GPU, no memory.
Result<Array> page_locked(TensorType type, std::string_view device = "auto");

}  // namespace cleave
