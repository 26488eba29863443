# What every target of cleave is built with.
find_package(Threads REQUIRED)

add_library(cleave_options INTERFACE)
target_compile_features(cleave_options INTERFACE cxx_std_20)
# Warnings are for those who build cleave, not for those who use it; wrong contraction would change results, so nobody gets it.
if(PROJECT_IS_TOP_LEVEL)
  target_compile_options(cleave_options INTERFACE
    $<BUILD_INTERFACE:-Wall>
    $<BUILD_INTERFACE:-Wextra>
    $<BUILD_INTERFACE:-Wshadow>
    $<BUILD_INTERFACE:-Wconversion>
    $<BUILD_INTERFACE:-Wno-sign-conversion>
    $<BUILD_INTERFACE:$<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>>
    $<BUILD_INTERFACE:$<$<CXX_COMPILER_ID:GNU,Clang>:-Wno-missing-field-initializers>>
    $<BUILD_INTERFACE:$<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>>
    $<BUILD_INTERFACE:-ffp-contract=off>)
else()
  add_compile_options(-ffp-contract=off)
endif()
# Sources say "graph/graph.h"; users say <cleave/graph/graph.h>. Both work in the build tree (through links) and once installed.
set(generated ${PROJECT_BINARY_DIR}/generated)
file(MAKE_DIRECTORY ${generated}/cleave)
foreach(name cleave.h optim.h graph partitioner executor models)
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${name} ${generated}/cleave/${name} SYMBOLIC)
endforeach()
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/executor/host/include/cleave/host_function.h ${generated}/cleave/host_function.h SYMBOLIC)
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/tools/c/include/cleave/c.h ${generated}/cleave/c.h SYMBOLIC)
target_include_directories(cleave_options INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
  $<BUILD_INTERFACE:${generated}>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/cleave>)
# Libraries that tests share where each would be a third of a gigabyte otherwise; nobody installs those with sanitizers.
set(CLEAVE_LIBRARY_KIND STATIC)
if(CLEAVE_SANITIZE)
  set(CLEAVE_LIBRARY_KIND SHARED)
endif()
if(CLEAVE_SANITIZE)
  target_compile_options(cleave_options INTERFACE -fsanitize=${CLEAVE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  if(CLEAVE_SANITIZE MATCHES "undefined")  # the address sanitizer finds what these find
    target_compile_options(cleave_options INTERFACE -fno-sanitize=object-size,vptr)
  endif()
  target_link_options(cleave_options INTERFACE -fsanitize=${CLEAVE_SANITIZE})
endif()

include(cmake/precompiled.cmake)

# What waits for files and for people: reading and writing text gains nothing from -O3, and takes twice as long to compile.
function(cleave_optimise_lightly target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# A build with sanitizers is not optimized: that takes two to five times as long to compile. The rooms whose loops would make the tests slow
# are; the headers were precompiled with other options then.
function(cleave_optimise_sanitized)
  if(CLEAVE_SANITIZE)
    foreach(target ${ARGN})
      target_compile_options(${target} PRIVATE -O1)
      set_target_properties(${target} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
    endforeach()
  endif()
endfunction()

# These sources of the folder call functions of other libraries by types that they declare themselves, as users of DLPack do.
function(cleave_calls_foreign_types)
  if(CLEAVE_SANITIZE MATCHES "undefined" AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS -fno-sanitize=function)
  endif()
endfunction()

# What the fuzzer is to find its way through: the readers.
function(cleave_guide_fuzzer)
  if(CLEAVE_BUILD_FUZZERS)
    foreach(target ${ARGN})
      target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
      set_target_properties(${target} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
    endforeach()
  endif()
endfunction()

# Several sources of a room can be compiled as one: most of a source's time goes into the headers that its neighbors read as well. No name
# of an anonymous namespace may stand twice in a room then. Sources with options of their own are compiled by themselves.
option(CLEAVE_UNITY "Compile the sources of a room together" ON)
function(cleave_together target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${CLEAVE_UNITY} UNITY_BUILD_BATCH_SIZE 8)
  if(CLEAVE_UNITY)  # a source read by another one counts as a header, whose anonymous namespaces GCC warns about
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

# An inner room: cleave_room(graph_base SOURCES...) compiles one folder. Rooms are gathered in the library of the folder around them.
function(cleave_room name)
  add_library(cleave_${name} OBJECT ${ARGN})
  target_link_libraries(cleave_${name} PRIVATE cleave_options)
  cleave_precompiled(cleave_${name} cleave_standard_headers)
  cleave_together(cleave_${name})
endfunction()

# cleave_made_of(cleave_graph graph_base graph_array ...): the library holds these rooms.
function(cleave_made_of library)
  target_link_libraries(${library} PUBLIC cleave_options)
  cleave_precompiled(${library} cleave_standard_headers)
  foreach(room ${ARGN})
    target_sources(${library} PRIVATE $<TARGET_OBJECTS:cleave_${room}>)
  endforeach()
endfunction()
