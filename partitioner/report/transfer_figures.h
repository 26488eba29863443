// Figures of each transfer beside its cost, for text and JSON: who reads the value, and whether a reader waits for it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "partitioner/machine/value_uses.h"
#include "partitioner/plan.h"

namespace cleave::planner {

/// The JSON spellings are those of the enumerators.
std::string_view to_string(UseKind kind);

struct Consumer {
  UseKind kind = UseKind::operand;
  NodeId node;       ///< none: an output of the program
  std::string name;  ///< of the op or host function; of the output; or of the value of a loop or branch
  SourceLocation location;
};

struct TransferFigures {
  std::vector<Consumer> consumers;  ///< in program order, each once
  TransferTime time;
  ChannelId channel;
  CoalescedId coalesced = {};              ///< the coalesced transfer it belongs to; none: it is sent alone
  std::optional<double> measured_seconds;  ///< copy time in a run, measured by the profile of the plan
};

/// One entry for each of the plan's transfers.
std::vector<TransferFigures> transfer_figures(const Plan& plan);

/// The coalesced transfer that each transfer belongs to.
std::vector<CoalescedId> coalesced_by_transfer(const Plan& plan);
/// The channel of each transfer.
std::vector<ChannelId> channels_of(const Plan& plan);

/// "for `sort` 10:17, output `w`", shortened to the first ones if there are many.
std::string consumers_phrase(const std::vector<Consumer>& consumers);
/// "36 ms", "36 ms, measured 41 ms".
std::string seconds_phrase(const Transfer& transfer, const TransferFigures& figures);
/// "hidden", "waited for 1.2 ms".
std::string waited_phrase(const TransferTime& time);
/// "packet 2"; empty if there is none.
std::string coalesced_phrase(CoalescedId coalesced);

}  // namespace cleave::planner
