// Register allocation for a body: when values are loaded, which stay in registers for the whole loop, and which are spilled to the stack.
// Knows of the processor only its number of registers.
#pragma once

#include "executor/host/code/body.h"

namespace cleave::runtime::host {

struct RegisterCounts {
  int vectors = 0;
  int masks = 0;  ///< 0: masks are held in vector registers
};

/// One action of the loop: a load, spill, instruction or store.
struct Move {
  enum class What : std::uint8_t {
    load,     ///< loads a value into a register from its source, or reloads a spilled one from the stack
    keep,     ///< spills a register to the value's stack slot
    compute,  ///< an instruction
    store,    ///< stores a result; `index`: which one
  };
  What what = What::load;
  std::uint8_t to = 0;  ///< register; for `keep` and `store` the one that is read
  ValueIndex value = 0;
  std::size_t index = 0;  ///< index of the instruction or of the result
  std::array<std::uint8_t, 3> operands{};
};

struct Placement {
  std::vector<Move> before, turn;  ///< executed before the loop, and in each iteration
  std::vector<int> place;          ///< by value: its stack slot; negative: none
  int places = 0;
};

Placement place(const Body& body, const RegisterCounts& registers);

}  // namespace cleave::runtime::host
