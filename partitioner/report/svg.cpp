// Writes a picture as an SVG element by the layout of picture_layout.h. The element has no ids, no style sheet and no scripts, so a page
// may contain several, and it loads nothing.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "graph/base/utf8.h"
#include "partitioner/report/explain.h"
#include "partitioner/report/markup.h"
#include "partitioner/report/picture_labels.h"
#include "partitioner/report/picture_layout.h"
#include "partitioner/report/text_width.h"

namespace cleave::planner {
namespace {

constexpr double kFont = 11, kSmallFont = 9, kEdgeFont = 10, kLegendFont = 10, kMargins = 8, kLineHeight = 1.25, kPaddingAcross = 8;
constexpr double kBend = 22;  ///< how far a curve reaches beyond a point where it turns around

/// A number with at most one digit after its point.
std::string number(double value) {
  char text[32];
  const double rounded = std::round(value * 10) / 10;
  std::snprintf(text, sizeof text, rounded == std::round(rounded) ? "%.0f" : "%.1f", rounded == 0 ? 0 : rounded);
  return text;
}

double size_of(LabelLine::Style style) {
  return style == LabelLine::Style::plain || style == LabelLine::Style::bold ? kFont : kSmallFont;
}

std::string_view color_of(LabelLine::Style style) {
  switch (style) {
    case LabelLine::Style::pale: return kPicturePale;
    case LabelLine::Style::cause: return kPictureMark;
    case LabelLine::Style::waiting: return kPictureRed;
    default: return {};
  }
}

/// A path, built from commands.
class Path {
 public:
  Path& move(double x, double y) { return add("M", x, y); }
  Path& line(double x, double y) { return add("L", x, y); }
  Path& curve(PicturePoint first, PicturePoint second, PicturePoint end) {
    return add("C", first.x, first.y).add(" ", second.x, second.y).add(" ", end.x, end.y);
  }
  Path& bend(PicturePoint corner, PicturePoint end) { return add("Q", corner.x, corner.y).add(" ", end.x, end.y); }
  Path& close() {
    text_ += 'Z';
    return *this;
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  Path& add(const char* command, double x, double y) {
    text_ += command + number(x) + "," + number(y);
    return *this;
  }
  std::string text_;
};

/// Draws an edge, but for its arrow.
Path path_of(const PictureCurve& curve) {
  const std::vector<PicturePoint>& points = curve.points;
  Path path;
  path.move(points[0].x, points[0].y);
  for (std::size_t i = 1; i < points.size(); ++i) {
    const PicturePoint from = points[i - 1], to = points[i];
    const bool last = i + 1 == points.size();
    if (last && curve.enters_from_side) {
      path.line(to.x, to.y);
    } else if (curve.up && i == 1) {
      const double low = std::max(from.y, to.y) + kBend;
      path.curve({from.x, low}, {to.x, low}, to);
    } else if (curve.up && last) {
      const double high = std::min(from.y, to.y) - kBend;
      path.curve({from.x, high}, {to.x, high}, to);
    } else if (from.x == to.x) {
      path.line(to.x, to.y);
    } else {
      const double middle = (from.y + to.y) / 2;
      path.curve({from.x, middle}, {to.x, middle}, to);
    }
  }
  return path;
}

class SvgWriter {
 public:
  SvgWriter(const Plan& plan, const Picture& picture)
      : name_(plan.graph->name),
        picture_(picture),
        labels_(plan, picture),
        order_(picture_order(plan, picture)),
        legend_(labels_.legend()) {}

  std::string run() {
    measure();
    layout_ = lay_out(picture_, order_, sizes_);
    const auto [legend_width, legend_height] = size_of_legend();
    const double width = std::max(layout_.width, legend_width + 2 * kMargins), height = layout_.height + legend_height + kMargins;
    const std::string w = number(width), h = number(height);
    out_.open("svg", {{"xmlns", "http://www.w3.org/2000/svg"},
                      {"width", w},
                      {"height", h},
                      {"viewBox", "0 0 " + w + " " + h},
                      {"role", "img"},
                      {"font-family", "Helvetica,Arial,sans-serif"},
                      {"style", "max-width:100%;height:auto"}});
    out_.line();
    out_.leaf("title", name_.empty() ? "program" : name_);
    out_.empty("rect", {{"width", w}, {"height", h}, {"fill", "#ffffff"}});
    out_.line();
    for (std::size_t i = 0; i < picture_.boxes.size(); ++i) box(i);
    for (std::size_t i = 0; i < picture_.edges.size(); ++i) edge(i);
    for (std::size_t i = 0; i < picture_.nodes.size(); ++i) node(i);
    for (std::size_t i = 0; i < picture_.edges.size(); ++i) label(i);
    legend();
    out_.close();
    out_.line();
    return std::move(out_).take();
  }

 private:
  // --- sizes ----------------------------------------------------------------------------------------------------------------------------

  void measure() {
    for (const PictureNode& node : picture_.nodes) {
      lines_.push_back(labels_.lines(node));
      sizes_.nodes.push_back(node.kind == PictureNode::Kind::arrival ? std::pair(6.0, 6.0) : size_of_node(node, lines_.back()));
    }
    for (const PictureEdge& edge : picture_.edges) {
      edge_lines_.push_back(edge.moves() ? labels_.lines(edge) : std::vector<std::string>());
      double width = 0;
      for (const std::string& line : edge_lines_.back()) width = std::max(width, text_width(line, kEdgeFont));
      sizes_.edge_labels.emplace_back(width, static_cast<double>(edge_lines_.back().size()) * kEdgeFont * kLineHeight);
    }
    for (const PictureBox& box : picture_.boxes)
      sizes_.box_labels.push_back(text_width(PictureLabels::label(box), box.kind == PictureBox::Kind::device ? 14 : kFont));
  }

  [[nodiscard]] std::pair<double, double> size_of_node(const PictureNode& node, const std::vector<LabelLine>& lines) const {
    double width = 12, height = 8;
    for (const LabelLine& line : lines) {
      width = std::max(width, text_width(line.text, size_of(line.style), line.style == LabelLine::Style::bold));
      height += size_of(line.style) * kLineHeight;
    }
    const NodeShape shape = labels_.shape(node);
    const bool round = shape == NodeShape::control || shape == NodeShape::carried;
    return {width + (round ? 4 : shape == NodeShape::given ? 3 : 2) * kPaddingAcross, height + (shape == NodeShape::control ? 8 : 0)};
  }

  [[nodiscard]] double key_width() const {
    double width = 0;
    for (const LegendRow& row : legend_.rows) width = std::max(width, text_width(row.key, kLegendFont, row.bold));
    return width;
  }
  [[nodiscard]] std::pair<double, double> size_of_legend() const {
    double width = 0;
    for (const LabelLine& line : legend_.head) width = std::max(width, text_width(line.text, kLegendFont, true));
    for (const LegendRow& row : legend_.rows) width = std::max(width, key_width() + kPaddingAcross + text_width(row.meaning, kLegendFont));
    return {width, static_cast<double>(legend_.head.size() + legend_.rows.size()) * kLegendFont * 1.5};
  }

  // --- elements -------------------------------------------------------------------------------------------------------------------------

  void text(double x, double baseline, std::string_view content, double size, std::string_view color = {}, bool bold = false,
            bool centered = false) {
    out_.leaf("text", escape_controls_one_line(content),
              {{"x", number(x)},
               {"y", number(baseline)},
               {"font-size", number(size)},
               {"font-weight", bold ? "bold" : ""},
               {"fill", color},
               {"text-anchor", centered ? "middle" : ""}});
    out_.line();
  }

  void rectangle(const PictureArea& area, double corners, std::string_view fill, std::string_view stroke, std::string_view width = {},
                 std::string_view dashes = {}) {
    out_.empty("rect", {{"x", number(area.x)},
                        {"y", number(area.y)},
                        {"width", number(area.width)},
                        {"height", number(area.height)},
                        {"rx", corners > 0 ? number(corners) : ""},
                        {"fill", fill},
                        {"stroke", stroke},
                        {"stroke-width", width},
                        {"stroke-dasharray", dashes}});
    out_.line();
  }

  void path(const Path& path, std::string_view fill, std::string_view stroke, std::string_view width = {}, std::string_view dashes = {}) {
    out_.empty("path", {{"d", path.text()}, {"fill", fill}, {"stroke", stroke}, {"stroke-width", width}, {"stroke-dasharray", dashes}});
    out_.line();
  }

  void box(std::size_t index) {
    const PictureBox& box = picture_.boxes[index];
    const PictureArea& area = layout_.boxes[index];
    if (area.width == 0) return;
    const std::string label = PictureLabels::label(box);
    if (box.kind == PictureBox::Kind::device) {
      rectangle(area, 0, box.device == kHost ? kPictureHost : kPictureAccelerator, "none");
      text(area.x + kPaddingAcross, area.y + 15, label, 14);
      return;
    }
    const bool region = box.kind == PictureBox::Kind::region, repeated = box.kind == PictureBox::Kind::repeated;
    rectangle(area, 6, region ? "#ffffff88" : "none", repeated ? kPictureMark : "#999999", "", region ? "" : "4 3");
    text(area.x + kPaddingAcross, area.y + 14, label, kFont);
  }

  void edge(std::size_t index) {
    const PictureEdge& edge = picture_.edges[index];
    const bool red = labels_.waiting(edge);
    const std::string_view color = red ? kPictureRed : edge.moves() ? kPictureBlue : kPictureGrey;
    std::string_view dashes;
    if (edge.kind == PictureEdge::Kind::decides) dashes = "2 3";
    if (edge.kind == PictureEdge::Kind::carries || edge.kind == PictureEdge::Kind::argument || edge.kind == PictureEdge::Kind::result)
      dashes = "5 3";
    const PictureCurve& curve = layout_.edges[index];
    path(path_of(curve), "none", color, edge.moves() || edge.kind == PictureEdge::Kind::decides ? "2" : "", dashes);
    if (picture_.nodes[edge.to].kind == PictureNode::Kind::arrival) return;
    const PicturePoint end = curve.points.back();
    Path arrow;
    if (curve.enters_from_side) {
      const double back = curve.points[curve.points.size() - 2].x < end.x ? -7 : 7;
      arrow.move(end.x, end.y).line(end.x + back, end.y - 3.5).line(end.x + back, end.y + 3.5).close();
    } else {
      arrow.move(end.x, end.y).line(end.x - 3.5, end.y - 7).line(end.x + 3.5, end.y - 7).close();
    }
    path(arrow, color, "none");
  }

  void label(std::size_t index) {
    const PictureArea& area = layout_.edges[index].label;
    const bool red = labels_.waiting(picture_.edges[index]);
    double y = area.y + kEdgeFont;
    for (const std::string& line : edge_lines_[index]) {
      text(area.x, y, line, kEdgeFont, red ? kPictureRed : kPictureBlue);
      y += kEdgeFont * kLineHeight;
    }
  }

  /// The outline of a node.
  static Path outline(NodeShape shape, const PictureArea& area) {
    const double left = area.x, right = area.right(), top = area.y, bottom = area.bottom(), middle = top + area.height / 2, cut = 9;
    Path path;
    switch (shape) {
      case NodeShape::output:
        path.move(left, top).line(right - 8, top).line(right, top + 8).line(right, bottom).line(left, bottom).close();
        break;
      case NodeShape::control:
        path.move(left, middle).line(left + cut, top).line(right - cut, top).line(right, middle).line(right - cut, bottom);
        path.line(left + cut, bottom).close();
        break;
      case NodeShape::given:
        path.move(left, top).line(right - cut, top).line(right, middle).line(right - cut, bottom).line(left, bottom).close();
        break;
      default: break;
    }
    return path;
  }

  void node(std::size_t index) {
    const PictureNode& node = picture_.nodes[index];
    const PictureArea& area = layout_.nodes[index];
    if (node.kind == PictureNode::Kind::arrival) {
      out_.empty("circle", {{"cx", number(area.middle())}, {"cy", number(area.y + 3)}, {"r", "2.5"}, {"fill", kPictureGrey}});
      out_.line();
      return;
    }
    out_.open("g");
    if (const std::string tip = labels_.tooltip(node); !tip.empty()) out_.leaf("title", tip);
    const bool red = !node.round_trips.empty();
    const std::string_view stroke = red ? kPictureRed : "#000000", width = red ? "2" : "";
    const NodeShape shape = labels_.shape(node);
    const std::string_view fill = shape == NodeShape::part || shape == NodeShape::run ? kPictureCollapsed : "#ffffff";
    if (shape == NodeShape::part) rectangle({area.x + 3, area.y + 3, area.width, area.height}, 0, fill, stroke, width);
    if (shape == NodeShape::output || shape == NodeShape::control || shape == NodeShape::given)
      path(outline(shape, area), fill, stroke, width);
    else
      rectangle(area, shape == NodeShape::carried ? area.height / 2 : shape == NodeShape::part ? 0 : 5, fill, stroke, width);
    double height = 0;
    for (const LabelLine& line : lines_[index]) height += size_of(line.style) * kLineHeight;
    double y = area.y + (area.height - height) / 2;
    const double center = area.middle() - (shape == NodeShape::given ? kPaddingAcross / 2 : 0);
    for (const LabelLine& line : lines_[index]) {
      const double size = size_of(line.style);
      text(center, y + size, line.text, size, color_of(line.style), line.style == LabelLine::Style::bold, true);
      y += size * kLineHeight;
    }
    out_.close();
    out_.line();
  }

  void legend() {
    double y = layout_.height + kLegendFont;
    for (const LabelLine& line : legend_.head) {
      text(kMargins, y, line.text, kLegendFont, "", line.style == LabelLine::Style::bold);
      y += kLegendFont * 1.5;
    }
    const double meaning = kMargins + key_width() + kPaddingAcross;
    for (const LegendRow& row : legend_.rows) {
      text(kMargins, y, row.key, row.small ? kSmallFont : kLegendFont, row.color, row.bold);
      text(meaning, y, row.meaning, kLegendFont);
      y += kLegendFont * 1.5;
    }
  }

  const std::string& name_;
  const Picture& picture_;
  const PictureLabels labels_;
  const PictureOrder order_;
  const Legend legend_;
  std::vector<std::vector<LabelLine>> lines_;         ///< by node
  std::vector<std::vector<std::string>> edge_lines_;  ///< by edge
  PictureSizes sizes_;
  PictureLayout layout_;
  Markup out_;
};

}  // namespace

std::string svg(const Plan& plan, const PictureOptions& options) {
  if (!plan.complete()) return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1\" height=\"1\"/>\n";
  return SvgWriter(plan, make_picture(plan, options)).run();
}

}  // namespace cleave::planner
