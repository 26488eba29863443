# Finds Highway, with which the host's loops are compiled for several instruction sets (executor/host/simd). Only its headers are used, so
# neither programs nor users of the library need it. Without it the host runs the compiler's loops for any machine of the architecture.
set(CLEAVE_HIGHWAY AUTO CACHE STRING "Vectorised loops of the host by Highway: AUTO (where its headers are), ON or OFF")
set_property(CACHE CLEAVE_HIGHWAY PROPERTY STRINGS AUTO ON OFF)

set(CLEAVE_HAS_HIGHWAY FALSE)
if(NOT CLEAVE_HIGHWAY STREQUAL "OFF")
  find_path(CLEAVE_HIGHWAY_INCLUDE hwy/foreach_target.h DOC "The folder of Highway's headers")
  if(CLEAVE_HIGHWAY_INCLUDE)
    set(CLEAVE_HAS_HIGHWAY TRUE)
    message(STATUS "Vectorised loops of the host: by Highway in ${CLEAVE_HIGHWAY_INCLUDE}")
  elseif(CLEAVE_HIGHWAY STREQUAL "AUTO")
    message(STATUS "Vectorised loops of the host: none, so element-wise work and reductions are slower (Highway was not found: libhwy-dev)")
  else()
    message(FATAL_ERROR "CLEAVE_HIGHWAY=${CLEAVE_HIGHWAY}, but there is no hwy/foreach_target.h (libhwy-dev; CLEAVE_HIGHWAY_INCLUDE says where)")
  endif()
endif()
