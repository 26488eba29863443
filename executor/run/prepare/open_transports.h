// Opens a transport for each channel, of the kind that suits its values, its device and their use by the host.
#pragma once

#include <memory>

#include "executor/run/prepare/host_operations.h"
#include "executor/run/prepare/prepared.h"
#include "executor/run/prepare/slot_uses.h"
#include "executor/run/transport/chunks_to_device.h"
#include "executor/run/transport/chunks_to_host.h"

namespace cleave::runtime {

struct Transports {
  IdVector<ChannelId, std::unique_ptr<Transport>> of;  ///< null: the channel's values are moved together with those of an earlier one
  // Those of `of` that are more than a Transport; null: the channel has another kind.
  IdVector<ChannelId, ChunksToDevice*> chunks_to_device;
  IdVector<ChannelId, ChunksToHost*> chunks_to_host;
  IdVector<ValueId, RingToDevice*> result_slots;  ///< by values that are computed in the slot from which they are sent
  /// Those of result_slots whose send is the next step, so that waiting for the slot before the value is computed delays nothing else.
  IdVector<ValueId, RingToDevice*> awaited_slots;
};

/// An Error (machine) if page-locked memory is short.
Result<Transports> open_transports(const Prepared& prepared, const SlotUses& slots, const HostOperations& operations);

}  // namespace cleave::runtime
