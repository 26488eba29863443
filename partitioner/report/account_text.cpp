#include "partitioner/report/account_text.h"

#include "graph/base/diagnostic_json.h"
#include "graph/base/units.h"
#include "graph/base/utf8.h"
#include "partitioner/report/depth_text.h"
#include "partitioner/report/wording.h"

namespace cleave::planner {
namespace {

const SourceLocation& place(const Plan& plan) {
  static const SourceLocation kUnknown;
  const Account& account = plan.account;
  if (account.transfer) return plan.transfers.items[*account.transfer].location;
  return account.blamed ? plan.graph->nodes[account.blamed].location : kUnknown;
}

std::string at_place(const Plan& plan) {
  const SourceLocation& location = place(plan);
  return location.line > 0 ? " (" + escape_controls_one_line(to_string(location)) + ")" : "";
}

/// The blamed node or transfer with its location.
std::string blamed(const Plan& plan) {
  const Account& account = plan.account;
  if (account.transfer) {
    const Transfer& transfer = plan.transfers.items[*account.transfer];
    return value_phrase(*plan.graph, transfer.value) + at_place(plan) + ", " + type_phrase(plan.graph->values[transfer.value].type) + ",";
  }
  const NodeKind kind = plan.graph->nodes[account.blamed].kind;
  if (kind == NodeKind::branch) return "deciding this branch" + at_place(plan);
  if (is_control(kind)) return "deciding whether this loop goes on" + at_place(plan);
  return "`" + escape_controls_one_line(culprit_phrase(*plan.graph, account.blamed)) + "`" + at_place(plan);
}

/// "4.0 s of a predicted run of 4.1 s (98 %)".
std::string of_run(const Account& account, double seconds) {
  return format_seconds(seconds) + " of a predicted run of " + format_seconds(account.seconds) + " (" + percent(seconds, account.seconds) +
         ")";
}

/// "; the accelerator works 0.1 s (1 %)".
std::string busy_phrase(const Account& account) {
  return ", in which the accelerator works " + format_seconds(account.busy_seconds) + " (" +
         percent(account.busy_seconds, account.seconds) + ")";
}

/// The time of the whole kind of bottleneck. Empty if nearly all of it is the blamed work's.
std::string in_all(const Account& account, const std::string& what) {
  constexpr double kNearlyAll = 0.95;
  if (account.blamed_seconds >= kNearlyAll * account.kind_seconds) return "";
  return "; " + what + " in all " + format_seconds(account.kind_seconds) + " (" + percent(account.kind_seconds, account.seconds) + ")";
}

std::string finding(const Plan& plan) {
  const Account& account = plan.account;
  if (account.seconds <= 0) return "a run does nothing";
  const std::string time = of_run(account, account.blamed_seconds);
  switch (account.kind) {
    case Bottleneck::input:
      return blamed(plan) + " takes " + time + busy_phrase(account) +
             in_all(account, "work of the host that the accelerator waits for takes");
    case Bottleneck::output:
      return blamed(plan) + " takes " + time + busy_phrase(account) +
             in_all(account, "work of the host with the accelerator's values takes");
    case Bottleneck::transfer:
      return blamed(plan) + " is copied to the " + (plan.transfers.items[*account.transfer].to == kHost ? "host" : "accelerator") +
             " for " + time + busy_phrase(account) + in_all(account, "copies take");
    case Bottleneck::round_trip: return blamed(plan) + " makes the accelerator wait for " + time + in_all(account, "round trips take");
    case Bottleneck::launch:
      return "starting kernels takes " + of_run(account, account.kind_seconds) + ", most of it those of " + blamed(plan);
    case Bottleneck::compute:
      return "accelerator " + percent(account.busy_seconds, account.seconds) + " busy; " + blamed(plan) + " takes " + time;
    case Bottleneck::host:
      if (!account.blamed) return "what a run takes beside its operations is " + time;
      return blamed(plan) + " takes " + time + in_all(account, "the host works");
  }
  return "";
}

std::string cure_text(const Cure& cure) {
  switch (cure.kind) {
    case Cure::Kind::workers: return "with --workers " + number(cure.number);
    case Cure::Kind::threads: return "on " + number(cure.number) + " threads of its own";
    case Cure::Kind::faster: return "twice as fast";
    case Cure::Kind::ahead: return "done before the run";
    case Cure::Kind::seldom: return "only every " + ordinal(static_cast<std::size_t>(cure.number)) + " time";
    case Cure::Kind::stays: return "kept on the accelerator from run to run";
    case Cure::Kind::smaller: return "in elements of 2 bytes";
    case Cure::Kind::no_copy: return "without this copy";
    case Cure::Kind::no_trip: return "without this round trip";
    case Cure::Kind::more_work: return number(cure.number) + " times as much work in each kernel";
    case Cure::Kind::memory: return "with enough memory there";
  }
  return "";
}

}  // namespace

std::string cures_phrase(const Plan& plan) {
  std::string text;
  for (const Cure& cure : plan.account.cures) text += (text.empty() ? "" : ", ") + cure_text(cure) + ": " + format_seconds(cure.seconds);
  return text;
}

std::string account_line(const Plan& plan) {
  const std::string cures = cures_phrase(plan);
  const std::string limited = limited_depths_phrase(plan);
  return std::string(to_string(plan.account.kind)) + ": " + finding(plan) + (cures.empty() ? "" : "; " + cures) +
         (limited.empty() ? "" : "; " + limited);
}

void write_account(JsonWriter& json, const Plan& plan) {
  if (!plan.complete()) return json.value(nullptr);
  const Account& account = plan.account;
  const auto share = [&](double seconds) { return account.seconds > 0 ? seconds / account.seconds : 0; };
  json.object([&] {
    json.field("kind", to_string(account.kind));
    JsonLocations(json).field(place(plan));
    json.object("shares", [&] {
      json.field("producer", share(account.shares.producer));
      json.field("host_to_accelerator", share(account.shares.host_to_accelerator));
      json.field("accelerator", share(account.shares.accelerator));
      json.field("accelerator_to_host", share(account.shares.accelerator_to_host));
      json.field("launch", share(account.shares.launch));
      json.field("consumer", share(account.shares.consumer));
      json.field("control", share(account.shares.control));
      json.field("host", share(account.shares.host));
    });
    json.list("cures", [&] {
      for (const Cure& cure : account.cures) {
        json.object([&] {
          json.field("text", cure_text(cure));
          json.field("seconds", cure.seconds);
        });
      }
    });
  });
}

}  // namespace cleave::planner
