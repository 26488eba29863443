// Picture: the drawing of a plan by `cleave dot` and on the page as plain data: nested boxes, nodes in them, and edges. make_picture()
// decides which nodes are collapsed; dot.cpp decides how they look. Knows no Graphviz.
//
// A node stands for copies of the program's nodes on one device, and each copy that is drawn belongs to exactly one node. Only two things
// are left out: scalar literals that are not transferred, and `for` loops with a known trip count.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "partitioner/plan.h"
#include "partitioner/report/explain.h"

namespace cleave::planner {

struct PictureNode {
  enum class Kind : std::uint8_t {
    one,      ///< a node of the program
    run,      ///< a chain of element-wise operations
    part,     ///< a collapsed box, or a stretch of one
    output,   ///< outputs of the program
    arrival,  ///< the end of a transfer with several readers; stands for no node of the program
  };
  Kind kind = Kind::one;
  DeviceId device;
  std::size_t box = 0;
  std::vector<NodeId> nodes;         ///< in program order
  std::vector<std::size_t> outputs;  ///< indices into the graph's outputs
  /// The number of equal copies that it stands for. The first nodes.size() / times entries of `nodes` are the first copy.
  std::size_t times = 1;
  std::string name;  ///< the label of the box that became this node, or empty
  std::vector<std::size_t> round_trips;
  std::vector<Cause> causes;  ///< the reasons why operations of it are on the host

  friend bool operator==(const PictureNode&, const PictureNode&) = default;
};

struct PictureBox {
  enum class Kind : std::uint8_t { device, region, scope, repeated };
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  Kind kind = Kind::device;
  DeviceId device;
  std::size_t parent = kNone;
  std::string label;
  std::size_t times = 1;

  friend bool operator==(const PictureBox&, const PictureBox&) = default;
};

struct PictureEdge {
  enum class Kind : std::uint8_t {
    reads,     ///< a value that stays on its device
    decides,   ///< a predicate, or a trip count
    carries,   ///< a value for the next iteration
    argument,  ///< transfers, all of one kind, here and in the next two
    result,
    send,
  };
  Kind kind = Kind::reads;
  std::size_t from = 0, to = 0;
  bool backwards = false;  ///< against program order, so the layout must ignore it
  /// Indices into the plan's transfers: those of one value, or those of several values with the same ends.
  std::vector<std::size_t> transfers;
  std::size_t readers = 0;  ///< for a transfer: the number of reading nodes, if the edge is drawn to the first of several
  std::vector<std::size_t> round_trips;

  [[nodiscard]] bool moves() const { return kind >= Kind::argument; }
  friend bool operator==(const PictureEdge&, const PictureEdge&) = default;
};

struct Picture {
  std::vector<PictureBox> boxes;  ///< parents before children: host, accelerator, then the boxes in them
  std::vector<PictureNode> nodes;
  std::vector<PictureEdge> edges;
  bool collapsed = false;  ///< some node stands for several of the program's nodes
};

/// The plan must be complete().
Picture make_picture(const Plan& plan, const PictureOptions& options);

/// "for, 100 times".
std::string region_label(const Graph& graph, RegionId region);

}  // namespace cleave::planner
