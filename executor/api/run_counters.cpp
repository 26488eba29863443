#include "executor/api/run_counters.h"

#include <charconv>

namespace cleave {
namespace {

/// A label's value: backslashes, quotes and line feeds are escaped.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char each : text) {
    if (each == '\n') {
      out += "\\n";
      continue;
    }
    if (each == '\\' || each == '"') out += '\\';
    out += each;
  }
  return out + "\"";
}

class Exposition {
 public:
  explicit Exposition(std::string_view program) : program_(quoted(program)) {}

  void family(std::string_view name, std::string_view help) {
    name_ = name;
    text_.append("# HELP ").append(name).append(" ").append(help).append("\n# TYPE ").append(name).append(" counter\n");
  }
  template <class Number>
  void sample(Number value, std::string_view label = {}, std::string_view of_label = {}) {
    text_.append(name_).append("{program=").append(program_);
    if (!label.empty()) text_.append(",").append(label).append("=").append(quoted(of_label));
    char digits[32];
    const char* const end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    text_.append("} ").append(digits, static_cast<std::size_t>(end - digits)).append("\n");
  }
  std::string text() && { return std::move(text_); }

 private:
  std::string program_, name_, text_;
};

}  // namespace

std::string to_prometheus(const RunCounters& counters, std::string_view program) {
  Exposition out(program);
  out.family("cleave_runs_total", "Runs that are over.");
  out.sample(counters.succeeded, "outcome", "success");
  out.sample(counters.failed, "outcome", "failure");
  out.family("cleave_run_seconds_total", "Wall clock of the successful runs.");
  out.sample(counters.seconds);
  out.family("cleave_waiting_seconds_total", "Time that runs waited for their turn.");
  out.sample(counters.waiting_seconds);
  out.family("cleave_transfers_total", "Values that were transferred.");
  out.sample(counters.host_to_accelerator.count, "direction", "host_to_accelerator");
  out.sample(counters.accelerator_to_host.count, "direction", "accelerator_to_host");
  out.family("cleave_transferred_bytes_total", "Bytes that were transferred.");
  out.sample(counters.host_to_accelerator.bytes, "direction", "host_to_accelerator");
  out.sample(counters.accelerator_to_host.bytes, "direction", "accelerator_to_host");
  return std::move(out).text();
}

}  // namespace cleave
