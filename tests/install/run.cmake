# What the install tests share.

# run(command...): its output in `output`; a command that fails ends the test with what it said.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE errors)
  if(failed)
    string(JOIN " " command ${ARGN})
    message(FATAL_ERROR "${command}\n${output}${errors}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

# consume_with_pkg_config(prefix folder): builds and runs the consumer in folder/source as a makefile would.
function(consume_with_pkg_config prefix folder)
  set(ENV{PKG_CONFIG_PATH} ${prefix}/lib/pkgconfig:${prefix}/${LIBRARY_FOLDER}/pkgconfig)
  run(pkg-config --modversion cleave)
  run(pkg-config --cflags --libs cleave)
  separate_arguments(flags UNIX_COMMAND "${output}")
  run(${C} -std=c11 -I${prefix}/include -c ${folder}/source/host_function.c -o ${folder}/host_function.o)
  run(${CXX} ${folder}/source/main.cpp ${folder}/host_function.o ${flags} -o ${folder}/consumer)
  run(${folder}/consumer)
  run(pkg-config --cflags --libs cleave_c)
  separate_arguments(flags UNIX_COMMAND "${output}")
  run(${C} -std=c11 ${folder}/source/uses_c.c ${flags} -o ${folder}/uses_c)
  run(${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${prefix}/lib:${prefix}/${LIBRARY_FOLDER} ${folder}/uses_c WORKING_DIRECTORY ${folder})
endfunction()
