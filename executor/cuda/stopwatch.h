// Stopwatch: how long the device takes for something that is put into a stream. For choices made before any run: it creates, and it waits.
#pragma once

#include <functional>

#include "executor/cuda/resources.h"

namespace cleave::runtime::cuda {

class Stopwatch {
 public:
  /// `patience`: how long work may take before the device counts as lost.
  static Result<Stopwatch> make(Context& context, double patience_seconds = 10);

  /// Puts one `work` into the stream and waits for its end.
  Status once(const std::function<Status(CUstream)>& work);
  /// Seconds of one `work`, which is put into the stream several times over.
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
