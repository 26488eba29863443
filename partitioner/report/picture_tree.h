// The picture while it is being collapsed: for each device a tree of boxes (loops, arms, scopes) with leaves in program order. Each step
// that collapses is a function on it; afterwards it is flattened into a Picture.
#pragma once

#include <string>
#include <vector>

#include "partitioner/report/picture.h"

namespace cleave::planner {

/// What the steps ask about a copy of a node, by node.
struct NodeFacts {
  std::vector<std::vector<std::size_t>> round_trips;  ///< that lead through it, or that it decides for
  std::vector<char> reads_send;                       ///< an operand arrives by a send
  std::vector<char> moves;                            ///< a transfer takes a result of it
  std::vector<char> blamed;                           ///< a round trip is told at its line
  std::vector<char> idle;                             ///< a counter that nothing reads
  std::vector<char> single;                           ///< not to be drawn together with its like
};

/// A leaf, or a box with items.
struct PictureItem {
  bool is_box = false;
  PictureNode leaf;
  PictureBox box;
  std::vector<PictureItem> items;
};

/// Whether a copy of the node is in pictures; loops and branches are on the host.
bool is_drawn(const Plan& plan, const NodeFacts& facts, NodeId node, DeviceId device);
/// The box of a device, with everything in it.
PictureItem picture_tree(const Plan& plan, const NodeFacts& facts, DeviceId device);

std::size_t leaves(const PictureItem& item);

/// Element-wise operations in a row, each of which reads what one before it made, become one leaf.
void collapse_runs(PictureItem& root, const Plan& plan, const NodeFacts& facts);
/// Scopes of less than two leaves are no boxes.
void dissolve_small_scopes(PictureItem& root);
/// What is repeated one after the other with equal operations, types, devices and causes is drawn once.
void fold_repeats(PictureItem& root, const Plan& plan, const NodeFacts& facts);
/// Collapses boxes, and what stands in a row, until all devices together have at most `most` leaves.
void collapse_to(std::vector<PictureItem>& devices, const Plan& plan, std::size_t most);

}  // namespace cleave::planner
