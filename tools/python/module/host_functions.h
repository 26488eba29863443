// Python functions as host functions of a program: called from whatever thread runs the program, with NumPy arrays.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <vector>

#include "graph/host_function.h"

namespace cleave::python {

namespace nb = nanobind;

/// How a Python function is to be called.
struct PythonFunction {
  std::string name;
  std::vector<TensorType> returns;
  bool pure = false;
  std::optional<double> seconds, deadline;
  bool copies = true;  ///< inputs are arrays of their own; else they are views of the program's memory, good for the time of the call
};

/// The host function that calls `callable`. What it raises ends the run with an Error; the exception itself is kept for
/// take_exception().
std::shared_ptr<const HostFunction> make_host_function(PythonFunction function, nb::object callable);

/// The exception that a host function raised and that an Error of the given message tells of; None where there is none.
nb::object take_exception(const std::string& message);
/// A KeyboardInterrupt that came while a host function ran; None where there is none.
nb::object take_interrupt();

}  // namespace cleave::python
