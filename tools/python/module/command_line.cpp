// `python -m cleave`: runs the command line in this process.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <csignal>

#include "tools/cli/command_line.h"
#include "tools/python/module/gil.h"
#include "tools/python/module/module.h"

namespace cleave::python {

void bind_command_line(nb::module_& module) {
  module.def(
      "command_line",
      [](std::vector<std::string> arguments) {
        // Python's handler would only record the signal; with the default action, Ctrl-C ends a command at once.
        (void)std::signal(SIGINT, SIG_DFL);
        std::vector<char*> words;
        for (std::string& argument : arguments) words.push_back(argument.data());
        words.push_back(nullptr);
        return without_gil([&] { return cli::command_line(static_cast<int>(arguments.size()), words.data()); });
      },
      nb::arg("arguments"), "Runs the command line; the first word is the program's name. Gives the exit code.");
}

}  // namespace cleave::python
