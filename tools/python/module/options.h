// Conversion of Python's keyword arguments to options of compile() and read_model().
#pragma once

#include <nanobind/nanobind.h>

#include "executor/api/executable.h"

namespace cleave::python {

/// Reads a dict with any of device, placement, machine, threads, precision, warn. Throws cleave.UsageError.
CompileOptions compile_options(nanobind::handle dict);
/// Reads the options with which a plan file is loaded: device, machine, threads, warn. Throws cleave.UsageError for another one.
LoadOptions load_options(nanobind::handle dict);

}  // namespace cleave::python
