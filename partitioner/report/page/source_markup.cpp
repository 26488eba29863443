#include "partitioner/report/page/source_markup.h"

#include <algorithm>
#include <cmath>

#include "graph/base/diagnostic.h"
#include "graph/base/number_text.h"
#include "graph/base/units.h"

namespace cleave::planner {
namespace {

constexpr std::size_t kMostBadges = 3;  ///< most badges of one line
constexpr std::size_t kLongest = 400;   ///< most bytes shown of a line
constexpr const char* kColumns = "5";

/// "width:12.5%".
std::string width(double part, double whole) {
  return "width:" + fixed_text(whole > 0 ? 100 * part / whole : 0, 1) + "%";
}

class SourceMarkupWriter {
 public:
  SourceMarkupWriter(Markup& out, const SourceView& source) : out_(out), source_(source) {}

  void run() {
    out_.open("section", {{"id", "source"}});
    out_.leaf("h2", "Source");
    out_.open("p", {{"class", "about"}});
    out_.text("What all executions of a line take: ");
    for (const char* side : {"host", "accelerator", "transfers"}) {
      out_.leaf("span", side, {{"class", std::string("key ") + side}});
      out_.text(" ");
    }
    out_.text("The longest bar is " + format_seconds(source_.most_seconds) + "; in brackets: in what the line calls.");
    out_.close();
    if (source_.left_out > 0) out_.leaf("p", std::to_string(source_.left_out) + " cheaper lines are left out.", {{"class", "about"}});
    if (source_.messages_left_out > 0) {
      out_.open("p", {{"class", "about"}});
      out_.prose(std::to_string(source_.messages_left_out) +
                 " cheaper messages are left out; `cleave check --diagnostic-limit 0` has all.");
      out_.close();
    }
    for (std::size_t i = 0; i < source_.files.size(); ++i) file(i);
    out_.close();
    out_.line();
  }

  void message(const Diagnostic& diagnostic) {
    out_.open("div", {{"class", "message " + std::string(to_string(diagnostic.severity))}});
    out_.open("p");
    out_.leaf("b", to_string(diagnostic.severity));
    out_.prose(": " + diagnostic.message + " ");
    out_.leaf("span", "[" + std::string(info(diagnostic.kind).name) + "]", {{"class", "about"}});
    out_.close();
    for (const Note& note : diagnostic.notes) {
      out_.open("p", {{"class", "note"}});
      if (note.location.known()) {
        place(note.location);
        out_.text(": ");
      }
      out_.prose(note.message);
      out_.close();
    }
    out_.close();
  }

 private:
  void place(const SourceLocation& location) {
    const std::string id = source_.line_id(location), name = "line " + std::to_string(location.line);
    if (id.empty())
      out_.text(to_string(location));
    else
      out_.leaf("a", name, {{"href", "#" + id}});
  }

  void file(std::size_t index) {
    const SourceFile& file = source_.files[index];
    if (file.lines.empty()) return;
    out_.leaf("h3", file.name);
    if (!file.read) out_.leaf("p", "This file cannot be read; these are the lines of it that cost something.", {{"class", "about"}});
    out_.open("div", {{"class", "scroll"}});
    out_.open("table", {{"class", "source"}});
    out_.open("thead");
    out_.open("tr");
    for (const char* column : {"line", "time", "by side", "moved", "source"})
      out_.leaf("th", column,
                {{"scope", "col"}, {"class", column == std::string_view("time") || column == std::string_view("moved") ? "number" : ""}});
    out_.close();
    out_.close();
    out_.open("tbody");
    int next = 1;
    for (const SourceLine& line : file.lines) {
      if (line.number != next) gap();
      next = line.number + 1;
      row(index, line);
    }
    for (int i = 0; i < 3; ++i) out_.close();
    out_.line();
  }

  void gap() {
    out_.open("tr", {{"class", "gap"}});
    out_.leaf("td", "⋮", {{"colspan", kColumns}});
    out_.close();
  }

  void row(std::size_t file, const SourceLine& line) {
    const std::string id = line_id(file, line.number), number = std::to_string(line.number);
    const LineCost& cost = line.cost;
    out_.line();
    out_.open("tr", {{"id", id}, {"class", cost.operations > 0 || cost.called_seconds > 0 ? "" : "idle"}, {"title", title(cost)}});
    out_.open("th", {{"scope", "row"}});
    out_.leaf("a", number, {{"href", "#" + id}});
    out_.close();
    const bool calls = !(cost.seconds() > 0) && cost.called_seconds > 0;
    out_.leaf("td",
              calls                ? "(" + format_seconds(cost.called_seconds) + ")"
              : cost.seconds() > 0 ? format_seconds(cost.seconds())
                                   : "",
              {{"class", calls ? "number about" : "number"}});
    out_.open("td", {{"class", "bars"}});
    bar(cost);
    out_.close();
    const double moved = cost.bytes_out + cost.bytes_back;
    out_.leaf("td", moved > 0 ? format_bytes(moved) : "", {{"class", "number"}});
    out_.open("td");
    out_.leaf("code", line.text.size() > kLongest ? shortened(line.text) : line.text);
    badges(line);
    out_.close();
    out_.close();
    for (const std::size_t message : line.messages) below(message);
  }

  static std::string shortened(const std::string& text) {
    std::size_t end = kLongest;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0u) == 0x80u) --end;
    return text.substr(0, end) + " …";
  }

  static std::string title(const LineCost& cost) {
    std::string text;
    const auto add = [&](const char* name, double value) {
      if (value > 0) text += (text.empty() ? "" : ", ") + std::string(name) + " " + format_seconds(value);
    };
    add("host", cost.host_seconds);
    add("accelerator", cost.accelerator_seconds);
    add("transfers", cost.transfer_seconds);
    add("in what is called here", cost.called_seconds);
    if (cost.bytes_out > 0) text += "; " + format_bytes(cost.bytes_out) + " to the host";
    if (cost.bytes_back > 0) text += "; " + format_bytes(cost.bytes_back) + " to the accelerator";
    return text;
  }

  void bar(const LineCost& cost) {
    if (!(cost.seconds() > 0)) return;
    out_.open("span", {{"class", "bar"}});
    for (const auto& [kind, part] :
         {std::pair("host", cost.host_seconds), {"accelerator", cost.accelerator_seconds}, {"transfers", cost.transfer_seconds}}) {
      if (part > 0) out_.leaf("span", "", {{"class", kind}, {"style", width(part, source_.most_seconds)}});
    }
    out_.close();
  }

  void badges(const SourceLine& line) {
    for (std::size_t i = 0; i < std::min(kMostBadges, line.round_trips.size()); ++i) {
      const std::string number = std::to_string(line.round_trips[i] + 1);
      out_.text(" ");
      out_.leaf("a", "round trip " + number, {{"class", "badge"}, {"href", "#round-trip-" + number}});
    }
    if (line.round_trips.size() > kMostBadges)
      out_.leaf("span", " and " + std::to_string(line.round_trips.size() - kMostBadges) + " more", {{"class", "about"}});
  }

  void below(std::size_t index) {
    out_.open("tr", {{"class", "said"}});
    out_.open("td", {{"colspan", kColumns}});
    message(*(source_.messages.begin() + static_cast<std::ptrdiff_t>(index)));
    out_.close();
    out_.close();
  }

  Markup& out_;
  const SourceView& source_;
};

}  // namespace

void write_source(Markup& out, const SourceView& source) {
  if (!source.files.empty()) SourceMarkupWriter(out, source).run();
}

void write_message(Markup& out, const SourceView& source, std::size_t message) {
  SourceMarkupWriter(out, source).message(*(source.messages.begin() + static_cast<std::ptrdiff_t>(message)));
}

}  // namespace cleave::planner
