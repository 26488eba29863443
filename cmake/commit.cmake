# Writes the C++ source behind tools/cli/commit.h: cmake -DSOURCE=... -DOUTPUT=... -P commit.cmake. Run by every build; the file changes only
# when the commit does. Empty where there is no git, or no repository of cleave's own, as in an archive of the sources.
set(commit "")
find_program(GIT git)
if(GIT AND EXISTS ${SOURCE}/.git)
  execute_process(COMMAND ${GIT} -C ${SOURCE} describe --always --exclude=* --abbrev=10 --dirty=-modified
                  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT [[
#include "tools/cli/commit.h"

namespace cleave::cli {

std::string_view commit() {
  return "@commit@";
}

}  // namespace cleave::cli
]] @ONLY)
