// The handler of fault signals. Only few functions may be called in a signal handler, so it reads the graph in place, writes with write(2)
// and allocates no memory.
#include "tools/cli/crash.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string_view>

#include "executor/device/step_mark.h"
#include "graph/host_function.h"

namespace cleave::cli {
namespace {

struct Fault {
  int signal;
  const char* name;
};
constexpr Fault kFaults[] = {{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"}, {SIGFPE, "SIGFPE"}, {SIGILL, "SIGILL"}, {SIGABRT, "SIGABRT"}};

/// A line of text in a fixed buffer; text that does not fit is cut.
class Line {
 public:
  void put(std::string_view text) {
    for (const char c : text) {
      if (size_ == text_.size()) return;
      const auto byte = static_cast<unsigned char>(c);
      text_[size_++] = byte < 0x20 || byte == 0x7f ? '?' : c;
    }
  }
  void put(int number) {
    std::array<char, 12> digits;
    std::size_t at = digits.size();
    do digits[--at] = static_cast<char>('0' + number % 10);
    while ((number /= 10) > 0 && at > 0);
    put(std::string_view(digits.data() + at, digits.size() - at));
  }
  void end() {
    if (size_ == text_.size()) --size_;
    text_[size_++] = '\n';
    for (std::size_t at = 0; at < size_;) {
      const ssize_t written = ::write(STDERR_FILENO, text_.data() + at, size_ - at);
      if (written <= 0) return;
      at += static_cast<std::size_t>(written);
    }
  }

 private:
  std::array<char, 1000> text_;
  std::size_t size_ = 0;
};

void put_culprit(Line& line, const Graph& graph, const Node& node) {
  const HostFunction* function = node.host_function();
  if (function) {
    line.put("the host function `");
    line.put(function->name);
  } else {
    line.put("`");
    line.put(node.op ? std::string_view(node.op->name) : std::string_view("a node"));
  }
  line.put("`");
  if (node.results.empty() || graph.values[node.results[0]].name.empty()) return;
  line.put(", which makes `");
  line.put(graph.values[node.results[0]].name);
  line.put("`,");
}

void on_fault(int signal) {
  const runtime::StepMark::MarkedStep& place = runtime::StepMark::current();
  if (place.graph && place.node.valid()) {
    const Node& node = place.graph->nodes[place.node];
    Line line;
    if (node.location.known()) {
      line.put(node.location.file_name());
      line.put(":");
      line.put(node.location.line);
      if (node.location.column > 0) {
        line.put(":");
        line.put(node.location.column);
      }
      line.put(": ");
    }
    line.put("error: ");
    put_culprit(line, *place.graph, node);
    line.put(" crashed");
    for (const Fault& fault : kFaults) {
      if (fault.signal != signal) continue;
      line.put(" (");
      line.put(fault.name);
      line.put(")");
    }
    line.end();
  }
  ::signal(signal, SIG_DFL);
  ::raise(signal);  // delivered when the handler returns
}

}  // namespace

void name_crashes() {
  // The handler has its own stack, since the fault may be a stack overflow.
  static std::array<char, 1 << 16> stack;
  stack_t other{};
  other.ss_sp = stack.data();
  other.ss_size = stack.size();
  (void)::sigaltstack(&other, nullptr);
  struct sigaction action;
  std::memset(&action, 0, sizeof action);
  action.sa_handler = on_fault;
  action.sa_flags = SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (const Fault& fault : kFaults) (void)::sigaction(fault.signal, &action, nullptr);
}

}  // namespace cleave::cli
