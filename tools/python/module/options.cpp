#include "tools/python/module/options.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <functional>

#include "graph/base/spelling.h"
#include "graph/base/units.h"
#include "tools/python/module/errors.h"

namespace cleave::python {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  raise(Error{message, {}, ErrorKind::usage});
}

Policy policy_named(const std::string& name) {
  if (const std::optional<Policy> policy = parse_policy(name)) return *policy;
  std::vector<std::string> names;
  for (const Policy policy : policies()) names.emplace_back(to_string(policy));
  refuse("no placement `" + name + "`" + did_you_mean_or_has(name, names));
}

Precision precision_named(const std::string& name) {
  if (name == "f32") return Precision::f32;
  if (name == "tf32") return Precision::tf32;
  if (name == "bf16") return Precision::bf16;
  refuse("no precision `" + name + "`: f32, tf32 or bf16");
}

/// A number of bytes, or a text as `8GiB`.
double memory_bytes(nb::handle value) {
  if (nb::isinstance<nb::str>(value)) {
    const Result<double> parsed = parse_bytes(nb::cast<std::string>(value));
    if (!parsed) refuse("`accelerator_memory`: " + parsed.error().message);
    return *parsed;
  }
  const auto bytes = nb::cast<double>(value);
  if (!(bytes > 0)) refuse("`accelerator_memory` is a positive number of bytes");
  return bytes;
}

}  // namespace

CompileOptions compile_options(nb::handle dict) {
  CompileOptions options;
  for (auto [key, value] : nb::cast<nb::dict>(dict)) {
    const auto name = nb::cast<std::string>(key);
    if (name == "device") {
      options.device = nb::cast<std::string>(value);
    } else if (name == "placement") {
      options.placement = policy_named(nb::cast<std::string>(value));
    } else if (name == "machine") {
      options.machine = nb::cast<std::string>(value);
    } else if (name == "threads") {
      options.executor.threads = nb::cast<int>(value);
      if (options.executor.threads < 0) refuse("`threads` is the number of threads, or 0 for all cores");
    } else if (name == "workers") {
      options.executor.workers = nb::cast<int>(value);
      if (options.executor.workers < 0) refuse("`workers` is the number of threads that work beside the program's steps, at least 0");
    } else if (name == "accelerator_memory") {
      options.accelerator_memory_bytes = memory_bytes(value);
    } else if (name == "keep") {
      const auto keep = nb::cast<std::string>(value);
      if (keep != "auto" && keep != "all") refuse("no keep `" + keep + "`: auto or all");
      options.keep = keep == "all" ? CompileOptions::Keep::all : CompileOptions::Keep::automatic;
    } else if (name == "precision") {
      options.executor.precision = precision_named(nb::cast<std::string>(value));
    } else if (name == "save") {
      options.save.path = nb::cast<std::string>(value);
    } else if (name == "save_every") {
      options.save.every = nb::cast<std::int64_t>(value);
      if (options.save.every < 1) refuse("`save_every` is the number of trips after which the states are saved, at least 1");
    } else if (name == "continues") {
      options.save.continues = nb::cast<bool>(value);
    } else if (name == "warn") {
      for (const auto& flag : nb::cast<std::vector<std::string>>(value))
        if (!options.diagnostics.parse("W" + flag)) refuse("no flag -W" + flag);
    } else {
      refuse("no option `" + name + "`");
    }
  }
  if (options.save.path.empty() != (options.save.every == 0)) refuse("`save` and `save_every` belong together: the states are saved there");
  return options;
}

LoadOptions load_options(nb::handle dict) {
  for (auto [key, value] : nb::cast<nb::dict>(dict)) {
    const auto name = nb::cast<std::string>(key);
    if (name != "device" && name != "machine" && name != "threads" && name != "warn") refuse("`" + name + "`: the plan has this already");
  }
  const CompileOptions given = compile_options(dict);
  LoadOptions options;
  if (given.device != "auto") options.device = given.device;
  options.machine = given.machine;
  options.executor = given.executor;
  options.diagnostics = given.diagnostics;
  return options;
}

}  // namespace cleave::python
