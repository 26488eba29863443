// A Program whose coalesced transfers (packets) are split: each value is sent by itself, at the positions of the packet's send and receive.
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
