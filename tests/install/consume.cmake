# Run by ctest. Copies the consumer out of the source tree, builds it and runs it.
#   WAY=install  installs BUILD to a prefix of its own; the consumer finds it there, and also compiles every installed header on its own
#   WAY=fetch    cleave is a subproject of the consumer (FetchContent) and is built with it
set(work ${BUILD}/${WAY}-test)
file(REMOVE_RECURSE ${work}/consumer ${work}/prefix ${work}/build)
file(COPY ${CMAKE_CURRENT_LIST_DIR}/consumer DESTINATION ${work})

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(failed)
    string(JOIN " " command ${ARGN})
    message(FATAL_ERROR "${command}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

set(options -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${CXX})
if(WAY STREQUAL install)
  run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${work}/prefix)
  list(APPEND options -DCMAKE_BUILD_TYPE=${BUILD_TYPE} -DCMAKE_PREFIX_PATH=${work}/prefix -DHEADERS=${work}/prefix/include)
else()
  # All of cleave is built once more, as fast as that goes.
  list(APPEND options -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 -DCLEAVE_FETCH_FROM=${SOURCE})
  find_program(CCACHE ccache)
  if(CCACHE)
    list(APPEND options -DCMAKE_CXX_COMPILER_LAUNCHER=${CCACHE})
  endif()
endif()
run(${CMAKE_COMMAND} -S ${work}/consumer -B ${work}/build ${options})
run(${CMAKE_COMMAND} --build ${work}/build)
run(${work}/build/consumer)
message(STATUS "${output}")
