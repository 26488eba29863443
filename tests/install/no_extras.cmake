# Included by the project that fetches cleave; looks at the end of its CMakeLists.txt what cleave has brought.
cmake_language(DEFER CALL cmake_language EVAL CODE [[
  if(TARGET cleave OR TARGET cleave_test_support)
    message(FATAL_ERROR "a subproject builds neither its tools nor its tests unless it is asked to")
  endif()
  if(NOT TARGET cleave::cleave)
    message(FATAL_ERROR "cleave is not there")
  endif()
]])
