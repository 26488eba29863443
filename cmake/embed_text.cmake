# Writes a C++ source that holds text files as strings: cmake -DOUTPUT=... -DINPUTS="a;b" -DHEADER=... -DFUNCTION=... -DNAMESPACE=... -P embed_text.cmake
# FUNCTION returns a std::span<const EmbeddedText>, one entry a file, by its name without extension.
set(entries "")
foreach(input ${INPUTS})
  get_filename_component(name ${input} NAME_WE)
  file(READ ${input} text)
  string(APPEND entries "    {\"${name}\", R\"embedded(${text})embedded\"},\n")
endforeach()
file(WRITE ${OUTPUT} "#include \"${HEADER}\"

namespace ${NAMESPACE} {

std::span<const EmbeddedText> ${FUNCTION}() {
  static constexpr EmbeddedText kTexts[] = {
${entries}  };
  return kTexts;
}

}  // namespace ${NAMESPACE}
")
