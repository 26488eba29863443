// The deciding kernel of loops and branches inside CUDA graphs: it counts trips, reads predicates, and sets the conditions of conditional
// nodes (CUDA Programming Guide, "Conditional Graph Nodes"). `deciding_text` and `deciding_launch` describe it.
#pragma once

#include <cstdint>
#include <string>

#include "executor/cuda/kernel_source.h"

namespace cleave::runtime::cuda {

/// The words that all nodes of one launch share, in device memory.
struct LaunchWords {
  std::uint64_t command = 0;  ///< the number by which kernels inside report faults
  std::uint64_t count = 0;    ///< trip count of the outermost loop, if it is given at each launch
  std::uint64_t stopped = 0;  ///< not 0: every loop ends; also set by a kernel inside that found invalid data
  std::uint64_t looked = 0;   ///< when the host's words were last read, in nanoseconds of the GPU's clock
};
/// The words that host and GPU share, in page-locked memory.
struct HostWords {
  std::uint64_t stop = 0;      ///< written by the host: not 0: every loop is to end
  std::uint64_t progress = 0;  ///< grows while loops run
};

/// The point in the control flow at which the kernel runs.
enum class Decides : std::uint64_t {
  open = 0,    ///< a launch begins
  first = 1,   ///< before a loop's first trip
  again = 2,   ///< after a trip
  branch = 3,  ///< before a branch's arms
  number = 4,  ///< only writes the number of the trip
};

/// The kernel's parameters, of eight bytes each, in this order. An address of 0 means that there is none.
struct Deciding {
  std::uint64_t what = 0;
  std::uint64_t launch = 0;                ///< address of the LaunchWords
  std::uint64_t host = 0;                  ///< address of the HostWords
  std::uint64_t command = 0;               ///< only at `open`: the number for LaunchWords::command
  std::uint64_t count = 0;                 ///< trip count: at `open` the outermost loop's, else this loop's; all bits set: the launch's
  std::uint64_t trip = 0;                  ///< address of the current trip's number, 64 bits
  std::uint64_t counter = 0;               ///< address at which the loop's body reads that number, 32 bits
  std::uint64_t predicate = 0;             ///< address of one byte
  std::uint64_t ends = 0;                  ///< 1: a true predicate ends the loop; 0: a true predicate continues it
  std::uint64_t taken = 0, otherwise = 0;  ///< condition handles; 0: none
};
inline constexpr int kDecidingParameters = 11;
/// A ticket with this bit holds the address of the LaunchWords instead of a number (KernelText).
inline constexpr std::uint64_t kTicketInMemory = std::uint64_t{1} << 63;
/// The nanoseconds between two reads of the host's words; a read over the link takes about a microsecond.
inline constexpr std::uint64_t kLookEvery = 50'000;

KernelLaunch deciding_launch();
const std::string& deciding_text();

}  // namespace cleave::runtime::cuda
