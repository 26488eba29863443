// `cleave apply`: applies one edit that a diagnostic advises to the model. It plans the edited model first, and writes it only if the
// promised improvement is confirmed.
#include <algorithm>
#include <cctype>
#include <iterator>
#include <set>

#include "graph/base/diagnostic_json.h"
#include "graph/base/file.h"
#include "graph/base/output_file.h"
#include "graph/base/units.h"
#include "models/fixes.h"
#include "tools/cli/session.h"
#include "tools/cli/values.h"

namespace cleave::cli {
namespace {

/// The options with all kinds of diagnostics enabled except those that flags disable, since an ID may come from a `check` that enabled any
/// kind.
Options with_all_kinds(Options options) {
  for (const DiagnosticKindInfo& kind : diagnostic_kinds())
    if (!kind.always_error) options.diagnostics.enabled.try_emplace(kind.kind, true);
  options.diagnostics.no_warnings = options.diagnostics.all_as_error = false;
  options.diagnostics.as_error.clear();
  return options;
}

Result<Plan> plan_text(const std::string& text, const Options& options) {
  const Graph graph = load_text(text, options);
  if (graph.ok()) {
    if (const auto inputs = read_inputs(graph, options); !inputs) return inputs.error();
    return make_plan(graph, options, &text);
  }
  Plan failed;
  failed.diagnostics = graph.diagnostics;
  return failed;
}

/// The fixes of a plan without duplicates.
std::vector<Fix> different_fixes(const Plan& plan) {
  std::vector<Fix> fixes;
  std::set<std::string> known;
  for (const Fix& fix : plan.fixes)
    if (known.insert(fix.id).second) fixes.push_back(fix);
  return fixes;
}

std::string listed(const std::vector<Fix>& fixes) {
  constexpr std::size_t kMost = 10;
  std::string text;
  for (std::size_t i = 0; i < std::min(fixes.size(), kMost); ++i)
    text += (i == 0 ? "" : ", ") + ("`" + fixes[i].shown_id() + "` (" + fixes[i].title + ")");
  return text + (fixes.size() > kMost ? " and " + std::to_string(fixes.size() - kMost) + " more" : "");
}

/// Of all fixes, those that `check` shows with the same flags.
std::vector<Fix> shown(const std::vector<Fix>& fixes, const DiagnosticOptions& flags) {
  std::vector<Fix> kept;
  std::copy_if(fixes.begin(), fixes.end(), std::back_inserter(kept),
               [&](const Fix& fix) { return flags.severity_of(fix.said.kind).has_value(); });
  return kept;
}

Result<Fix> find_fix(const std::vector<Fix>& fixes, const Options& options) {
  std::vector<Fix> found;
  for (const Fix& fix : fixes)
    if (!options.edit.empty() && fix.id.starts_with(options.edit)) found.push_back(fix);
  if (found.size() == 1) return found[0];
  const std::string id = "`" + options.edit + "`";
  if (found.size() > 1) return Error{id + " begins the IDs of several edits: " + listed(found), {}, ErrorKind::unknown};
  const std::vector<Fix> others = shown(fixes, options.diagnostics);
  const std::string there = others.empty() ? "; no advice about this model is an edit" : "; there are " + listed(others);
  return Error{options.model + " has no edit " + id + there, {}, ErrorKind::unknown};
}

/// A message without its digits, since an edit elsewhere may change them.
std::string without_digits(std::string text) {
  std::erase_if(text, [](unsigned char c) { return std::isdigit(c) != 0; });
  return text;
}

std::ptrdiff_t count_like(const Diagnostic& diagnostic, const Diagnostics& among) {
  const std::string message = without_digits(diagnostic.message);
  return std::count_if(among.begin(), among.end(), [&](const Diagnostic& each) {
    return each.kind == diagnostic.kind && each.severity != Severity::allowed && without_digits(each.message) == message;
  });
}

Error refused(const Fix& fix, const std::string& why) {
  return {"nothing is written: the edit is to " + fix.title + ", " + why, {}, ErrorKind::user};
}

/// Whether the edited model keeps the advice's promises: it can be planned, the advised messages are gone, and the time is saved.
Status check_promise(const Fix& fix, const Plan& before, const Plan& after) {
  constexpr double kMostLost = 0.1;  ///< share of the promised saving
  constexpr double kSameRun = 1e-3;  ///< share of a run's time
  for (const Diagnostic& diagnostic : after.diagnostics)
    if (diagnostic.severity == Severity::error && count_like(diagnostic, before.diagnostics) == 0)
      return refused(fix, "and then the model has an error: " + diagnostic.message);
  if (!after.complete()) return refused(fix, "and then there is no plan");
  for (const Diagnostic& diagnostic : before.diagnostics) {
    const auto its = fixes_of(diagnostic, before.fixes);
    const bool meant = std::any_of(its.begin(), its.end(), [&](const Fix* each) { return each->id == fix.id; });
    if (meant && count_like(diagnostic, after.diagnostics) >= count_like(diagnostic, before.diagnostics))
      return refused(fix, "and then it would still be said that " + diagnostic.message);
  }
  const double saved = before.predicted_seconds - after.predicted_seconds;
  if (saved >= (1 - kMostLost) * fix.saved_seconds - kSameRun * before.predicted_seconds) return {};
  const std::string times = "a run is then predicted to take " + format_seconds(after.predicted_seconds) + ", and " +
                            format_seconds(before.predicted_seconds) + " without it";
  return refused(fix, fix.saved_seconds > 0 ? "which was to save " + format_seconds(fix.saved_seconds) + "; " + times : "and " + times);
}

/// The title in the past tense: "remove the pin" -> "removed the pin".
std::string done(const Fix& fix) {
  const std::size_t verb = fix.title.find(' ');
  return fix.title.substr(0, verb) + (fix.title[verb - 1] == 'e' ? "d" : "ed") + fix.title.substr(verb);
}

std::string summary(const Fix& fix, const Plan& before, const Plan& after) {
  const std::string was = format_seconds(before.predicted_seconds), is = format_seconds(after.predicted_seconds);
  const int line = fix.edits.front().line;
  return fix.file + ":" + std::to_string(line) + ": " + done(fix) + "; a run is predicted to take " + is +
         (is == was ? ", as before" : " instead of " + was);
}

std::string json_text(const Fix& fix, const Plan& before, const Plan& after, const StatementOf& statement_of) {
  return diagnostics_json(
      after.diagnostics, statement_of,
      [&](JsonWriter& json) {
        json.key("applied");
        write_json(json, fix);
        json.field("predicted_seconds", after.predicted_seconds);
        json.field("predicted_seconds_before", before.predicted_seconds);
      },
      after.fixes);
}

Status write_edited(const std::string& text, const std::string& edited_text, const std::string& target, const Options& options) {
  if (target == options.model) {
    const Result<std::string> now = read_file(options.model, file_limit::kModel);
    if (!now) return now.error();
    if (*now != text) return Error{"nothing is written: `" + options.model + "` was changed meanwhile", {}, ErrorKind::user};
  }
  return write_file(target, {edited_text});
}

}  // namespace

int apply_command(const Options& given) {
  const Options options = with_all_kinds(given);
  const Console console(options);
  if (!is_yaml_model(options.model) || is_plan_path(options.model))
    return console.fail(Error{"`" + options.model + "` is no YAML model; edits are written into those only", {}, ErrorKind::user});
  const bool to_console = options.output_file == "-";
  if (to_console && options.json)
    return console.fail(Error{"`-o -` and `--json` both write a document to standard output; take one of them", {}, ErrorKind::usage});
  const std::string target = options.output_file.empty() ? options.model : options.output_file;
  if (!to_console)
    if (Status writable = check_writable(target); !writable) return console.fail(writable.error());
  const Result<std::string> text = read_file(options.model, file_limit::kModel);
  if (!text) return console.fail(text.error());

  const Result<Plan> before = plan_text(*text, options);
  if (!before) return console.fail(before.error());
  if (!before->complete()) return console.fail(before->diagnostics);
  const Result<Fix> fix = find_fix(different_fixes(*before), given);
  if (!fix) return console.fail(fix.error());

  const std::string edited_text = edited(*text, fix->edits);
  const Result<Plan> after = plan_text(edited_text, options);
  if (!after) return console.fail(after.error());
  if (Status kept = check_promise(*fix, *before, *after); !kept) return console.fail(kept.error());
  if (to_console) {
    console.document(edited_text);
    console.aside(summary(*fix, *before, *after));
    return kDone;
  }
  if (Status written = write_edited(*text, edited_text, target, options); !written) return console.fail(written.error());
  if (options.json) console.document(json_text(*fix, *before, *after, console.statements_of(*after)));
  console.note(summary(*fix, *before, *after) + (target == options.model ? "" : "; written to " + target));
  return kDone;
}

}  // namespace cleave::cli
