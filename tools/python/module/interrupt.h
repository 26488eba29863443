// Ctrl-C during a run on the main thread: asks the run to stop. Python itself only records the signal, and raises KeyboardInterrupt when
// its own code continues.
#pragma once

#include <csignal>
#include <stop_token>

namespace cleave::python {

/// To be held during one run on the main thread. On other threads it does nothing, since those get no KeyboardInterrupt either.
class StopOnInterrupt {
 public:
  StopOnInterrupt();
  StopOnInterrupt(const StopOnInterrupt&) = delete;
  StopOnInterrupt& operator=(const StopOnInterrupt&) = delete;
  ~StopOnInterrupt();

  /// The stop token that the signal triggers; never triggered on other threads.
  [[nodiscard]] std::stop_token token() const;

 private:
  bool watching_ = false;
};

}  // namespace cleave::python
