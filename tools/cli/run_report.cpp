#include "tools/cli/run_report.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <utility>

#include "executor/report/prediction_check.h"
#include "executor/report/profile_report.h"
#include "graph/array/npy.h"
#include "graph/base/diagnostic_json.h"
#include "graph/base/units.h"
#include "graph/base/utf8.h"
#include "partitioner/machine/profile_keys.h"
#include "partitioner/report/account_text.h"
#include "partitioner/report/explain.h"
#include "tools/cli/values.h"

namespace cleave::cli {
namespace {

constexpr std::int64_t kMostJsonElements = 10'000;
constexpr std::size_t kMostProfiles = 128;  ///< profiles of single runs that are kept before they are merged

/// The minimum, median and maximum over several runs.
struct Spread {
  double min = 0, median = 0, max = 0;
};

Spread spread(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  const std::size_t middle = seconds.size() / 2;
  const double median = seconds.size() % 2 == 1 ? seconds[middle] : (seconds[middle - 1] + seconds[middle]) / 2;
  return {seconds.front(), median, seconds.back()};
}

std::string spread_text(const std::vector<double>& seconds) {
  const Spread of = spread(seconds);
  return "min " + format_seconds(of.min) + ", median " + format_seconds(of.median) + ", max " + format_seconds(of.max);
}

void write_json(JsonWriter& json, const char* name, const std::vector<double>& seconds) {
  const Spread of = spread(seconds);
  json.object(name, [&] {
    json.field("min", of.min);
    json.field("median", of.median);
    json.field("max", of.max);
  });
}

/// "1.2 ms on the host in the median of 20, at least 1.1 ms, spread 30 us; 2 more were preempted".
std::string samples_text(double seconds, const SampleSummary& samples) {
  const std::string preempted = std::to_string(samples.preempted) + (samples.preempted == 1 ? " was" : " were") + " preempted";
  if (samples.count == 0) return format_seconds(seconds) + " on the host at least; all " + preempted;
  std::string text = format_seconds(seconds) + " on the host";
  if (samples.count > 1)
    text += " in the median of " + std::to_string(samples.count) + ", at least " + format_seconds(samples.minimum) + ", spread " +
            format_seconds(samples.spread);
  return samples.preempted == 0 ? text : text + "; " + std::to_string(samples.preempted) + " more" + preempted.substr(preempted.find(' '));
}

/// The observed time of a node; empty if there is none.
std::string observed_text(const Graph& graph, NodeId id, const Profile& profile, const ProfileKeys& keys) {
  const Node& node = graph.nodes[id];
  const std::optional<double> expected = keys.find(profile.expected, node.location);
  if (is_control(node.kind) && expected) {
    char number[64];
    const bool branch = node.kind == NodeKind::branch;
    std::snprintf(number, sizeof number, branch ? "`then` in %.3g %% of all cases" : "%.6g trips", *expected * (branch ? 100 : 1));
    return number;
  }
  const std::optional<double> seconds = keys.find(profile.host_seconds, node.location);
  if (node.kind != NodeKind::operation || !seconds) return "";
  const SampleSummary samples = keys.find(profile.host_samples, node.location).value_or(SampleSummary{1, *seconds, 0, 0});
  return samples_text(*seconds, samples) + ", `" + escape_controls_one_line(graph.display_name(id)) + "`";
}

/// One line for each location in the program, in program order.
std::string profile_text(const Graph& graph, const Profile& profile) {
  std::vector<std::pair<std::string, std::string>> lines;
  std::set<std::string> seen;
  std::size_t width = 0;
  const ProfileKeys keys(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const std::string where = escape_controls_one_line(to_string(graph.nodes[NodeId(i)].location));
    const std::string what = observed_text(graph, NodeId(i), profile, keys);
    if (what.empty() || !seen.insert(where).second) continue;
    width = std::max(width, where.size());
    lines.emplace_back(where, what);
  }
  std::string text = "observed:\n";
  for (const auto& [where, what] : lines) text += "  " + where + std::string(width - where.size() + 2, ' ') + what + "\n";
  return text;
}

void write_samples(JsonWriter& json, const char* name, const std::map<std::string, SampleSummary>& samples) {
  json.object(name, [&] {
    for (const auto& [key, summary] : samples) json.object(key, [&, &summary = summary] { cleave::write_json(json, summary); });
  });
}

bool uses_accelerator(const Program& program) {
  const std::vector<Block>& blocks = program.devices[DeviceId(1)].blocks;
  return !blocks.empty() && !blocks[0].steps.empty();
}

}  // namespace

void Verified::tell(std::string_view name, double operations, StatusLine& line) {
  const std::lock_guard lock(mutex_);
  ++executions;
  if (!line.on()) return;
  const auto now = std::chrono::steady_clock::now();
  if (operations < 1e8 && now - shown_ < std::chrono::milliseconds(100)) return;
  shown_ = now;
  char text[64];
  std::snprintf(text, sizeof text, " (%.3g operations), %lld checked before", operations, static_cast<long long>(executions - 1));
  line.show("verifying `" + std::string(name) + "`" + text);
}

RunReport::RunReport(const Plan& plan, const Options& options, std::string device)
    : plan_(plan), options_(options), device_(std::move(device)) {}

void RunReport::add(RunResult result) {
  seconds_.push_back(result.seconds);
  simulated_seconds_.push_back(result.simulated_seconds);
  if (options_.profile) observed_.push_back(std::exchange(result.observed, {}));
  if (observed_.size() == kMostProfiles) observed_ = {merge_profiles(observed_)};
  last_ = std::move(result);
}

const Diagnostics& RunReport::check_prediction() {
  const bool simulated = last_->simulated_seconds > 0;
  if (options_.verify && !simulated) return exceeded_;  // every value was computed twice
  std::vector<double> seconds = simulated ? simulated_seconds_ : seconds_;
  if (!simulated && seconds.size() > 1) seconds.erase(seconds.begin());
  exceeded_ = runtime::check_prediction(plan_, spread(seconds).median, last_->timeline, seconds.size());
  return exceeded_;
}

Status RunReport::deliver(const Console& console) const {
  if (Status written = write_files(); !written) return written;
  if (options_.json) {
    console.document(json() + "\n");
    return {};
  }
  print(console);
  note(console);
  return {};
}

Status RunReport::write_files() const {
  for (const auto& [name, file] : options_.outputs)
    if (const Array* array = last_->output(name))
      if (Status written = file.ends_with(".txt") ? write_text(file, *array) : write_npy(file, *array); !written) return written;
  return options_.profile_file.empty() ? Status() : merge_profiles(observed_).save(options_.profile_file);
}

std::string RunReport::json() const {
  std::string text;
  JsonWriter json(text);
  const auto moved = [&](const char* direction, const TransferCount& count) {
    json.object(direction, [&] {
      json.field("count", count.count);
      json.field("bytes", count.bytes);
    });
  };
  json.object([&] {
    json.field("device", device_);
    json.object("outputs", [&] {
      for (const auto& [name, array] : last_->outputs) {
        json.object(name, [&, &array = array] {
          json.field("type", to_string(array.type()));
          json.field("shape", array.shape());
          if (array.size() > kMostJsonElements) return;
          json.key("data");
          cli::write_json(json, array);
        });
      }
    });
    json.object("transfers", [&] {
      moved("host_to_accelerator", last_->host_to_accelerator);
      moved("accelerator_to_host", last_->accelerator_to_host);
    });
    json.field("seconds", last_->seconds);
    json.field("simulated_seconds", last_->simulated_seconds);
    if (seconds_.size() > 1) {
      json.object("runs", [&] {
        json.field("count", seconds_.size());
        write_json(json, "seconds", seconds_);
        write_json(json, "simulated_seconds", simulated_seconds_);
      });
    }
    if (verified_) {
      json.object("verified", [&] { json.field("executions", verified_->executions); });
    }
    json.key("diagnostics");
    Diagnostics said = plan_.diagnostics;
    said.append(exceeded_);
    cleave::write_json(json, said, nullptr, plan_.fixes);
    json.key("account");
    write_account(json, plan_);
    if (!options_.profile) return;
    json.object("profile", [&] {
      const Profile observed = merge_profiles(observed_);
      json.field("expected", observed.expected);
      json.field("host_seconds", observed.host_seconds);
      json.field("transfer_seconds", observed.transfer_seconds);
      write_samples(json, "host_samples", observed.host_samples);
      write_samples(json, "transfer_samples", observed.transfer_samples);
      json.key("ledger");
      write_json(json, profile_report(last_->timeline, plan_.program, plan_.costed, plan_.transfers), *plan_.graph);
    });
  });
  return text;
}

/// Prints the outputs that were not written to files, and the profile.
void RunReport::print(const Console& console) const {
  std::set<std::string> in_files;
  for (const auto& [name, file] : options_.outputs) in_files.insert(name);
  for (const auto& [name, array] : last_->outputs)
    if (!in_files.contains(name)) console.line(escape_controls_one_line(name) + ": " + to_string(array));
  if (!options_.profile || !options_.profile_file.empty()) return;
  console.out(profile_text(*plan_.graph, merge_profiles(observed_)));
  const ProfileReport measured = profile_report(last_->timeline, plan_.program, plan_.costed, plan_.transfers);
  console.out(std::string(last_->timeline.simulated ? "simulated" : "measured") + " beside predicted, for a run:\n" +
              to_text(measured, *plan_.graph, most_rows(options_)));
}

void RunReport::note(const Console& console) const {
  note_run(console);
  console.account(plan_);
}

void RunReport::note_run(const Console& console) const {
  console.note(summary_line(plan_));
  if (const std::string remark = faster_remark(plan_); !remark.empty()) console.note("remark: " + remark);
  const std::string rounded = plan_.precision == Precision::f32 ? ""
                                                                : "; the accelerator's matrix products within what " +
                                                                      std::string(to_string(plan_.precision)) + " rounds";
  if (verified_)
    console.note("verified: " + std::to_string(verified_->executions) +
                 " executions of operations, each against its reference implementation: all agree, " +
                 "integers and bool exactly, f32 within rtol 1e-5 and atol 1e-6 times the root of a reduction's length" + rounded);
  const bool simulated = last_->simulated_seconds > 0;
  if (seconds_.size() > 1) {
    console.note(std::to_string(seconds_.size()) + " runs: " + spread_text(seconds_) + " of wall clock");
    if (simulated) console.note("  simulated: " + spread_text(simulated_seconds_));
  }
  if (!simulated) return;
  if (!uses_accelerator(plan_.program)) {
    console.note("all of it ran on the host; simulated time " + format_seconds(last_->simulated_seconds));
    return;
  }
  console.note("ran on the simulated accelerator: results are real, times are simulated (" + format_seconds(last_->simulated_seconds) +
               " simulated, " + format_seconds(last_->seconds) + " of wall clock)");
}

}  // namespace cleave::cli
