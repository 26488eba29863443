// The extension module cleave._cleave.
#include "tools/python/module/module.h"

#include "graph/base/version.h"
#include "tools/python/module/arrays.h"
#include "tools/python/module/errors.h"

NB_MODULE(_cleave, module) {
  using namespace cleave::python;
  // Objects that exceptions and modules still hold when Python ends are released with the process, so nanobind need not warn of them.
  nanobind::set_leak_warnings(false);
  module.doc() = "What the package cleave is made of; not for users.";
  module.attr("version") = cleave::kVersion;
  bind_errors(module);
  bind_arrays(module);
  bind_program(module);
  bind_execution(module);
  bind_tracing(module);
  bind_vocabulary(module);
  bind_command_line(module);
}
