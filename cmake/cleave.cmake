# What every target of cleave is built with.
find_package(Threads REQUIRED)

add_library(cleave_options INTERFACE)
target_compile_features(cleave_options INTERFACE cxx_std_20)
target_compile_options(cleave_options INTERFACE -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion
                                                $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized -Wno-missing-field-initializers -Wno-restrict>
                                                $<$<CXX_COMPILER_ID:Clang>:-Wno-missing-field-initializers>
                                                -ffp-contract=off)
target_include_directories(cleave_options INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                           $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated>)
if(CLEAVE_SANITIZE)
  target_compile_options(cleave_options INTERFACE -fsanitize=${CLEAVE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(cleave_options INTERFACE -fsanitize=${CLEAVE_SANITIZE})
endif()
if(CLEAVE_BUILD_FUZZERS)
  target_compile_options(cleave_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
