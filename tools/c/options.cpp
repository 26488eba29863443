#include "tools/c/options.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "graph/base/spelling.h"
#include "graph/base/units.h"
#include "tools/c/guard.h"

namespace cleave::c {
namespace {

Error wrong(std::string_view name, std::string_view value, const std::string& expected) {
  return {"option `" + std::string(name) + "`: expected " + expected + ", not `" + std::string(value) + "`", {}, ErrorKind::usage};
}

template <class Number>
Status read_number(std::string_view name, std::string_view text, Number least, Number most, Number& to) {
  Number number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || end != text.data() + text.size() || number < least || number > most)
    return wrong(name, text, "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  to = number;
  return {};
}

/// One of the names of a choice.
template <class Choice>
Status read_choice(std::string_view name, std::string_view text, std::initializer_list<std::pair<const char*, Choice>> choices,
                   Choice& to) {
  std::string expected;
  for (const auto& [choice, value] : choices) {
    if (text == choice) return to = value, Status();
    expected += (expected.empty() ? "" : ", ") + std::string(choice);
  }
  return wrong(name, text, expected);
}

/// The part in front of the first `=`, and the part behind it.
Result<std::pair<std::string, std::string_view>> split(std::string_view name, std::string_view value) {
  const std::size_t equals = value.find('=');
  if (equals == std::string_view::npos || equals == 0) return wrong(name, value, "NAME=VALUE");
  return std::pair(std::string(value.substr(0, equals)), value.substr(equals + 1));
}

Status read_extents(std::string_view text, std::vector<std::optional<std::int64_t>>& to) {
  for (std::size_t begin = 0; !text.empty() && begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view extent = text.substr(begin, end - begin);
    std::int64_t number = 0;
    if (extent != "?")
      if (Status read = read_number<std::int64_t>("shape", extent, 0, std::numeric_limits<std::int64_t>::max(), number); !read) return read;
    to.push_back(extent == "?" ? std::nullopt : std::optional(number));
    begin = end + 1;
  }
  return {};
}

using Setter = Status (*)(cleave_options& options, std::string_view name, std::string_view value);

Status set_device(cleave_options& options, std::string_view, std::string_view value) {
  options.compile.device = value;
  return {};
}
Status set_machine(cleave_options& options, std::string_view, std::string_view value) {
  options.compile.machine = value;
  return {};
}
Status set_placement(cleave_options& options, std::string_view name, std::string_view value) {
  const std::optional<Policy> policy = parse_policy(value);
  if (!policy) return wrong(name, value, "optimal, fastest, accelerator, host");
  options.compile.placement = *policy;
  return {};
}
Status set_memory(cleave_options& options, std::string_view name, std::string_view value) {
  const Result<double> bytes = parse_bytes(value);
  if (!bytes) return wrong(name, value, "a number of bytes, as in 8GiB");
  options.compile.accelerator_memory_bytes = *bytes;
  return {};
}
Status set_keep(cleave_options& options, std::string_view name, std::string_view value) {
  using Keep = CompileOptions::Keep;
  return read_choice<Keep>(name, value, {{"auto", Keep::automatic}, {"all", Keep::all}}, options.compile.keep);
}
Status set_precision(cleave_options& options, std::string_view name, std::string_view value) {
  return read_choice<Precision>(name, value, {{"f32", Precision::f32}, {"tf32", Precision::tf32}, {"bf16", Precision::bf16}},
                                options.compile.executor.precision);
}
Status set_threads(cleave_options& options, std::string_view name, std::string_view value) {
  return read_number(name, value, 0, 65536, options.compile.executor.threads);
}
Status set_workers(cleave_options& options, std::string_view name, std::string_view value) {
  return read_number(name, value, 0, 65536, options.compile.executor.workers);
}
Status set_runs_at_once(cleave_options& options, std::string_view name, std::string_view value) {
  return read_number(name, value, 1, 65536, options.compile.runs_at_once);
}
Status set_dim(cleave_options& options, std::string_view name, std::string_view value) {
  const auto parts = split(name, value);
  if (!parts) return parts.error();
  return read_number<std::int64_t>(name, parts->second, 0, std::numeric_limits<std::int64_t>::max(), options.model.dims[parts->first]);
}
Status set_shape(cleave_options& options, std::string_view name, std::string_view value) {
  const auto parts = split(name, value);
  if (!parts) return parts.error();
  std::vector<std::optional<std::int64_t>> extents;
  if (Status read = read_extents(parts->second, extents); !read) return read;
  options.model.shapes[parts->first] = std::move(extents);
  return {};
}
Status set_constant(cleave_options& options, std::string_view name, std::string_view value) {
  const auto parts = split(name, value);
  if (!parts) return parts.error();
  options.model.constants.insert_or_assign(parts->first, std::string(parts->second));
  return {};
}
Status set_bound(cleave_options& options, std::string_view name, std::string_view value) {
  const auto parts = split(name, value);
  if (!parts) return parts.error();
  return read_number<std::int64_t>(name, parts->second, 0, std::numeric_limits<std::int64_t>::max(), options.model.bounds[parts->first]);
}
Status add_parameters(cleave_options& options, std::string_view, std::string_view value) {
  options.model.parameters.emplace_back(value);
  return {};
}

constexpr std::pair<std::string_view, Setter> kOptions[] = {
    {"accelerator-memory", set_memory},
    {"bound", set_bound},
    {"constant", set_constant},
    {"device", set_device},
    {"dim", set_dim},
    {"keep", set_keep},
    {"machine", set_machine},
    {"parameters", add_parameters},
    {"placement", set_placement},
    {"precision", set_precision},
    {"runs-at-once", set_runs_at_once},
    {"shape", set_shape},
    {"threads", set_threads},
    {"workers", set_workers},
};

}  // namespace

Status set(cleave_options& options, std::string_view name, std::string_view value) {
  const auto known = [&](const auto& option) { return option.first == name; };
  const auto found = std::find_if(std::begin(kOptions), std::end(kOptions), known);
  if (found != std::end(kOptions)) {
    cleave_options changed = options;  // a wrong value changes nothing
    Status status = found->second(changed, name, value);
    const bool of_load = name == "device" || name == "machine" || name == "threads" || name == "runs-at-once";
    if (!of_load && changed.planning.empty()) changed.planning = name;
    if (status) options = std::move(changed);
    return status;
  }
  std::vector<std::string> names;
  for (const auto& option : kOptions) names.emplace_back(option.first);
  return Error{"there is no option `" + std::string(name) + "`" + did_you_mean(name, names), {}, ErrorKind::usage};
}

}  // namespace cleave::c

cleave_options* cleave_options_new(void) {
  return new (std::nothrow) cleave_options();
}

cleave_status cleave_options_set(cleave_options* options, const char* name, const char* value) {
  return cleave::c::guarded([&]() -> cleave::Status {
    if (cleave::Status there = cleave::c::need(options, "options"); !there) return there;
    if (cleave::Status there = cleave::c::need(name, "name"); !there) return there;
    if (cleave::Status there = cleave::c::need(value, "value"); !there) return there;
    return cleave::c::set(*options, name, value);
  });
}

void cleave_options_free(cleave_options* options) {
  delete options;
}
