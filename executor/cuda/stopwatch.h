// Stopwatch: how long the device takes for something that is put into a stream. For choices made before any run: it creates, and it waits.
#pragma once

#include <functional>

#include "executor/cuda/resources.h"

namespace cleave::cuda {

class Stopwatch {
 public:
  static Result<Stopwatch> make(const Context& context);

  /// Seconds of one `work`, which is put into the stream several times over.
  Result<double> seconds(const std::function<Status(CUstream)>& work);

 private:
  explicit Stopwatch(const Context& context) : context_(&context) {}
  Status put(const std::function<Status(CUstream)>& work);
  Status wait();

  const Context* context_;
  StreamHandle stream_;
  EventHandle begin_, end_;
};

}  // namespace cleave::cuda
