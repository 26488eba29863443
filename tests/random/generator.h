// Random programs over the whole vocabulary, recorded through the Tracer: calls of every function with every element type, zero-sized and
// size-one axes and special values; loops, branches, scopes, pins, effects, host functions and states. Equal seeds, equal programs. They
// always end, and do little work.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "tests/random/vocabulary.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {

/// The calls of host functions with effects, in order.
struct EffectTrace {
  std::mutex mutex;
  std::vector<std::string> lines;
};

struct GeneratedProgram {
  std::shared_ptr<const Graph> graph;                                      ///< null: a draw that the Tracer refused; `refusal` says why
  std::map<std::string, Array> inputs;                                     ///< data of all inputs
  std::shared_ptr<EffectTrace> effects = std::make_shared<EffectTrace>();  ///< effects of the latest run; must be cleared before each run
  std::vector<std::string> statements;                                     ///< paths of the statements and outputs in the program
  std::set<const OpDef*> drawn;                                            ///< functions that are called
  std::string refusal;
  bool has_pins = false;
  bool has_host_functions = false;
};

struct GeneratorOptions {
  std::uint64_t seed = 0;
  std::set<std::string> skipped;  ///< paths of statements and outputs that are left out
  std::string folder;             ///< the folder that `write_npy` writes to
};

GeneratedProgram generate(const Vocabulary& vocabulary, const GeneratorOptions& options);

}  // namespace cleave::testing
