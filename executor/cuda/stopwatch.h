// Stopwatch: measures how long enqueued work takes on the device. For choices that are made before any run, because it creates events and
// blocks.
#pragma once

#include <functional>

#include "executor/cuda/resources.h"

namespace cleave::runtime::cuda {

class Stopwatch {
 public:
  /// After `patience_seconds` without an end of the work, the device counts as lost.
  static Result<Stopwatch> make(Context& context, double patience_seconds = 10);

  /// Enqueues `work` once and waits for its end.
  Status once(const std::function<Status(CUstream)>& work);
  /// The seconds that one `work` takes, measured over several repetitions.
  Result<double> seconds(const std::function<Status(CUstream)>& work);

 private:
  Stopwatch(Context& context, double patience_seconds) : context_(&context), patience_seconds_(patience_seconds) {}
  Status put(const std::function<Status(CUstream)>& work);
  Status wait();

  Context* context_;
  double patience_seconds_;
  StreamHandle stream_;
  EventHandle begin_, end_;
};

}  // namespace cleave::runtime::cuda
