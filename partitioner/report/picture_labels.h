// The texts of a picture, for every way to draw it: the lines of nodes and boxes, the labels of transfers, the legend. dot.cpp and svg.cpp
// decide how lines of a style look.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "partitioner/apply/program.h"
#include "partitioner/report/picture.h"

namespace cleave::planner {

inline constexpr std::string_view kPictureRed = "#cc0000", kPictureBlue = "#0055aa", kPictureGrey = "#555555", kPictureMark = "#8a4b00";
inline constexpr std::string_view kPicturePale = "#666666", kPictureHost = "#eef3fb", kPictureAccelerator = "#eefbef";
inline constexpr std::string_view kPictureCollapsed = "#f3ecd8";

/// A line of a node. It has one style from beginning to end: browsers have other fonts than a layout assumes and ignore blanks at the
/// beginning of a text, so text beside another style would overlap or touch it.
struct LabelLine {
  enum class Style : std::uint8_t {
    plain,
    bold,
    pale,    ///< small: types, kinds of operations
    cause,   ///< small: why an operation is on the host
    waiting  ///< small: round trips
  };
  std::string text;
  Style style = Style::plain;
};

/// A row of the legend: a key in the color it has in the picture, and its meaning.
struct LegendRow {
  std::string key;
  std::string_view color;  ///< empty: that of text
  bool bold = false, small = false;
  std::string meaning;
};

struct Legend {
  std::vector<LabelLine> head;
  std::vector<LegendRow> rows;
};

enum class NodeShape : std::uint8_t { box, output, part, run, control, carried, given };

/// The plan and the picture must outlive it.
class PictureLabels {
 public:
  PictureLabels(const Plan& plan, const Picture& picture);

  [[nodiscard]] std::vector<LabelLine> lines(const PictureNode& node) const;
  [[nodiscard]] NodeShape shape(const PictureNode& node) const;
  /// The locations of the first and the last operation.
  [[nodiscard]] std::string tooltip(const PictureNode& node) const;
  /// The lines of a transfer's label.
  [[nodiscard]] std::vector<std::string> lines(const PictureEdge& edge) const;
  /// Whether the edge is part of a round trip.
  [[nodiscard]] bool waiting(const PictureEdge& edge) const;
  [[nodiscard]] static std::string label(const PictureBox& box);
  [[nodiscard]] Legend legend() const;

 private:
  [[nodiscard]] std::string times(const PictureNode& node) const;
  [[nodiscard]] LabelLine type_line(NodeId id) const;
  [[nodiscard]] std::vector<LabelLine> node_lines(const PictureNode& node) const;
  [[nodiscard]] std::vector<LabelLine> run_lines(const PictureNode& node) const;
  [[nodiscard]] std::vector<LabelLine> part_lines(const PictureNode& node) const;
  [[nodiscard]] std::vector<LabelLine> given_lines(const PictureNode& node) const;
  [[nodiscard]] std::vector<LabelLine> output_lines(const PictureNode& node) const;
  [[nodiscard]] std::string last_name(const PictureNode& node) const;

  const Plan& plan_;
  const Graph& graph_;
  const Picture& picture_;
  const std::vector<CoalescedId> coalesced_;  ///< by transfer
};

/// At most 28 characters of a text, without control characters.
std::string shortened_label(const std::string& text);

/// The properties of edges that a layout needs besides their ends.
struct PictureOrder {
  /// By edge: the layout need not put its end below its beginning.
  std::vector<bool> ignored;
  /// Pairs of nodes without an edge, of which the second stands below the first: a loop or branch, and the first node in it.
  std::vector<std::pair<std::size_t, std::size_t>> below;
};
PictureOrder picture_order(const Plan& plan, const Picture& picture);

}  // namespace cleave::planner
