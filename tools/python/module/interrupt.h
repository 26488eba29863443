// Ctrl-C while a run keeps the main thread: asks the run to stop. Python itself only takes note of the signal, and raises
// KeyboardInterrupt once its own code goes on.
#pragma once

#include <csignal>
#include <stop_token>

namespace cleave::python {

/// For the time of one run on the main thread; on others it does nothing, as they get no KeyboardInterrupt either.
class StopOnInterrupt {
 public:
  StopOnInterrupt();
  StopOnInterrupt(const StopOnInterrupt&) = delete;
  StopOnInterrupt& operator=(const StopOnInterrupt&) = delete;
  ~StopOnInterrupt();

  /// Asked to stop by the signal; never on other threads.
  [[nodiscard]] std::stop_token token() const;

 private:
  bool watching_ = false;
};

}  // namespace cleave::python
