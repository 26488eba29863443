// StubGpu: a GPU that computes nothing, behind the driver and compiler tables (executor/cuda/driver_api.h). It measures the executor around
// a GPU: its calls, its processor time, and the overlap it achieves. Copies, events, words in memory and the kernel that hands values over
// work as on a GPU (stub_streams.h); all other kernels only take time. tests/support/fake_driver.h computes correct results instead.
// tests/support/fake_driver.h.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "executor/cuda/cuda_device.h"
#include "tools/bench/stub_streams.h"

namespace cleave::bench {

class StubGpu {
 public:
  /// Only one may exist in a process at a time, since driver calls use a global stub. It must outlive all devices opened on it.
  explicit StubGpu(const StubTraits& traits);
  StubGpu(const StubGpu&) = delete;
  StubGpu& operator=(const StubGpu&) = delete;
  ~StubGpu();

  /// For BackEnd::open.
  [[nodiscard]] static std::function<Result<std::unique_ptr<runtime::Device>>(int, const ExecutorOptions&)> opener(
      runtime::cuda::CudaOptions options = {});

  using Counts = std::map<std::string, std::int64_t>;
  /// The number of calls of each driver function so far, without functions that were never called.
  [[nodiscard]] static Counts counts();

  /// Processor time of the stub itself.
  struct CallSeconds {
    double enqueues = 0;  ///< a call that enqueues a command into a stream
    double others = 0;
  };
  /// The least processor time of one call in the calling thread. To be called with equal traits before a StubGpu exists.
  static CallSeconds measure_calls(StubTraits traits);
  /// The total time of these calls.
  [[nodiscard]] static double seconds_of(const Counts& counts, const CallSeconds& each);

  [[nodiscard]] StubStreams& streams() { return streams_; }
  /// Processor time of all threads of the process except the stub's: exact if they are idle at the moment.
  [[nodiscard]] double other_threads_seconds() const;

 private:
  const StubTraits traits_;
  StubStreams streams_;
};

/// Processor time of the calling thread.
double thread_seconds();

}  // namespace cleave::bench
