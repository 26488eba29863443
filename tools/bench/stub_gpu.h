// StubGpu: a GPU that computes nothing, behind the tables of the driver and the compiler (executor/cuda/driver_api.h), to measure what the
// executor does around it: its calls, what it takes of the processor, and how much runs at once. Copies, events, words in memory and the
// kernel that hands values over work as they should (stub_streams.h); all other kernels only take their time. For right results there is
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
  /// One at a time in a process, since the driver's calls know nobody else to turn to. It outlives all devices opened on it.
  explicit StubGpu(const StubTraits& traits);
  StubGpu(const StubGpu&) = delete;
  StubGpu& operator=(const StubGpu&) = delete;
  ~StubGpu();

  /// For BackEnd::open.
  [[nodiscard]] static std::function<Result<std::unique_ptr<runtime::Device>>(int, const ExecutorOptions&)> opener(
      runtime::cuda::CudaOptions options = {});

  using Counts = std::map<std::string, std::int64_t>;
  /// Calls of the driver so far, by name, but for those that were never made.
  [[nodiscard]] static Counts counts();

  /// What the stub itself takes of the processor.
  struct CallSeconds {
    double enqueues = 0;  ///< a call that puts something into a stream
    double others = 0;
  };
  /// What one call takes of the calling thread, at the best. With traits like these, before there is a StubGpu.
  static CallSeconds measure_calls(StubTraits traits);
  /// What those calls took.
  [[nodiscard]] static double seconds_of(const Counts& counts, const CallSeconds& each);

  [[nodiscard]] StubStreams& streams() { return streams_; }
  /// What all threads of the process but the stub's have taken of the processor: exact where they rest at the moment.
  [[nodiscard]] double other_threads_seconds() const;

 private:
  const StubTraits traits_;
  StubStreams streams_;
};

/// What the calling thread has taken of the processor.
double thread_seconds();

}  // namespace cleave::bench
