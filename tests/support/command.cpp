#include "tests/support/command.h"
#include "tests/support/namespaces.h"
#include "tests/support/places.h"

#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace cleave::testing {

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
}

CommandResult run_command(const std::string& command, const std::string& folder) {
  const TemporaryFolder scratch;
  write_file(scratch.path("command"), "cd '" + folder + "' && { " + command + "\n}");
  const std::string line = "PATH='" + binary_dir() + "/tools:" + binary_dir() + "/examples':$PATH NO_COLOR= bash '" +
                           scratch.path("command") + "' </dev/null >'" + scratch.path("out") + "' 2>'" + scratch.path("err") + "'";
  const int status = std::system(line.c_str());
  CommandResult result;
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.out = read_file(scratch.path("out"));
  result.err = read_file(scratch.path("err"));
  return result;
}

std::string without_account(const std::string& err) {
  const std::size_t begin = err.size() < 2 ? 0 : err.rfind('\n', err.size() - 2) + 1;  // npos + 1 is 0
  return err.find("-bound: ", begin) == std::string::npos ? err : err.substr(0, begin);
}

bool updating_golden() {
  const char* flag = std::getenv("CLEAVE_UPDATE_GOLDEN");
  return flag && *flag && *flag != '0';
}

}  // namespace cleave::testing
