// Picture: what `cleave dot` and the page draw of a plan, as plain data: boxes in boxes, nodes in them, edges. Between plan and text: what
// is collapsed is decided here, how it looks in dot.cpp. Knows no Graphviz.
//
// A node stands for copies of the program's nodes on one device; each copy that is drawn belongs to exactly one node. Left out are only
// scalar literals that stay where they are, and loops whose number of trips nothing decides.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "partitioner/compile.h"
#include "partitioner/report/explain.h"

namespace cleave::planner {

struct PictureNode {
  enum class Kind : std::uint8_t {
    one,      ///< a node of the program
    run,      ///< element-wise operations in a row
    part,     ///< a whole box, or a stretch of one
    output,   ///< outputs of the program
    arrival,  ///< where a transfer with several readers ends; stands for no node of the program
  };
  Kind kind = Kind::one;
  DeviceId device;
  std::size_t box = 0;
  std::vector<NodeId> nodes;         ///< in program order
  std::vector<std::size_t> outputs;  ///< indices into the graph's
  std::size_t times = 1;             ///< equal things that it stands for; the first nodes.size() / times of `nodes` are the first of them
  std::string name;                  ///< of a box that became this node, else empty
  std::vector<std::size_t> round_trips;
  std::vector<Cause> causes;  ///< why operations of it are on the host

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
    decides,   ///< a predicate, or a number of trips
    carries,   ///< to the next iteration
    argument,  ///< transfers, all of one kind
    result,
    send,
  };
  Kind kind = Kind::reads;
  std::size_t from = 0, to = 0;
  bool backwards = false;              ///< against the program's order: no help for the layout
  std::vector<std::size_t> transfers;  ///< indices into the plan's: those of one value, or of several with the same ends
  std::size_t readers = 0;             ///< of a transfer: more nodes than one, though only the first is connected
  std::vector<std::size_t> round_trips;

  [[nodiscard]] bool moves() const { return kind >= Kind::argument; }
  friend bool operator==(const PictureEdge&, const PictureEdge&) = default;
};

struct Picture {
  std::vector<PictureBox> boxes;  ///< parents before children: host, accelerator, what is in them
  std::vector<PictureNode> nodes;
  std::vector<PictureEdge> edges;
  bool collapsed = false;  ///< some node stands for several of the program's
};

/// The plan must be complete().
Picture make_picture(const Plan& plan, const PictureOptions& options);

/// "for, 100 times".
std::string region_label(const Graph& graph, RegionId region);

}  // namespace cleave::planner
