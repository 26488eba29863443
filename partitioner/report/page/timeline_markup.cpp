#include "partitioner/report/page/timeline_markup.h"

#include <algorithm>

#include "graph/base/number_text.h"
#include "graph/base/units.h"
#include "graph/base/utf8.h"

namespace cleave::planner {
namespace {

// Units of the drawing; on the page a unit is about 1.3 pixels.
constexpr double kLeft = 120, kWidth = 870, kRow = 24, kBar = 18, kTop = 6, kAxis = 20;
constexpr double kPale = 0.7,
                 kPalest = 0.12;  ///< shares of time at work: letters are dark below the first, no bar is paler than the second
constexpr double kLetter = 6.3;   ///< approximate width of a character

std::string units(double number) {
  return fixed_text(number, 1);
}

/// Number of characters, as an estimate of a text's width.
std::size_t letters(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); ++count) at += utf8_piece(text, at).length;
  return count;
}

class Drawing {
 public:
  Drawing(Markup& out, const TimelineChart& chart) : out_(out), chart_(chart) {}

  void run() {
    const double bottom = kTop + kRow * static_cast<double>(chart_.lanes.size()), height = bottom + kAxis;
    out_.open("div", {{"class", "scroll chart"}, {"id", chart_.id}});
    out_.leaf("h3", chart_.title);
    if (!chart_.about.empty()) out_.leaf("p", chart_.about, {{"class", "about"}});
    out_.open("svg", {{"xmlns", "http://www.w3.org/2000/svg"},
                      {"viewBox", "0 0 1000 " + units(height)},
                      {"role", "group"},
                      {"aria-label", chart_.title}});
    for (const TimelineMark& mark : chart_.marks) axis(mark, bottom);
    double top = kTop;
    for (const TimelineLane& lane : chart_.lanes) {
      row(lane, top);
      top += kRow;
    }
    out_.close();
    out_.close();
    out_.line();
  }

 private:
  void axis(const TimelineMark& mark, double bottom) {
    const std::string x = units(kLeft + mark.at * kWidth);
    out_.empty("line", {{"class", "tick"}, {"x1", x}, {"x2", x}, {"y1", units(kTop)}, {"y2", units(bottom)}});
    out_.leaf("text", mark.label, {{"class", "mark"}, {"x", x}, {"y", units(bottom + 14)}});
  }

  void row(const TimelineLane& lane, double top) {
    out_.line();
    out_.open("text", {{"class", "lane-name"}, {"x", units(kLeft - 8)}, {"y", units(top + 13)}});
    out_.text(lane.name);
    out_.leaf("title", "at work for " + format_seconds(lane.busy_seconds));
    out_.close();
    for (const TimelineBar& bar : lane.bars) draw(lane, bar, top);
  }

  void draw(const TimelineLane& lane, const TimelineBar& bar, double top) {
    const double x = kLeft + bar.begin * kWidth, width = (bar.end - bar.begin) * kWidth;
    const std::string kind = bar.waits ? "lane waits" : "lane " + std::string(lane.side) + (bar.inner ? " inner" : "");
    if (!bar.link.empty()) out_.open("a", {{"href", "#" + bar.link}});
    out_.open("g");
    out_.leaf("title", bar.title);
    const double shown = width < 0.8 ? 0.8 : width;
    const bool pale = bar.share < kPale;
    out_.empty("rect", {{"class", kind},
                        {"x", units(x)},
                        {"y", units(top)},
                        {"width", units(shown)},
                        {"height", units(kBar)},
                        {"fill-opacity", bar.waits || bar.share > 0.99 ? "" : fixed_text(std::max(bar.share, kPalest), 2)}});
    if (!bar.label.empty() && kLetter * static_cast<double>(letters(bar.label)) + 6 < width)
      out_.leaf("text", bar.label, {{"class", pale ? "inside pale" : "inside"}, {"x", units(x + width / 2)}, {"y", units(top + 13)}});
    out_.close();
    if (!bar.link.empty()) out_.close();
  }

  Markup& out_;
  const TimelineChart& chart_;
};

}  // namespace

void write_charts(Markup& out, const Timeline& timeline) {
  for (const TimelineChart& chart : timeline.charts) Drawing(out, chart).run();
  if (timeline.left_out > 0)
    out.leaf("p", std::to_string(timeline.left_out) + " shorter loops and branches are left out.", {{"class", "about"}});
}

}  // namespace cleave::planner
