# Finds the headers of the CUDA toolkit. The CUDA room (executor/cuda) is built where they are; libraries are opened at run time, and
# nothing links against them. Sets CLEAVE_HAS_CUDA and, where true, the target cleave_cuda_headers.
set(CLEAVE_CUDA AUTO CACHE STRING "The CUDA back end: AUTO (where the toolkit's headers are), ON or OFF")
set_property(CACHE CLEAVE_CUDA PROPERTY STRINGS AUTO ON OFF)

set(CLEAVE_HAS_CUDA FALSE)
if(NOT CLEAVE_CUDA STREQUAL "OFF")
  find_path(CLEAVE_CUDA_INCLUDE cuda.h HINTS ${CUDAToolkit_ROOT}/include $ENV{CUDA_PATH}/include /usr/local/cuda/include
            DOC "The folder of the CUDA toolkit's headers")
  if(CLEAVE_CUDA_INCLUDE AND EXISTS ${CLEAVE_CUDA_INCLUDE}/nvrtc.h AND EXISTS ${CLEAVE_CUDA_INCLUDE}/cublasLt.h)
    set(CLEAVE_HAS_CUDA TRUE)
    add_library(cleave_cuda_headers INTERFACE)
    target_include_directories(cleave_cuda_headers SYSTEM INTERFACE ${CLEAVE_CUDA_INCLUDE})
    message(STATUS "CUDA back end: with the headers in ${CLEAVE_CUDA_INCLUDE}")
  elseif(CLEAVE_CUDA STREQUAL "AUTO")
    message(STATUS "CUDA back end: none (no cuda.h, nvrtc.h and cublasLt.h in one folder; CUDAToolkit_ROOT says where they are)")
  else()
    message(FATAL_ERROR "CLEAVE_CUDA=${CLEAVE_CUDA}, but there is no folder with cuda.h, nvrtc.h and cublasLt.h; CUDAToolkit_ROOT says where they are")
  endif()
endif()
