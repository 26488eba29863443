#include "tools/gpu/probe/gpu.h"

#include <utility>

#include "graph/base/version.h"

namespace cleave::probe {

Result<std::unique_ptr<Gpu>> Gpu::open(const Api& api, const ProbeOptions& options) {
  std::unique_ptr<Gpu> gpu(new Gpu(options));
  Result<std::shared_ptr<Context>> context = Context::open(api.driver, options.ordinal);
  if (!context) return context.error();
  gpu->context_ = *std::move(context);
  if (Status status = gpu->context_->enter(); !status) return status.error();
  const Result<Compiler> compiler = Compiler::open(api.compiler, gpu->context_->architecture(), {});
  if (!compiler) return compiler.error();
  const Result<std::string> image = compiler->image(kernels_text());
  if (!image) return image.error();
  Result<ModuleHandle> kernels = make_module(*gpu->context_, image->data());
  if (!kernels) return kernels.error();
  gpu->kernels_ = *std::move(kernels);
  for (std::size_t i = 0; i < gpu->streams_.size(); ++i) {
    Result<StreamHandle> stream = make_stream(*gpu->context_);
    if (!stream) return stream.error();
    gpu->streams_[i] = *std::move(stream);
    Result<EventHandle> event = make_event(*gpu->context_);
    if (!event) return event.error();
    gpu->events_[i] = *std::move(event);
  }
  return gpu;
}

Status Gpu::wait(std::size_t stream) {
  const CUevent event = events_[stream].get();
  if (Status status = context_->check("cuEventRecord", driver().cuEventRecord(event, streams_[stream].get())); !status) return status;
  const double start = calibration::now();
  while (true) {
    const CUresult result = driver().cuEventQuery(event);
    if (result != CUDA_ERROR_NOT_READY) return context_->check("cuEventQuery", result);
    if (calibration::now() - start > patience_) break;
  }
  context_->give_up();
  return Error{"the GPU did not end its work within " + std::to_string(static_cast<int>(patience_)) + " s", {}, ErrorKind::machine};
}

Result<CUfunction> Gpu::function(const std::string& name) const {
  CUfunction function = nullptr;
  const Status status = context_->check("cuModuleGetFunction", driver().cuModuleGetFunction(&function, kernels_.get(), name.c_str()));
  if (!status) return status.error();
  return function;
}

Status Gpu::launch(CUfunction function, unsigned blocks, unsigned threads, const std::vector<std::uint64_t>& values) const {
  std::vector<void*> parameters;
  for (const std::uint64_t& value : values) parameters.push_back(const_cast<std::uint64_t*>(&value));  // the driver only reads
  return context_->check("cuLaunchKernel",
                         driver().cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream(), parameters.data(), nullptr));
}

Rows::Rows(const Gpu& gpu, const ProbeOptions& options, nlohmann::ordered_json& document, const std::string& part)
    : gpu_(gpu), options_(options), document_(document), part_(part) {
  if (!document_.contains(part_)) document_[part_] = nlohmann::ordered_json::array();
}

void Rows::add(nlohmann::ordered_json row) {
  document_[part_].push_back(std::move(row));
  if (options_.keep) options_.keep(document_);
}

bool Rows::another() {
  if (!gpu_.late()) return true;
  document_["left_out"] = document_.value("left_out", 0) + 1;
  return false;
}

namespace {

/// Runs the parts of the probe. After a failed part the next ones are still measured, unless the GPU is lost.
class Parts {
 public:
  Parts(const Gpu& gpu, const ProbeOptions& options, nlohmann::ordered_json& document)
      : gpu_(gpu), options_(options), document_(document) {}

  template <class Measure>
  void run(const std::string& part, Measure&& measure) {
    if (gpu_.context().lost()) return;
    Rows rows(gpu_, options_, document_, part);
    const Status status = measure(rows);
    if (status) return;
    document_["errors"].push_back(part + ": " + status.error().message);
    if (options_.keep) options_.keep(document_);
    if (first_) first_ = status;
  }
  [[nodiscard]] const Status& status() const { return first_; }

 private:
  const Gpu& gpu_;
  const ProbeOptions& options_;
  nlohmann::ordered_json& document_;
  Status first_;
};

}  // namespace

Status probe(const Api& api, const ProbeOptions& options, nlohmann::ordered_json& document) {
  document = {{"cleave", kVersion}};
  Result<std::unique_ptr<Gpu>> opened = Gpu::open(api, options);
  if (!opened) {
    document["errors"] = {opened.error().message};
    return opened.error();
  }
  Gpu& gpu = **opened;
  document["device"] = gpu.context().description();
  Parts parts(gpu, options, document);
  parts.run("launch", [&](Rows& rows) { return measure_launches(gpu, rows); });
  parts.run("graph", [&](Rows& rows) { return measure_graphs(gpu, rows); });
  parts.run("ping_pong", [&](Rows& rows) { return measure_ping_pong(gpu, options, rows); });
  parts.run("link", [&](Rows& rows) { return measure_link(gpu, options, false, rows); });
  parts.run("memory", [&](Rows& rows) { return measure_memory(gpu, options, rows); });
  parts.run("products", [&](Rows& rows) { return measure_products(gpu, api.blas, options, rows); });
  parts.run("link", [&](Rows& rows) { return measure_link(gpu, options, true, rows); });
  return parts.status();
}

}  // namespace cleave::probe
