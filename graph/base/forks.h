// Fork safety: detects whether this process is a forked child, and holds state that a child must create anew. A child has none of its
// parent's threads; locks that they held stay locked, and data that they were changing stay inconsistent, so a child must not touch either.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

namespace cleave {

/// Number of forks between this process and the one that first called this function. It costs as much as reading a variable.
unsigned count_forks();

/// One `T` per process: a forked child creates another one at its first use, and never touches or destroys its parent's.
template <class T>
class PerProcess {
 public:
  /// Creates the child's `T`, which may take over consistent data from the parent's (null: there is none). Locks held in the parent's stay
  /// locked forever.
  using Make = std::function<std::unique_ptr<T>(T* of_parent)>;

  explicit PerProcess(Make make = [](T*) { return std::make_unique<T>(); }) : make_(std::move(make)) {}
  PerProcess(const PerProcess&) = delete;
  PerProcess& operator=(const PerProcess&) = delete;
  ~PerProcess() {
    Instance* const mine = instance_.load();
    if (mine && mine->forks == count_forks()) delete mine;  // the parent's instance is not destroyed
  }

  T& operator*() {
    const unsigned forks = count_forks();
    Instance* found = instance_.load(std::memory_order_acquire);
    while (!found || found->forks != forks) {
      auto made = std::make_unique<Instance>(Instance{forks, make_(found ? found->value.get() : nullptr), found});
      if (instance_.compare_exchange_strong(found, made.get(), std::memory_order_acq_rel)) found = made.release();
    }
    return *found->value;
  }
  T* operator->() { return &**this; }

 private:
  struct Instance {
    unsigned forks;
    std::unique_ptr<T> value;
    Instance* of_parent;  ///< keeps the parent's instance reachable for leak checkers
  };
  const Make make_;
  std::atomic<Instance*> instance_ = nullptr;
};

/// Remembers the process that created it: `here()` is false in a forked child.
class BornHere {
 public:
  [[nodiscard]] bool here() const { return forks_ == count_forks(); }

 private:
  unsigned forks_ = count_forks();
};

}  // namespace cleave
