// `cleave dot`: writes the partition as Graphviz source, or as a picture.
#include <cstdio>

#include "graph/base/file.h"
#include "graph/base/output_file.h"
#include "partitioner/report/explain.h"
#include "tools/cli/graphviz.h"
#include "tools/cli/session.h"
#include "tools/cli/terminal.h"

namespace cleave::cli {
namespace {

/// Replaces `path` only when the picture is complete.
Status write_drawing(const Plan& plan, const Options& options, const std::string& format) {
  StatusLine status(shows_progress(options));
  if (status.on()) status.show("Graphviz lays the picture out");
  const Result<Drawing> drawing = draw(plan, {options.full, 0}, format, options.layout_limit.value_or(kLayoutSeconds));
  status.clear();
  if (!drawing) return drawing.error();
  if (!drawing->remark.empty() && !options.quiet && !options.json && options.diagnostics_format == "text")
    std::fputs(("note: " + drawing->remark + "\n").c_str(), stderr);
  return write_file(options.output_file, {drawing->bytes});
}

}  // namespace

int dot_command(const Options& options) {
  const Console console(options);
  const std::size_t point = options.output_file.rfind('.');
  const std::string extension = point == std::string::npos ? "" : options.output_file.substr(point + 1);
  if (!options.output_file.empty() && extension != "svg" && extension != "png" && extension != "pdf" && extension != "dot")
    return console.fail(
        Error{"-o " + options.output_file + ": expected a file that ends in .svg, .png, .pdf or .dot", {}, ErrorKind::usage});
  if (Status writable = check_output_files(options); !writable) return console.fail(writable.error());
  int code = kDone;
  const auto plan = load_and_plan(options, console, code);
  if (!plan) return code;
  if (!plan->ok() && plan->program.graph == nullptr) return console.fail(plan->diagnostics);
  if (!options.output_file.empty()) {
    const Status done =
        extension == "dot" ? write_file(options.output_file, {dot(*plan, {options.full, 0})}) : write_drawing(*plan, options, extension);
    if (!done) return console.fail(done.error());
    if (options.json) console.document("file", options.output_file, plan->diagnostics);
  } else if (options.json) {
    console.document("dot", dot(*plan, {options.full, 0}), plan->diagnostics);
  } else {
    console.out(dot(*plan, {options.full, 0}));
  }
  return kDone;
}

}  // namespace cleave::cli
