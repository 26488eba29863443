// The names that users see of the library: the planner's and the executor's internal names do not collide with the user's, and the public
// header can be included together with the header for implementing a back end.
#include <cleave/cleave.h>
#include <gtest/gtest.h>

#include "executor/device/device.h"

using namespace cleave;

namespace {

// A user's types with names that the planner and the executor use internally.
struct Step {};
struct Program {};
struct Block {};
struct Channel {};
struct Placement {};
struct Transfer {};
struct Schedule {};
struct Executor {};
struct BackEnd {};
struct Range {};
struct Event {};
struct Position {};
struct Kernel {};
struct Fusion {};
struct Problem {};
struct Cause {};
struct Waiting {};

TEST(Namespaces, UsersMayHaveTheirOwnWords) {
  [[maybe_unused]] const std::tuple<Step, Program, Block, Channel, Placement, Transfer, Schedule, Executor, BackEnd, Range, Event, Position,
                                    Kernel, Fusion, Problem, Cause, Waiting>
      all;
  EXPECT_NE(Device::host, Device::accelerator);  // the user's Device names a side; the back ends' is cleave::runtime::Device
}

}  // namespace
