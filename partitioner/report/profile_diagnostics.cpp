// Messages about a profile that does not fit the program, or whose times are to be doubted.
#include "partitioner/machine/profile_keys.h"
#include "partitioner/report/diagnostics.h"

namespace cleave::planner {
namespace {

/// Adds remarks on times in the profile that have no sample counts, or that are from preempted samples only.
void check_samples(const ProfileFit& fit, Diagnostics& diagnostics) {
  const auto say = [&](std::size_t count, const char* what) {
    if (count == 0) return;
    diagnostics.add({DiagnosticKind::file,
                     Severity::remark,
                     std::to_string(count) + " of the " + std::to_string(fit.host_seconds) + " times of operations in the profile " + what +
                         "; `cleave run --runs 5 --profile FILE` observes them anew",
                     {},
                     0,
                     {}});
  };
  say(fit.without_samples, "come without counts and spreads, as earlier versions wrote them: they are taken as they are");
  say(fit.preempted, "are of preempted samples alone, and may be too long");
}

}  // namespace

Diagnostics diagnose_profile(const Graph& graph, const Profile& profile, const DiagnosticOptions& options) {
  Diagnostics diagnostics;
  if ((profile.expected.empty() && profile.host_seconds.empty()) || options.no_warnings) return diagnostics;
  const ProfileFit fit = profile_fit(graph, profile);
  check_samples(fit, diagnostics);
  const std::size_t all = fit.expected + fit.host_seconds, there = fit.expected_there + fit.host_seconds_there;
  if (there == all) return diagnostics;
  const auto part = [](std::size_t is, std::size_t of, const char* what) {
    return std::to_string(of - is) + " of its " + std::to_string(of) + what;
  };
  std::string message = there == 0 ? "the profile fits nothing of this model" : "the profile fits this model in part";
  message += ": " + part(fit.expected_there, fit.expected, " loops and branches") + " and " +
             part(fit.host_seconds_there, fit.host_seconds, " times of operations") + " are not in it";
  std::vector<Note> notes;
  if (fit.by_position)
    notes.push_back(
        {"this profile names operations by their lines (format 1); record it again with `cleave run --profile FILE`, and it survives edits",
         {},
         0});
  diagnostics.add(
      {DiagnosticKind::file, options.all_as_error ? Severity::error : Severity::warning, std::move(message), {}, 0, std::move(notes)});
  return diagnostics;
}

}  // namespace cleave::planner
