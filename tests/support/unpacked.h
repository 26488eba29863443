// A Program whose packets are taken apart: each value travels by itself, in the places where the packets had them.
#pragma once

#include "partitioner/apply/program.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {

inline Program unpacked(Program program) {
  program.packets = {};
  for (Channel& channel : program.channels) {
    channel.packet = {};
    channel.offset = 0;
  }
  return program;
}

}  // namespace cleave::testing
