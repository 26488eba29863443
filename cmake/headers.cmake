# The public headers: what cleave.h reaches, and nothing else. They are installed, each compiles on its own, and none shows a type of
# another project; tests/install/public_headers.cmake and the install test hold them to that.
function(cleave_public_headers target scope)
  target_sources(${target} ${scope} FILE_SET HEADERS
    BASE_DIRS ${PROJECT_SOURCE_DIR}
    FILES ${ARGN})
endfunction()

set(graph_headers
  graph/array.h
  graph/attributes.h
  graph/check.h
  graph/control_flow.h
  graph/diagnostic.h
  graph/diagnostic_text.h
  graph/graph.h
  graph/host_call.h
  graph/host_function.h
  graph/id.h
  graph/nest.h
  graph/npy.h
  graph/op.h
  graph/ops/ops.h
  graph/result.h
  graph/scope.h
  graph/source_location.h
  graph/tensor.h
  graph/tensor_type.h
  graph/text.h
  graph/trace.h
  graph/tracer.h)
set(partitioner_headers
  partitioner/candidate.h
  partitioner/compile.h
  partitioner/costs.h
  partitioner/machine.h
  partitioner/memory_fit.h
  partitioner/min_cut.h
  partitioner/placement.h
  partitioner/problem.h
  partitioner/program.h
  partitioner/round_trips.h
  partitioner/schedule.h
  partitioner/transfers.h)
set(executor_headers
  executor/executable.h
  executor/executor.h
  executor/page_locked.h
  executor/specialized.h
  executor/timeline.h)
set(models_headers
  models/model.h)

set(CLEAVE_PUBLIC_HEADERS cleave.h ${graph_headers} ${partitioner_headers} ${executor_headers} ${models_headers})
foreach(room graph partitioner executor models)
  list(TRANSFORM ${room}_headers PREPEND ${PROJECT_SOURCE_DIR}/)
endforeach()
cleave_public_headers(cleave_graph PUBLIC ${graph_headers})
cleave_public_headers(cleave_partitioner PUBLIC ${partitioner_headers})
cleave_public_headers(cleave_executor PUBLIC ${executor_headers})
cleave_public_headers(cleave_models PUBLIC ${models_headers})
cleave_public_headers(cleave_library INTERFACE ${PROJECT_SOURCE_DIR}/cleave.h)
target_sources(cleave_graph PUBLIC FILE_SET generated TYPE HEADERS
  BASE_DIRS ${PROJECT_BINARY_DIR}/generated
  FILES ${PROJECT_BINARY_DIR}/generated/graph/version.h)
