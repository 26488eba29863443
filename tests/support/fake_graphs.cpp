#include "tests/support/fake_graphs.h"

#include <algorithm>

#include "tests/support/fake_driver.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {

struct FakeGraphs {
  using D = FakeDriver;
  using Node = D::FakeGraph::Node;

  template <class Act>
  static CUresult call(const char* name, Act&& act) {
    D& d = D::current();
    std::lock_guard guard(d.mutex_);
    if (const CUresult result = d.enter(name); result != CUDA_SUCCESS) return result;
    return act(d);
  }
  /// Releases the handle even if the call fails.
  template <class Live, class Handle>
  static CUresult give_back(const char* name, Live D::*live, Handle handle) {
    D& d = D::current();
    std::lock_guard guard(d.mutex_);
    const CUresult result = d.enter(name);
    const auto found = (d.*live).find(handle);
    if (found == (d.*live).end()) {
      d.misuse(std::string(name) + " of what is not there");
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (found->second->in_flight > 0 && d.sticky_ == CUDA_SUCCESS) d.misuse(std::string(name) + " while it runs");
    if (found->second->around) d.misuse(std::string(name) + " of a node's body");
    std::vector<void*> bodies = found->second->bodies;
    (d.*live).erase(found);
    for (std::size_t i = 0; i < bodies.size() && std::string(name) == "cuGraphDestroy"; ++i) {
      const auto body = d.graphs_.find(bodies[i]);
      if (body == d.graphs_.end()) continue;
      bodies.insert(bodies.end(), body->second->bodies.begin(), body->second->bodies.end());
      d.graphs_.erase(body);
    }
    return result;
  }

  /// Adds a node that depends on `after`, which must be nodes of the graph.
  static CUresult add(D& d, CUgraph graph, CUgraphNode* made, const CUgraphNode* after, std::size_t count, Node node) {
    auto* found = d.find(d.graphs_, graph, "graph");
    if (!found) return CUDA_ERROR_INVALID_VALUE;
    std::vector<Node>& nodes = (*found)->nodes;
    for (std::size_t i = 0; i < count; ++i) {
      const auto there = std::find_if(nodes.begin(), nodes.end(), [&](const Node& n) { return n.handle == after[i]; });
      if (there == nodes.end()) {
        d.misuse("a node behind one that is not in its graph");
        return CUDA_ERROR_INVALID_VALUE;
      }
      const auto index = static_cast<std::size_t>(there - nodes.begin());
      if (std::find(node.after.begin(), node.after.end(), index) != node.after.end()) {
        d.misuse("a node twice behind another");
        return CUDA_ERROR_INVALID_VALUE;
      }
      node.after.push_back(index);
    }
    std::sort(node.after.begin(), node.after.end());
    node.handle = d.new_handle();
    *made = static_cast<CUgraphNode>(node.handle);
    nodes.push_back(std::move(node));
    return CUDA_SUCCESS;
  }

  static CUresult add_kernel(CUgraphNode* made, CUgraph graph, const CUgraphNode* after, std::size_t count,
                             const CUDA_KERNEL_NODE_PARAMS* kernel) {
    return call("cuGraphAddKernelNode", [&](D& d) {
      if (kernel->gridDimX * kernel->gridDimY * kernel->gridDimZ == 0 || kernel->blockDimX * kernel->blockDimY * kernel->blockDimZ == 0)
        d.misuse("a node with an impossible shape");
      d.widest_grid_ = std::max(d.widest_grid_, kernel->gridDimX * kernel->gridDimY * kernel->gridDimZ);
      D::Item item;
      if (const CUresult result = d.explain(kernel->func, kernel->kernelParams, item); result != CUDA_SUCCESS) return result;
      return add(d, graph, made, after, count, {item.label, item.action, {}, nullptr});
    });
  }

  static CUresult add_copy(CUgraphNode* made, CUgraph graph, const CUgraphNode* after, std::size_t count, const CUDA_MEMCPY3D* copy) {
    return call("cuGraphAddMemcpyNode", [&](D& d) {
      if (copy->srcMemoryType != CU_MEMORYTYPE_DEVICE || copy->dstMemoryType != CU_MEMORYTYPE_DEVICE || copy->WidthInBytes == 0 ||
          copy->Height != 1 || copy->Depth != 1)
        d.misuse("a copy in a graph that is not one row inside of the device");
      const auto action = [&d, to = copy->dstDevice, from = copy->srcDevice, bytes = copy->WidthInBytes] {
        std::byte* target = d.resolve(to, bytes);
        const std::byte* source = d.resolve(from, bytes);
        if (target && source) std::copy_n(source, bytes, target);
      };
      return add(d, graph, made, after, count, {"copy", action, {}, nullptr});
    });
  }

  static CUresult add_child(CUgraphNode* made, CUgraph graph, const CUgraphNode* after, std::size_t count, CUgraph child) {
    return call("cuGraphAddChildGraphNode", [&](D& d) {
      const auto* found = d.find(d.graphs_, child, "graph");
      if (!found || child == graph) return CUDA_ERROR_INVALID_VALUE;
      const std::vector<Node> nodes = (*found)->nodes;  // instantiation copies the graph
      std::string label;
      for (const Node& node : nodes) label += (label.empty() ? "" : ", ") + node.label;
      return add(d, graph, made, after, count, {"captured " + label, [&d, nodes] { run(d, nodes); }, {}, nullptr});
    });
  }

  static CUresult new_condition(CUgraphConditionalHandle* made, CUgraph graph, CUcontext context, unsigned value, unsigned flags) {
    return call("cuGraphConditionalHandleCreate", [&](D& d) {
      if (!d.find(d.graphs_, graph, "graph")) return CUDA_ERROR_INVALID_VALUE;
      if (context != d.primary_ || value != 0 || flags != 0) d.misuse("a condition made in an odd way");
      *made = reinterpret_cast<CUgraphConditionalHandle>(d.new_handle());
      d.conditions_[*made] = 0;
      d.condition_of_[*made] = graph;
      return CUDA_SUCCESS;
    });
  }

  static CUresult add_conditional(CUgraphNode* made, CUgraph graph, const CUgraphNode* after, const CUgraphEdgeData* edges,
                                  std::size_t count, CUgraphNodeParams* node) {
    return call("cuGraphAddNode", [&](D& d) {
      auto* found = d.find(d.graphs_, graph, "graph");
      if (!found) return CUDA_ERROR_INVALID_VALUE;
      CUDA_CONDITIONAL_NODE_PARAMS& conditional = node->conditional;
      const CUgraphConditionalHandle condition = conditional.handle;
      const auto free = d.condition_of_.find(condition);
      if (node->type != CU_GRAPH_NODE_TYPE_CONDITIONAL || edges || conditional.size != 1 || conditional.ctx != d.primary_)
        d.misuse("a conditional node made in an odd way");
      if (free == d.condition_of_.end() || free->second != graph) {
        d.misuse("a condition of another graph, or of another node");
        return CUDA_ERROR_INVALID_VALUE;
      }
      d.condition_of_.erase(free);
      const bool loops = conditional.type == CU_GRAPH_COND_TYPE_WHILE;
      void* handle = d.new_handle();
      const auto body = std::make_shared<D::FakeGraph>();
      body->around = graph;
      d.graphs_[handle] = body;
      (*found)->bodies.push_back(handle);
      static thread_local CUgraph bodies[1];
      bodies[0] = static_cast<CUgraph>(handle);
      conditional.phGraph_out = bodies;
      const auto action = [&d, body, condition, loops] {
        while (d.conditions_[condition] != 0 && d.sticky_ == CUDA_SUCCESS) {
          d.trips_ += loops;
          run(d, body->nodes);
          if (!loops) break;
        }
      };
      return add(d, graph, made, after, count, {loops ? "while" : "if", action, {}, nullptr});
    });
  }

  /// Runs the nodes in a random order that the edges allow.
  static void run(D& d, const std::vector<Node>& nodes) {
    std::vector<bool> done(nodes.size());
    for (std::size_t turn = 0; turn < nodes.size(); ++turn) {
      std::vector<std::size_t> ready;
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (!done[i] && std::all_of(nodes[i].after.begin(), nodes[i].after.end(), [&](std::size_t a) { return done[a]; }))
          ready.push_back(i);
      }
      const std::size_t next = ready[d.random_() % ready.size()];
      done[next] = true;
      nodes[next].action();
    }
  }

  static CUresult instantiate(CUgraphExec* made, CUgraph graph, unsigned long long flags) {
    return call("cuGraphInstantiate", [&](D& d) {
      const auto* found = d.find(d.graphs_, graph, "graph");
      if (!found) return CUDA_ERROR_INVALID_VALUE;
      if (flags != 0 || (*found)->nodes.empty()) d.misuse("a graph made ready in an odd way");
      *made = static_cast<CUgraphExec>(d.new_handle());
      d.graph_execs_[*made] = std::make_shared<D::FakeGraph>(**found);
      std::string text;
      for (std::size_t i = 0; i < (*found)->nodes.size(); ++i) {
        const Node& node = (*found)->nodes[i];
        text += std::to_string(i) + ": " + node.label;
        for (std::size_t k = 0; k < node.after.size(); ++k) text += (k > 0 ? ", " : " after ") + std::to_string(node.after[k]);
        text += "\n";
      }
      d.graph_texts_.push_back(std::move(text));
      return CUDA_SUCCESS;
    });
  }

  /// Launches in flight keep their old parameters.
  static CUresult set_kernel(CUgraphExec exec, CUgraphNode handle, const CUDA_KERNEL_NODE_PARAMS* kernel) {
    return call("cuGraphExecKernelNodeSetParams", [&](D& d) {
      auto* found = d.find(d.graph_execs_, exec, "graph");
      if (!found) return CUDA_ERROR_INVALID_VALUE;
      const bool named = std::any_of(d.graphs_.begin(), d.graphs_.end(), [&](const auto& graph) {
        return std::any_of(graph.second->nodes.begin(), graph.second->nodes.end(), [&](const Node& n) { return n.handle == handle; });
      });
      if (!named) d.misuse("a node of a graph that is gone");
      D::Item item;
      if (const CUresult result = d.explain(kernel->func, kernel->kernelParams, item); result != CUDA_SUCCESS) return result;
      for (Node& node : (*found)->nodes) {
        if (node.handle != handle) continue;
        if (node.label != item.label) d.misuse("a node that becomes another operation");
        node.action = item.action;
        return CUDA_SUCCESS;
      }
      d.misuse("a node of another graph");
      return CUDA_ERROR_INVALID_VALUE;
    });
  }

  static CUresult launch(CUgraphExec exec, CUstream stream) {
    return call("cuGraphLaunch", [&](D& d) {
      auto* found = d.find(d.graph_execs_, exec, "graph");
      if (!found) return CUDA_ERROR_INVALID_VALUE;
      if (!(*found)->uploaded) d.misuse("a launch of a graph that is not on the device yet");
      ++(*found)->in_flight;
      D::Item item;
      item.label = "graph";
      item.seconds = 1e-6 * static_cast<double>((*found)->nodes.size());
      item.action = [&d, graph = *found, nodes = (*found)->nodes] {
        run(d, nodes);
        --graph->in_flight;
      };
      return d.enqueue(stream, std::move(item));
    });
  }

  static CUresult begin_capture(CUstream stream, CUstreamCaptureMode) {
    return call("cuStreamBeginCapture", [&](D& d) {
      auto* found = d.find(d.streams_, stream, "stream");
      if (!found) return CUDA_ERROR_INVALID_HANDLE;
      if ((*found)->captured) d.misuse("a capture inside a capture");
      (*found)->captured = std::make_unique<D::FakeGraph>();
      return CUDA_SUCCESS;
    });
  }
  /// Ends the capture even if the call fails.
  static CUresult end_capture(CUstream stream, CUgraph* made) {
    D& d = D::current();
    std::lock_guard guard(d.mutex_);
    const CUresult result = d.enter("cuStreamEndCapture");
    auto* found = d.find(d.streams_, stream, "stream");
    if (!found) return CUDA_ERROR_INVALID_HANDLE;
    std::unique_ptr<D::FakeGraph> captured = std::move((*found)->captured);
    if (!captured) d.misuse("the end of a capture that did not begin");
    if (result != CUDA_SUCCESS || !captured) return result != CUDA_SUCCESS ? result : CUDA_ERROR_ILLEGAL_STATE;
    *made = static_cast<CUgraph>(d.new_handle());
    d.graphs_[*made] = std::move(captured);
    return CUDA_SUCCESS;
  }
};

void fill_fake_graphs(cuda::DriverApi& t) {
  t.cuGraphCreate = [](CUgraph* graph, unsigned) {
    return FakeGraphs::call("cuGraphCreate", [&](FakeDriver& d) {
      *graph = static_cast<CUgraph>(d.new_handle());
      d.graphs_[*graph] = std::make_shared<FakeDriver::FakeGraph>();
      return CUDA_SUCCESS;
    });
  };
  t.cuGraphDestroy = [](CUgraph graph) { return FakeGraphs::give_back("cuGraphDestroy", &FakeDriver::graphs_, graph); };
  t.cuGraphExecDestroy = [](CUgraphExec exec) { return FakeGraphs::give_back("cuGraphExecDestroy", &FakeDriver::graph_execs_, exec); };
  t.cuGraphAddKernelNode = FakeGraphs::add_kernel;
  t.cuGraphAddMemcpyNode = [](CUgraphNode* made, CUgraph graph, const CUgraphNode* after, std::size_t count, const CUDA_MEMCPY3D* copy,
                              CUcontext) { return FakeGraphs::add_copy(made, graph, after, count, copy); };
  t.cuGraphAddChildGraphNode = FakeGraphs::add_child;
  if (FakeDriver::current().conditional_) {
    t.cuGraphAddNode = FakeGraphs::add_conditional;
    t.cuGraphConditionalHandleCreate = FakeGraphs::new_condition;
  }
  t.cuGraphInstantiate = FakeGraphs::instantiate;
  t.cuGraphUpload = [](CUgraphExec exec, CUstream) {
    return FakeGraphs::call("cuGraphUpload", [&](FakeDriver& d) {
      auto* found = d.find(d.graph_execs_, exec, "graph");
      if (!found) return CUDA_ERROR_INVALID_VALUE;
      (*found)->uploaded = true;
      return CUDA_SUCCESS;
    });
  };
  t.cuGraphExecKernelNodeSetParams = FakeGraphs::set_kernel;
  t.cuGraphLaunch = FakeGraphs::launch;
  t.cuStreamBeginCapture = FakeGraphs::begin_capture;
  t.cuStreamEndCapture = FakeGraphs::end_capture;
}

}  // namespace cleave::testing
