// Selects the loops of plain_loops-inl.h by op and element type. Included inside a namespace, once for each instruction set, after those
// loops; includes nothing.

template <class Op>
RowLoop loop_on(DType operand) {
  RowLoop found = nullptr;
  ops::dispatch_in<Op::domain>(operand, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_arithmetic_v<T>) found = plain_loop<Op, T>;
  });
  return found;
}

struct Row {
  std::string_view op;
  RowLoop (*on)(DType operand);
};
template <class Op>
constexpr Row row_of() {
  return {Op::name, loop_on<Op>};
}

inline RowLoop find_in(std::span<const Row> rows, std::string_view op, DType operand) {
  for (const Row& row : rows) {
    if (row.op == op) return row.on(operand);
  }
  return nullptr;
}
