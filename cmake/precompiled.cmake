# The headers of the standard library that most files read, compiled once for all rooms: without, two thirds of a second of every file goes
# there. No file may lean on it: each includes what it uses, and tools/test tidy compiles every one without.
option(CLEAVE_PCH "Precompile the headers of the standard library" ${PROJECT_IS_TOP_LEVEL})

# Headers that bring <iomanip> along (filesystem, thread) stay out: std::quoted would be found for every string.
set(CLEAVE_STANDARD_HEADERS
  <algorithm> <array> <atomic> <bit> <charconv> <chrono> <cmath> <condition_variable> <cstdint> <cstdio> <cstdlib> <cstring> <deque>
  <functional> <limits> <map> <memory> <mutex> <numeric> <optional> <set> <span> <string> <string_view> <tuple> <type_traits> <unordered_map>
  <utility> <variant> <vector>)

# What ccache asks for; and GCC 12 warns of what it thinks to see inside std::string once that is no longer marked as a system's header.
function(cleave_precompiled_options target)
  target_compile_options(${target} PRIVATE
    "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess;-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread>"
    "$<$<COMPILE_LANG_AND_ID:CXX,Clang>:SHELL:-Xclang -fno-pch-timestamp>")
endfunction()

# cleave_precompile(owner HEADERS...): a target that does nothing but compile headers.
function(cleave_precompile owner)
  if(CLEAVE_PCH)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/precompiled.cpp CONTENT "// A target must compile something.\n")
    add_library(${owner} OBJECT ${PROJECT_BINARY_DIR}/generated/precompiled.cpp)
    target_link_libraries(${owner} PRIVATE cleave_options)
    cleave_precompiled_options(${owner})
    target_precompile_headers(${owner} PRIVATE ${ARGN})
  endif()
endfunction()

# cleave_precompiled(target owner): compiles the target with them. Both must be made with the same options (a program's are not a library's).
function(cleave_precompiled target owner)
  if(CLEAVE_PCH)
    cleave_precompiled_options(${target})
    target_precompile_headers(${target} REUSE_FROM ${owner})
  endif()
endfunction()

cleave_precompile(cleave_standard_headers ${CLEAVE_STANDARD_HEADERS})
