// In steps: rows of nodes; lanes for edges that pass by other rows; positions across in each box, from the innermost to the outermost one;
// shifts of nodes towards their neighbors; heights of rows and of the gaps between them.
#include "partitioner/report/picture_layout.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace cleave::planner {
namespace {

constexpr std::size_t kNone = PictureBox::kNone;
constexpr double kBetween = 14, kLaneWidth = 8, kPadding = 10, kHeader = 20, kGap = 26, kMargin = 8, kGutterMargin = 16;

/// An item of a box, placed beside others: a node, a box, or a stretch of an edge that passes by.
struct LayoutItem {
  enum class Kind : std::uint8_t { node, box, lane } kind = Kind::node;
  std::size_t index = 0;  ///< of the node, the box, or the lane
  int top = 0, bottom = 0;
  double width = 0;
  double x = 0;  ///< from the left end of the box's inside
};

/// A stretch of an edge over rows in one box, or in the gutter between the devices (box kNone).
struct Lane {
  std::size_t edge = 0, box = kNone;
  int top = 0, bottom = 0;
  bool labeled = false;
  double x = 0;  ///< of the line
};

class Layout {
 public:
  Layout(const Picture& picture, const PictureOrder& order, const PictureSizes& sizes) : picture_(picture), order_(order), sizes_(sizes) {}

  PictureLayout run() {
    rank();
    find_rows_of_boxes();
    for (std::size_t i = 0; i < picture_.edges.size(); ++i) route(i);
    fill_boxes();
    across();
    down();
    return std::move(result_);
  }

 private:
  // --- rows -----------------------------------------------------------------------------------------------------------------------------

  /// The rows that an edge must lead down: a label needs one of its own.
  [[nodiscard]] int length(std::size_t edge) const { return sizes_.edge_labels[edge].first > 0 ? 2 : 1; }

  void rank() {
    const std::size_t size = picture_.nodes.size();
    std::vector<std::vector<std::pair<std::size_t, int>>> next(size);
    std::vector<std::size_t> open(size), sources(size);
    const auto connect = [&](std::size_t from, std::size_t to, int rows) {
      if (from == to) return;
      next[from].emplace_back(to, rows);
      ++open[to];
    };
    for (std::size_t i = 0; i < picture_.edges.size(); ++i)
      if (!order_.ignored[i]) connect(picture_.edges[i].from, picture_.edges[i].to, length(i));
    for (const auto& [above, under] : order_.below) connect(above, under, 1);
    sources = open;
    row_.assign(size, 0);
    std::vector<char> done(size);
    std::vector<std::size_t> sequence;
    // The first node that waits for no other one; if all wait, in a circle, the first one.
    std::vector<std::size_t> ready;
    for (std::size_t i = size; i-- > 0;)
      if (open[i] == 0) ready.push_back(i);
    for (std::size_t first = 0; sequence.size() < size;) {
      while (done[first]) ++first;
      const std::size_t node = ready.empty() ? first : ready.back();
      if (!ready.empty()) ready.pop_back();
      if (done[node]) continue;
      done[node] = 1;
      sequence.push_back(node);
      for (const auto& [to, rows] : next[node]) {
        if (done[to]) continue;
        row_[to] = std::max(row_[to], row_[node] + rows);
        if (--open[to] == 0) ready.push_back(to);
      }
    }
    // An item without an incoming edge stands close to its first reader.
    for (auto node = sequence.rbegin(); node != sequence.rend(); ++node) {
      int lowest = std::numeric_limits<int>::max();
      for (const auto& [to, rows] : next[*node]) lowest = std::min(lowest, row_[to] - rows);
      if (sources[*node] == 0 && lowest != std::numeric_limits<int>::max()) row_[*node] = std::max(row_[*node], lowest);
    }
    rows_ = 1 + (size == 0 ? 0 : *std::max_element(row_.begin(), row_.end()));
  }

  void find_rows_of_boxes() {
    const std::size_t size = picture_.boxes.size();
    top_.assign(size, std::numeric_limits<int>::max());
    bottom_.assign(size, -1);
    for (std::size_t i = 0; i < picture_.nodes.size(); ++i) {
      for (std::size_t box = picture_.nodes[i].box; box != kNone; box = picture_.boxes[box].parent) {
        top_[box] = std::min(top_[box], row_[i]);
        bottom_[box] = std::max(bottom_[box], row_[i]);
      }
    }
  }
  [[nodiscard]] bool empty(std::size_t box) const { return bottom_[box] < 0; }

  // --- lanes ----------------------------------------------------------------------------------------------------------------------------

  [[nodiscard]] std::size_t common_box(std::size_t one, std::size_t other) const {
    while (one != other) {
      if (one == kNone || other == kNone) return kNone;
      std::size_t& later = one > other ? one : other;  // parents come before their children
      later = picture_.boxes[later].parent;
    }
    return one;
  }

  /// The box at a row between two nodes: the innermost one around the upper node that reaches down to it, or around the lower node that
  /// reaches up to it, or else the one around both.
  [[nodiscard]] std::size_t box_at(int row, const PictureEdge& edge, std::size_t common) const {
    for (std::size_t box = picture_.nodes[edge.from].box; box != common; box = picture_.boxes[box].parent)
      if (row <= bottom_[box]) return box;
    for (std::size_t box = picture_.nodes[edge.to].box; box != common; box = picture_.boxes[box].parent)
      if (row >= top_[box]) return box;
    return common;
  }

  void route(std::size_t index) {
    const PictureEdge& edge = picture_.edges[index];
    const int from = row_[edge.from], to = row_[edge.to];
    const std::size_t common = common_box(picture_.nodes[edge.from].box, picture_.nodes[edge.to].box);
    const bool labeled = sizes_.edge_labels[index].first > 0;
    ways_.emplace_back();
    std::vector<std::size_t>& way = ways_.back();
    const auto add = [&](std::size_t box, int top, int bottom) {
      way.push_back(lanes_.size());
      lanes_.push_back({index, box, top, bottom, false, 0});
    };
    if (to <= from) {
      add(common, to, from);
    } else if (to == from + 1) {
      if (labeled) add(common, to, to);
    } else if (common == kNone) {
      add(common, from + 1, to - 1);
    } else {
      for (int row = from + 1; row < to; ++row) {
        const std::size_t box = box_at(row, edge, common);
        if (way.empty() || lanes_[way.back()].box != box)
          add(box, row, row);
        else
          lanes_[way.back()].bottom = row;
      }
    }
    if (!labeled || way.empty()) return;
    const auto longest = std::max_element(way.begin(), way.end(), [this](std::size_t one, std::size_t other) {
      return lanes_[one].bottom - lanes_[one].top < lanes_[other].bottom - lanes_[other].top;
    });
    lanes_[*longest].labeled = true;
  }

  [[nodiscard]] double width(const Lane& lane) const {
    return kLaneWidth + (lane.labeled ? sizes_.edge_labels[lane.edge].first + kLaneWidth : 0);
  }

  // --- across ---------------------------------------------------------------------------------------------------------------------------

  void fill_boxes() {
    items_.resize(picture_.boxes.size());
    for (std::size_t i = 0; i < picture_.nodes.size(); ++i)
      items_[picture_.nodes[i].box].push_back({LayoutItem::Kind::node, i, row_[i], row_[i], sizes_.nodes[i].first, 0});
    for (std::size_t i = 0; i < picture_.boxes.size(); ++i)
      if (picture_.boxes[i].parent != kNone && !empty(i))
        items_[picture_.boxes[i].parent].push_back({LayoutItem::Kind::box, i, top_[i], bottom_[i], 0, 0});
    for (std::size_t i = 0; i < lanes_.size(); ++i)
      if (lanes_[i].box != kNone)
        items_[lanes_[i].box].push_back({LayoutItem::Kind::lane, i, lanes_[i].top, lanes_[i].bottom, width(lanes_[i]), 0});
  }

  /// Sets items side by side in their order, each as far to the left as its rows allow.
  void pack(std::size_t box) {
    std::vector<double> used(static_cast<std::size_t>(rows_), 0);
    double width = 0;
    for (LayoutItem& item : items_[box]) {
      if (item.kind == LayoutItem::Kind::box) item.width = inside_[item.index] + 2 * kPadding;
      item.x = 0;
      for (int row = item.top; row <= item.bottom; ++row) item.x = std::max(item.x, used[static_cast<std::size_t>(row)]);
      for (int row = item.top; row <= item.bottom; ++row) used[static_cast<std::size_t>(row)] = item.x + item.width + kBetween;
      width = std::max(width, item.x + item.width);
    }
    inside_[box] = std::max(width, sizes_.box_labels[box]);
  }

  void pack_all() {
    inside_.assign(picture_.boxes.size(), 0);
    for (std::size_t box = picture_.boxes.size(); box-- > 0;) pack(box);
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) lanes_[lane].x = 0;
  }

  /// Positions from the outermost boxes to the innermost ones.
  void place() {
    result_.boxes.assign(picture_.boxes.size(), {});
    result_.nodes.resize(picture_.nodes.size());
    double x = kMargin;
    for (std::size_t box = 0; box < picture_.boxes.size(); ++box) {
      if (picture_.boxes[box].parent != kNone || empty(box)) continue;
      if (x > kMargin) {  // the gutter is on the left of the last device
        x += kGutterMargin;
        x = place_gutter(x) + kGutterMargin;
      }
      result_.boxes[box] = {x, 0, inside_[box] + 2 * kPadding, 0};
      x = result_.boxes[box].right();
    }
    result_.width = x + kMargin;
    for (std::size_t box = 0; box < picture_.boxes.size(); ++box)
      if (!empty(box)) place_items(box);
  }

  void place_items(std::size_t box) {
    const double left = result_.boxes[box].x + kPadding;
    for (const LayoutItem& item : items_[box]) {
      if (item.kind == LayoutItem::Kind::node) result_.nodes[item.index] = {left + item.x, 0, item.width, 0};
      if (item.kind == LayoutItem::Kind::box) result_.boxes[item.index] = {left + item.x, 0, item.width, 0};
      if (item.kind == LayoutItem::Kind::lane) lanes_[item.index].x = left + item.x + kLaneWidth / 2;
    }
  }

  /// Columns of lanes that do not share a row; returns the right end.
  double place_gutter(double x) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < lanes_.size(); ++i)
      if (lanes_[i].box == kNone) order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [this](std::size_t one, std::size_t other) { return lanes_[one].top < lanes_[other].top; });
    struct Column {
      int bottom;
      double width;
      std::vector<std::size_t> lanes;
    };
    std::vector<Column> columns;
    for (const std::size_t i : order) {
      const Lane& lane = lanes_[i];
      auto column = std::find_if(columns.begin(), columns.end(), [&](const Column& each) { return each.bottom < lane.top; });
      if (column == columns.end()) column = columns.insert(columns.end(), {-1, 0, {}});
      column->bottom = lane.bottom;
      column->width = std::max(column->width, width(lane));
      column->lanes.push_back(i);
    }
    for (const Column& column : columns) {
      for (const std::size_t i : column.lanes) lanes_[i].x = x + kLaneWidth / 2;
      x += column.width + kLaneWidth;
    }
    return x;
  }

  /// The points of an edge across, without those at its nodes.
  [[nodiscard]] double center(std::size_t node) const { return result_.nodes[node].middle(); }

  /// By item of a box: where its neighbors are on average, or where it is if it has none.
  std::vector<double> wanted(std::size_t box) const {
    std::vector<double> result;
    for (const LayoutItem& item : items_[box]) {
      double sum = 0;
      std::size_t count = 0;
      const auto add = [&](double x) {
        sum += x;
        ++count;
      };
      if (item.kind == LayoutItem::Kind::lane) {
        const PictureEdge& edge = picture_.edges[lanes_[item.index].edge];
        add(center(edge.from));
        add(center(edge.to));
      } else {
        const auto& pulls = item.kind == LayoutItem::Kind::node ? pulls_of_node_[item.index] : pulls_of_box_[item.index];
        for (const auto& [own, other] : pulls) add(center(other) + shift(item, own));
      }
      result.push_back(count == 0 ? middle(box, item) : sum / static_cast<double>(count));
    }
    return result;
  }
  /// The distance of an item's middle from that of a node in it.
  [[nodiscard]] double shift(const LayoutItem& item, std::size_t node) const {
    return item.kind == LayoutItem::Kind::box ? result_.boxes[item.index].middle() - center(node) : 0;
  }
  [[nodiscard]] double middle(std::size_t box, const LayoutItem& item) const {
    return result_.boxes[box].x + kPadding + item.x + item.width / 2;
  }

  /// The nodes that each node and each box is connected with, outside of the box: pairs of a node of its own and the other one.
  void find_pulls() {
    pulls_of_node_.resize(picture_.nodes.size());
    pulls_of_box_.resize(picture_.boxes.size());
    const auto pull = [this](std::size_t node, std::size_t other) {
      pulls_of_node_[node].emplace_back(node, other);
      const std::size_t common = common_box(picture_.nodes[node].box, picture_.nodes[other].box);
      for (std::size_t box = picture_.nodes[node].box; box != common; box = picture_.boxes[box].parent)
        pulls_of_box_[box].emplace_back(node, other);
    };
    for (const PictureEdge& edge : picture_.edges) {
      pull(edge.from, edge.to);
      pull(edge.to, edge.from);
    }
  }

  /// The sum of all edges' extents across.
  [[nodiscard]] double cost() const {
    double sum = 0;
    for (std::size_t i = 0; i < picture_.edges.size(); ++i) {
      double x = center(picture_.edges[i].from);
      for (const std::size_t lane : ways_[i]) {
        sum += std::abs(lanes_[lane].x - x);
        x = lanes_[lane].x;
      }
      sum += std::abs(center(picture_.edges[i].to) - x);
    }
    return sum;
  }

  /// Orders the items of boxes by where their neighbors are, a few times, and keeps the best order; then shifts them.
  void across() {
    find_pulls();
    pack_all();
    place();
    constexpr int kTries = 8;
    auto best = items_;
    double least = cost();
    for (int i = 0; i < kTries; ++i) {
      for (std::size_t box = 0; box < picture_.boxes.size(); ++box) {
        const std::vector<double> at = wanted(box);
        std::vector<std::size_t> sequence(at.size());
        std::iota(sequence.begin(), sequence.end(), 0);
        std::stable_sort(sequence.begin(), sequence.end(), [&](std::size_t one, std::size_t other) { return at[one] < at[other]; });
        std::vector<LayoutItem> sorted;
        for (const std::size_t item : sequence) sorted.push_back(items_[box][item]);
        items_[box] = std::move(sorted);
      }
      pack_all();
      place();
      const double now = cost();
      if (now >= least) continue;
      least = now;
      best = items_;
    }
    items_ = std::move(best);
    pack_all();
    place();
    constexpr int kShifts = 12;
    for (int i = 0; i < kShifts; ++i) {
      for (std::size_t box = 0; box < picture_.boxes.size(); ++box)
        if (!empty(box)) move(box, i % 2 == 0);
      place();
    }
  }

  /// Moves the items of a box towards their neighbors, as far as those beside them allow; the box keeps its width.
  void move(std::size_t box, bool from_right) {
    std::vector<LayoutItem>& items = items_[box];
    const std::vector<double> at = wanted(box);
    const double left = result_.boxes[box].x + kPadding;
    // By row, the free space: from the end of the item that was seen last.
    std::vector<double> edge(static_cast<std::size_t>(rows_), from_right ? inside_[box] : 0);
    std::vector<std::size_t> sequence(items.size());
    std::iota(sequence.begin(), sequence.end(), 0);
    std::stable_sort(sequence.begin(), sequence.end(), [&](std::size_t one, std::size_t other) {
      return from_right ? items[one].x > items[other].x : items[one].x < items[other].x;
    });
    for (const std::size_t index : sequence) {
      LayoutItem& item = items[index];
      const double goal = at[index] - left - item.width / 2;
      double bound = from_right ? inside_[box] : 0;
      for (int row = item.top; row <= item.bottom; ++row) {
        const double end = edge[static_cast<std::size_t>(row)];
        bound = from_right ? std::min(bound, end) : std::max(bound, end);
      }
      // From the right, items only move right, into the space that those before them left; from the left, only left.
      if (from_right)
        item.x = std::max(item.x, std::min(goal, bound - item.width));
      else
        item.x = std::min(item.x, std::max(goal, bound));
      for (int row = item.top; row <= item.bottom; ++row)
        edge[static_cast<std::size_t>(row)] = from_right ? item.x - kBetween : item.x + item.width + kBetween;
    }
  }

  // --- down -----------------------------------------------------------------------------------------------------------------------------

  /// The number of boxes one in another that begin (or end) in a box's first (or last) row, with this one.
  [[nodiscard]] std::vector<int> nesting(const std::vector<int>& row) const {
    std::vector<int> depth(picture_.boxes.size(), 1);
    for (std::size_t box = picture_.boxes.size(); box-- > 0;) {
      const std::size_t parent = picture_.boxes[box].parent;
      if (parent != kNone && !empty(box) && row[box] == row[parent]) depth[parent] = std::max(depth[parent], depth[box] + 1);
    }
    return depth;
  }

  void down() {
    const auto rows = static_cast<std::size_t>(rows_);
    std::vector<double> height(rows, 0), above(rows, 0), below(rows, 0);
    for (std::size_t i = 0; i < picture_.nodes.size(); ++i) {
      double& most = height[static_cast<std::size_t>(row_[i])];
      most = std::max(most, sizes_.nodes[i].second);
    }
    for (const Lane& lane : lanes_) {
      if (!lane.labeled) continue;
      double& most = height[static_cast<std::size_t>((lane.top + lane.bottom) / 2)];
      most = std::max(most, sizes_.edge_labels[lane.edge].second);
    }
    const std::vector<int> opens = nesting(top_), closes = nesting(bottom_);
    for (std::size_t box = 0; box < picture_.boxes.size(); ++box) {
      if (empty(box)) continue;
      double& header = above[static_cast<std::size_t>(top_[box])];
      header = std::max(header, opens[box] * kHeader);
      double& footer = below[static_cast<std::size_t>(bottom_[box])];
      footer = std::max(footer, closes[box] * kPadding);
    }
    std::vector<double> y(rows);
    double at = kMargin;
    for (std::size_t row = 0; row < rows; ++row) {
      at += above[row];
      y[row] = at;
      at += height[row] + below[row] + (row + 1 < rows ? kGap : 0);
    }
    result_.height = at + kMargin;
    for (std::size_t i = 0; i < picture_.nodes.size(); ++i) {
      const auto row = static_cast<std::size_t>(row_[i]);
      result_.nodes[i].height = sizes_.nodes[i].second;
      result_.nodes[i].y = y[row] + (height[row] - sizes_.nodes[i].second) / 2;
    }
    for (std::size_t box = 0; box < picture_.boxes.size(); ++box) {
      if (empty(box)) continue;
      const auto top = static_cast<std::size_t>(top_[box]), bottom = static_cast<std::size_t>(bottom_[box]);
      result_.boxes[box].y = y[top] - opens[box] * kHeader;
      result_.boxes[box].height = y[bottom] + height[bottom] + closes[box] * kPadding - result_.boxes[box].y;
    }
    for (std::size_t i = 0; i < picture_.edges.size(); ++i) draw(i, y, height);
  }

  /// The points of an edge: out at the bottom of its first node, down or up its lanes, and in at the top of its last node.
  void draw(std::size_t index, const std::vector<double>& y, const std::vector<double>& height) {
    const PictureEdge& edge = picture_.edges[index];
    const PictureArea &from = result_.nodes[edge.from], &to = result_.nodes[edge.to];
    const bool down = row_[edge.to] > row_[edge.from];
    PictureCurve curve;
    curve.up = !down;
    curve.points.push_back({from.middle(), from.bottom()});
    for (const std::size_t each : ways_[index]) {
      const Lane& lane = lanes_[each];
      const auto top = static_cast<std::size_t>(lane.top), bottom = static_cast<std::size_t>(lane.bottom);
      const PicturePoint upper{lane.x, y[top]}, lower{lane.x, y[bottom] + height[bottom]};
      curve.points.push_back(down ? upper : lower);
      curve.points.push_back(down ? lower : upper);
      if (!lane.labeled) continue;
      const auto middle = static_cast<std::size_t>((lane.top + lane.bottom) / 2);
      const auto& [width, tall] = sizes_.edge_labels[index];
      curve.label = {lane.x + kLaneWidth, y[middle] + (height[middle] - tall) / 2, width, tall};
    }
    if (down && ways_[index].size() == 1 && row_[edge.to] == row_[edge.from] + 1) {  // beside the row of its last node
      curve.points.back().y = to.y + to.height / 2;
      curve.points.push_back({curve.points.back().x < to.middle() ? to.x : to.right(), curve.points.back().y});
      curve.enters_from_side = true;
    } else {
      curve.points.push_back({to.middle(), to.y});
    }
    result_.edges.push_back(std::move(curve));
  }

  const Picture& picture_;
  const PictureOrder& order_;
  const PictureSizes& sizes_;
  PictureLayout result_;
  std::vector<int> row_;           ///< by node
  std::vector<int> top_, bottom_;  ///< by box: its first and last row
  int rows_ = 0;
  std::vector<Lane> lanes_;
  std::vector<std::vector<std::size_t>> ways_;  ///< by edge: its lanes, from its first node on
  std::vector<std::vector<LayoutItem>> items_;  ///< by box
  std::vector<double> inside_;                  ///< by box: its width without padding
  std::vector<std::vector<std::pair<std::size_t, std::size_t>>> pulls_of_node_, pulls_of_box_;
};

}  // namespace

PictureLayout lay_out(const Picture& picture, const PictureOrder& order, const PictureSizes& sizes) {
  return Layout(picture, order, sizes).run();
}

}  // namespace cleave::planner
