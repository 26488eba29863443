#include "tools/cli/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "graph/base/version.h"

namespace cleave::cli {
namespace {

std::vector<std::string> policy_names() {
  std::vector<std::string> names;
  for (const Policy policy : policies()) names.emplace_back(to_string(policy));
  return names;
}

/// `NAME=VALUE`; the name is not empty.
std::pair<std::string, std::string> split_assignment(const std::string& text, const char* flag) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) throw CLI::ValidationError(flag, "expected NAME=VALUE, not `" + text + "`");
  return {text.substr(0, equals), text.substr(equals + 1)};
}

void add_diagnostic_flags(CLI::App& app, Options& options) {
  const auto flag = [&options](const char* letter) {
    return [&options, letter](const std::vector<std::string>& values) {
      for (const std::string& value : values)
        if (!options.diagnostics.parse(letter + value))
          throw CLI::ValidationError("-" + (letter + value), "there is no such diagnostic flag");
      return true;
    };
  };
  app.add_option("-W", CLI::callback_t(flag("W")), "kind, no-kind, error, error=kind, all, extra")
      ->type_name("FLAG")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  app.add_option("-R", CLI::callback_t(flag("R")), "remarks: round-trip")->type_name("FLAG")->expected(1)->allow_extra_args(false);
  app.add_flag_callback(
      "-w", [&options] { options.diagnostics.no_warnings = true; }, "no warnings");
  app.add_option("--diagnostics", options.diagnostics_format, "text or sarif (SARIF 2.1.0)")
      ->check(CLI::IsMember({"text", "sarif"}).description(""))
      ->type_name("FORM");
}

void add_output_flags(CLI::App& app, Options& options) {
  app.add_flag("--json", options.json, "one JSON document on standard output");
  app.add_flag("--quiet", options.quiet, "no summary and no warnings");
  app.add_option("--color", options.color, "auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}).description(""))
      ->type_name("WHEN");
}

void add_plan_flags(CLI::App& app, Options& options) {
  app.add_option("model", options.model, "a model (.yaml) or graph (.graph)")->required()->type_name("MODEL");
  app.add_option("--device", options.device, "auto, none, simulated, cuda[:N]")->type_name("DEVICE");
  app.add_option_function<std::string>(
         "--placement", [&options](const std::string& name) { options.placement = parse_policy(name).value_or(Policy::optimal); },
         "optimal, makespan, accelerator, host")
      ->check(CLI::IsMember(policy_names()).description(""))
      ->type_name("POLICY");
  const auto passes = [&app](const char* flag, std::vector<std::string>& names, const char* help) {
    app.add_option(flag, names, help)
        ->type_name("PASS")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->allow_extra_args(false);
  };
  passes("--disable-pass", options.disabled_passes, "leave a pass over the graph out: fold-constants, merge-equal, drop-dead");
  passes("--print-after", options.print_after, "the graph after that pass, on standard error");
  app.add_flag("--time-passes", options.time_passes, "how long passes and planning took, on standard error");
  app.add_option("--machine", options.machine, "machine file, or simulated, h200")->type_name("FILE|NAME");
  app.add_option_function<std::vector<std::string>>(
         "--dim",
         [&options](const std::vector<std::string>& items) {
           for (const std::string& item : items) {
             const auto [name, value] = split_assignment(item, "--dim");
             std::int64_t number = 0;
             if (!CLI::detail::lexical_cast(value, number)) throw CLI::ValidationError("--dim", "`" + value + "` is no whole number");
             options.dims[name] = number;
           }
         },
         "size of a symbolic dimension")
      ->type_name("NAME=N")
      ->allow_extra_args(false);
  app.add_option("--seed", options.seed, "added to every seed of the model")->type_name("N");
  app.add_option("--use-profile", options.use_profile, "observed trip counts and times")->type_name("FILE");
}

void add_assignments(CLI::App& app, const char* flag, std::vector<std::pair<std::string, std::string>>& target, const char* description,
                     const char* type) {
  app.add_option_function<std::vector<std::string>>(
         flag,
         [&target, flag](const std::vector<std::string>& items) {
           for (const std::string& item : items) target.push_back(split_assignment(item, flag));
         },
         description)
      ->type_name(type)
      ->allow_extra_args(false);
}

void add_precision_flag(CLI::App& app, Options& options) {
  app.add_option("--precision", options.precision, "of matrix products: f32, tf32, bf16")
      ->check(CLI::IsMember({"f32", "tf32", "bf16"}).description(""))
      ->type_name("TYPE");
}

void add_run_flags(CLI::App& app, Options& options) {
  add_assignments(app, "--input", options.inputs, ".npy, .csv or JSON value of an input", "NAME=VALUE");
  add_assignments(app, "--param", options.inputs, "the same for a parameter", "NAME=VALUE");
  add_assignments(app, "--output", options.outputs, "write an output as .npy", "NAME=FILE");
  app.add_option("--runs", options.runs, "run N times")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}).description(""))
      ->type_name("N");
  app.add_option("--time-limit", options.time_limit, "end all runs together after so many seconds")
      ->check(CLI::PositiveNumber.description(""))
      ->type_name("SECONDS");
  app.add_flag("--verify", options.verify, "check every node against the oracle");
  app.add_option("--trace", options.trace, "timeline for Perfetto or chrome://tracing")->type_name("FILE");
  app.add_option_function<std::string>(
         "--profile",
         [&options](const std::string& file) {
           options.profile = true;
           options.profile_file = file == "-" ? "" : file;
         },
         "print, or write, observed counts and times")
      ->type_name("[FILE]");
  add_precision_flag(app, options);
  app.add_flag("--check-memory", options.check_memory, "simulated: find reads of unwritten bytes");
  app.add_option("--schedule", options.schedule, "simulated: eager, latest, random[:SEED]")->type_name("ORDER");
  app.add_option("--inject", options.inject, "simulated: a fault, such as kernel:3")->type_name("FAULT");
}

/// `--profile` takes a file only if one follows: `run --profile model.yaml` must not take the model for it.
std::vector<std::string> preprocess(int argc, const char* const* argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  const auto ends_with = [](const std::string& word, const char* end) { return word.ends_with(end); };
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] != "--profile") continue;
    const bool file = i + 1 < words.size() && !words[i + 1].starts_with("-") && !ends_with(words[i + 1], ".yaml") &&
                      !ends_with(words[i + 1], ".yml") && !ends_with(words[i + 1], ".graph");
    if (!file) words.insert(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, "-");
    words[i] = "--profile=" + words[i + 1];
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
  std::reverse(words.begin(), words.end());  // CLI11 takes its vector back to front
  return words;
}

void add_commands(CLI::App& app, Options& options) {
  const auto command = [&](const char* name, Command value, const char* description, const char* example) {
    CLI::App* sub = app.add_subcommand(name, description);
    sub->callback([&options, value] { options.command = value; });
    sub->footer(std::string("Example: ") + example);
    return sub;
  };
  CLI::App* run = command("run", Command::run, "Compiles and runs a model; prints its outputs.",
                          "cleave run models/linear_regression.yaml --dim batch=64 --output w=w.npy");
  add_plan_flags(*run, options);
  add_run_flags(*run, options);
  CLI::App* explain = command("explain", Command::explain, "Prints the plan: nodes, transfers, round trips, costs, causes. Runs nothing.",
                              "cleave explain models/kmeans.yaml --machine h200");
  add_plan_flags(*explain, options);
  CLI::App* check = command("check", Command::check, "Diagnostics and limits only, for continuous integration. Runs nothing.",
                            "cleave check model.yaml -Werror=round-trip --json");
  add_plan_flags(*check, options);
  CLI::App* dot =
      command("dot", Command::dot, "Draws the partition with Graphviz. Runs nothing.", "cleave dot models/kmeans.yaml -o kmeans.svg");
  add_plan_flags(*dot, options);
  dot->add_option("-o", options.output_file, ".svg, .png, .pdf or .dot; default: dot source to standard output")->type_name("FILE");
  CLI::App* print =
      command("print", Command::print, "Prints the program at a stage of compilation.", "cleave print model.yaml --stage partitioned");
  add_plan_flags(*print, options);
  print->add_option("--stage", options.stage, "traced, simplified, placed or partitioned")
      ->check(CLI::IsMember({"traced", "simplified", "placed", "partitioned"}).description(""))
      ->type_name("STAGE");
  CLI::App* plan = command("plan", Command::plan, "Solves a bare placement problem; writes the placement as JSON.",
                           "cleave plan workload.json --format device-placement --accelerator-memory 50%");
  plan->add_option("problem", options.model, "a problem file (.json)")->required()->type_name("PROBLEM");
  plan->add_option("--format", options.format, "cleave or device-placement")
      ->check(CLI::IsMember({"cleave", "device-placement"}).description(""))
      ->type_name("FORM");
  plan->add_option("--solver", options.solver, "flat (our own) or boost; both give the same plan")
      ->check(CLI::IsMember({"flat", "boost"}).description(""))
      ->type_name("SOLVER");
  plan->add_option("--accelerator-memory", options.accelerator_memory, "capacity: BYTES, or PERCENT of the nodes' total")
      ->type_name("SIZE");
  CLI::App* devices =
      command("devices", Command::devices, "Lists what can run a program here, and why something can not.", "cleave devices --json");
  CLI::App* calibrate = command("calibrate", Command::calibrate, "Measures this machine and writes its machine file.",
                                "cleave calibrate --device cuda -o machine.yaml");
  calibrate->add_option("-o", options.output_file, "default: where `run` looks for it")->type_name("FILE");
  calibrate->add_option("--device", options.device, "auto, none, simulated, cuda[:N]")->type_name("DEVICE");
  calibrate->add_option("--seconds", options.seconds, "spent on each point of a table")
      ->check(CLI::Range(0.0, 60.0).description(""))
      ->type_name("S");
  add_precision_flag(*calibrate, options);
  for (CLI::App* sub : {run, explain, check, dot, print}) add_diagnostic_flags(*sub, options);
  for (CLI::App* sub : {run, explain, check, dot, print, plan, devices, calibrate}) add_output_flags(*sub, options);
}

}  // namespace

std::optional<Exit> parse(int argc, const char* const* argv, Options& options) {
  CLI::App app{"cleave places a whole dataflow graph on host and accelerator by an exact minimum cut, and runs it.", "cleave"};
  app.set_version_flag("--version", std::string("cleave ") + kVersion);
  app.set_help_flag("-h,--help", "this help");
  app.require_subcommand(1);
  app.footer(
      "Example: cleave run models/kmeans.yaml\n`cleave COMMAND --help` says more. Exit codes: 0 done, 1 an error in the program or data,\n"
      "2 wrong usage, 3 the machine failed.");
  app.get_formatter()->column_width(36);
  add_commands(app, options);
  try {
    app.parse(preprocess(argc, argv));
  } catch (const CLI::ParseError& error) {
    const bool fine = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success);
    if (!fine) return Exit{2, std::string("cleave: ") + error.what() + "\nRun with --help for more.\n"};
    std::ostringstream out, ignored;
    app.exit(error, out, ignored);
    return Exit{0, out.str()};
  }
  return std::nullopt;
}

}  // namespace cleave::cli
