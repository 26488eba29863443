// The kernel that decides loops and branches inside of CUDA graphs: it counts trips, looks at predicates, and sets the conditions of
// conditional nodes (CUDA Programming Guide, "Conditional Graph Nodes").
#pragma once

#include <cstdint>
#include <string>

#include "executor/cuda/kernel_source.h"

namespace cleave::runtime::cuda {

/// Of a whole launch, in device memory.
struct LaunchWords {
  std::uint64_t command = 0;  ///< the number that faults inside are told with
  std::uint64_t count = 0;    ///< of the outermost loop, where that is said at each launch
  std::uint64_t stopped = 0;  ///< no loop goes on; also where a kernel inside has found that its data are wrong
  std::uint64_t looked = 0;   ///< when the host's words were looked at last, in nanoseconds of the GPU's clock
};
/// The host's, in page-locked memory.
struct HostWords {
  std::uint64_t stop = 0;      ///< it wants every loop to end
  std::uint64_t progress = 0;  ///< grows while loops go on
};

/// What the kernel does.
enum class Decides : std::uint64_t {
  open = 0,    ///< a launch begins
  first = 1,   ///< before a loop's first trip
  again = 2,   ///< behind a trip
  branch = 3,  ///< into its arms
  number = 4,  ///< only writes the number of the trip
};

/// What the kernel is told. Eight bytes each, in this order. Addresses of 0: there is none.
struct Deciding {
  std::uint64_t what = 0;
  std::uint64_t launch = 0;                ///< LaunchWords
  std::uint64_t host = 0;                  ///< HostWords
  std::uint64_t command = 0;               ///< open
  std::uint64_t count = 0;                 ///< open: of the outermost loop. Else of this one; of all ones: that of the launch
  std::uint64_t trip = 0;                  ///< where the number of the trip is kept, 64 bits
  std::uint64_t counter = 0;               ///< where the loop's body reads it, 32 bits
  std::uint64_t predicate = 0;             ///< one byte
  std::uint64_t ends = 0;                  ///< 1: the predicate ends the loop; 0: it keeps it going
  std::uint64_t taken = 0, otherwise = 0;  ///< conditions; 0: there is none
};
inline constexpr int kDecidingParameters = 11;
/// Of a ticket, in place of a number: the address of the launch's words (KernelText).
inline constexpr std::uint64_t kTicketInMemory = std::uint64_t{1} << 63;
/// So long the host's words are not looked at: to reach over the link takes about a microsecond.
inline constexpr std::uint64_t kLookEvery = 50'000;

KernelLaunch deciding_launch();
const std::string& deciding_text();

}  // namespace cleave::runtime::cuda
