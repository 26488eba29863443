// The cost of a placement is linear in the factor on one part of all transfers, or on accelerator executions, since the regions of its
// transfers depend on frequencies alone. So the optimum is the lower envelope of lines, and a placement is optimal on exactly one interval.
// Its ends are found from outside by Newton's method: the line of the optimum at one point intersects that of the placement at the next
// point, until both cost the same there.
#include "partitioner/advice/sensitivity.h"

#include <algorithm>

#include "graph/base/units.h"

namespace cleave::planner {
namespace {

constexpr double kTie = 1e-12;  ///< relative; smaller differences are rounding

/// Cost as a function of the factor.
struct Line {
  double constant = 0, slope = 0;
  [[nodiscard]] double at(double factor) const { return constant + slope * factor; }
};

/// The part of one transfer that is varied, and the part that is not.
struct Parts {
  double varied = 0, fixed = 0;
};

class Family {
 public:
  Family(const PlacementProblem& problem, const LinkLatency& latency, Varied varied)
      : problem_(problem), latency_(latency), varied_(varied) {}

  /// The problem with the varied parts times `factor` and the rest (executions, fixed parts) times `rest`.
  [[nodiscard]] PlacementProblem at(double factor, double rest) const {
    PlacementProblem result = problem_;
    const double accelerator = varied_ == Varied::speed ? factor : rest;
    for (auto& node : result.nodes) {
      node.host_seconds *= rest;
      node.accelerator_seconds *= accelerator;
    }
    for (auto& saving : result.savings) {
      saving.host_seconds *= rest;
      saving.accelerator_seconds *= accelerator;
    }
    for (auto& value : result.values) {
      for (const bool to_accelerator : {false, true}) {
        const Parts parts = split(value, to_accelerator);
        (to_accelerator ? value.host_to_accelerator_seconds : value.accelerator_to_host_seconds) =
            factor * parts.varied + rest * parts.fixed;
      }
    }
    return result;
  }

  [[nodiscard]] Line line(const Placement& sides) const {
    const Placement placement = evaluate(problem_, sides.on_host, sides.on_accelerator);
    Line line;
    for (const PlannedTransfer& transfer : placement.transfers) {
      line.slope += problem_.regions[transfer.region].frequency * split(problem_.values[transfer.value], transfer.to != kHost).varied;
    }
    if (varied_ == Varied::speed) {
      const std::vector<double> seconds = execution_seconds(problem_, placement.on_host, placement.on_accelerator, kAccelerator);
      for (std::size_t i = 0; i < problem_.nodes.size(); ++i)
        if (placement.on_accelerator[i]) line.slope += problem_.regions[problem_.nodes[i].region].frequency * seconds[i];
    }
    line.constant = placement.objective_seconds - line.slope;
    return line;
  }

 private:
  [[nodiscard]] Parts split(const PlacementProblem::Value& value, bool to_accelerator) const {
    const double seconds = to_accelerator ? value.host_to_accelerator_seconds : value.accelerator_to_host_seconds;
    const double latency = std::min(seconds, to_accelerator ? latency_.to_accelerator_seconds : latency_.to_host_seconds);
    if (varied_ == Varied::speed) return {0, seconds};
    return varied_ == Varied::latency ? Parts{latency, seconds - latency} : Parts{seconds - latency, latency};
  }

  const PlacementProblem& problem_;
  const LinkLatency& latency_;
  Varied varied_;
};

/// The end of the interval between `start`, where `better` is cheaper than `line`, and 1.
Result<double> end_between(const Family& family, const Line& line, Line better, double start) {
  for (double factor = start;;) {
    const double crossing = (better.constant - line.constant) / (line.slope - better.slope);
    // Each intersection is nearer to 1 than the last, except for rounding.
    const bool nearer = factor > 1 ? crossing < factor : crossing > factor;
    if (!nearer) return factor;
    factor = factor > 1 ? std::max(crossing, 1.0) : std::min(crossing, 1.0);
    if (factor == 1) return factor;
    const Result<Placement> best = solve(family.at(factor, 1));
    if (!best) return best.error();
    better = family.line(*best);
    if (line.at(factor) - better.at(factor) <= kTie * line.at(factor)) return factor;
  }
}

Result<Multiples> interval(const Family& family, const Placement& placement) {
  const Line line = family.line(placement);
  Multiples result;
  const Result<Placement> nothing = solve(family.at(0, 1));
  if (!nothing) return nothing.error();
  const Line lowest = family.line(*nothing);
  if (line.at(0) - lowest.at(0) > kTie * line.at(1)) {
    const Result<double> low = end_between(family, line, lowest, 0);
    if (!low) return low.error();
    result.low = *low;
  }
  // At very large factors the slope alone decides.
  const Result<Placement> flattest = solve(family.at(1, 0));
  if (!flattest) return flattest.error();
  const Line flat = family.line(*flattest);
  if (line.slope - flat.slope > kTie * line.slope) {
    const Result<double> high = end_between(family, line, flat, std::numeric_limits<double>::infinity());
    if (!high) return high.error();
    result.high = *high;
  }
  return result;
}

}  // namespace

Result<Sensitivity> sensitivity(const PlacementProblem& problem, const Placement& placement, const LinkLatency& latency) {
  if (problem.accelerator_memory_bytes > 0) return Error{"under a memory capacity nothing proves a placement optimal"};
  const Result<Placement> best = solve(problem);
  if (!best) return best.error();
  if (const auto broken = verify(problem, placement); !broken.empty()) return Error{broken[0]};
  const double cost = evaluate(problem, placement.on_host, placement.on_accelerator).objective_seconds;
  if (cost - best->objective_seconds > kTie * cost) {
    return Error{"the placement is not optimal: it costs " + format_seconds(cost) + ", the optimum " +
                 format_seconds(best->objective_seconds)};
  }
  const Result<Multiples> size = interval(Family(problem, latency, Varied::bandwidth), placement);
  if (!size) return size.error();
  const Result<Multiples> start = interval(Family(problem, latency, Varied::latency), placement);
  if (!start) return start.error();
  const Result<Multiples> work = interval(Family(problem, latency, Varied::speed), placement);
  if (!work) return work.error();
  // Costs grow as bandwidth and speed shrink, hence the reciprocals.
  return Sensitivity{{1 / size->high, 1 / size->low}, *start, {1 / work->high, 1 / work->low}};
}

PlacementProblem with_multiple(const PlacementProblem& problem, const LinkLatency& latency, Varied varied, double multiple) {
  return Family(problem, latency, varied).at(varied == Varied::latency ? multiple : 1 / multiple, 1);
}

}  // namespace cleave::planner
