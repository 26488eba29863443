// The parts of the extension module `cleave._cleave`, one source file each. They are thin; cleave/*.py builds the public interface on them.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <utility>

#include "graph/graph.h"

namespace cleave::python {

namespace nb = nanobind;

using AnyList = nb::typed<nb::list, nb::any>;
using AnyDict = nb::typed<nb::dict, nb::str, nb::any>;

/// A graph that was read or traced. It is immutable.
struct Program {
  explicit Program(Graph g, std::string from = {}) : graph(std::make_shared<const Graph>(std::move(g))), file(std::move(from)) {}
  std::shared_ptr<const Graph> graph;
  std::string file;  ///< the YAML model that it was read from, or empty
};

void bind_program(nb::module_& module);       ///< Program: read, inspect, save, plan, compile
void bind_execution(nb::module_& module);     ///< Executable, Run
void bind_tracing(nb::module_& module);       ///< Recorder
void bind_vocabulary(nb::module_& module);    ///< the callable functions, for tools/python/write_functions.py
void bind_command_line(nb::module_& module);  ///< `python -m cleave`

}  // namespace cleave::python
