// CudaDevice: an NVIDIA GPU behind the Device interface: one arena, page-locked staging, kernels compiled at run time, matrix products by
// cuBLASLt, three streams (streams.h). After the first run has begun, nothing is allocated, created or loaded except the events of the
// first timeline. Nothing ever waits for the whole device.
//
// Functions that do not enqueue may be called on the caller's threads; they restore the thread's current CUDA context before they return.
// Only the executor's own threads, and `upload`, enqueue into streams.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "executor/cuda/compiler.h"
#include "executor/cuda/control_graph.h"
#include "executor/cuda/dependences.h"
#include "executor/cuda/handover.h"
#include "executor/cuda/kernels/packet.h"
#include "executor/cuda/kernels/product.h"
#include "executor/cuda/library/library_op.h"
#include "executor/cuda/matmul/blas_api.h"
#include "executor/cuda/matmul/matmul.h"
#include "executor/cuda/segment_graph.h"
#include "executor/cuda/staging.h"
#include "executor/cuda/stopwatch.h"
#include "executor/cuda/streams.h"
#include "executor/device/device.h"

namespace cleave::runtime::cuda {

/// The libraries and contexts that are opened at run time.
struct Api {
  DriverApi driver;
  CompilerApi compiler;
  BlasApi blas;
  std::shared_ptr<const Libraries> libraries = nullptr;  ///< the optional libraries; null: none of them
  std::shared_ptr<Contexts> contexts = nullptr;          ///< the contexts of the process; null: the device opens its own context
};

struct CudaOptions {
  int ordinal = 0;
  Precision precision = Precision::f32;
  std::string cache_folder = default_cache_folder();
  CudaStreams::Options streams;
  bool stream_mode = false;             ///< every launch is enqueued separately, without segments, to find the source of an error
  std::int64_t upload_bytes = 4 << 20;  ///< size of each of the two page-locked buffers for uploads
  std::function<std::optional<KernelSource>(const KernelRequest&, const Architecture&)> source = kernel_source;
  /// Makes the kernel of a product for which cuBLASLt has no algorithm.
  std::function<KernelSource(const KernelRequest&, const Architecture&)> product = product_source;
  std::function<KernelSource(std::span<const Piece>, bool unpacks)> packet = packet_source;
  /// Sees, and may change, the kernels around a library's calls; may be null.
  std::function<void(const KernelRequest&, KernelSource&)> around;
};

class CudaDevice final : public Device {
 public:
  static Result<std::unique_ptr<Device>> open(const Api& api, CudaOptions options);
  ~CudaDevice() override;

  Status allocate(std::int64_t bytes) override;
  Result<std::byte*> allocate_staging(std::int64_t bytes) override;
  void keep(Range what) override { kept_.push_back({what}); }
  Result<KernelId> prepare(KernelRequest request) override;
  [[nodiscard]] bool joins(KernelId kernel) const override;
  SegmentId prepare_segment(std::vector<DeviceStep> steps) override;
  ControlId prepare_control(DeviceControl control) override;
  [[nodiscard]] bool controls(ControlId control) const override { return controls_[control.index].graph.has_value(); }
  Result<PiecesId> prepare_pieces(std::vector<Piece> pieces, Stream stream) override;
  Status upload(Range to, const std::byte* from, bool page_locked) override;
  Status begin_run(RunState& run) override;
  void end_run() override;

  Status launch(KernelId kernel, const Origin& origin) override;
  Status launch_segment(SegmentId segment, const Origin& origin) override;
  Status launch_control(ControlId control, std::int64_t count, const Origin& origin) override;
  Status copy_to_device(Range to, const std::byte* from, const Origin& origin) override;
  Status copy_to_host(std::byte* to, Range from, const Origin& origin) override;
  Status copy_to_device(PiecesId to, const std::byte* from, const Origin& origin) override;
  Status copy_to_host(std::byte* to, PiecesId from, const Origin& origin) override;
  Status copy_inside(Range to, Range from, const Origin& origin) override;
  Status fill(Range to, std::int32_t value, const Origin& origin) override;
  Status discard(Range, const Origin&) override { return {}; }
  Result<std::optional<Mailbox>> open_mailbox() override;
  Status take(Range to, const Delivery& delivery, const Origin& origin) override;
  Status take(PiecesId to, const Delivery& delivery, const Origin& origin) override;
  Status give(Range from, const Delivery& delivery, const Origin& origin) override;
  Status give(PiecesId from, const Delivery& delivery, const Origin& origin) override;
  Status await(const Mailbox& mailbox, std::uint64_t number, const MailboxSlot* slot, const std::function<bool()>& stops) override;
  Event record(Stream stream) override { return streams_->record(stream); }
  Event record_awaited(Stream stream) override { return streams_->record(stream, true); }
  Status wait(Stream stream, Event event) override { return streams_->wait(stream, event); }
  Status synchronize(Event event) override { return streams_->synchronize(event); }
  [[nodiscard]] bool passed(Event event) override { return streams_->passed(event); }
  void abort() override;

  Status prepare_to_measure() override;
  Result<bool> measure() override;
  void label(Stream stream, std::uint64_t label) override { streams_->label(stream, label); }
  Status measured(Stream stream, bool last, std::vector<Measured>& to) override { return streams_->measured(stream, last, to); }

  [[nodiscard]] bool lost() const override { return context_->lost(); }
  [[nodiscard]] bool simulated() const override { return false; }
  [[nodiscard]] const std::byte* address(std::int64_t offset) const override { return reinterpret_cast<const std::byte*>(at(offset)); }
  [[nodiscard]] std::int64_t measured_peak() const override { return touched_; }

 private:
  /// One kernel launch and its parameters.
  struct Launch {
    CUfunction function = nullptr;
    KernelLaunch shape;
    std::vector<std::uint64_t> values;
    int scratch = -1, ticket = -1;  ///< index into `values`; -1: the kernel takes none
    std::int64_t scratch_offset = 0;
  };
  /// The array of pointers to a launch's parameters, as the driver takes it; the driver copies the parameters before it returns.
  struct Parameters {
    Parameters(const Launch& launch, std::uint64_t& ticket);
    void* all[256];
  };
  static CUDA_KERNEL_NODE_PARAMS as_node(const Launch& launch, Parameters& parameters);
  /// Memory and stopwatch for trying algorithms before the first run.
  struct Trial {
    DeviceMemory workspace;
    Stopwatch watch;
    DeviceMemory operands;
    std::int64_t bytes = 0;  ///< size of `operands`
  };
  /// An operand of a product that is read from a copy in a narrower type. The copy is either permanent or in scratch memory.
  struct RoundedOperand {
    CUdeviceptr MatmulAddresses::*which = nullptr;
    std::optional<std::size_t> copy;  ///< index into rounded_; none: the copy is in scratch memory
    std::int64_t scratch_offset = 0;
  };
  struct PreparedKernel {
    std::vector<Launch> launches;
    std::unique_ptr<Matmul> matmul;  ///< runs after the launches
    MatmulAddresses addresses;
    std::vector<RoundedOperand> rounded;
    std::vector<LibraryOp::Call> calls;  ///< each runs after a certain number of launches
    OperandAddresses operands;           ///< the operands of `calls`
    bool captures = true;
    Touched touched;
    std::optional<std::size_t> fault;  ///< index into faults_
    std::int64_t end = 0;              ///< the end of the part of the arena that it touches
    [[nodiscard]] bool empty() const { return !matmul && launches.empty() && calls.empty(); }
    /// Visits launches and calls in their order, until one fails.
    template <class OnLaunch, class OnCall>
    Status walk(OnLaunch&& on_launch, OnCall&& on_call) const {
      std::size_t call = 0;
      for (std::size_t i = 0; i <= launches.size(); ++i) {
        for (; call < calls.size() && calls[call].behind == i; ++call)
          if (Status status = on_call(*calls[call].call); !status) return status;
        if (i == launches.size()) break;
        if (Status status = on_launch(launches[i]); !status) return status;
      }
      return {};
    }
  };
  /// The launch that copies all pieces of a packet at once. The packet's address is set at each launch.
  struct PreparedPieces {
    Launch launch;
    std::size_t packet = 0;  ///< index of the packet's address in `launch.values`
    std::int64_t end = 0;    ///< the end of the part of the arena that it touches
  };
  /// A graph node whose ticket parameter is set anew before each launch of the graph.
  struct NumberedNode {
    CUgraphNode node = nullptr;
    const Launch* launch = nullptr;
  };
  struct PreparedSegment {
    std::vector<DeviceStep> steps;
    // Set before the first run:
    GraphHandle source;     ///< needed to name the nodes of `graph`
    GraphExecHandle graph;  ///< empty: nothing to do
    std::vector<NumberedNode> numbered;
    std::int64_t end = 0;
  };
  /// A loop or branch that the GPU decides.
  struct PreparedControl {
    DeviceControl control;
    std::vector<DeviceStep> steps;  ///< all steps inside it
    std::int64_t end = 0;
    DeviceMemory words;
    std::optional<ControlGraph> graph;  ///< built before the first run; none: the driver cannot do it
  };
  /// The words that a kernel writes when it finds invalid data: its ticket (the number of its command), and the offending value.
  struct FaultWords {
    std::uint64_t* words = nullptr;  ///< page-locked; the device writes them
    [[nodiscard]] std::uint64_t ticket() const { return std::atomic_ref(words[0]).load(std::memory_order_acquire); }
    std::string text;
    std::function<std::string(std::int64_t)> describe;  ///< makes the message; null: `text` is the message
    NodeId node;
    std::optional<std::int64_t> order;  ///< in a segment: the last component of the node's position
  };

  /// A part of the arena that only `upload` writes.
  struct Kept {
    Range range;
    bool uploaded = false;
  };
  /// A permanent copy of a Kept range in a narrower type.
  struct RoundedCopy {
    Range from;
    std::int64_t offset = 0;  ///< in rounded_memory_
    std::vector<Launch> launches;
  };

  CudaDevice(const Api& api, CudaOptions options) : api_(api), options_(std::move(options)) {}
  Status open_parts();
  Result<PreparedKernel> prepare_any(const KernelRequest& request);
  Result<PreparedKernel> prepare_source(const KernelRequest& request, const KernelSource& source);
  Result<PreparedKernel> prepare_calls(const KernelRequest& request, LibraryOp op);
  Result<PreparedKernel> prepare_matmul(const KernelRequest& request);
  Status open_matmuls();
  Status open_trial();
  Status fill_trial(std::int64_t bytes);
  Result<MatmulTrial> matmul_trial(const KernelRequest& request, const MatmulRequest& product);
  Status round_operands(const KernelRequest& request, const MatmulRequest& product, PreparedKernel& kernel, std::int64_t& scratch);
  Result<std::vector<Launch>> prepare_rounding(NodeId node, const Range& from, DType narrow);
  /// The kept part with exactly this range; null: kernels may write there.
  [[nodiscard]] const Kept* kept(const Range& range) const;
  Result<std::size_t> keep_rounded(NodeId node, const Range& from, DType narrow);
  Status allocate_rounded();
  Status upload_at_once(Range to, const std::byte* from);
  Status upload_in_pieces(Range to, const std::byte* from);
  Status round_uploaded(Range range);
  Status round(Range range);
  Status fit_grid(Launch& launch) const;
  Result<CUfunction> function(const std::string& text, const KernelLaunch& launch);
  /// The preparations that need all kernels: scratch memory, and the graphs that hold its address. Called before the first run.
  Status finish_preparing();
  Status allocate_scratch();
  Status build(PreparedSegment& segment);
  /// `ticket` is the parameter of kernels that take one. Their nodes are added to `numbered` unless it is null.
  Status add_step(SegmentGraph& graph, const DeviceStep& step, std::uint64_t ticket, std::vector<NumberedNode>* numbered) const;
  Status open_controls();
  void watch_controls(RunState& run) const;
  Status build(PreparedControl& control);
  Status wait_for_host(const Mailbox& mailbox, std::uint64_t number, CUstream stream) const;
  Status deliver(const Delivery& delivery, const Origin& origin, PreparedPieces* pieces, Handover what);
  Status hand_over(Handover what, CUstream stream) const;
  [[nodiscard]] Touched touched_by(const DeviceStep& step) const;
  [[nodiscard]] std::optional<CudaStreams::DataFault> find_fault() const;
  [[nodiscard]] Status launch_one(const Launch& launch, CUstream stream, std::uint64_t ticket) const;
  Status copy_pieces(Stream stream, PreparedPieces& pieces, const std::byte* packet, const Origin& origin);
  [[nodiscard]] CUdeviceptr at(std::int64_t offset) const { return arena_.get() + static_cast<CUdeviceptr>(offset); }
  void touch(std::int64_t end);
  [[nodiscard]] const DriverApi& driver() const { return context_->api(); }

  const Api api_;
  const CudaOptions options_;
  std::shared_ptr<Context> context_;      ///< first, so that everything else is destroyed before it
  std::optional<Context::Visit> ending_;  ///< set by the destructor while the other members are destroyed
  std::optional<Compiler> compiler_;
  std::map<std::string, ModuleHandle> modules_;  ///< key: the kernel text
  MatmulSetting matmuls_;
  LibrarySetting libraries_;
  std::optional<Trial> trial_;
  DeviceMemory arena_, scratch_, rounded_memory_;
  std::int64_t scratch_bytes_ = 0, rounded_bytes_ = 0;
  std::vector<Kept> kept_;
  std::vector<RoundedCopy> rounded_;
  std::optional<Staging> staging_;
  std::byte* bounce_[2] = {};
  std::vector<PreparedKernel> kernels_;
  std::vector<PreparedSegment> segments_;
  std::vector<PreparedControl> controls_;
  CUfunction decide_ = nullptr;      ///< null: no controls
  HostWords* host_words_ = nullptr;  ///< null: no controls; in page-locked memory
  std::vector<PreparedPieces> pieces_;
  CUfunction handover_ = nullptr;  ///< null: no mailboxes yet
  std::vector<Mailbox> mailboxes_;
  bool finished_ = false;
  std::vector<FaultWords> faults_;
  std::int64_t touched_ = 0;
  std::unique_ptr<CudaStreams> streams_;
};

}  // namespace cleave::runtime::cuda
