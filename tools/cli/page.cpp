#include "tools/cli/page.h"

#include "graph/base/file.h"
#include "partitioner/report/page/page.h"
#include "tools/cli/graphviz.h"
#include "tools/cli/session.h"

namespace cleave::cli {
namespace {

PagePicture picture(const Plan& plan) {
  const Result<Drawing> drawing = draw(plan, {}, "svg");
  if (!drawing) return {"", drawing.error().message};
  return {drawing->bytes, drawing->remark};
}

/// The costs without a profile, by the machine alone.
Result<CostedProblem> without_profile(const Plan& plan, const Options& options) {
  const Result<Wiring> wiring = wire(options);
  if (!wiring) return wiring.error();
  CostModel costs = wiring->plan.costs;
  costs.profile = {};
  Diagnostics ignored;
  return make_problem(*plan.graph, costs, ignored);
}

}  // namespace

Status write_page(const Plan& plan, const Options& options) {
  PageExtras extras;
  if (plan.complete()) extras.picture = picture(plan);
  if (plan.complete() && !options.use_profile.empty()) {
    Result<CostedProblem> costed = without_profile(plan, options);
    if (!costed) return costed.error();
    extras.unobserved = *std::move(costed);
  }
  return write_file(options.html_file, {html_page(plan, extras)});
}

}  // namespace cleave::cli
