#include "tools/cli/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <limits>

#include "graph/base/spelling.h"
#include "graph/base/units.h"
#include "graph/base/version.h"
#include "graph/passes/pass_table.h"
#include "partitioner/compile.h"
#include "tools/cli/commit.h"
#include "tools/cli/manual.h"
#include "tools/cli/words.h"

namespace cleave::cli {
namespace {

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min(), kMost = std::numeric_limits<std::int64_t>::max();
constexpr const char* kDescription = "cleave places a whole dataflow graph on host and accelerator by an exact minimum cut, and runs it.";
constexpr const char* kExitCodes = "Exit codes: 0 done, 1 an error in the program or data, 2 wrong usage, 3 the machine failed.";

std::vector<std::string> policy_names() {
  std::vector<std::string> names;
  for (const Policy policy : policies()) names.emplace_back(to_string(policy));
  return names;
}

/// Splits `NAME=VALUE`; the name must not be empty.
std::pair<std::string, std::string> split_assignment(const std::string& text, const char* flag) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) throw CLI::ValidationError(flag, "expected NAME=VALUE, not `" + text + "`");
  return {text.substr(0, equals), text.substr(equals + 1)};
}

std::int64_t whole_number(const std::string& text, const char* flag, std::int64_t least, std::int64_t most) {
  std::int64_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = code != std::errc::invalid_argument && end == text.data() + text.size();
  if (!whole) throw CLI::ValidationError(flag, "`" + text + "` is no whole number");
  if (code == std::errc() && number >= least && number <= most) return number;
  throw CLI::ValidationError(flag, "`" + text + "` is not between " + std::to_string(least) + " and " + std::to_string(most));
}

/// Parses a positive number of bytes, as in `16GiB`.
double bytes(const std::string& text, const char* flag) {
  const Result<double> parsed = parse_bytes(text);
  if (!parsed) throw CLI::ValidationError(flag, parsed.error().message);
  return *parsed;
}

/// LIBRARY:SYMBOL, and behind another colon the types of the results.
OperatorFunction host_function(const std::string& text) {
  const CLI::ValidationError wrong("--host-function", "`" + text + "` is neither LIBRARY:SYMBOL nor LIBRARY:SYMBOL:TYPE,TYPE");
  std::string rest = text;
  const auto take_last = [&] {
    const std::size_t colon = rest.rfind(':');
    if (colon == std::string::npos || colon == 0 || colon + 1 == rest.size()) throw wrong;
    std::string last = rest.substr(colon + 1);
    rest.resize(colon);
    return last;
  };
  std::vector<std::string> types;
  std::string last = take_last();
  if (last.find('[') != std::string::npos) {
    for (std::size_t from = 0, close = last.find(']'); from < last.size(); from = close + 2, close = last.find(']', from)) {
      if (close == std::string::npos || (close + 1 < last.size() && last[close + 1] != ',')) throw wrong;
      types.push_back(last.substr(from, close + 1 - from));
      if (close + 1 == last.size()) break;
    }
    last = take_last();
  }
  return library_operator(rest, last, std::move(types));
}

/// Parses extents separated by commas, with `?` for open ones, as in `1,3,?`; an empty text is a scalar.
std::vector<std::optional<std::int64_t>> extents(const std::string& text) {
  std::vector<std::optional<std::int64_t>> found;
  for (std::size_t begin = 0; !text.empty() && begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string extent = text.substr(begin, end - begin);
    found.push_back(extent == "?" ? std::nullopt
                                  : std::optional(whole_number(extent, "--shape", 0, std::numeric_limits<std::int64_t>::max())));
    begin = end + 1;
  }
  return found;
}

std::string listed(const std::vector<std::string>& words, const char* last = " or ") {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : &word == &words.back() ? last : ", ") + word;
  return text;
}

/// The error message if `text` is none of the words; else an empty text.
std::string refuse_other_words(const std::vector<std::string>& words, const std::string& text) {
  if (std::find(words.begin(), words.end(), text) != words.end()) return "";
  const std::string near = did_you_mean(text, words);
  return "`" + text + "` is " + (words.size() == 2 ? "neither " + words[0] + " nor " + words[1] : "none of " + listed(words, " and ")) +
         near;
}

/// "cleave 0.2.0 (commit 0123456789)".
std::string version() {
  const std::string text = std::string("cleave ") + kVersion;
  return commit().empty() ? text : text + " (commit " + std::string(commit()) + ")";
}

/// Leaves out the flags that a flag needs, which its description names, so that most rows of a help text are one line.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    std::string text = CLI::Formatter::make_option_opts(option);
    const std::size_t needs = text.find(" Needs:"), excludes = text.find(" Excludes:");
    if (needs != std::string::npos) text.erase(needs, excludes == std::string::npos ? excludes : excludes - needs);
    return text;
  }
};

/// Defines all commands and flags, each once: CLI11 parses them, and a Manual is made from them.
class Definitions {
 public:
  explicit Definitions(Options& options) : options_(options) {
    app.set_version_flag("--version", version());
    app.set_help_flag("-h,--help", "this help");
    app.require_subcommand(1);
    app.footer(std::string("Example: cleave run models/kmeans.yaml\n`cleave help COMMAND` says more.\n") + kExitCodes);
    app.formatter(std::make_shared<HelpFormatter>());
    app.get_formatter()->column_width(36);
    add_commands();
  }

  [[nodiscard]] Manual manual() const;

  CLI::App app{kDescription, "cleave"};

 private:
  /// Facts for completions that CLI11 does not store.
  struct Hint {
    std::vector<std::string> choices;
    bool file = false, attached = false;
  };

  CLI::Option* hint(CLI::Option* option, Hint hint) {
    hints_[option] = std::move(hint);
    return option;
  }
  CLI::Option* add_file(CLI::App& sub, const char* flag, std::string& target, const char* description, const char* type = "FILE") {
    return hint(sub.add_option(flag, target, description)->type_name(type), {{}, true});
  }
  /// Adds a flag whose value is one of `words`.
  void add_choice(CLI::App& sub, const char* flag, std::string& target, std::vector<std::string> words, std::string description,
                  const char* type) {
    sub.add_option(flag, target, description.empty() ? listed(words) : description + ": " + listed(words))
        ->check(one_of(words))
        ->type_name(type);
    hint(sub.get_option(flag), {std::move(words)});
  }
  static CLI::Validator one_of(const std::vector<std::string>& words) {
    return {[words](const std::string& text) { return refuse_other_words(words, text); }, ""};
  }
  /// Flags added to `sub` from here on are listed under this heading in its help.
  static void begin_group(CLI::App& sub, const char* heading) { sub.option_defaults()->group(heading); }
  void add_number(CLI::App& sub, const char* flag, std::int64_t& target, std::int64_t least, std::int64_t most, const char* description) {
    sub.add_option_function<std::string>(
           flag, [&target, flag, least, most](const std::string& text) { target = whole_number(text, flag, least, most); }, description)
        ->type_name("N");
  }
  void add_bytes(CLI::App& sub, const char* flag, double& target, const char* description) {
    sub.add_option_function<std::string>(
           flag, [&target, flag](const std::string& text) { target = bytes(text, flag); }, description)
        ->type_name("BYTES");
  }
  void add_seconds(CLI::App& sub, const char* flag, std::optional<double>& target, const char* description) {
    const auto positive = [](const std::string& text) {
      double seconds = 0;
      const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), seconds);
      const bool number = code == std::errc() && end == text.data() + text.size();
      return number && seconds > 0 ? "" : "`" + text + "` is no positive number of seconds";
    };
    sub.add_option(flag, target, description)->check(CLI::Validator(positive, ""))->type_name("SECONDS");
  }
  /// Adds an option that may be given several times, each time as NAME=VALUE.
  template <class Take>
  void add_each(CLI::App& sub, const char* flag, const char* type, const char* description, const Take& take) {
    sub.add_option_function<std::vector<std::string>>(
           flag,
           [flag, take](const std::vector<std::string>& items) {
             for (const std::string& item : items) {
               const auto [name, value] = split_assignment(item, flag);
               take(name, value);
             }
           },
           description)
        ->type_name(type)
        ->allow_extra_args(false);
  }
  void add_assignments(CLI::App& sub, const char* flag, std::vector<std::pair<std::string, std::string>>& target, const char* description,
                       const char* type) {
    add_each(sub, flag, type, description,
             [&target](const std::string& name, const std::string& value) { target.emplace_back(name, value); });
  }

  /// A flag with the names of all passes, and of those steps of planning that have the property.
  void add_passes(CLI::App& sub, const char* flag, std::vector<std::string>& names, const std::string& description,
                  bool planner::PlanStep::*property) {
    std::vector<std::string> known;
    for (const Pass& pass : pass_table()) known.emplace_back(pass.name);
    for (const planner::PlanStep& step : planner::plan_steps())
      if (step.*property) known.emplace_back(step.name);
    sub.add_option(flag, names, description + ": " + listed(known))
        ->type_name("PASS")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->allow_extra_args(false);
    hint(sub.get_option(flag), {std::move(known)});
  }

  void add_diagnostic_flags(CLI::App& sub);
  void add_output_flags(CLI::App& sub);
  void add_device_flags(CLI::App& sub);
  void add_model_flags(CLI::App& sub);
  void add_plan_flags(CLI::App& sub);
  void add_debugging_flags(CLI::App& sub);
  void add_onnx_flags(CLI::App& sub);
  void add_row_flags(CLI::App& sub);
  void add_run_flags(CLI::App& sub);
  void add_simulation_flags(CLI::App& sub);
  void add_check_flags(CLI::App& sub);
  void add_questions(CLI::App& sub);
  void add_commands();
  void add_plain_commands();
  CLI::App* command(const char* name, Command value, const char* description, const char* example);
  [[nodiscard]] FlagInfo flag_info(const CLI::Option& option) const;
  [[nodiscard]] std::vector<FlagInfo> flags_of(const CLI::App& sub) const;

  Options& options_;
  std::map<const CLI::Option*, Hint> hints_;
};

/// The words that may follow `-W` or `-R`.
std::vector<std::string> diagnostic_words(std::string_view letter) {
  if (letter == "R") return {"round-trip", "no-round-trip"};
  std::vector<std::string> words{"all", "extra", "error", "no-error"};
  for (const DiagnosticKindInfo& kind : diagnostic_kinds()) {
    if (kind.always_error) continue;
    for (const char* prefix : {"", "no-", "error=", "no-error="}) words.push_back(prefix + std::string(kind.name));
  }
  return words;
}

/// The error message for an unknown flag such as `-Wround-trp` or `-Wno-shape`.
std::string no_such_flag(const std::string& letter, std::string_view word) {
  const std::optional<std::string> near = nearest_name(word, diagnostic_words(letter));
  const std::optional<DiagnosticKind> kind = parse_diagnostic_kind(word.substr(word.find('=') + 1));
  const std::optional<DiagnosticKind> silenced = word.starts_with("no-") ? parse_diagnostic_kind(word.substr(3)) : std::nullopt;
  for (const auto& named : {kind, silenced})
    if (named && info(*named).always_error) return "`" + std::string(info(*named).name) + "` is always an error, and no flag changes that";
  return "there is no such diagnostic flag" + (near ? "; did you mean `-" + letter + *near + "`?" : "");
}

void Definitions::add_diagnostic_flags(CLI::App& sub) {
  begin_group(sub, "Diagnostics");
  const auto flag = [this](const char* letter) {
    return [this, letter](const std::vector<std::string>& values) {
      for (const std::string& value : values)
        if (!options_.diagnostics.parse(letter + value)) throw CLI::ValidationError("-" + (letter + value), no_such_flag(letter, value));
      return true;
    };
  };
  hint(sub.add_option("-W", CLI::callback_t(flag("W")), "kind, no-kind, error, error=kind, all, extra")
           ->type_name("FLAG")
           ->expected(1)
           ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
           ->allow_extra_args(false),
       {diagnostic_words("W"), false, true});
  hint(sub.add_option("-R", CLI::callback_t(flag("R")), "remarks: round-trip")->type_name("FLAG")->expected(1)->allow_extra_args(false),
       {diagnostic_words("R"), false, true});
  sub.add_flag_callback(
      "-w", [this] { options_.diagnostics.no_warnings = true; }, "no warnings");
  add_choice(sub, "--diagnostics", options_.diagnostics_format, {"text", "sarif"}, "how diagnostics are written", "FORM");
  add_number(sub, "--diagnostic-limit", options_.diagnostic_limit, 0, 1'000'000,
             "warnings written as text, the costliest; 0: all; default: 20");
}

void Definitions::add_output_flags(CLI::App& sub) {
  begin_group(sub, "Output");
  sub.add_flag("--json", options_.json, "one JSON document on standard output");
  sub.add_flag("--quiet", options_.quiet, "no summary and no warnings");
  add_choice(sub, "--color", options_.color, {"auto", "always", "never"}, "", "WHEN");
}

void Definitions::add_device_flags(CLI::App& sub) {
  begin_group(sub, "Device");
  hint(sub.add_option("--device", options_.device, "auto, none (this machine's processor alone), simulated, cuda[:N]")->type_name("DEVICE"),
       {{"auto", "none", "simulated", "cuda", "cuda:0"}});
  add_number(sub, "--threads", options_.threads, 1, 128, "of the host's work; default: the cores it is given");
  add_choice(sub, "--precision", options_.precision, {"f32", "tf32", "bf16"}, "of the accelerator's matrix products of f32", "TYPE");
}

/// Whether a command takes a plan file in place of a model.
bool takes_plans(const CLI::App& sub) {
  return sub.get_name() != "compile" && sub.get_name() != "apply";
}

void Definitions::add_model_flags(CLI::App& sub) {
  hint(sub.add_option("model", options_.model,
                      takes_plans(sub) ? "a model (.yaml, .onnx), graph (.graph) or compiled plan (.plan)"
                                       : "a model (.yaml, .onnx) or graph (.graph)")
           ->type_name("MODEL"),
       {{}, true});
  begin_group(sub, "Model");
  const bool ranges = sub.get_name() == "explain" || sub.get_name() == "check";
  add_each(sub, "--dim", "NAME=N",
           ranges ? "size of a symbolic dimension; 1..32: several, and where the plan changes" : "size of a symbolic dimension",
           [this, ranges](const std::string& name, const std::string& value) {
             const std::size_t dots = ranges ? value.find("..") : std::string::npos;
             if (dots == std::string::npos) {
               options_.dims[name] = whole_number(value, "--dim", kLeast, kMost);
               return;
             }
             if (options_.dim_range) throw CLI::ValidationError("--dim", "one dimension may have several sizes, not two");
             const std::int64_t first = whole_number(value.substr(0, dots), "--dim", 0, kMost);
             options_.dim_range = {name, {first, whole_number(value.substr(dots + 2), "--dim", first, kMost)}};
           });
  add_assignments(sub, "--input", options_.inputs, ".npy, .csv, .txt, .safetensors or JSON value of an input", "NAME=VALUE");
  add_assignments(sub, "--param", options_.inputs, "the same for a parameter", "NAME=VALUE");
  add_assignments(sub, "--state", options_.states, "an input that is that output of the run before and stays on its device", "IN=OUT");
  add_number(sub, "--seed", options_.seed, kLeast, kMost, "added to every seed of the model");
  hint(sub.add_option("--source-root", options_.source_roots, "a folder whose files may be shown as source that an .onnx or .graph names")
           ->type_name("DIR")
           ->check(CLI::ExistingDirectory.description(""))
           ->expected(1)
           ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
           ->allow_extra_args(false),
       {{}, true});
}

void Definitions::add_plan_flags(CLI::App& sub) {
  add_model_flags(sub);
  add_device_flags(sub);
  begin_group(sub, "Plan");
  add_number(sub, "--workers", options_.workers, 0, 128, "threads that make data of loops ahead and call pure host functions; default: 1");
  std::vector<std::string> placements = policy_names();
  placements.emplace_back("onnxruntime");
  hint(sub.add_option_function<std::string>(
              "--placement",
              [this](const std::string& name) {
                options_.onnxruntime = name == "onnxruntime";
                options_.placement = options_.onnxruntime ? Policy::accelerator : parse_policy(name).value_or(Policy::optimal);
              },
              listed(placements))
           ->check(CLI::Validator(
               [placements](const std::string& name) { return parse_policy(name) ? "" : refuse_other_words(placements, name); }, ""))
           ->type_name("POLICY"),
       {placements});
  hint(sub.add_option("--machine", options_.machine, "machine file, or simulated, h200")->type_name("FILE|NAME"), {{}, true});
  add_bytes(sub, "--accelerator-memory", options_.accelerator_memory_bytes,
            "of the accelerator that may be used; default: what the machine has");
  add_choice(sub, "--keep", options_.keep, {"auto", "all"}, "values for which the accelerator's memory is too small", "WHAT");
  add_file(sub, "--use-profile", options_.use_profile, "observed trip counts and times");
  add_onnx_flags(sub);
}

/// Flags for developers of cleave.
void Definitions::add_debugging_flags(CLI::App& sub) {
  begin_group(sub, "Debugging");
  add_passes(sub, "--disable-pass", options_.disabled_passes, "leave a pass over the graph or a step of planning out",
             &planner::PlanStep::optional);
  add_passes(sub, "--print-after", options_.print_after, "what that pass or step made, on standard error", &planner::PlanStep::printable);
  sub.add_flag("--time-passes", options_.time_passes, "how long passes and planning took, on standard error");
}

void Definitions::add_onnx_flags(CLI::App& sub) {
  begin_group(sub, "ONNX");
  add_each(sub, "--shape", "NAME=N,?,N", "shape of an input; ? stays as it is",
           [this](const std::string& name, const std::string& value) { options_.shapes[name] = extents(value); });
  add_each(sub, "--constant", "NAME=VALUE", "an input that is the same in every run: .npy, .csv, .txt, .safetensors or JSON",
           [this](const std::string& name, const std::string& value) { options_.constants[name] = value; });
  add_each(sub, "--bound", "NODE=N", "how large a result can become whose size depends on data",
           [this](const std::string& name, const std::string& value) { options_.bounds[name] = whole_number(value, "--bound", 0, kMost); });
  add_each(sub, "--host-function", "OP=LIB:SYMBOL",
           "a function of a library that computes an operator domain.Op; :TYPE,... behind it: of its results",
           [this](const std::string& name, const std::string& value) { options_.host_functions[name] = host_function(value); });
  hint(sub.add_option("--parameters", options_.parameters, "weights that become parameters: all, a name or pattern")
           ->type_name("PATTERN")
           ->expected(1)
           ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
           ->allow_extra_args(false),
       {{"all"}});
  add_choice(sub, "--accelerator-ops", options_.accelerator_ops, {"cleave", "ort-cuda-1.23", "ort-cuda-1.31"},
             "whose kernels the accelerator has", "KERNELS");
}

void Definitions::add_row_flags(CLI::App& sub) {
  begin_group(sub, "Output");
  add_number(sub, "--top", options_.top, 1, 1'000'000, "rows of each table, the costliest; default: 20");
  sub.get_option("--top")->excludes(sub.add_flag("--all", options_.all, "every row of each table"));
}

void Definitions::add_run_flags(CLI::App& sub) {
  begin_group(sub, "Run");
  add_number(sub, "--runs", options_.runs, 1, 10'000'000, "run N times; how long the shortest, median, longest took");
  add_seconds(sub, "--time-limit", options_.time_limit, "end all runs together after so many seconds");
  sub.add_flag("--verify", options_.verify, "compute every operation twice, the second time the slow and obvious way, and compare");
  hint(sub.add_option("--load", options_.load, "begin with the states saved there, or go on in the run that saved them")->type_name("DIR"),
       {{}, true});
  sub.add_flag("--stop-on-nan", options_.stop_on_nan, "end the run at a logged NaN, and name the operation that made the first one");
  begin_group(sub, "Output");
  add_file(sub, "--log", options_.log, "write the numbers that the program logs, a row for each step", "FILE.csv");
  hint(sub.add_option("--tensorboard", options_.tensorboard, "the same as event files of TensorBoard")->type_name("DIR"), {{}, true});
  sub.add_flag("--progress", options_.progress, "show progress where standard error is no terminal, too");
  hint(sub.add_option("--save", options_.save, "write the states after the last run, as state.safetensors")->type_name("DIR"), {{}, true});
  add_number(sub, "--save-every", options_.save_every, 1, 1'000'000'000, "with --save: after every N trips of the outermost loop, too");
  sub.get_option("--save-every")->needs("--save")->excludes("--runs");
  add_assignments(sub, "--output", options_.outputs, "write an output as .npy, or u8 as .txt", "NAME=FILE");
  add_file(sub, "--trace", options_.trace, "timeline for Perfetto or chrome://tracing");
  hint(sub.add_option_function<std::string>(
              "--profile",
              [this](const std::string& file) {
                options_.profile = true;
                options_.profile_file = file == "-" ? "" : file;
              },
              "print, or write, observed counts and times")
           ->type_name("[FILE]"),
       {{}, true});
}

/// Flags of the simulated accelerator.
void Definitions::add_simulation_flags(CLI::App& sub) {
  begin_group(sub, "Debugging");
  sub.add_flag("--check-memory", options_.check_memory, "simulated: find reads of unwritten bytes");
  hint(sub.add_option("--schedule", options_.schedule, "simulated: eager, latest, random[:SEED]")->type_name("ORDER"),
       {{"eager", "latest", "random"}});
  sub.add_option("--inject", options_.inject, "simulated: a fault, such as kernel:3")->type_name("FAULT");
}

/// Flags that ask one question about the plan instead of printing it; only one may be given.
void Definitions::add_questions(CLI::App& sub) {
  begin_group(sub, "Questions");
  std::vector<CLI::Option*> questions{sub.get_option("--html")};
  questions.push_back(
      sub.add_option("--node", options_.node, "why it is where it is: a name, statement path or LINE[:COL]")->type_name("NODE"));
  const auto kernels = [this](const std::string& text) { options_.advise = whole_number(text, "--advise", 1, 1'000'000); };
  questions.push_back(
      sub.add_option_function<std::string>("--advise", kernels, "what missing accelerator kernels would save; default: 10 of them")
          ->type_name("[N]"));
  questions.push_back(sub.add_flag("--sensitivity", options_.sensitivity, "how far link and accelerator may change until the plan does"));
  questions.push_back(add_file(sub, "--diff", options_.diff, "what differs from this document of `explain --json`"));
  for (CLI::Option* one : questions)
    for (CLI::Option* other : questions)
      if (one < other) one->excludes(other);
}

void Definitions::add_check_flags(CLI::App& sub) {
  begin_group(sub, "Comparison");
  add_file(sub, "--lock", options_.lock, "fail if the plan is not the one locked in this file");
  sub.add_flag("--update-lock", options_.update_lock, "write the file of --lock")->needs("--lock");
  sub.add_flag("--certify", options_.certify, "solve the placement a second time by Boost.Graph, and fail if the costs differ");
  add_file(sub, "--compiled-from", options_.compiled_from, "fail unless the plan file was compiled from this model", "MODEL");
  add_file(sub, "--baseline", options_.baseline, "fail on what this document of `check --json` does not have");
}

CLI::App* Definitions::command(const char* name, Command value, const char* description, const char* example) {
  CLI::App* sub = app.add_subcommand(name, description);
  sub->callback([this, value] { options_.command = value; });
  sub->footer(std::string("Example: ") + example);
  return sub;
}

void Definitions::add_commands() {
  CLI::App* run = command("run", Command::run, "Compiles and runs a model; prints its outputs.",
                          "cleave run models/linear_regression.yaml --dim batch=64 --output w=w.npy");
  CLI::App* compile = command("compile", Command::compile, "Plans a model and writes the plan as a file that `run` takes.",
                              "cleave compile models/kmeans.yaml -o kmeans.plan");
  CLI::App* explain = command("explain", Command::explain, "Prints the plan: nodes, transfers, round trips, costs, causes. Runs nothing.",
                              "cleave explain models/kmeans.yaml --machine h200");
  CLI::App* check = command("check", Command::check, "Diagnostics and limits only, for continuous integration. Runs nothing.",
                            "cleave check model.yaml -Werror=round-trip --json");
  CLI::App* apply = command("apply", Command::apply, "Writes an edit that `check` advises into a YAML model, once it is proven.",
                            "cleave apply model.yaml 3f2a");
  CLI::App* dot = command("dot", Command::dot, "Draws the partition. Runs nothing; .png and .pdf need Graphviz.",
                          "cleave dot models/kmeans.yaml -o kmeans.svg");
  CLI::App* print =
      command("print", Command::print, "Prints the program at a stage of compilation.", "cleave print model.yaml --stage partitioned");
  for (CLI::App* sub : {run, compile, explain, check, dot, print, apply}) add_plan_flags(*sub);
  apply->add_option("id", options_.edit, "the edit's, as `check` prints it: [apply: ID]")->type_name("ID");
  for (CLI::App* sub : {explain, check, dot, print})
    sub->add_option("--assume-host", options_.assume_host, "an operator that is not supported, as a function of the host")
        ->type_name("OP")
        ->allow_extra_args(false);
  add_run_flags(*run);
  for (CLI::App* sub : {compile, explain, dot, print, apply}) begin_group(*sub, "Output");
  add_file(*compile, "-o", options_.output_file, "where the plan goes, with its weights", "FILE.plan");
  add_file(*explain, "--html", options_.html_file, "the plan as a page for a browser: source with costs, picture, tables");
  add_file(*dot, "-o", options_.output_file, ".svg, .png, .pdf or .dot; default: dot source to standard output");
  dot->add_flag("--full", options_.full, "every operation, however many there are");
  add_seconds(*dot, "--layout-limit", options_.layout_limit, "how long Graphviz may take before a coarser layout is tried; default: 30");
  add_choice(*print, "--stage", options_.stage, {"traced", "differentiated", "simplified", "placed", "partitioned"}, "", "STAGE");
  add_file(*print, "-o", options_.output_file, "FILE.graph, with paths relative to it; default: standard output");
  add_file(*apply, "-o", options_.output_file, "where the edited model goes, - for standard output; default: into MODEL");
  for (CLI::App* sub : {run, explain}) add_row_flags(*sub);
  for (CLI::App* sub : {run, compile, explain, check, dot, print, apply}) add_output_flags(*sub);
  add_questions(*explain);
  add_check_flags(*check);
  for (CLI::App* sub : {run, compile, explain, check, dot, print, apply}) {
    add_diagnostic_flags(*sub);
    add_debugging_flags(*sub);
  }
  add_simulation_flags(*run);
  add_plain_commands();
}

/// Adds the commands without a model.
void Definitions::add_plain_commands() {
  CLI::App* plan = command("plan", Command::plan, "Solves a bare placement problem; writes the placement as JSON.",
                           "cleave plan workload.json --format device-placement --accelerator-memory 50%");
  hint(plan->add_option("problem", options_.model, "a problem file (.json)")->type_name("PROBLEM"), {{}, true});
  add_choice(*plan, "--format", options_.format, {"cleave", "device-placement"}, "", "FORM");
  add_choice(*plan, "--solver", options_.solver, {"flat", "boost"}, "both give the same plan", "SOLVER");
  plan->add_option("--accelerator-memory", options_.accelerator_memory, "capacity: BYTES, or PERCENT of the nodes' total")
      ->type_name("SIZE");
  add_choice(*plan, "--objective", options_.objective, {"cost", "latency", "throughput"}, "default cost", "GOAL");
  add_number(*plan, "--accelerators", options_.accelerators, 1, 63, "their number; default: as the problem lists them, or 1");
  plan->add_flag("--contiguous", options_.contiguous, "throughput: one piece of an order of the operations a device");
  CLI::App* devices =
      command("devices", Command::devices, "Lists what can run a program here, and why something can not.", "cleave devices --json");
  CLI::App* calibrate = command("calibrate", Command::calibrate, "Measures this machine and writes its machine file.",
                                "cleave calibrate --device cuda -o machine.yaml");
  add_file(*calibrate, "-o", options_.output_file, "default: where `run` looks for it");
  add_device_flags(*calibrate);
  calibrate->add_option("--seconds", options_.seconds, "spent on each point of a table")
      ->check(CLI::Range(0.0, 60.0).description(""))
      ->type_name("S");
  add_seconds(*calibrate, "--time-limit", options_.time_limit, "of all, after which no table is begun; default: 110");
  calibrate->add_flag("--even-if-busy", options_.even_if_busy, "measure where less than 60 % of a core is to be had");
  for (CLI::App* sub : {plan, devices, calibrate}) add_output_flags(*sub);

  CLI::App* completion = command("completion", Command::completion, "Writes the completions of a shell, or the manual page.",
                                 "cleave completion bash > /etc/bash_completion.d/cleave");
  add_choice(*completion, "shell", options_.shell, {"bash", "zsh", "fish", "man"}, "", "SHELL");
}

// --- conversion to a Manual -------------------------------------------------------------------------------------------------------

FlagInfo Definitions::flag_info(const CLI::Option& option) const {
  FlagInfo flag;
  for (const std::string& name : option.get_snames()) flag.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) flag.names.push_back("--" + name);
  flag.value = option.get_type_size() == 0 ? "" : option.get_type_name();
  flag.description = option.get_description();
  const auto found = hints_.find(&option);
  if (found == hints_.end()) return flag;
  flag.choices = found->second.choices;
  flag.file = found->second.file;
  flag.attached = found->second.attached;
  return flag;
}

std::vector<FlagInfo> Definitions::flags_of(const CLI::App& sub) const {
  std::vector<FlagInfo> flags;
  for (const CLI::Option* option : sub.get_options())
    if (!option->get_positional()) flags.push_back(flag_info(*option));
  return flags;
}

Manual Definitions::manual() const {
  Manual manual;
  manual.description = app.get_description();
  manual.exit_codes = kExitCodes;
  manual.flags = flags_of(app);
  for (const CLI::App* sub : app.get_subcommands(nullptr)) {
    CommandInfo command{sub->get_name(), sub->get_description(), sub->get_footer(), {}, flags_of(*sub)};
    command.example.erase(0, command.example.find("cleave"));
    for (const CLI::Option* option : sub->get_options()) {
      if (!option->get_positional()) continue;
      const FlagInfo operand = flag_info(*option);
      command.operands.push_back({option->get_type_name(), option->get_description(), operand.choices, operand.file});
    }
    manual.commands.push_back(std::move(command));
  }
  return manual;
}

/// Removes the second of two blank lines that CLI11 writes between groups of a help text.
std::string with_single_blank_lines(std::string text) {
  for (std::size_t at = text.find("\n\n\n"); at != std::string::npos; at = text.find("\n\n\n", at)) text.erase(at, 1);
  return text;
}

}  // namespace

Manual manual() {
  Options ignored;
  return Definitions(ignored).manual();
}

std::size_t most_rows(const Options& options) {
  return options.all ? std::numeric_limits<std::size_t>::max() : static_cast<std::size_t>(options.top);
}

std::optional<Exit> parse(int argc, const char* const* argv, Options& options) {
  const auto wrong_usage = [](const std::string& what) { return Exit{2, "error: " + what + "\n"}; };
  Definitions definitions(options);
  const Manual manual = definitions.manual();
  std::vector<std::string> words = with_help_flag({argv + 1, argv + argc});
  words = with_optional_values(std::move(words), manual);
  if (const std::optional<std::string> wrong = usage_mistake(words, manual)) return wrong_usage(*wrong);
  std::reverse(words.begin(), words.end());  // CLI11 parses its vector from back to front
  try {
    definitions.app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    const bool fine = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success);
    if (!fine) return wrong_usage(error.what());
    std::ostringstream out, ignored;
    definitions.app.exit(error, out, ignored);
    return Exit{0, with_single_blank_lines(out.str())};
  }
  return std::nullopt;
}

}  // namespace cleave::cli
