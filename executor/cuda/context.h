// Context: one GPU, its primary context, and the check that every call of the driver goes through. An error that the driver will repeat
// for ever after marks the device lost: to this process, for good.
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
  /// Makes this the context of the calling thread for good: before any other call of the driver on it. For threads of our own; on
  /// others it is visited.
  [[nodiscard]] Status enter() const { return check("cuCtxSetCurrent", api_.cuCtxSetCurrent(context_)); }
  /// While it lives, this is the context of the calling thread, which may be the caller's: then what was current there is so again.
  class Visit;
  /// Success, or what went wrong in `call` as an Error (machine). From any thread.
  [[nodiscard]] Status check(const char* call, CUresult result) const;

  [[nodiscard]] bool lost() const { return lost_.load(std::memory_order_acquire); }
  /// Given up with work in flight that does not end: nothing may be freed any more.
  [[nodiscard]] bool stuck() const { return stuck_.load(std::memory_order_acquire); }
  void give_up() {
    stuck_.store(true, std::memory_order_release);
    lost_.store(true, std::memory_order_release);
  }
  [[nodiscard]] const Architecture& architecture() const { return architecture_; }
  /// Whether a stream may wait for a 64-bit word in page-locked memory.
  [[nodiscard]] bool waits_for_words() const { return waits_for_words_ != 0; }
  /// The GPU and its driver, in words: what a choice made on one machine holds good for.
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
  /// Whether the driver may be called.
  [[nodiscard]] const Status& status() const { return status_; }

 private:
  const DriverApi& api_;
  Status status_;
  bool pushed_ = false;
};

/// The GPUs of a process: each one's context is opened when it is first wanted and kept. To make a context takes tenths of a second, and
/// the last one to let go of it would end it. From any thread.
class Contexts {
 public:
  explicit Contexts(const DriverApi& api) : api_(api) {}
  Result<std::shared_ptr<Context>> open(int ordinal);

 private:
  const DriverApi api_;
  const BornHere born_{};
  std::atomic<bool> used_ = false;  ///< somebody has asked for a GPU, in this process or the one that it was forked from
  std::mutex mutex_;
  std::map<int, std::shared_ptr<Context>> open_;
};

/// Success, or what went wrong, without a context.
Status check(const DriverApi& api, const char* call, CUresult result);
/// Whether every later call will fail too, whatever it is.
bool is_sticky(CUresult result);

}  // namespace cleave::runtime::cuda
