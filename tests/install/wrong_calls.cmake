# Run by ctest: calls that do not compile, and what the compiler says of each; the right form beside it compiles.
cmake_minimum_required(VERSION 3.25)
set(begin "#include \"cleave.h\"\nusing namespace cleave;\nvoid calls(const Array& array, const Tensor& x) {\n  (void)array, (void)x;\n")
set(right "  (void)write_npy(\"x.npy\", array);\n  write_npy(\"x.npy\", x);\n  (void)host_call(\"f\", {\"f32[4]\"}, [](std::span<const float>, std::span<float>) {}, x);\n")
set(wrong "  (void)write_npy(array, \"x.npy\");\n  write_npy(x, \"x.npy\");\n  (void)host_call(\"f\", {\"f32[4]\"}, [](auto, auto, auto, auto) {}, x, x);\n")
set(messages
  "the path comes first: write_npy(\"x.npy\", array)"
  "the path comes first: write_npy(\"x.npy\", x)"
  "a host function has one call operator that is no template")
file(MAKE_DIRECTORY ${FOLDER})
foreach(form right wrong)
  file(WRITE ${FOLDER}/${form}.cpp "${begin}${${form}}}\n")
  execute_process(COMMAND ${CXX} -std=c++20 -fsyntax-only -I${SOURCE} -I${BUILD}/generated ${FOLDER}/${form}.cpp
                  RESULT_VARIABLE ${form}_code ERROR_VARIABLE said)
endforeach()
if(NOT right_code EQUAL 0)
  message(FATAL_ERROR "the right calls do not compile")
endif()
if(wrong_code EQUAL 0)
  message(FATAL_ERROR "the wrong calls compile")
endif()
string(REPLACE "\\\"" "\"" said "${said}")
foreach(message IN LISTS messages)
  string(FIND "${said}" "${message}" found)
  if(found EQUAL -1)
    message(FATAL_ERROR "the compiler does not say: ${message}\n${said}")
  endif()
endforeach()
