// A machine whose times are round numbers.
#pragma once

#include "partitioner/machine/machine.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {

/// Every op takes `host` seconds on the host and 1 s on the accelerator, and every transfer `link` seconds, so that sums are easy. Small
/// values sent at one point take `link` seconds together.
inline Machine round_machine(double host, double link) {
  Machine machine = *Machine::shipped("simulated");
  machine.host = DeviceRates{};
  machine.host.flops.fill(1e30);
  machine.host.bytes_per_second = 1e30;
  machine.host.overhead_seconds = host;
  DeviceRates& accelerator = machine.accelerators[0];
  accelerator.flops.fill(1e30);
  accelerator.bytes_per_second = 1e30;
  accelerator.overhead_seconds = 1;
  accelerator.points.clear();
  accelerator.host_to_accelerator = accelerator.accelerator_to_host = LinkDirection{link, 1e30, {}, {}};
  return machine;
}

}  // namespace cleave::testing
