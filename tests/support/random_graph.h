// Random well-formed programs, recorded through the Tracer: nested loops and branches with loop-carried values and loop-invariant captures,
// pins, effects, host functions, values of several types, runtime trip counts, `until`, loops without iterations. They always end, and do
// little work. Equal seeds give equal programs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {

/// The calls that effectful host functions of a random program record, in order.
struct EffectLog {
  std::mutex mutex;
  std::vector<std::string> lines;
};

struct RandomGraphOptions {
  int max_ops = 30;
  int max_depth = 3;  ///< nesting depth of loops and branches
  int max_trips = 3;  ///< trip count of one loop
  /// Generates well-conditioned computations alone, so that devices that round differently agree: values stay small, and discrete results
  /// (predicates, counts, comparisons, positions) depend on integers alone.
  bool benign = true;
  bool control_flow = true;
  bool effects = true;
  bool pins = true;
  bool host_functions = true;
  bool random_numbers = true;
  bool movement = false;           ///< operands often pass through an operation that only moves elements and has no other reader
  std::shared_ptr<EffectLog> log;  ///< may be null
};

Graph random_graph(std::uint64_t seed, const RandomGraphOptions& options = {});

/// Arrays for all inputs of `graph` (parameters bring their own). Scalar integers are small counts, at least 0.
std::map<std::string, Array> random_inputs(const Graph& graph, std::uint64_t seed);

}  // namespace cleave::testing
