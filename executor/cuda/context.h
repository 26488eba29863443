// Context: one GPU, its primary context, and `check`, which takes the result of every driver call. After a sticky error, which the driver
// repeats for every later call, the device is lost for the rest of this process.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "executor/cuda/driver_api.h"
#include "executor/cuda/kernel_source.h"
#include "graph/base/forks.h"

namespace cleave::runtime::cuda {

class Context {
 public:
  static Result<std::shared_ptr<Context>> open(const DriverApi& api, int ordinal);
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context();

  [[nodiscard]] const DriverApi& api() const { return api_; }
  [[nodiscard]] CUcontext handle() const { return context_; }
  /// Makes this the context of the calling thread for good; it comes before any other driver call on that thread. Only for cleave's own
  /// threads; the caller's threads use a Visit.
  [[nodiscard]] Status enter() const { return check("cuCtxSetCurrent", api_.cuCtxSetCurrent(context_)); }
  /// Makes this the context of the calling thread during the Visit's lifetime, then restores the thread's previous context. For threads
  /// that may be the caller's.
  class Visit;
  /// Success, or an Error (machine) that says why `call` failed. From any thread.
  [[nodiscard]] Status check(const char* call, CUresult result) const;

  [[nodiscard]] bool lost() const { return lost_.load(std::memory_order_acquire); }
  /// True if the device was given up while work in flight did not end: nothing may be freed any more.
  [[nodiscard]] bool stuck() const { return stuck_.load(std::memory_order_acquire); }
  void give_up() {
    stuck_.store(true, std::memory_order_release);
    lost_.store(true, std::memory_order_release);
  }
  [[nodiscard]] const Architecture& architecture() const { return architecture_; }
  /// True if a stream can wait for a 64-bit word in page-locked memory.
  [[nodiscard]] bool waits_for_words() const { return waits_for_words_ != 0; }
  /// The GPU and its driver in words. A choice that was made on one machine (such as a matmul algorithm) is valid for equal descriptions.
  [[nodiscard]] const std::string& description() const { return description_; }

 private:
  explicit Context(const DriverApi& api) : api_(api) {}
  Status read_architecture();
  Status describe();

  const DriverApi api_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  Architecture architecture_;
  int waits_for_words_ = 0;
  std::string description_;
  mutable std::atomic<bool> lost_ = false;
  std::atomic<bool> stuck_ = false;
};

class Context::Visit {
 public:
  explicit Visit(const Context& context);
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;
  ~Visit();
  /// Success if the driver may be called.
  [[nodiscard]] const Status& status() const { return status_; }

 private:
  const DriverApi& api_;
  Status status_;
  bool pushed_ = false;
};

/// The contexts of a process's GPUs. Each is opened at its first use and then kept, because making a context takes tenths of a second and
/// it would end with its last owner. From any thread.
class Contexts {
 public:
  explicit Contexts(const DriverApi& api) : api_(api) {}
  Result<std::shared_ptr<Context>> open(int ordinal);

 private:
  const DriverApi api_;
  const BornHere born_{};
  std::atomic<bool> used_ = false;  ///< a GPU was asked for, in this process or in the one that it was forked from
  std::mutex mutex_;
  std::map<int, std::shared_ptr<Context>> open_;
};

/// The same as Context::check where there is no context.
Status check(const DriverApi& api, const char* call, CUresult result);
/// True if every later driver call will fail with the same error.
bool is_sticky(CUresult result);

}  // namespace cleave::runtime::cuda
