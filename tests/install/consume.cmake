# Run by ctest: installs BUILD to a prefix of its own, copies the consumer out of the source tree, builds and runs it; then tries the same
# consumer with cleave as a subproject (FetchContent).
set(work ${BUILD}/install-test)
file(REMOVE_RECURSE ${work})
file(COPY ${CMAKE_CURRENT_LIST_DIR}/consumer DESTINATION ${work})

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(failed)
    string(JOIN " " command ${ARGN})
    message(FATAL_ERROR "${command}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

set(options -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_BUILD_TYPE=${BUILD_TYPE} "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror")
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${work}/prefix)
run(${CMAKE_COMMAND} -S ${work}/consumer -B ${work}/installed ${options} -DCMAKE_PREFIX_PATH=${work}/prefix)
run(${CMAKE_COMMAND} --build ${work}/installed)
run(${work}/installed/consumer)
message(STATUS "${output}")

# As a subproject cleave would be built once more: enough that it configures and that the consumer compiles against it.
run(${CMAKE_COMMAND} -S ${work}/consumer -B ${work}/fetched ${options} -DCLEAVE_FETCH_FROM=${SOURCE})
run(${CMAKE_COMMAND} --build ${work}/fetched --target consumer_sources)
