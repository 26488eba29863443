#include "partitioner/machine/machine_keys.h"

#include "graph/array/precision.h"
#include "graph/array/tensor_type.h"
#include "graph/work.h"

namespace cleave::planner {

const MachineKeys& machine_file_keys() {
  static const MachineKeys keys = {{"machine", "provenance", "host", "accelerator", "accelerators", "link", "peers"},
                                   {"machine", "provenance", "host"}};
  return keys;
}

const MachineKeys& host_keys() {
  static const MachineKeys keys = {{"name", "flops", "bytes_per_second", "overhead_seconds", "run_seconds", "trip_seconds", "memory_bytes",
                                    "threads", "efficiency", "points"},
                                   {"flops", "bytes_per_second"}};
  return keys;
}

const MachineKeys& accelerator_keys() {
  static const MachineKeys keys = {{"name", "flops", "bytes_per_second", "overhead_seconds", "trip_seconds", "memory_bytes", "efficiency",
                                    "points", "control_flow", "link", "count"},
                                   {"flops", "bytes_per_second"}};
  return keys;
}

const MachineKeys& flops_keys() {
  static const MachineKeys keys = [] {
    MachineKeys all;
    for (int i = 0; i < kDTypeCount; ++i) all.known.emplace_back(to_string(static_cast<DType>(i)));
    all.required = {std::string(to_string(DType::f32))};
    return all;
  }();
  return keys;
}

const MachineKeys& accelerator_flops_keys() {
  static const MachineKeys keys = [] {
    MachineKeys all = flops_keys();
    all.known.emplace_back(to_string(Precision::tf32));
    return all;
  }();
  return keys;
}

const MachineKeys& efficiency_keys() {
  static const MachineKeys keys = [] {
    MachineKeys all;
    for (int i = 0; i < kCostClassCount; ++i) all.known.emplace_back(to_string(static_cast<CostClass>(i)));
    return all;
  }();
  return keys;
}

const MachineKeys& class_efficiency_keys() {
  static const MachineKeys keys = {{"flops", "bytes"}, {}};
  return keys;
}

const MachineKeys& link_keys() {
  static const MachineKeys keys = {{"host_to_accelerator", "accelerator_to_host"}, {"host_to_accelerator", "accelerator_to_host"}};
  return keys;
}

const MachineKeys& peer_keys() {
  static const MachineKeys keys = {{"between", "latency_seconds", "bytes_per_second", "points"},
                                   {"between", "latency_seconds", "bytes_per_second"}};
  return keys;
}

const MachineKeys& link_direction_keys() {
  static const MachineKeys keys = {{"latency_seconds", "bytes_per_second", "points", "pageable_points"},
                                   {"latency_seconds", "bytes_per_second"}};
  return keys;
}

}  // namespace cleave::planner
