#include "tools/python/module/host_functions.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <deque>
#include <mutex>

#include "graph/base/forks.h"
#include "graph/call_limits.h"
#include "tools/python/module/arrays.h"
#include "tools/python/module/gil.h"

namespace cleave::python {
namespace {

/// Passes exceptions from the thread of a run to the thread that waits for it, since an Error carries only text. Keeps the last few, by
/// that text.
class Exceptions {
 public:
  void put(std::string message, nb::object exception) {
    std::shared_ptr<SharedObject> oldest;  // released without the lock, since Python code may run then
    const std::lock_guard lock(mutex_);
    raised_.emplace_back(std::move(message), std::make_shared<SharedObject>(std::move(exception)));
    if (raised_.size() <= kMost) return;
    oldest = std::move(raised_.front().second);
    raised_.pop_front();
  }
  template <class Wanted>
  nb::object take(const Wanted& wanted) {
    const std::lock_guard lock(mutex_);
    for (auto found = raised_.begin(); found != raised_.end(); ++found) {
      if (!wanted(found->first, found->second->get())) continue;
      nb::object exception = found->second->get();
      raised_.erase(found);
      return exception;
    }
    return nb::none();
  }

 private:
  static constexpr std::size_t kMost = 64;
  std::mutex mutex_;
  std::deque<std::pair<std::string, std::shared_ptr<SharedObject>>> raised_;
};

Exceptions& exceptions() {
  static auto* const forever = new PerProcess<Exceptions>;  // never destroyed: Python has ended by then
  return **forever;
}

Error mistake(const PythonFunction& function, const std::string& what) {
  return {"host function `" + function.name + "` " + what, {}, ErrorKind::user};
}

/// Copies the function's result to the program's memory.
Status fill(const PythonFunction& function, nb::handle given, Array& result, const std::string& which) {
  const Array array = to_array(given, &result.type());
  if (array.type() != result.type()) {
    return mistake(function, "is to return " + to_string(result.type()) + which + ", but returned " + to_string(array.type()));
  }
  if (array.type().bytes() > 0) std::memcpy(result.mutable_bytes(), array.bytes(), static_cast<std::size_t>(array.type().bytes()));
  return {};
}

Status fill_all(const PythonFunction& function, const nb::object& returned, std::span<Array> results) {
  if (results.empty()) return {};
  if (results.size() == 1 && !nb::isinstance<nb::tuple>(returned)) {
    if (returned.is_none()) return mistake(function, "is to return " + to_string(results[0].type()) + ", but returned None");
    return fill(function, returned, results[0], "");
  }
  const bool many = nb::isinstance<nb::tuple>(returned) || nb::isinstance<nb::list>(returned);
  if (!many || nb::len(returned) != results.size())
    return mistake(function, "is to return a tuple of " + std::to_string(results.size()) + " arrays");
  for (std::size_t i = 0; i < results.size(); ++i)
    if (Status filled = fill(function, returned[i], results[i], " as result " + std::to_string(i + 1)); !filled) return filled;
  return {};
}

Status call(const PythonFunction& function, const SharedObject& callable, std::span<const Array> inputs, std::span<Array> results) {
  const Gil gil;
  if (!gil.held()) return Error{"Python is ending", {}, ErrorKind::machine};
  try {
    nb::list arguments;
    for (const Array& input : inputs) arguments.append(function.copies ? to_numpy_copy(input) : to_numpy(input, false));
    const nb::object returned = callable.get()(*nb::tuple(arguments));
    return fill_all(function, returned, results);
  } catch (nb::python_error& raised) {
    return Error{keep_exception(raised, "host function `" + function.name + "`"), {}, ErrorKind::user};
  } catch (const std::exception& thrown) {  // from nanobind: the returned object is no array
    return mistake(function, std::string("returned what is no array: ") + thrown.what());
  }
}

nb::object to_python(const OperatorNode::Attribute& attribute) {
  return std::visit(
      [](const auto& value) -> nb::object {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, Array>)
          return to_numpy_copy(value);
        else
          return nb::cast(value);
      },
      attribute);
}

}  // namespace

OperatorFunction operator_function(nb::object bind) {
  return [bind = std::make_shared<const SharedObject>(std::move(bind))](const OperatorNode& node) -> Result<HostFunction> {
    const Gil gil;
    if (!gil.held()) return Error{"Python is ending", {}, ErrorKind::machine};
    try {
      nb::dict attributes;
      for (const auto& [name, value] : node.attributes) attributes[name.c_str()] = to_python(value);
      nb::list inputs;
      for (const std::optional<TensorType>& type : node.inputs) inputs.append(type ? nb::cast(to_string(*type)) : nb::none());
      const nb::object bound = bind->get()(node.op, attributes, inputs);
      return *make_host_function(nb::cast<PythonFunction>(bound[0]), bound[1]);
    } catch (nb::python_error& raised) {
      return Error{keep_exception(raised, "its declaration"), {}, ErrorKind::user};
    } catch (const std::exception& thrown) {
      return Error{thrown.what(), {}, ErrorKind::user};
    }
  };
}

std::shared_ptr<const HostFunction> make_host_function(PythonFunction function, nb::object callable) {
  auto made = std::make_shared<HostFunction>();
  made->name = function.name;
  made->returns = function.returns;
  made->pure = function.pure;
  made->seconds = function.seconds;
  made->deadline = function.deadline;
  made->fills_in_place = true;
  made->call = [function = std::move(function), callable = std::make_shared<const SharedObject>(std::move(callable))](
                   std::span<const Array> inputs, std::span<Array> results, const CallLimits&) {
    return call(function, *callable, inputs, results);
  };
  return made;
}

std::string keep_exception(nb::python_error& raised, const std::string& who) {
  const std::string type = nb::cast<std::string>(nb::str(raised.type().attr("__name__")));
  const std::string words = nb::cast<std::string>(nb::str(raised.value()));
  std::string message = who + " raised " + type + (words.empty() ? "" : ": " + words);
  nb::object exception = nb::borrow(raised.value());
  if (raised.traceback().is_valid()) PyException_SetTraceback(exception.ptr(), raised.traceback().ptr());
  exceptions().put(message, std::move(exception));
  return message;
}

nb::object take_exception(const std::string& message) {
  return exceptions().take([&](const std::string& text, const nb::object&) { return message.find(text) != std::string::npos; });
}

nb::object take_interrupt() {
  return exceptions().take([](const std::string&, const nb::object& exception) {
    return PyErr_GivenExceptionMatches(exception.ptr(), PyExc_KeyboardInterrupt) != 0;
  });
}

}  // namespace cleave::python
