// Writes a picture as Graphviz source: a cluster for each box, labels in HTML, and a legend of the kinds that occur. The caller renders it.
#include <utility>

#include "graph/base/utf8.h"
#include "partitioner/report/explain.h"
#include "partitioner/report/picture_labels.h"

namespace cleave::planner {
namespace {

/// A quoted label with each text on a line of its own.
std::string quoted(const std::vector<std::string>& lines) {
  std::string out = "\"";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out += "\\n";
    for (const char c : escape_controls_one_line(lines[i])) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + "\"";
}

std::string quoted(std::string_view text) {
  return quoted(std::vector<std::string>{std::string(text)});
}

/// Escapes text for an HTML label.
std::string html(std::string_view text) {
  std::string out;
  for (const char c : escape_controls_one_line(text)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string small(std::string_view text, std::string_view color) {
  return "<FONT POINT-SIZE=\"9\" COLOR=\"" + std::string(color) + "\">" + std::string(text) + "</FONT>";
}

std::string styled(const LabelLine& line) {
  switch (line.style) {
    case LabelLine::Style::plain: break;
    case LabelLine::Style::bold: return "<B>" + html(line.text) + "</B>";
    case LabelLine::Style::pale: return line.text.empty() ? "" : small(html(line.text), kPicturePale);
    case LabelLine::Style::cause: return small(html(line.text), kPictureMark);
    case LabelLine::Style::waiting: return small(html(line.text), kPictureRed);
  }
  return html(line.text);
}

class DotWriter {
 public:
  DotWriter(const Plan& plan, const Picture& picture)
      : graph_(*plan.graph), picture_(picture), labels_(plan, picture), order_(picture_order(plan, picture)) {
    children_.resize(picture.boxes.size());
    in_box_.resize(picture.boxes.size());
    for (std::size_t i = 0; i < picture.boxes.size(); ++i)
      if (picture.boxes[i].parent != PictureBox::kNone) children_[picture.boxes[i].parent].push_back(i);
    for (std::size_t i = 0; i < picture.nodes.size(); ++i) in_box_[picture.nodes[i].box].push_back(i);
  }

  std::string run() {
    out_ = "digraph " + quoted(graph_.name) + " {\n";
    out_ += "  compound=true; rankdir=TB; newrank=true; fontname=\"Helvetica\"; labeljust=l; nodesep=0.2; ranksep=0.35;\n";
    out_ +=
        "  node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=\"Helvetica\", fontsize=11, height=0.3, "
        "margin=\"0.1,0.04\"];\n";
    out_ += "  edge [fontname=\"Helvetica\", fontsize=10, color=\"" + std::string(kPictureGrey) + "\", arrowsize=0.7];\n";
    for (std::size_t i = 0; i < picture_.boxes.size(); ++i)
      if (picture_.boxes[i].parent == PictureBox::kNone) box(i, 1);
    for (std::size_t i = 0; i < picture_.edges.size(); ++i) draw(picture_.edges[i], order_.ignored[i]);
    for (const auto& [above, under] : order_.below) out_ += "  " + name_of(above) + " -> " + name_of(under) + " [style=invis];\n";
    legend();
    return out_ + "}\n";
  }

 private:
  void indent(std::size_t depth) { out_.append(2 * depth, ' '); }
  [[nodiscard]] std::string name_of(std::size_t node) const { return "n" + std::to_string(node); }

  void box(std::size_t index, std::size_t depth) {
    const PictureBox& box_here = picture_.boxes[index];
    if (box_here.kind != PictureBox::Kind::device && children_[index].empty() && in_box_[index].empty()) return;
    indent(depth);
    out_ += "subgraph cluster_" + std::to_string(index) + " {\n";
    indent(depth + 1);
    out_ += "label=" + quoted(PictureLabels::label(box_here)) + "; " + box_style(box_here) + "\n";
    for (const std::size_t node : in_box_[index]) write(node, depth + 1);
    for (const std::size_t child : children_[index]) box(child, depth + 1);
    indent(depth);
    out_ += "}\n";
  }

  static std::string box_style(const PictureBox& box) {
    switch (box.kind) {
      case PictureBox::Kind::device:
        return "style=filled; color=" + quoted(box.device == kHost ? kPictureHost : kPictureAccelerator) + "; fontsize=14;" +
               (box.device == kHost ? "" : " labeljust=r;");
      case PictureBox::Kind::region: return "style=\"rounded,filled\"; color=\"#999999\"; fillcolor=\"#ffffff88\"; fontsize=11;";
      case PictureBox::Kind::scope: return "style=\"rounded,dashed\"; color=\"#999999\"; fontsize=10;";
      case PictureBox::Kind::repeated: break;
    }
    return "style=\"rounded,dashed\"; color=" + quoted(kPictureMark) + "; fontsize=11;";
  }

  void write(std::size_t index, std::size_t depth) {
    const PictureNode& node = picture_.nodes[index];
    indent(depth);
    out_ += name_of(index) + " [";
    if (node.kind == PictureNode::Kind::arrival) {
      out_ += "shape=point, width=0.07, height=0.07, label=\"\"";
    } else {
      out_ += "label=<" + label(node) + ">" + shape(node);
      if (!node.round_trips.empty()) out_ += ", color=" + quoted(kPictureRed) + ", penwidth=2";
      if (const std::string tip = labels_.tooltip(node); !tip.empty()) out_ += ", tooltip=" + quoted(tip);
    }
    out_ += "];\n";
  }

  [[nodiscard]] std::string label(const PictureNode& node) const {
    std::string text;
    for (const LabelLine& line : labels_.lines(node)) text += (text.empty() ? "" : "<BR/>") + styled(line);
    return text;
  }

  [[nodiscard]] std::string shape(const PictureNode& node) const {
    switch (labels_.shape(node)) {
      case NodeShape::output: return ", shape=note, style=filled";
      case NodeShape::part: return ", shape=box3d, style=filled, fillcolor=" + quoted(kPictureCollapsed);
      case NodeShape::run: return ", fillcolor=" + quoted(kPictureCollapsed);
      case NodeShape::control: return ", shape=diamond, style=filled";
      case NodeShape::carried: return ", shape=ellipse, style=filled";
      case NodeShape::given: return ", shape=cds, style=filled, margin=\"0.15,0.08\"";
      case NodeShape::box: break;
    }
    return "";
  }

  void draw(const PictureEdge& edge, bool ignored) {
    std::string style;
    const auto add = [&style](const std::string& attribute) { style += (style.empty() ? "" : ", ") + attribute; };
    const bool red = labels_.waiting(edge);
    if (edge.moves()) {
      const std::string color = quoted(red ? kPictureRed : kPictureBlue);
      add("color=" + color + ", fontcolor=" + color + ", penwidth=2");
      if (edge.kind != PictureEdge::Kind::send) add("style=dashed");
      add("label=" + quoted(labels_.lines(edge)));
    } else {
      if (red) add("color=" + quoted(kPictureRed));
      if (edge.kind == PictureEdge::Kind::decides) add("style=dotted, penwidth=2");
      if (edge.kind == PictureEdge::Kind::carries) add("style=dashed");
    }
    if (ignored) add("constraint=false");
    out_ += "  " + name_of(edge.from) + " -> " + name_of(edge.to) + (style.empty() ? "" : " [" + style + "]") + ";\n";
  }

  void legend() {
    const Legend legend = labels_.legend();
    std::string text;
    for (const LabelLine& line : legend.head) text += "<TR><TD ALIGN=\"LEFT\" COLSPAN=\"2\">" + styled(line) + "</TD></TR>";
    for (const LegendRow& row : legend.rows) {
      std::string key = row.bold ? "<B>" + row.key + "</B>" : row.key;
      if (row.small)
        key = small(key, row.color);
      else if (!row.color.empty())
        key = "<FONT COLOR=\"" + std::string(row.color) + "\">" + key + "</FONT>";
      text += "<TR><TD ALIGN=\"LEFT\">" + key + "</TD><TD ALIGN=\"LEFT\">" + row.meaning + "</TD></TR>";
    }
    out_ += "  fontsize=10; labelloc=b; label=<<TABLE BORDER=\"0\" CELLBORDER=\"0\" CELLSPACING=\"0\" CELLPADDING=\"2\">" + text +
            "</TABLE>>;\n";
  }

  const Graph& graph_;
  const Picture& picture_;
  const PictureLabels labels_;
  const PictureOrder order_;
  std::vector<std::vector<std::size_t>> children_, in_box_;
  std::string out_;
};

}  // namespace

std::string dot(const Plan& plan, const PictureOptions& options) {
  if (!plan.complete()) return "digraph {\n}\n";
  return DotWriter(plan, make_picture(plan, options)).run();
}

}  // namespace cleave::planner
