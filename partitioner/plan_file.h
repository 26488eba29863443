// Plan files: what planning decided about a program, the program itself, its constants by content, and what kernels derived from them, in
// one file that is mapped into memory. A header, a JSON document (the settings and decisions), the program's text form, then the data, each
// array at a multiple of 64 bytes. restore() makes a Plan of it again. docs/guide/running.md says who may read which file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "graph/array/precision.h"
#include "graph/base/result.h"
#include "graph/graph.h"
#include "partitioner/machine/policy.h"
#include "partitioner/restore.h"

namespace cleave::planner {

/// The options with which a plan was made, as far as its program depends on them.
struct PlanSettings {
  std::string device;          ///< name of the back end
  std::string machine;         ///< the machine file
  bool machine_given = false;  ///< the user named the machine; else it was the device's own
  Policy policy = Policy::optimal;
  Precision precision = Precision::f32;
  int workers = 1;
  int host_threads = 0;                 ///< that the costs assume
  int channel_depth = 0;                ///< 0: planned for each channel
  double accelerator_memory_bytes = 0;  ///< 0: the machine's
  bool fuses = true;
  Profile profile;
};

struct PlanFile {
  std::string model;  ///< a hash of the graph that was planned (graph_hash); empty: unknown
  PlanSettings settings;
  std::shared_ptr<const Graph> graph;
  Decisions decisions;
  /// Data that a kernel derived from a constant of the graph.
  struct Derived {
    const void* constant = nullptr;
    std::string form;
    std::int64_t bytes = 0;
    std::shared_ptr<const void> data;
  };
  std::vector<Derived> derived;
};

/// A hash of a program and its constants, without locations.
std::string graph_hash(const Graph& graph);

/// Writes the file atomically. The nodes of the graph must be in program order. Host functions must be those of libraries.
Status write_plan_file(const std::string& path, const PlanFile& plan);

struct PlanReadOptions {
  std::vector<std::string> source_roots = {};  ///< as for parse_graph
  bool checks_head = true;   ///< false, for tests of the reader: a file with another hash, or of another version of cleave, is read, too
  bool checks_data = false;  ///< whether the arrays are those that were written, which takes reading them all
};

/// Maps the file. Constants and derived data are read in place, while the file is in use. An Error (file) for a file that is no plan file,
/// is cut off or damaged, or was written by another version of cleave. The graph is verified; restore() checks the decisions.
Result<PlanFile> read_plan_file(const std::string& path, const PlanReadOptions& options = {});
/// The same for the bytes of such a file. `owner` keeps them; null: everything is copied.
Result<PlanFile> parse_plan_file(std::string_view bytes, const std::shared_ptr<const void>& owner, const std::string& path,
                                 const PlanReadOptions& options = {});

}  // namespace cleave::planner
