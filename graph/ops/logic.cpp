// Logic on bool, bitwise operations on integers and bool.
#include "graph/ops/elementwise.h"
#include "graph/ops/op_table.h"

namespace cleave::ops {
namespace {

template <class Op>
OpDef logical(std::string summary) {
  return elementwise<Op, Domain::boolean>(Promotion::none, std::move(summary));
}

template <class Op>
OpDef bitwise(std::string summary) {
  return elementwise<Op, Domain::bits>(Promotion::common, std::move(summary));
}

}  // namespace

std::span<const OpDef> logic_ops() {
  using namespace scalars;
  static const std::vector<OpDef> ops = {
      logical<LogicalAnd>("`x1 and x2`, on bool"),
      logical<LogicalOr>("`x1 or x2`, on bool"),
      logical<LogicalXor>("exactly one of two, on bool"),
      logical<LogicalNot>("`not x`, on bool"),
      bitwise<BitwiseAnd>("bitwise and, on integers and bool"),
      bitwise<BitwiseOr>("bitwise or, on integers and bool"),
      bitwise<BitwiseXor>("bitwise exclusive or, on integers and bool"),
      bitwise<BitwiseInvert>("every bit inverted, on integers and bool"),
  };
  return ops;
}

}  // namespace cleave::ops
