# Run by ctest. Copies the consumer out of the source tree, builds it and runs it.
#   WAY=install  installs BUILD to a prefix of its own; the consumer finds it there, and also compiles every installed header on its own;
#                then it is built once more with what pkg-config says
#   WAY=fetch    the example of docs/guide/cpp.md, word for word: cleave is fetched (from SOURCE) and built with it
set(consumer ${CMAKE_CURRENT_LIST_DIR}/consumer)
set(program consumer)
if(WAY STREQUAL fetch)
  set(consumer ${SOURCE}/docs/examples/library)
  set(program least_squares)
endif()
set(work ${BUILD}/${WAY}-test)
file(REMOVE_RECURSE ${work}/source ${work}/prefix ${work}/build)
file(COPY ${consumer}/ DESTINATION ${work}/source)

include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

set(options -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${CXX})
if(WAY STREQUAL install)
  run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${work}/prefix)
  list(APPEND options -DCMAKE_BUILD_TYPE=${BUILD_TYPE} -DCMAKE_PREFIX_PATH=${work}/prefix -DHEADERS=${work}/prefix/include -DVERSION=${VERSION})
else()
  # All of cleave is built once more, as fast as that goes, and without the library that is optional: so the portable loops are compiled too.
  list(APPEND options -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 -DCLEAVE_HIGHWAY=OFF -DCLEAVE_AVX512=OFF
       -DFETCHCONTENT_SOURCE_DIR_CLEAVE=${SOURCE} -DCLEAVE_PCH=ON
       -DCMAKE_PROJECT_least_squares_INCLUDE=${CMAKE_CURRENT_LIST_DIR}/no_extras.cmake)
  find_program(CCACHE ccache)
  if(CCACHE)
    list(APPEND options -DCMAKE_CXX_COMPILER_LAUNCHER=${CCACHE})
  endif()
endif()
run(${CMAKE_COMMAND} -S ${work}/source -B ${work}/build ${options})
run(${CMAKE_COMMAND} --build ${work}/build)
run(${work}/build/${program})
message(STATUS "${output}")
if(WAY STREQUAL install)
  run(${work}/build/uses_c WORKING_DIRECTORY ${work})
  consume_with_pkg_config(${work}/prefix ${work})
endif()
