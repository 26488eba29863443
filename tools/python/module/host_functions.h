// Python functions as host functions of a program: called with NumPy arrays, on whichever thread runs the program.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <vector>

#include "graph/host_function.h"
#include "models/operator_function.h"

namespace cleave::python {

namespace nb = nanobind;

/// A Python function's declaration as a host function.
struct PythonFunction {
  std::string name;
  std::vector<TensorType> returns;
  bool pure = false;
  std::optional<double> seconds, deadline;
  bool copies = true;  ///< inputs are copies; else they are views of the program's memory, valid only during the call
};

/// The host function that calls `callable`. An exception in it ends the run with an Error; the exception itself is kept for
/// take_exception().
std::shared_ptr<const HostFunction> make_host_function(PythonFunction function, nb::object callable);

/// Host functions for the nodes of an operator: `bind` is called with the operator, the node's attributes and the types of its inputs, and
/// gives a PythonFunction and the callable.
OperatorFunction operator_function(nb::object bind);

/// Keeps the exception that `who` raised, for take_exception(). Returns the text of its Error: "host function `f` raised ValueError: …".
std::string keep_exception(nb::python_error& raised, const std::string& who);
/// The exception of a host function that an Error with this message reports; None if there is none.
nb::object take_exception(const std::string& message);
/// A KeyboardInterrupt raised while a host function ran; None if there is none.
nb::object take_interrupt();

}  // namespace cleave::python
