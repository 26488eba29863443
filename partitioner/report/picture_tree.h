// The picture under construction: for each device a tree of boxes (loops, arms, scopes) with leaves in program order. Each collapsing step
// is a function on such trees; make_picture() flattens them into a Picture afterwards.
#pragma once

#include <string>
#include <vector>

#include "partitioner/report/picture.h"

namespace cleave::planner {

/// Properties of the program's nodes that the steps read, indexed by node.
struct NodeFacts {
  std::vector<std::vector<std::size_t>> round_trips;  ///< round trips that lead through it or that it decides for
  std::vector<char> reads_send;                       ///< an operand arrives by a transfer of kind send
  std::vector<char> moves;                            ///< one of its results is transferred
  std::vector<char> blamed;                           ///< a round trip is reported at its line
  std::vector<char> idle;                             ///< a counter without readers
  std::vector<char> single;                           ///< must not be folded together with equal nodes
};

/// A leaf, or a box with items.
struct PictureItem {
  bool is_box = false;
  PictureNode leaf;
  PictureBox box;
  std::vector<PictureItem> items;
};

/// Whether pictures show the node's copy on a device. Loops and branches are shown where they are decided.
bool is_drawn(const Plan& plan, const NodeFacts& facts, NodeId node, DeviceId device);
/// The box of a device, with everything in it.
PictureItem picture_tree(const Plan& plan, const NodeFacts& facts, DeviceId device);

std::size_t leaves(const PictureItem& item);

/// Turns each chain of element-wise operations, in which each reads a result of one before, into one leaf.
void collapse_runs(PictureItem& root, const Plan& plan, const NodeFacts& facts);
/// Removes the boxes of scopes with less than two leaves.
void dissolve_small_scopes(PictureItem& root);
/// Folds repetitions: stretches that follow each other with equal operations, types, devices and causes become one.
void fold_repeats(PictureItem& root, const Plan& plan, const NodeFacts& facts);
/// Collapses boxes and adjacent leaves until all devices together have at most `most` leaves.
void collapse_to(std::vector<PictureItem>& devices, const Plan& plan, std::size_t most);

}  // namespace cleave::planner
