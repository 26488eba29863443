// A Program whose coalesced transfers are split: each value is sent by itself, at the positions of the coalesced transfer's send and
// receive.
#pragma once

#include "partitioner/apply/program.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {

inline Program unpacked(Program program) {
  program.coalesced_transfers = {};
  for (Channel& channel : program.channels) {
    channel.coalesced = {};
    channel.offset = 0;
  }
  return program;
}

}  // namespace cleave::testing
