// einsum: products, sums, diagonals, axes without letters, several operands.
#include "tests/support/op_samples/samples.h"

namespace cleave::testing {

void add_einsum(Samples& s) {
  const auto add = [&](const char* equation, const std::vector<Shape>& shapes, DType dtype = f32) {
    std::vector<Array> operands;
    for (const Shape& shape : shapes) operands.push_back(s.numbers(dtype, shape));
    s.add("einsum", std::move(operands), {{"equation", std::string(equation)}});
  };
  for (const DType dtype : {f32, f64, f16, bf16, i32, i64, u8}) {
    add("ij,jk->ik", {{2, 3}, {3, 4}}, dtype);
    add("ij->j", {{2, 3}}, dtype);
  }
  add("bhid,bhjd->bhij", {{2, 2, 3, 4}, {2, 2, 5, 4}});
  add("ii", {{4, 4}});
  add("iji->ji", {{3, 2, 3}});
  add("iii->i", {{3, 3, 3}});
  add("ij,kl->lijk", {{2, 3}, {4, 5}});
  add("...ij,...jk", {{2, 3, 4}, {5, 1, 4, 6}});
  add("...->...", {{2, 3}});
  add("i...,i->...", {{3, 2, 4}, {3}});
  add("ij,jk,kl,l->i", {{2, 3}, {3, 4}, {4, 5}, {5}});
  add("i,i,i->i", {{4}, {4}, {1}});
  add("ab,cd->", {{2, 3}, {4, 2}});
  add("i,->i", {{3}, {}});
  add("ij,jk", {{2, 0}, {0, 3}});
  add("ba", {{2, 3}});
}

}  // namespace cleave::testing
