#include "partitioner/report/page/timeline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "graph/base/units.h"
#include "partitioner/report/wording.h"

namespace cleave::planner {
namespace {

constexpr std::size_t kMostCharts = 12;
constexpr double kSlot = 1.0 / 250;  ///< fraction of the chart: adjacent narrower pieces are merged into slots of this width
constexpr double kAlike = 0.05;      ///< slots whose utilization differs by less than this are merged into one bar

using Pieces = std::vector<const ScheduledPiece*>;

class TimelineBuilder {
 public:
  TimelineBuilder(const Plan& plan, const ScheduleTrace& trace, const SourceView& source, const std::string& prefix)
      : plan_(plan), graph_(*plan.graph), trace_(trace), source_(source), prefix_(prefix) {}

  Timeline run() {
    Timeline timeline;
    choose();
    for (const std::size_t frame : chosen_) timeline.charts.push_back(chart(frame));
    timeline.left_out = worth_showing_ - chosen_.size();
    return timeline;
  }

 private:
  [[nodiscard]] std::string id(std::size_t frame) const { return prefix_ + std::to_string(frame); }
  [[nodiscard]] bool chosen(std::size_t frame) const { return std::binary_search(chosen_.begin(), chosen_.end(), frame); }

  [[nodiscard]] RegionId region(const ScheduledFrame& frame) const {
    if (!frame.control) return Graph::kRoot;
    const Node& control = graph_.nodes[frame.control];
    if (control.kind == NodeKind::while_loop) return control.regions[1];
    return control.regions[frame.arm];
  }

  /// Chooses the frames to show: the run, and those of the others that take most time of a run.
  void choose() {
    std::vector<std::pair<double, std::size_t>> costs;
    for (std::size_t i = 0; i < trace_.frames.size(); ++i) {
      const ScheduledFrame& frame = trace_.frames[i];
      if (frame.pieces.empty()) continue;
      std::array<double, 4> busy{};
      for (const ScheduledPiece& piece : frame.pieces) busy[static_cast<std::size_t>(piece.resource)] += piece.busy_seconds;
      const double cost = *std::max_element(busy.begin(), busy.end()) * plan_.costed.frequency[region(frame)];
      costs.emplace_back(i == 0 ? std::numeric_limits<double>::infinity() : cost, i);
    }
    std::stable_sort(costs.begin(), costs.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    worth_showing_ = costs.size();
    costs.resize(std::min(costs.size(), kMostCharts));
    for (const auto& [cost, frame] : costs) chosen_.push_back(frame);
    std::sort(chosen_.begin(), chosen_.end());
  }

  TimelineChart chart(std::size_t index) {
    const ScheduledFrame& frame = trace_.frames[index];
    TimelineChart chart;
    begin_ = std::numeric_limits<double>::infinity();
    double end = 0;
    for (const ScheduledPiece& piece : frame.pieces) {
      begin_ = std::min(begin_, piece.begin);
      end = std::max(end, piece.end);
    }
    if (index == 0) begin_ = 0;
    span_ = end - begin_;
    chart.id = id(index);
    describe(frame, chart);
    chart.lanes = lanes(frame);
    chart.marks = marks();
    return chart;
  }

  void describe(const ScheduledFrame& frame, TimelineChart& chart) const {
    const std::string length = format_seconds(span_);
    if (!frame.control) {
      chart.title = "The run, " + length;
      return;
    }
    const Node& control = graph_.nodes[frame.control];
    const std::string about = control.assumed ? "about " : "", at = " at line " + std::to_string(control.location.line);
    if (control.kind == NodeKind::branch) {
      const double probability = frame.arm == 0 ? control.expected : 1 - control.expected;
      chart.title = std::string(frame.arm == 0 ? "then" : "else") + " of the branch" + at + ", " + length;
      chart.about = "Taken with a probability of " + about + number(probability) + ", by which it counts in what is around it.";
      return;
    }
    chart.title = std::string("One trip of the loop") + at + ", " + length;
    chart.about = "Of " + about + number(control.expected) + (control.expected == 1 ? " trip" : " trips") + " this is number " +
                  std::to_string(frame.trip) + "; later ones are predicted to go at its pace.";
  }

  std::vector<TimelineLane> lanes(const ScheduledFrame& frame) {
    std::vector<TimelineLane> lanes{{"host", "host", 0, {}},
                                    {"accelerator", "accelerator", 0, {}},
                                    {"to accelerator", "transfers", 0, {}},
                                    {"to host", "transfers", 0, {}}};
    std::array<Pieces, 4> work, waits;
    for (const ScheduledPiece& piece : frame.pieces) {
      const auto lane = static_cast<std::size_t>(piece.resource);
      (piece.what == ScheduledPiece::What::wait ? waits : work)[lane].push_back(&piece);
      lanes[lane].busy_seconds += piece.busy_seconds;
    }
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
      add(lanes[lane], waits[lane]);
      add(lanes[lane], work[lane]);
    }
    return lanes;
  }

  void add(TimelineLane& lane, const Pieces& pieces) const {
    for (std::size_t first = 0; first < pieces.size();) {
      std::size_t last = first + 1;
      if (narrow(*pieces[first]))
        while (last < pieces.size() && narrow(*pieces[last]) && pieces[last]->begin - pieces[last - 1]->end < kSlot * span_) ++last;
      if (last - first == 1)
        lane.bars.push_back(bar(*pieces[first]));
      else if (pieces[first]->what != ScheduledPiece::What::wait)  // many short waits show as pale bars of work
        slots(lane, {pieces.begin() + static_cast<std::ptrdiff_t>(first), pieces.begin() + static_cast<std::ptrdiff_t>(last)});
      first = last;
    }
  }

  /// Adds bars for adjacent narrow pieces: one for each slot with its utilization, with equal slots merged.
  void slots(TimelineLane& lane, const Pieces& pieces) const {
    const double begin = pieces.front()->begin, all = pieces.back()->end - begin;
    const auto count = static_cast<std::size_t>(std::max(1.0, std::ceil(all / (kSlot * span_))));
    const double width = all / static_cast<double>(count);
    std::vector<double> busy(count, 0);
    std::vector<Pieces> started(count);
    for (const ScheduledPiece* piece : pieces) {
      const auto slot = [&](double time) { return std::min(count - 1, static_cast<std::size_t>(std::max(0.0, (time - begin) / width))); };
      started[slot(piece->begin)].push_back(piece);
      for (std::size_t i = slot(piece->begin); i <= slot(piece->end); ++i) {
        const double from = begin + width * static_cast<double>(i);
        busy[i] += std::max(0.0, std::min(piece->end, from + width) - std::max(piece->begin, from));
      }
    }
    const ScheduledPiece* latest = pieces.front();
    for (std::size_t first = 0; first < count;) {
      std::size_t last = first;
      Pieces together;
      double seconds = 0;
      for (; last < count && std::abs(busy[last] - busy[first]) < kAlike * width; ++last) {
        together.insert(together.end(), started[last].begin(), started[last].end());
        seconds += busy[last];
      }
      const double from = begin + width * static_cast<double>(first), to = begin + width * static_cast<double>(last);
      if (together.empty()) together.push_back(latest);  // the piece extends into these slots
      latest = together.back();
      if (seconds > 0) lane.bars.push_back(several(together, from, to, seconds));
      first = last;
    }
  }
  [[nodiscard]] bool narrow(const ScheduledPiece& piece) const { return piece.end - piece.begin < kSlot * span_; }
  [[nodiscard]] double part(double time) const { return std::clamp((time - begin_) / span_, 0.0, 1.0); }

  [[nodiscard]] TimelineBar bar(const ScheduledPiece& piece) const {
    TimelineBar bar{part(piece.begin),
                    part(piece.end),
                    1,
                    piece.what == ScheduledPiece::What::wait,
                    piece.what == ScheduledPiece::What::inner,
                    "",
                    "",
                    ""};
    const std::string length = format_seconds(piece.end - piece.begin);
    if (!piece.node) {
      bar.title = (bar.waits ? "waits " : "begins the run: ") + length;
      return bar;
    }
    const Node& node = graph_.nodes[piece.node];
    const std::string line = node.location.known() ? " (line " + std::to_string(node.location.line) + ")" : "";
    bar.link = source_.line_id(node.location);
    switch (piece.what) {
      case ScheduledPiece::What::inner: {
        bar.label = inner_name(trace_.frames[piece.index]);
        bar.share = piece.busy_seconds / (piece.end - piece.begin);
        bar.title = bar.label + line + ": " + length + ", of these " + format_seconds(piece.busy_seconds) + " at work";
        if (chosen(piece.index)) bar.link = id(piece.index);
        break;
      }
      case ScheduledPiece::What::copy: {
        const Transfer& transfer = plan_.transfers.items[piece.index];
        bar.label = graph_.display_name(piece.node);
        bar.title = bar.label + ", " + format_bytes(static_cast<double>(transfer.bytes)) + line + ": " + length;
        break;
      }
      default: {
        bar.label = culprit_name(graph_, piece.node);
        const std::string name = graph_.display_name(piece.node);
        bar.title = bar.label + (name == bar.label ? "" : " " + name) + line + ": " + length;
      }
    }
    return bar;
  }

  [[nodiscard]] std::string inner_name(const ScheduledFrame& frame) const {
    const Node& control = graph_.nodes[frame.control];
    if (control.kind == NodeKind::branch) return frame.arm == 0 ? "then" : "else";
    return "loop × " + number(control.expected);
  }

  [[nodiscard]] TimelineBar several(const Pieces& pieces, double from, double to, double seconds) const {
    TimelineBar bar = this->bar(*pieces.front());
    bar.begin = part(from);
    bar.end = part(to);
    bar.share = seconds / (to - from);
    if (pieces.size() == 1) return bar;
    bar.inner = false;
    bar.label = "× " + std::to_string(pieces.size());
    bar.title = std::to_string(pieces.size()) + " steps, " + format_seconds(seconds) + " of " + format_seconds(to - from);
    if (pieces.front()->node && pieces.back()->node)
      bar.title += ", from " + graph_.display_name(pieces.front()->node) + " to " + graph_.display_name(pieces.back()->node);
    return bar;
  }

  /// Marks at about five round numbers.
  [[nodiscard]] std::vector<TimelineMark> marks() const {
    const double rough = span_ / 5, power = std::pow(10, std::floor(std::log10(rough)));
    double step = 10 * power;
    for (const double digit : {5, 2, 1})
      if (digit * power >= rough) step = digit * power;
    std::vector<TimelineMark> marks;
    for (int i = 0; i * step <= span_ * (1 + 1e-9); ++i) marks.push_back({i * step / span_, format_seconds(i * step)});
    return marks;
  }

  const Plan& plan_;
  const Graph& graph_;
  const ScheduleTrace& trace_;
  const SourceView& source_;
  const std::string prefix_;
  std::vector<std::size_t> chosen_;  ///< frames to show
  std::size_t worth_showing_ = 0;
  double begin_ = 0, span_ = 1;  ///< of the current chart
};

}  // namespace

Timeline timeline(const Plan& plan, const ScheduleTrace& trace, const SourceView& source, const std::string& prefix) {
  return TimelineBuilder(plan, trace, source, prefix).run();
}

}  // namespace cleave::planner
