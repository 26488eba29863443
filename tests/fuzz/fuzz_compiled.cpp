// The reader of plan files on arbitrary bytes: what it accepts is a verified graph, and restore() gives its plan or an Error, and never
// crashes or hangs.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "graph/base/check.h"
#include "graph/passes/verify.h"
#include "partitioner/plan_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cleave;
  static const Machine machine = *Machine::shipped("simulated");
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  Result<planner::PlanFile> file = planner::parse_plan_file(bytes, nullptr, "fuzz.plan", {.checks_head = false});
  if (!file) {
    CLEAVE_CHECK(!file.error().message.empty());
    return 0;
  }
  CLEAVE_CHECK(verify(*file->graph).empty());
  planner::PlanOptions options;
  options.costs.machine = machine;
  options.costs.policy = file->settings.policy;
  const Result<Plan> plan = planner::restore(file->graph, std::move(file->decisions), options);
  if (plan) CLEAVE_CHECK(planner::verify(plan->program).empty());
  return 0;
}
