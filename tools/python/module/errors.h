// Diagnostics as Python objects, and errors as Python exceptions (cleave/_errors.py).
#pragma once

#include <nanobind/nanobind.h>

#include "graph/base/diagnostic.h"
#include "graph/base/result.h"

namespace cleave::python {

namespace nb = nanobind;

using DiagnosticList = nb::typed<nb::list, Diagnostic>;
/// Converts diagnostics to Python objects.
DiagnosticList to_list(const Diagnostics& diagnostics);
/// Throws the subclass of cleave.Error for the error's kind.
[[noreturn]] void raise(const Error& error);
/// Throws an exception for the errors among the diagnostics; it carries all diagnostics.
[[noreturn]] void raise(const Diagnostics& diagnostics);

template <class T>
T value_or_raise(Result<T> result) {
  if (!result) raise(result.error());
  return *std::move(result);
}
inline void check(const Status& status) {
  if (!status) raise(status.error());
}

void bind_errors(nb::module_& module);

}  // namespace cleave::python
