// Messages about waiting without a round trip: slow producers, slow consumers, kernels too small for their launches. They are derived from
// the account of the plan, which knows the critical path.
#include <algorithm>
#include <map>

#include "graph/base/units.h"
#include "partitioner/report/account_text.h"
#include "partitioner/report/depth_text.h"
#include "partitioner/report/diagnostic_parts.h"
#include "partitioner/report/wording.h"

namespace cleave::planner {
namespace {

constexpr double kLaunchSeconds = 5e-3;  ///< launches that take less than this in a run are not reported, as in small programs
constexpr double kDominates = 0.5;       ///< launches are reported from this fraction of the kernels' time on

class Bottlenecks {
 public:
  Bottlenecks(const Plan& plan, const std::set<NodeId>& costly, const DiagnosticOptions& options, Diagnostics& diagnostics)
      : plan_(plan), graph_(*plan.graph), account_(plan.account), costly_(costly), options_(options), diagnostics_(diagnostics) {}

  void run() {
    slow_data();
    waited_for(account_.producers, DiagnosticKind::slow_producer);
    waited_for(account_.consumers, DiagnosticKind::slow_consumer);
    full_channels();
    launches();
  }

 private:
  /// True if the user keeps the node on the host and no other warning reports its cost. (Lack of memory has a warning of its own.)
  [[nodiscard]] bool to_be_named(NodeId node) const {
    const Cause cause = plan_.costed.forced[node.index];
    const bool by_user = cause == Cause::pinned || cause == Cause::no_kernel || cause == Cause::effect;
    return by_user && !costly_.contains(node) && !said_at(diagnostics_, DiagnosticKind::invariant_host_work, graph_.nodes[node].location);
  }

  /// Reports loops that wait for data which workers make ahead.
  void slow_data() {
    const std::optional<Severity> severity = options_.severity_of(DiagnosticKind::slow_producer);
    for (const Producer& producer : plan_.program.producers) data_.insert(producer.nodes.begin(), producer.nodes.end());
    for (const ProducedData& data : plan_.data) {
      const SourceLocation& made = graph_.nodes[data.longest].location;
      if (!severity || !data.slow() || said_at(diagnostics_, DiagnosticKind::invariant_host_work, made)) continue;
      const Node& loop = graph_.nodes[data.loop];
      Diagnostic d{DiagnosticKind::slow_producer, *severity, "", loop.location, 0, {}};
      d.message = (accelerator_walks(data.loop) ? "the accelerator waits " : "the loop waits ") +
                  format_seconds(data.seconds_by_all() - data.step_seconds) + " of every step of " + format_seconds(data.seconds_by_all()) +
                  " for data (predicted): `" + culprit_phrase(graph_, data.longest) + "` " + format_seconds(data.longest_seconds);
      if (data.hidden_by) d.message += "; " + counted(static_cast<std::size_t>(*data.hidden_by), "worker") + " would hide it (tried)";
      d.notes.push_back({data_phrase(data) + " (" + machine_phrase(plan_.machine) + ")", {}, 0});
      if (made.known()) d.notes.push_back({"`" + culprit_phrase(graph_, data.longest) + "` takes longest", made, 0});
      const NodeId concerned[] = {data.longest, data.loop};
      allow_as_marked(d, graph_, concerned);
      diagnostics_.add(std::move(d));
    }
  }
  [[nodiscard]] bool accelerator_walks(NodeId loop) const {
    for (const Block& block : plan_.program.devices[kAccelerator].blocks)
      for (const Step& step : block.steps)
        if (step.node == loop) return true;
    return false;
  }

  /// Reports the host work of each region as one cause, named after its longest operation that the user keeps on the host.
  void waited_for(const std::vector<std::pair<NodeId, double>>& nodes, DiagnosticKind kind) {
    const std::optional<Severity> severity = options_.severity_of(kind);
    if (!severity) return;
    std::map<RegionId, std::vector<std::pair<NodeId, double>>> regions;
    for (const auto& each : nodes)
      if (to_be_named(each.first) && !data_.contains(each.first))
        regions[graph_.nodes[each.first].region].push_back(each);  // longest first, as in `nodes`
    for (const auto& [region, works] : regions) {
      const bool repeats = plan_.costed.frequency[region] > 1;
      if (kind == DiagnosticKind::slow_consumer && !repeats) continue;  // no work waits for the end of a run
      double seconds = 0;
      std::vector<NodeId> all;
      for (const auto& [node, part] : works) {
        seconds += part;
        all.push_back(node);
      }
      if (worth_warning(plan_, seconds)) add(kind, *severity, all, works[0].second, seconds);
    }
  }

  void add(DiagnosticKind kind, Severity severity, const std::vector<NodeId>& nodes, double longest, double seconds) {
    const bool producer = kind == DiagnosticKind::slow_producer;
    const Node& node = graph_.nodes[nodes[0]];
    const std::string name = "`" + culprit_phrase(graph_, nodes[0]) + "`";
    Diagnostic d{kind, severity, "", node.location, 0, {}};
    d.message = producer ? "the accelerator waits for what " + name + " makes on the host"
                         : "the accelerator waits while " + name + " works on the host with what it made before";
    const double frequency = plan_.costed.frequency[node.region];
    d.notes.push_back({times_phrase(graph_, node.region, frequency) + ": about " + format_seconds(longest) + " of " +
                           format_seconds(plan_.predicted_seconds) + " predicted, in which the accelerator works " +
                           format_seconds(account_.busy_seconds) + " (" + machine_phrase(plan_.machine) + ")",
                       {},
                       0});
    if (nodes.size() > 1)
      d.notes.push_back(
          {"with " + counted(nodes.size() - 1, "other operation") + " of the host there about " + format_seconds(seconds), {}, 0});
    if (const Cause cause = plan_.costed.forced[nodes[0].index]; !node.host_function())
      d.notes.push_back({"runs on the host because " + cause_phrase(cause, node), {}, 0});
    if (nodes[0] == account_.blamed && !account_.cures.empty()) d.notes.push_back({cures_phrase(plan_), {}, 0});
    allow_as_marked(d, graph_, nodes);
    diagnostics_.add(std::move(d));
  }

  /// Reports a burst of host work that a deeper channel would absorb, if there is no memory for one.
  void full_channels() {
    if (plan_.depths.limited.empty() || !worth_warning(plan_, plan_.depths.lost_seconds)) return;
    const Channel& channel = plan_.program.channels[plan_.depths.limited[0].channel];
    const bool consumer = channel.to == kHost;
    const DiagnosticKind kind = consumer ? DiagnosticKind::slow_consumer : DiagnosticKind::slow_producer;
    const std::optional<Severity> severity = options_.severity_of(kind);
    const NodeId burst = burst_beside(plan_, channel);
    if (!severity || !burst || said_at(diagnostics_, kind, graph_.nodes[burst].location)) return;
    const Node& node = graph_.nodes[burst];
    const std::string name = "`" + culprit_name(graph_, burst) + "`", value = value_phrase(graph_, channel.value);
    Diagnostic d{kind, *severity, "", node.location, 0, {}};
    d.message = consumer ? "the accelerator waits while " + name + " keeps the host from taking " + value
                         : "the accelerator waits for " + value + " while " + name + " keeps the host";
    d.notes.push_back({times_phrase(graph_, node.region, plan_.costed.frequency[node.region]) + ", " +
                           format_seconds(plan_.costed.problem.nodes[burst.index].host_seconds) + " each time (" +
                           machine_phrase(plan_.machine) + ")",
                       {},
                       0});
    d.notes.push_back({limited_depths_phrase(plan_), {}, 0});
    allow_as_marked(d, graph_, {&burst, 1});
    diagnostics_.add(std::move(d));
  }

  void launches() {
    const std::optional<Severity> severity = options_.severity_of(DiagnosticKind::launch_bound);
    const AccountShares& shares = account_.shares;
    if (!severity || account_.kind != Bottleneck::launch || shares.launch < kLaunchSeconds || !worth_warning(plan_, shares.launch)) return;
    if (shares.launch < kDominates * (shares.launch + shares.accelerator)) return;
    const Node& node = graph_.nodes[account_.blamed];
    Diagnostic d{DiagnosticKind::launch_bound, *severity, "", node.location, 0, {}};
    d.message = "starting the kernels of this part takes longer than their work";
    d.notes.push_back({times_phrase(graph_, node.region, plan_.costed.frequency[node.region]) + "; starts of all kernels take about " +
                           format_seconds(shares.launch) + " of " + format_seconds(plan_.predicted_seconds) +
                           " predicted, and their work " + format_seconds(shares.accelerator) + " (" + machine_phrase(plan_.machine) + ")",
                       {},
                       0});
    if (!account_.cures.empty()) d.notes.push_back({cures_phrase(plan_), {}, 0});
    allow_as_marked(d, graph_, {&account_.blamed, 1});
    diagnostics_.add(std::move(d));
  }

  const Plan& plan_;
  const Graph& graph_;
  const Account& account_;
  const std::set<NodeId>& costly_;
  std::set<NodeId> data_;  ///< nodes whose results are made ahead
  const DiagnosticOptions& options_;
  Diagnostics& diagnostics_;
};

}  // namespace

void diagnose_bottlenecks(const Plan& plan, const std::set<NodeId>& costly, const DiagnosticOptions& options, Diagnosis& diagnosis) {
  Bottlenecks(plan, costly, options, diagnosis.diagnostics).run();
}

}  // namespace cleave::planner
