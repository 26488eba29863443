// Placement of a body's values in registers: which are loaded when, which stay in registers for the whole loop, and which give way to
// others on the stack. Knows no processor, only how many registers it has.
#pragma once

#include "executor/host/code/body.h"

namespace cleave::runtime::host {

struct RegisterCounts {
  int vectors = 0;
  int masks = 0;  ///< none: masks are vectors
};

/// One thing to do.
struct Move {
  enum class What : std::uint8_t {
    load,     ///< a value into a register, from where it comes; what was computed comes from its place on the stack
    keep,     ///< a register to the value's place on the stack
    compute,  ///< an instruction
    store,    ///< a result; `index`: which
  };
  What what = What::load;
  std::uint8_t to = 0;  ///< register; of `keep` and `store` the one that is read
  ValueIndex value = 0;
  std::size_t index = 0;  ///< of the instruction, or of the result
  std::array<std::uint8_t, 3> operands{};
};

struct Placement {
  std::vector<Move> before, turn;  ///< before the loop, in each turn of it
  std::vector<int> place;          ///< by value: which place on the stack; negative: none
  int places = 0;
};

Placement place(const Body& body, const RegisterCounts& registers);

}  // namespace cleave::runtime::host
