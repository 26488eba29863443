// Forks: whether this process is the child of a fork, and state that such a child makes anew. A child has none of its parent's threads,
// and what these held or were changing stays so in it for ever: nothing of the kind may be touched there.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

namespace cleave {

/// How many forks lie between this process and the one in which this function was first called. It costs as much as reading a variable.
unsigned count_forks();

/// A `T` in each process: the child of a fork makes another one at its first use, and leaves its parent's alone, which is never destroyed.
template <class T>
class PerProcess {
 public:
  /// What is made may take over what is sound in the parent's; null: there is none. A lock that is held there is held for ever.
  using Make = std::function<std::unique_ptr<T>(T* of_parent)>;

  explicit PerProcess(Make make = [](T*) { return std::make_unique<T>(); }) : make_(std::move(make)) {}
  PerProcess(const PerProcess&) = delete;
  PerProcess& operator=(const PerProcess&) = delete;
  ~PerProcess() {
    Instance* const mine = instance_.load();
    if (mine && mine->forks == count_forks()) delete mine;  // the parent's stays
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
    Instance* of_parent;  ///< kept where leak checkers see it
  };
  const Make make_;
  std::atomic<Instance*> instance_ = nullptr;
};

/// Whether the process that made this object is the one that asks.
class BornHere {
 public:
  [[nodiscard]] bool here() const { return forks_ == count_forks(); }

 private:
  unsigned forks_ = count_forks();
};

}  // namespace cleave
