// What Python's keyword arguments mean to compile() and read_model().
#pragma once

#include <nanobind/nanobind.h>

#include "executor/api/executable.h"

namespace cleave::python {

/// From a dict with some of device, placement, machine, threads, precision, warn. Throws cleave.UsageError.
CompileOptions compile_options(nanobind::handle dict);

}  // namespace cleave::python
