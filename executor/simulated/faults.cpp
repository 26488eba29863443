#include "executor/simulated/faults.h"

#include <charconv>
#include <string>
#include <utility>

namespace cleave::runtime {

Result<Faults> Faults::parse(std::string_view text) {
  Faults faults;
  const std::pair<std::string_view, std::int64_t Faults::*> counted[] = {{"kernel", &Faults::kernel},
                                                                         {"transfer", &Faults::transfer},
                                                                         {"corrupt", &Faults::corrupt},
                                                                         {"stall", &Faults::stall},
                                                                         {"lost", &Faults::lost}};
  while (!text.empty()) {
    std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    std::string_view name = item.substr(0, item.find(':'));
    bool known = item == "oom";
    faults.oom = faults.oom || known;
    for (const auto& [fault, member] : counted) {
      if (fault != name || name.size() == item.size()) continue;
      std::string_view digits = item.substr(name.size() + 1);
      std::int64_t number = 0;
      auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
      known = problem == std::errc() && end == digits.data() + digits.size() && number >= 1;
      if (known) faults.*member = number;
    }
    if (!known) {
      return Error{
          "`" + std::string(item) + "` is no fault; there are oom, kernel:N, transfer:N, corrupt:N, stall:N and lost:N with N from 1",
          {},
          ErrorKind::usage};
    }
  }
  return faults;
}

}  // namespace cleave::runtime
