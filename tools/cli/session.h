// Steps that all commands share: reading the model, choosing the machine, planning, and output. Each command has a file of its own and
// returns the exit code.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "executor/api/saved_plan.h"
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
/// The exit code for diagnostics with errors: kMachineError if the machine failed.
int exit_code(const Diagnostics& diagnostics);

/// Writes standard output and standard error as docs/guide/running.md specifies: with --json, one document on standard output and no other
/// text; with --diagnostics sarif, one document on standard error, written at the end with all diagnostics reported until then.
class Console {
 public:
  explicit Console(const Options& options);
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;
  ~Console();

  void line(std::string_view text) const;      ///< to standard output
  void out(std::string_view text) const;       ///< the same without a line break
  void document(std::string_view json) const;  ///< the document of --json, byte for byte
  /// The document {cleave, KEY: text, diagnostics}.
  void document(std::string_view key, std::string_view text, const Diagnostics& diagnostics) const;
  /// From here on, fingerprints of diagnostics use the statements of this plan.
  StatementOf statements_of(const Plan& plan) const;
  void note(std::string_view text) const;   ///< a line about the run; omitted with --quiet and --json
  void aside(std::string_view text) const;  ///< the same on standard error, for commands that write a document to standard output
  void report(const Diagnostics& diagnostics, const std::vector<Fix>& fixes = {}) const;
  /// Reports a plan's diagnostics. In text form, warnings of round trips are followed by the total waiting time of a run.
  void report(const Plan& plan) const;
  /// Writes the last line to standard error: the largest part of a run's predicted time. Nothing for an incomplete plan.
  void account(const Plan& plan) const;
  /// Reports an error and returns its exit code; with --json as the document {cleave, diagnostics}.
  [[nodiscard]] int fail(const Error& error) const;
  /// The same for a graph or plan with errors.
  [[nodiscard]] int fail(const Diagnostics& diagnostics) const;

 private:
  [[nodiscard]] bool sarif() const { return options_.diagnostics_format == "sarif" && !options_.json; }

  const Options& options_;
  bool color_;
  mutable StatementOf statement_of_;
  mutable std::vector<Fix> fixes_for_sarif_;
  mutable std::optional<Diagnostics> for_sarif_;  ///< set once anything was reported
};

/// Checks that every file named by the options can be written; else returns an Error for the first that cannot, with the reason.
Status check_output_files(const Options& options);
/// The options of the model reader, from the command line.
ModelOptions model_options(const Options& options);
/// Traces the model or reads the `.graph` file; mistakes are in the graph's diagnostics.
Graph load_graph(const Options& options);
/// The setup of compile() for the command line's flags. An Error if the device, machine or profile is not available, or if a flag does not
/// apply to the device.
Result<Wiring> wire(const Options& options);
/// Loads the graph, reads the values given for its inputs, and plans. On failure, reports it, returns nothing and sets `code`. The returned
/// plan may have errors.
std::optional<Plan> load_and_plan(const Options& options, const Console& console, int& code);
/// The same from the text of a YAML model.
Graph load_text(std::string_view text, const Options& options);
/// The settings of a plan file for the command line's flags.
Result<PlanSettings> plan_settings(const Options& options);
/// Reads the plan file that the command line names in place of a model. An Error (usage) for flags that only planning knows. `accounts` and
/// `checks_data` are those of LoadOptions.
Result<SavedPlan> read_plan(const Options& options, bool accounts, bool checks_data = false);
/// Plans the graph, and shows passes and times if requested. The plan includes fixes for a YAML model, whose text is `text`; null: the
/// file's current text.
Result<Plan> make_plan(const Graph& graph, const Options& options, const std::string* text = nullptr);

int run_command(const Options& options);
int compile_command(const Options& options);
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
