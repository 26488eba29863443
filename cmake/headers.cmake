# The public headers: what cleave.h and optim.h reach, and nothing else. They are installed, each compiles on its own, and none shows a type of
# another project; tests/install/public_headers.cmake and the install test hold them to that.
function(cleave_public_headers target scope)
  target_sources(${target} ${scope} FILE_SET HEADERS
    BASE_DIRS ${PROJECT_SOURCE_DIR}
    FILES ${ARGN})
endfunction()

set(graph_headers
  graph/array/array.h
  graph/array/npy.h
  graph/array/precision.h
  graph/array/tensor_type.h
  graph/attributes.h
  graph/base/check.h
  graph/base/device_name.h
  graph/base/diagnostic.h
  graph/base/diagnostic_text.h
  graph/base/fix.h
  graph/base/id.h
  graph/base/result.h
  graph/base/source_location.h
  graph/graph.h
  graph/host_function.h
  graph/kernel/fusible_group.h
  graph/kernel/kernel_request.h
  graph/op.h
  graph/pin.h
  graph/ops/array_functions.h
  graph/ops/attention.h
  graph/ops/cells.h
  graph/ops/einsum.h
  graph/ops/elementary.h
  graph/ops/neural.h
  graph/ops/fourier.h
  graph/ops/gradient.h
  graph/ops/linear_algebra.h
  graph/ops/losses.h
  graph/ops/ops.h
  graph/ops/optim.h
  graph/ops/quantization.h
  graph/ops/recurrent.h
  graph/ops/search.h
  graph/ops/statistics.h
  graph/ops/trees.h
  graph/ops/updates.h
  graph/ops/vision.h
  graph/passes/pass_table.h
  graph/shared_constants.h
  graph/states.h
  graph/text/text.h
  graph/trace/batch_reader.h
  graph/trace/batches.h
  graph/trace/control_flow.h
  graph/trace/custom_gradient.h
  graph/trace/host_call.h
  graph/trace/nest.h
  graph/trace/scope.h
  graph/trace/tensor.h
  graph/trace/trace.h
  graph/trace/tracer.h
  graph/work.h)
set(partitioner_headers
  partitioner/apply/account.h
  partitioner/apply/channel_depths.h
  partitioner/apply/critical_path.h
  partitioner/apply/elapsed_bounds.h
  partitioner/apply/memory_fit.h
  partitioner/apply/program.h
  partitioner/apply/round_trips.h
  partitioner/apply/saved_memory.h
  partitioner/apply/schedule.h
  partitioner/apply/transfers.h
  partitioner/apply/worked_out_plan.h
  partitioner/compile.h
  partitioner/plan.h
  partitioner/flow/min_cut.h
  partitioner/machine/cost_source.h
  partitioner/machine/costs.h
  partitioner/machine/machine.h
  partitioner/machine/planner.h
  partitioner/machine/policy.h
  partitioner/machine/profile.h
  partitioner/machine/value_uses.h
  partitioner/solver/device_set.h
  partitioner/solver/placement.h
  partitioner/solver/problem.h)
set(executor_headers
  executor/api/executable.h
  executor/api/page_locked.h
  executor/api/run_counters.h
  executor/api/specialized.h
  executor/options.h
  executor/report/metrics.h
  executor/report/timeline.h
  executor/arguments/run_options.h)
set(models_headers
  models/model.h
  models/network.h
  models/operator_function.h)

set(CLEAVE_PUBLIC_HEADERS cleave.h optim.h ${graph_headers} ${partitioner_headers} ${executor_headers} ${models_headers})
foreach(room graph partitioner executor models)
  list(TRANSFORM ${room}_headers PREPEND ${PROJECT_SOURCE_DIR}/)
endforeach()
cleave_public_headers(cleave_graph PUBLIC ${graph_headers})
cleave_public_headers(cleave_partitioner PUBLIC ${partitioner_headers})
cleave_public_headers(cleave_executor PUBLIC ${executor_headers})
cleave_public_headers(cleave_models PUBLIC ${models_headers})
cleave_public_headers(cleave_library INTERFACE ${PROJECT_SOURCE_DIR}/cleave.h ${PROJECT_SOURCE_DIR}/optim.h)
target_sources(cleave_graph PUBLIC FILE_SET generated TYPE HEADERS
  BASE_DIRS ${PROJECT_BINARY_DIR}/generated
  FILES ${PROJECT_BINARY_DIR}/generated/graph/base/version.h)
