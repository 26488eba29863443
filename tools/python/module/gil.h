// The interpreter's lock (GIL), for our own threads and for code that may run after Python has ended.
#pragma once

#include <dlfcn.h>
#include <nanobind/nanobind.h>

#include <optional>
#include <utility>

namespace cleave::python {

/// Holds the lock, on any thread, unless the interpreter is ending or has ended: then Python objects must not be touched.
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
#if defined(Py_LIMITED_API)  // one module for several versions, which name the function differently
    using Asked = int (*)();
    static const auto asked = [] {
      void* const now = ::dlsym(RTLD_DEFAULT, "Py_IsFinalizing");  // since 3.13
      return reinterpret_cast<Asked>(now ? now : ::dlsym(RTLD_DEFAULT, "_Py_IsFinalizing"));
    }();
    return asked && asked() != 0;
#elif PY_VERSION_HEX >= 0x030D0000
    return Py_IsFinalizing() != 0;
#else
    return _Py_IsFinalizing() != 0;
#endif
  }
  std::optional<nanobind::gil_scoped_acquire> lock_;
};

/// Whether this thread holds the lock.
inline bool holds_gil() {
#if defined(Py_LIMITED_API)
  return PyThreadState_GetDict() != nullptr;  // null without a current thread state, which a thread has as long as it holds the lock
#else
  return PyGILState_Check() != 0;
#endif
}

/// Releases the lock during `work`, which must not touch Python objects.
template <class F>
auto without_gil(F&& work) {
  const nanobind::gil_scoped_release release;
  return std::forward<F>(work)();
}

/// A Python object that any thread may release.
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
