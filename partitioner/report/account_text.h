// Writes the account of a plan (apply/account.h) as one line of text and as JSON.
#pragma once

#include <string>

#include "graph/base/json_writer.h"
#include "partitioner/plan.h"

namespace cleave::planner {

/// "input-bound: `load` (m.yaml:9:14) takes 4.0 s of a predicted run of 4.1 s (99 %), ...". The plan must be complete.
std::string account_line(const Plan& plan);
/// "with --workers 2: 2.0 s, with --workers 4: 1.0 s": the predicted time of a run with each cure.
std::string cures_phrase(const Plan& plan);
/// Writes `{kind, location, shares, cures}`, or null for a plan that is not complete.
void write_account(JsonWriter& json, const Plan& plan);

}  // namespace cleave::planner
