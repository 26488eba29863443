#include "models/onnx/locations.h"

#include <algorithm>
#include <charconv>

namespace cleave::models::onnx {
namespace {

constexpr std::size_t kMostFrames = 32;

/// The text between `begin` and `end`; removes everything up to `end` from `text`. Nothing if they do not follow.
std::optional<std::string_view> take_between(std::string_view& text, std::string_view begin, std::string_view end) {
  const std::size_t from = text.find(begin);
  if (from == std::string_view::npos) return std::nullopt;
  const std::size_t to = text.find(end, from + begin.size());
  if (to == std::string_view::npos) return std::nullopt;
  const std::string_view found = text.substr(from + begin.size(), to - from - begin.size());
  text.remove_prefix(to + end.size());
  return found;
}

/// Whether a file belongs to an installed library and not to the user's code.
bool installed(std::string_view file) {
  return file.find("/site-packages/") != std::string_view::npos || file.find("/dist-packages/") != std::string_view::npos;
}

bool of_torch(std::string_view file) {
  return installed(file) && file.find("-packages/torch/") != std::string_view::npos;
}

}  // namespace

std::string node_title(const NodeProto& node) {
  const std::string op = "(" + std::string(node.op_type) + ")";
  return node.name.empty() ? op : std::string(node.name) + " " + op;
}

Locations::Locations(std::string file, std::shared_ptr<const FileRoots> sources)
    : file_name_(std::move(file)),
      sources_(sources ? std::move(sources) : std::make_shared<const FileRoots>(file_name_)),
      file_(std::make_shared<const std::string>(file_name_)) {}

void Locations::set_caller(std::shared_ptr<const SourceFrame> caller) {
  caller_ = std::move(caller);
  namespaces_.clear();
}

SourceLocation Locations::named(std::string_view what, std::string_view name) const {
  return {std::make_shared<const std::string>(file_name_ + ": " + std::string(what) + " " + std::string(name)), 0, 0, nullptr};
}

/// Parses frames of the form `  File "PATH", line 12, in forward`, each followed by a source line, outermost first (traceback.format_list).
std::vector<Locations::Frame> Locations::frames(std::string_view trace) {
  std::vector<Frame> found;
  while (found.size() < kMostFrames) {
    const auto file = take_between(trace, "File \"", "\", line ");
    if (!file) break;
    Frame frame{*file, {}, 0};
    const std::size_t end = std::min(trace.find('\n'), trace.size());
    const std::string_view rest = trace.substr(0, end);
    std::from_chars(rest.data(), rest.data() + rest.size(), frame.line);
    if (const std::size_t in = rest.find(", in "); in != std::string_view::npos) frame.function = rest.substr(in + 5);
    trace.remove_prefix(end);
    if (frame.line > 0 && !file->empty()) found.push_back(frame);
  }
  return found;
}

SourceLocation Locations::at(const Frame& frame, std::shared_ptr<const SourceFrame> via) {
  auto known = files_.find(frame.file);
  if (known == files_.end()) known = files_.emplace(frame.file, stated_file(std::string(frame.file), sources_)).first;
  return {known->second, frame.line, 0, std::move(via)};
}

SourceLocation Locations::of(const NodeProto& node) {
  const std::vector<Frame> trace = frames(node.metadata("pkg.torch.onnx.stack_trace").value_or(std::string_view()));
  if (trace.empty()) return {named("node", node_title(node)).file, 0, 0, chain_of(node.name)};
  const auto last_of = [&](const auto& wanted) {
    const auto found = std::find_if(trace.rbegin(), trace.rend(), wanted);
    return found == trace.rend() ? trace.size() : static_cast<std::size_t>(trace.rend() - found) - 1;
  };
  std::size_t user = last_of([](const Frame& frame) { return !installed(frame.file); });
  if (user == trace.size()) user = last_of([](const Frame& frame) { return !of_torch(frame.file); });
  if (user == trace.size()) user = trace.size() - 1;
  // The chain behind the user's line: first the node, then the callers.
  std::shared_ptr<const SourceFrame> via = caller_;
  for (std::size_t i = 0; i < user; ++i)
    via = std::make_shared<const SourceFrame>(SourceFrame{std::string(trace[i + 1].function), at(trace[i], std::move(via))});
  return at(trace[user], std::make_shared<const SourceFrame>(SourceFrame{"node " + node_title(node), {file_, 0, 0, std::move(via)}}));
}

/// The namespaces in a node's name, the parts before the last one: `/encoder/layer.0` of `/encoder/layer.0/MatMul`.
std::shared_ptr<const SourceFrame> Locations::chain_of(std::string_view node_name) {
  const std::size_t slash = node_name.rfind('/');
  if (slash == std::string_view::npos || slash == 0) return nullptr;  // the Tracer adds its scopes
  const std::string_view path = node_name.substr(0, slash);
  if (const auto known = namespaces_.find(path); known != namespaces_.end()) return known->second;
  const auto frame =
      std::make_shared<const SourceFrame>(SourceFrame{std::string(path.substr(path.front() == '/' ? 1 : 0)), {file_, 0, 0, caller_}});
  namespaces_.emplace(path, frame);
  return frame;
}

}  // namespace cleave::models::onnx
