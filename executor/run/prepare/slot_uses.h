// SlotUses: finds the values that the host uses in the slots of rings: it computes outgoing ones in the slot from which they are sent, and
// reads incoming ones where they have arrived. Decided once; knows no run.
#pragma once

#include <vector>

#include "executor/run/prepare/prepared.h"

namespace cleave::runtime {

struct SlotUses {
  IdVector<ValueId, ChannelId> computed;      ///< the channel of values that are computed in the slot from which they are sent
  IdVector<ChannelId, std::uint8_t> read;     ///< channels whose values the host reads in the slot until it takes the next one
  std::vector<std::uint8_t> moving_storages;  ///< by storage of the host: its address may change whenever its value is computed or received
};

SlotUses find_slot_uses(const Prepared& prepared);

}  // namespace cleave::runtime
