// Compiles a graph to an Executable that a test can run.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "executor/api/executable.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {

/// Fails the test if the graph does not compile.
inline Executable compiled(const Graph& graph, const CompileOptions& options = {}) {
  Result<Executable> program = compile(graph, options);
  if (!program) ADD_FAILURE() << to_string(program.error().location) << ": " << program.error().message;
  return *program;
}

/// Places on `device` every operation that can run there; the host has three threads.
inline Executable compiled_on(const Graph& graph, const std::string& device) {
  CompileOptions options{.device = device};
  if (device != "none") options.placement = Policy::accelerator;
  options.executor.threads = 3;
  return compiled(graph, options);
}

}  // namespace cleave::testing
