// The interpreter's lock, for threads of ours and for code that may run when Python is gone already.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <utility>

namespace cleave::python {

/// Holds the lock, from any thread, unless the interpreter ends or has ended: then nothing of Python's may be touched.
class Gil {
 public:
  Gil() {
    if (!Py_IsInitialized() || finalizing()) return;
    lock_.emplace();
    if (!lock_->is_valid()) lock_.reset();
  }
  [[nodiscard]] bool held() const { return lock_.has_value(); }

 private:
  static bool finalizing() {
#if PY_VERSION_HEX >= 0x030D0000
    return Py_IsFinalizing() != 0;
#else
    return _Py_IsFinalizing() != 0;
#endif
  }
  std::optional<nanobind::gil_scoped_acquire> lock_;
};

/// Lets other Python threads work while `work` does, which touches nothing of Python's.
template <class F>
auto without_gil(F&& work) {
  const nanobind::gil_scoped_release release;
  return std::forward<F>(work)();
}

/// A Python object that may be let go from any thread.
class SharedObject {
 public:
  explicit SharedObject(nanobind::object object) : object_(std::move(object)) {}
  SharedObject(const SharedObject&) = delete;
  SharedObject& operator=(const SharedObject&) = delete;
  ~SharedObject() {
    const Gil gil;
    if (gil.held())
      object_.reset();
    else
      (void)object_.release();
  }
  [[nodiscard]] const nanobind::object& get() const { return object_; }

 private:
  nanobind::object object_;
};

}  // namespace cleave::python
