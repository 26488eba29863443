// The bytes of a plan file taken apart and put together again, with a header that is right: for tests of files that lie.
#pragma once

#include <cstring>
#include <string>

#include "graph/base/content_hash.h"
#include "partitioner/plan_file_layout.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {

struct PlanBytes {
  std::string document, graph, data;

  static PlanBytes of(const std::string& file) {
    planner::plan_layout::Header header;
    std::memcpy(&header, file.data(), sizeof header);
    return {file.substr(sizeof header, header.document_bytes), file.substr(sizeof header + header.document_bytes, header.graph_bytes),
            file.substr(header.data_begin)};
  }

  [[nodiscard]] std::string file() const {
    planner::plan_layout::Header header;
    header.document_bytes = document.size();
    header.graph_bytes = graph.size();
    header.data_begin = planner::plan_layout::aligned(sizeof header + document.size() + graph.size());
    header.file_bytes = header.data_begin + data.size();
    ContentHash hash;
    hash.add(document);
    hash.add(graph);
    std::memcpy(header.hash.data(), hash.text().data(), header.hash.size());
    std::string text(reinterpret_cast<const char*>(&header), sizeof header);
    text += document + graph;
    text.resize(header.data_begin, '\0');
    return text + data;
  }
};

}  // namespace cleave::testing
