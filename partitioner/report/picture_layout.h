// lay_out(): positions for a picture without Graphviz, in layers: an edge leads down one row or more, each box is a rectangle over the rows
// of its nodes, the host stands on the left, the accelerator on the right, and transfers lead through the lanes between them.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "partitioner/report/picture.h"
#include "partitioner/report/picture_labels.h"

namespace cleave::planner {

struct PicturePoint {
  double x = 0, y = 0;
};

struct PictureArea {
  double x = 0, y = 0, width = 0, height = 0;  ///< x and y of the upper left corner

  [[nodiscard]] double middle() const { return x + width / 2; }
  [[nodiscard]] double right() const { return x + width; }
  [[nodiscard]] double bottom() const { return y + height; }
};

/// An edge: it starts at the first point downwards, and leads from each point to the next by a curve that is vertical at both ends.
struct PictureCurve {
  std::vector<PicturePoint> points;
  bool up = false;                ///< it leads up between the second point and the last but one
  bool enters_from_side = false;  ///< the last stretch is horizontal
  PictureArea label;
};

struct PictureLayout {
  std::vector<PictureArea> nodes, boxes;  ///< a box without nodes has no width
  std::vector<PictureCurve> edges;
  double width = 0, height = 0;
};

/// Widths and heights that the layout must make room for.
struct PictureSizes {
  std::vector<std::pair<double, double>> nodes, edge_labels;  ///< no label: (0, 0)
  std::vector<double> box_labels;                             ///< widths
};

/// Equal pictures have equal layouts. Takes time in proportion to edges times rows.
PictureLayout lay_out(const Picture& picture, const PictureOrder& order, const PictureSizes& sizes);

}  // namespace cleave::planner
