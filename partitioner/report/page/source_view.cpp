// Chooses the lines that a page shows: those with operations of the program and some around them. That is nearly all of a model file, and
// of a large C++ file the traced functions. If the program is very large, only the costliest lines and their surroundings are shown.
#include "partitioner/report/page/source_view.h"

#include <algorithm>
#include <set>

#include "graph/base/diagnostic_folding.h"
#include "graph/base/source_lines.h"

namespace cleave::planner {
namespace {

constexpr int kContext = 12;               ///< lines shown around a line of the program
constexpr int kNarrow = 2;                 ///< the same in a program with too many lines
constexpr int kSmallestGap = 4;            ///< smaller gaps are shown, not left out
constexpr std::size_t kMostLines = 4000;   ///< most lines shown in total
constexpr std::size_t kMostCostly = 1000;  ///< most lines with costs, if there are too many in total
constexpr std::size_t kMostMessages = 200;

class Collector {
 public:
  explicit Collector(const Plan& plan) : plan_(plan), graph_(*plan.graph) {
    for (const Diagnostic& message : fold(shown(), 0)) {
      if (view_.messages.size() < kMostMessages || message.severity == Severity::error)
        view_.messages.add(message);
      else
        ++view_.messages_left_out;
    }
  }

  SourceView run(std::span<const std::size_t> round_trips) {
    if (plan_.complete()) {
      operations();
      transfers();
      for (const std::size_t i : round_trips) {
        const SourceLocation& location = graph_.nodes[plan_.round_trips[i].blamed].location;
        if (location.known()) at(location).round_trips.push_back(i);
      }
    }
    std::size_t number = 0;
    for (const Diagnostic& message : view_.messages) {
      if (message.location.known()) at(message.location).messages.push_back(number);
      ++number;
    }
    choose();
    find_placeless();
    return std::move(view_);
  }

 private:
  [[nodiscard]] Diagnostics shown() const {
    Diagnostics shown;
    for (const Diagnostic& diagnostic : plan_.diagnostics)
      if (diagnostic.severity != Severity::allowed) shown.add(diagnostic);
    return shown;
  }

  SourceLine& at(const SourceLocation& location) {
    const std::string name(location.file_name());
    places_.emplace(name, location);
    SourceLine& line = lines_[name][location.line];
    line.number = location.line;
    return line;
  }

  void operations() {
    std::vector<double> once[2];
    for (const DeviceId device : {kHost, kAccelerator})
      once[device.index] = execution_seconds(plan_.costed.problem, plan_.placement.on_host, plan_.placement.on_accelerator, device);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[NodeId(i)];
      if (!node.location.known()) continue;
      LineCost& cost = at(node.location).cost;
      ++cost.operations;
      const double times = plan_.costed.frequency[node.region];
      const double host = plan_.placement.has_copy(i, kHost) ? times * once[kHost.index][i] : 0;
      const double accelerator = plan_.placement.has_copy(i, kAccelerator) ? times * once[kAccelerator.index][i] : 0;
      cost.host_seconds += host;
      cost.accelerator_seconds += accelerator;
      if (host + accelerator > 0) add_to_callers(node.location, host + accelerator);
    }
  }

  /// Adds the time to each calling line, but only once if a function calls itself.
  void add_to_callers(const SourceLocation& location, double seconds) {
    std::vector<const SourceLocation*> lines{&location};
    for (const SourceFrame* frame = location.via.get(); frame; frame = frame->location.via.get()) {
      const SourceLocation& call = frame->location;
      const bool seen = std::any_of(lines.begin(), lines.end(), [&](const SourceLocation* other) {
        return other->line == call.line && other->file_name() == call.file_name();
      });
      if (seen || !call.known()) continue;
      lines.push_back(&call);
      at(call).cost.called_seconds += seconds;
    }
  }

  void transfers() {
    for (const Transfer& transfer : plan_.transfers.items) {
      if (!transfer.location.known()) continue;
      LineCost& cost = at(transfer.location).cost;
      cost.transfer_seconds += transfer.seconds;
      (transfer.to == kHost ? cost.bytes_out : cost.bytes_back) += static_cast<double>(transfer.bytes) * transfer.frequency;
    }
  }

  /// The lines to show: `wanted`, and `context` lines around each.
  [[nodiscard]] static std::set<int> surroundings(const std::vector<int>& wanted, int context) {
    std::set<int> numbers;
    for (const int line : wanted)
      for (int i = std::max(1, line - context); i <= line + context; ++i) numbers.insert(i);
    if (context == 0) return numbers;
    int next = 1;
    for (const int line : std::set<int>(numbers)) {
      for (; line - next < kSmallestGap && next < line; ++next) numbers.insert(next);
      next = line + 1;
    }
    return numbers;
  }

  void choose() {
    std::size_t all = 0;
    for (const auto& [file, lines] : lines_) all += lines.size();
    const bool narrow = all > kMostLines / 2;
    const double least = narrow ? least_shown() : -1;
    std::size_t room = kMostLines;
    for (auto& [name, lines] : lines_) {
      view_.index[name] = view_.files.size();
      SourceFile file;
      file.name = name;
      file.read = sources_.line(places_.at(name), 1) != nullptr;
      std::vector<int> wanted;
      for (const auto& [number, line] : lines) {
        view_.most_seconds = std::max(view_.most_seconds, line.cost.seconds());
        const bool said = !line.messages.empty() || !line.round_trips.empty();
        if (said || line.cost.seconds() >= least) wanted.push_back(number);
      }
      std::set<int> numbers = surroundings(wanted, !file.read ? 0 : narrow ? kNarrow : kContext);
      if (numbers.size() > room) numbers = surroundings(wanted, 0);
      for (const int number : numbers) {
        if (room > 0) room -= add(file, lines, number) ? 1 : 0;
      }
      view_.files.push_back(std::move(file));
    }
    count_left_out();
  }

  bool add(SourceFile& file, std::map<int, SourceLine>& lines, int number) {
    const std::string* text = file.read ? sources_.line(places_.at(file.name), number) : nullptr;
    const auto found = lines.find(number);
    if (!text && found == lines.end()) return false;
    SourceLine line = found == lines.end() ? SourceLine{} : found->second;
    line.number = number;
    if (text) line.text = *text;
    file.lines.push_back(std::move(line));
    return true;
  }

  [[nodiscard]] double least_shown() const {
    std::vector<double> seconds;
    for (const auto& [file, lines] : lines_)
      for (const auto& [number, line] : lines) seconds.push_back(line.cost.seconds());
    const std::size_t last = std::min(kMostCostly, seconds.size()) - 1;
    std::nth_element(seconds.begin(), seconds.begin() + static_cast<std::ptrdiff_t>(last), seconds.end(), std::greater<>());
    return seconds[last];
  }

  void count_left_out() {
    for (const auto& [name, lines] : lines_) view_.left_out += lines.size();
    for (const SourceFile& file : view_.files) {
      for (const SourceLine& line : file.lines) {
        const auto& lines = lines_[file.name];
        view_.left_out -= lines.count(line.number);
      }
    }
  }

  void find_placeless() {
    std::size_t number = 0;
    for (const Diagnostic& message : view_.messages) {
      if (view_.line_id(message.location).empty()) view_.placeless.push_back(number);
      ++number;
    }
  }

  const Plan& plan_;
  const Graph& graph_;
  SourceView view_;
  SourceLines sources_;
  std::map<std::string, SourceLocation> places_;            ///< by file: a location in it, which tells how to read it
  std::map<std::string, std::map<int, SourceLine>> lines_;  ///< lines of the program, by file
};

}  // namespace

std::string line_id(std::size_t file, int line) {
  return "line-" + std::to_string(file + 1) + "-" + std::to_string(line);
}

std::string SourceView::line_id(const SourceLocation& location) const {
  const auto found = index.find(std::string(location.file_name()));
  if (!location.known() || found == index.end()) return "";
  const std::vector<SourceLine>& lines = files[found->second].lines;
  const auto line =
      std::lower_bound(lines.begin(), lines.end(), location.line, [](const SourceLine& a, int number) { return a.number < number; });
  if (line == lines.end() || line->number != location.line) return "";
  return planner::line_id(found->second, location.line);
}

SourceView source_view(const Plan& plan, std::span<const std::size_t> round_trips) {
  return Collector(plan).run(round_trips);
}

}  // namespace cleave::planner
