// Comparisons give bool; false where an operand is NaN (not_equal: true).
#include "graph/ops/elementwise.h"
#include "graph/ops/op_table.h"

namespace cleave::ops {
namespace {

template <class Op>
OpDef comparison(std::string summary) {
  return elementwise<Op, Domain::any, true>(Promotion::common, std::move(summary));
}

}  // namespace

std::span<const OpDef> comparison_ops() {
  using namespace scalars;
  static const std::vector<OpDef> ops = {
      comparison<Equal>("`x1 == x2`"),     comparison<NotEqual>("`x1 != x2`"), comparison<Less>("`x1 < x2`"),
      comparison<LessEqual>("`x1 <= x2`"), comparison<Greater>("`x1 > x2`"),   comparison<GreaterEqual>("`x1 >= x2`"),
  };
  return ops;
}

}  // namespace cleave::ops
