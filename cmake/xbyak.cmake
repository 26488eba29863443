# Finds Xbyak, with which fused groups of simple steps become machine code of their own when a run is prepared (executor/host/code). Only
# its headers are used, so neither programs nor users of the library need it. Without it the steps of a group run tile by tile.
set(CLEAVE_XBYAK AUTO CACHE STRING "Machine code for fused groups by Xbyak: AUTO (where its headers are, on x86-64), ON or OFF")
set_property(CACHE CLEAVE_XBYAK PROPERTY STRINGS AUTO ON OFF)

set(CLEAVE_HAS_XBYAK FALSE)
if(NOT CLEAVE_XBYAK STREQUAL "OFF")
  if(UNIX AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    find_path(CLEAVE_XBYAK_INCLUDE xbyak/xbyak.h DOC "The folder of Xbyak's headers")
  endif()
  if(CLEAVE_XBYAK_INCLUDE)
    set(CLEAVE_HAS_XBYAK TRUE)
    message(STATUS "Machine code for fused groups: by Xbyak in ${CLEAVE_XBYAK_INCLUDE}")
  elseif(CLEAVE_XBYAK STREQUAL "AUTO")
    message(STATUS "Machine code for fused groups: none, so they run step by step (Xbyak was not found, or this is no x86-64: libxbyak-dev)")
  else()
    message(FATAL_ERROR "CLEAVE_XBYAK=${CLEAVE_XBYAK}, but there is no xbyak/xbyak.h (libxbyak-dev; CLEAVE_XBYAK_INCLUDE says where), or this is no x86-64")
  endif()
endif()
