// Options: the parsed command line. Only options.cpp knows the spelling of flags; commands interpret the values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/base/diagnostic.h"
#include "graph/base/result.h"
#include "models/operator_function.h"
#include "partitioner/machine/costs.h"

namespace cleave::cli {

enum class Command { run, compile, explain, check, apply, dot, print, plan, devices, calibrate, completion };

struct Options {
  Command command = Command::run;
  std::string model;  ///< or a plan file, or the problem file for `plan`

  std::string device = "auto";
  Policy placement = Policy::optimal;
  std::string machine;
  std::map<std::string, std::int64_t> dims;
  /// explain, check: a dim with the first and the last of several sizes to plan for.
  std::optional<std::pair<std::string, std::pair<std::int64_t, std::int64_t>>> dim_range;
  // For ONNX models.
  std::map<std::string, std::vector<std::optional<std::int64_t>>> shapes;
  std::map<std::string, std::string> constants;  ///< as written
  std::map<std::string, std::int64_t> bounds;
  bool onnxruntime = false;  ///< --placement onnxruntime: ONNX Runtime's rule replaces a policy
  std::string accelerator_ops = "cleave";
  std::vector<std::string> assume_host;
  std::map<std::string, OperatorFunction> host_functions;    ///< by operator
  std::vector<std::string> parameters;                       ///< patterns for the weights of an ONNX model that become parameters
  std::vector<std::pair<std::string, std::string>> inputs;   ///< --input and --param: name, value as written
  std::vector<std::pair<std::string, std::string>> outputs;  ///< --output: name, file
  bool json = false;
  DiagnosticOptions diagnostics;
  std::string diagnostics_format = "text";
  std::int64_t diagnostic_limit = 20;  ///< most warnings and remarks printed as text; 0: all
  std::string color = "auto";
  bool quiet = false;
  std::int64_t seed = 0;
  std::vector<std::string> source_roots;
  std::string use_profile;
  std::vector<std::string> disabled_passes, print_after;
  bool time_passes = false;

  // explain, run --profile
  std::int64_t top = 20;  ///< most rows of a table; the costliest are shown
  bool all = false;       ///< shows all rows

  // run
  std::int64_t runs = 1;
  std::vector<std::pair<std::string, std::string>> states;  ///< --state: an input, and the output of the previous run that it takes
  std::string save, load;            ///< run: folder or file of the states after the last run, and before the first one
  std::int64_t save_every = 0;       ///< trips of the outermost loop after which the states are saved, too; 0: none
  std::string log, tensorboard;      ///< where logged numbers go: a CSV file, a folder of event files
  bool stop_on_nan = false;          ///< a logged NaN ends the run
  bool progress = false;             ///< shows progress where standard error is no terminal, too
  std::optional<double> time_limit;  ///< seconds for all runs together; calibrate: for the whole measurement
  bool verify = false;
  bool profile = false;
  std::string profile_file;
  std::string trace;
  bool check_memory = false;
  std::string inject;
  std::string schedule = "eager";
  std::int64_t threads = 0;
  std::int64_t workers = 1;
  double accelerator_memory_bytes = 0;  ///< 0: what the machine file says
  std::string keep = "auto";            ///< auto, all
  std::string precision = "f32";

  // explain
  std::string html_file;
  std::string node;                    ///< NAME or LINE[:COL]
  std::optional<std::int64_t> advise;  ///< number of kernels to advise on
  bool sensitivity = false;
  std::string diff;

  // check
  std::string lock, baseline;
  bool update_lock = false;
  bool certify = false;
  std::string compiled_from;  ///< the model of which a plan file must be made

  // apply
  std::string edit;  ///< the ID, or a prefix of it

  // calibrate
  double seconds = 0.01;
  bool even_if_busy = false;  ///< calibrate: measures whatever share of a core it gets

  // compile, dot, print, apply, plan, calibrate
  std::string output_file;
  bool full = false;                   ///< dot: no node is collapsed
  std::optional<double> layout_limit;  ///< dot: seconds
  std::string stage = "simplified";
  std::string format = "cleave";
  std::string solver;
  std::string accelerator_memory;
  std::string objective = "cost";  ///< plan: cost, latency, throughput
  std::int64_t accelerators = 0;   ///< plan: their number; 0: as the problem says
  bool contiguous = false;         ///< plan: each device takes one piece of an order of the operations

  // completion
  std::string shell;
};

/// The number of rows of a table to show.
[[nodiscard]] std::size_t most_rows(const Options& options);

/// The text to print and the exit code instead of running a command (help and version: 0, wrong usage: 2).
struct Exit {
  int code = 0;
  std::string text;
};
std::optional<Exit> parse(int argc, const char* const* argv, Options& options);

}  // namespace cleave::cli
