#include "partitioner/advice/certificate.h"

#include <algorithm>
#include <cmath>

#include "partitioner/solver/placement.h"

namespace cleave::planner {

bool Certificate::agree() const {
  const double rounding = 1e-9 * std::max(std::abs(own_seconds), std::abs(boost_seconds));
  const bool proven = own_seconds - own_bound_seconds <= rounding && boost_seconds - boost_bound_seconds <= rounding;
  if (proven) return std::abs(own_seconds - boost_seconds) <= rounding && std::abs(own_bound_seconds - boost_bound_seconds) <= rounding;
  return own_seconds >= boost_bound_seconds - rounding && boost_seconds >= own_bound_seconds - rounding;
}

Result<Certificate> certify(const Plan& plan) {
  const Result<Placement> own = solve(plan.costed.problem);
  if (!own) return own.error();
  const Result<Placement> boost = solve(plan.costed.problem, {.solver = Solver::boost, .reduce = false});
  if (!boost) return boost.error();
  return Certificate{own->objective_seconds, boost->objective_seconds, own->bound_seconds, boost->bound_seconds,
                     own->on_host == boost->on_host && own->on_accelerator == boost->on_accelerator};
}

}  // namespace cleave::planner
