// NodeOrders: the order in which the nodes of a graph are read. ONNX wants each node behind those whose results it reads; files of some
// tools are written in another order, and are sorted here.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "models/onnx/proto.h"

namespace cleave::models::onnx {

class NodeOrders {
 public:
  struct Order {
    std::vector<std::string_view> nodes;  ///< each a NodeProto; nodes that do not depend on each other keep the file's order
    /// If no order exists: nodes of which each reads a result of the one before it, and the first one of the last.
    std::vector<std::string_view> cycle;
  };

  /// The order of the nodes in a graph's or function's field `field`; null: the file's own, which is good. `known`: whether a name has a
  /// value before the first node. Each message is examined once, in time linear in its size and the depth of its inner graphs.
  const Order* find(std::string_view message, std::uint32_t field, const std::function<bool(std::string_view)>& known);

 private:
  std::map<const char*, std::optional<Order>> orders_;  ///< by the address of the message
};

}  // namespace cleave::models::onnx
