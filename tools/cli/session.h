// What all commands share: reading the model, choosing the machine, planning, and speaking to the user. The commands themselves are
// one file each; each returns the exit code.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "executor/api/wiring.h"
#include "graph/base/diagnostic_fingerprint.h"
#include "graph/graph.h"
#include "models/model.h"
#include "partitioner/compile.h"
#include "tools/cli/options.h"

namespace cleave::cli {

using namespace planner;
using namespace runtime;

inline constexpr int kDone = 0, kUserError = 1, kUsageError = 2, kMachineError = 3;

int exit_code(const Error& error);
/// Of what has errors: kMachineError if the machine failed.
int exit_code(const Diagnostics& diagnostics);

/// Standard output and standard error as docs/guide/running.md wants them: under --json one document on standard output and no words of
/// ours elsewhere; under --diagnostics sarif one document on standard error, written at the end with all that was reported until then.
class Console {
 public:
  explicit Console(const Options& options);
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;
  ~Console();

  void line(std::string_view text) const;      ///< to standard output
  void out(std::string_view text) const;       ///< the same without a line break
  void document(std::string_view json) const;  ///< the one of --json, byte for byte
  /// The document {cleave, KEY: text, diagnostics}.
  void document(std::string_view key, std::string_view text, const Diagnostics& diagnostics) const;
  /// Fingerprints go by the statements of a plan from here on.
  StatementOf statements_of(const Plan& plan) const;
  void note(std::string_view text) const;   ///< a line about the run; left out by --quiet and --json
  void aside(std::string_view text) const;  ///< the same on standard error, where standard output holds a document
  void report(const Diagnostics& diagnostics, const std::vector<Fix>& fixes = {}) const;
  /// Of a plan; behind warnings of round trips, as text, what a run waits for all of them.
  void report(const Plan& plan) const;
  /// The last line on standard error: what most of a run's predicted time goes to. Nothing of a plan that is not complete.
  void account(const Plan& plan) const;
  /// Reports an error and returns its exit code; under --json as the document {cleave, diagnostics}.
  [[nodiscard]] int fail(const Error& error) const;
  /// The same for a graph or plan with errors.
  [[nodiscard]] int fail(const Diagnostics& diagnostics) const;

 private:
  [[nodiscard]] bool sarif() const { return options_.diagnostics_format == "sarif" && !options_.json; }

  const Options& options_;
  bool color_;
  mutable StatementOf statement_of_;
  mutable std::vector<Fix> fixes_for_sarif_;
  mutable std::optional<Diagnostics> for_sarif_;  ///< once anything was reported
};

/// Whether every file that the options want written can be, or the first that cannot, and why.
Status check_output_files(const Options& options);
/// What the options say of how a model is read.
ModelOptions model_options(const Options& options);
/// The model or `.graph` file, traced; its mistakes are in its diagnostics.
Graph load_graph(const Options& options);
/// The command line's flags as compile() would be told them, and wired like there. An Error for a device, machine or profile that cannot be
/// had, or flags that mean nothing to the device.
Result<Wiring> wire(const Options& options);
/// Loads the graph, reads the values given for its inputs, and plans; where that fails it is reported and nothing comes back, but `code`
/// says how. The plan may have errors.
std::optional<Plan> load_and_plan(const Options& options, const Console& console, int& code);
/// The same from the text of a YAML model.
Graph load_text(std::string_view text, const Options& options);
/// The plan for the graph; shows passes and times where they are asked for. It has the fixes of a YAML model; `text`: the
/// model's, null: as the file has it now.
Result<Plan> make_plan(const Graph& graph, const Options& options, const std::string* text = nullptr);

int run_command(const Options& options);
int explain_command(const Options& options);
int check_command(const Options& options);
int apply_command(const Options& options);
int dot_command(const Options& options);
int print_command(const Options& options);
int plan_command(const Options& options);
int devices_command(const Options& options);
int calibrate_command(const Options& options);
int completion_command(const Options& options);

}  // namespace cleave::cli
