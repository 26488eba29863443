// What there is to know of each transfer beside its price: who reads what arrives, and whether anyone waits for it. Text and JSON show it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "partitioner/compile.h"
#include "partitioner/machine/value_uses.h"

namespace cleave::planner {

/// The JSON spellings are those of the enumerators.
std::string_view to_string(UseKind kind);

struct Consumer {
  UseKind kind = UseKind::operand;
  NodeId node;       ///< none: an output of the program
  std::string name;  ///< of the op or host function; of the output, or of what a loop or branch carries
  SourceLocation location;
};

struct TransferFigures {
  std::vector<Consumer> consumers;  ///< in program order, each once
  TransferTime time;
  ChannelId channel;
  PacketId packet = {};                    ///< that it travels in; none: alone
  std::optional<double> measured_seconds;  ///< what its copies took, by the profile that the plan was made with; a run
};

/// As the plan's transfers.
std::vector<TransferFigures> transfer_figures(const Plan& plan);

/// Which packet each travels in.
std::vector<PacketId> packets_of(const Plan& plan);
/// Through which channel each goes.
std::vector<ChannelId> channels_of(const Plan& plan);

/// "for `sort` 10:17, output `w`"; of many the first.
std::string consumers_phrase(const std::vector<Consumer>& consumers);
/// "36 ms", "36 ms, measured 41 ms".
std::string seconds_phrase(const Transfer& transfer, const TransferFigures& figures);
/// "hidden", "waited for 1.2 ms".
std::string waited_phrase(const TransferTime& time);
/// "packet 2"; empty: it travels alone.
std::string packet_phrase(PacketId packet);

}  // namespace cleave::planner
