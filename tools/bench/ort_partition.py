#!/usr/bin/env python3
"""ONNX Runtime's own placement, by its CUDA provider on a machine without a GPU, beside cleave's reproduction of its rule.

    tools/bench/ort_partition.py kernels -o models/onnx/ort_cuda_kernels_1_31.json     # the kernels that the wheel registers
    tools/bench/ort_partition.py compare --build build-ci MODEL.onnx...                # nodes and copies, node by node

The first call makes an environment with `onnxruntime-gpu` of the version asked for (`--version`), and stub libraries of CUDA
(peers/stub_cuda.py): ONNX Runtime places nodes and inserts copies with them, and computes nothing. Its session is made without
optimization, so that its nodes are those of the file; `--level all` saves what its optimizer makes first, and both place that file."""
import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))

from peers import environment, stub_cuda  # noqa: E402

NEWEST = "1.31.1"
DOMAINS = ("", "ai.onnx", "com.microsoft")
OPEN = 2**31 - 1


def enter(version):
    """Continues in an interpreter that has `onnxruntime-gpu` of this version, with the stub libraries where the loader finds them."""
    folder = environment.cache_folder() / f"onnxruntime-gpu-{version}"
    python, stubs = folder / "bin" / "python", folder / "stubs"
    if not stubs.exists():
        print(f"making an environment in {folder} (0.5 GB)", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", f"onnxruntime-gpu=={version}", "nvidia-cuda-runtime",
                        *environment.pinned(["numpy", "onnx"])], check=True)
        packages = next((folder / "lib").glob("python3*/site-packages"))
        headers = next(packages.glob("nvidia/*/include/driver_types.h")).parent
        unfinished = stubs.with_suffix(".new")
        stub_cuda.build(unfinished, packages / "onnxruntime", headers)
        unfinished.rename(stubs)
    if os.environ.get("LD_LIBRARY_PATH", "").split(":")[0] != str(stubs):
        os.environ["LD_LIBRARY_PATH"] = f"{stubs}:{os.environ.get('LD_LIBRARY_PATH', '')}"
        os.execv(str(python), [str(python), *sys.argv])


def versions(since, until):
    return f"{since}+" if until == OPEN else str(since) if since == until else f"[{since}, {until}]"


def write_kernels(asked):
    """The kernels of the CUDA provider, and the versions of operators, as models/onnx/ort_kernels.cpp reads them."""
    import onnx
    import onnxruntime
    from onnxruntime.capi import onnxruntime_pybind11_state
    rows = collections.defaultdict(lambda: collections.defaultdict(set))
    plain = collections.defaultdict(set)
    for kernel in onnxruntime_pybind11_state.get_all_opkernel_def():
        if kernel.provider != "CUDAExecutionProvider" or kernel.domain not in DOMAINS:
            continue
        name = f"com.microsoft.{kernel.op_name}" if kernel.domain == "com.microsoft" else kernel.op_name
        span = tuple(kernel.version_range)
        plain[name].add(span)
        for variable, types in kernel.type_constraints.items():
            rows[name, span][variable].update(text.removeprefix("tensor(").removesuffix(")") for text in types)
    lines = []
    for name in sorted(plain):
        spans = [[versions(*span), {variable: sorted(types) for variable, types in sorted(rows[name, span].items())}]
                 for span in sorted(plain[name], reverse=True)]
        lines.append(f"{json.dumps(name)}: {json.dumps(spans, separators=(',', ':'))}")
    history = collections.defaultdict(set)
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "":
            history[schema.name].add(schema.since_version)
    versions_of = [f"{json.dumps(name)}: {json.dumps(sorted(history[name]), separators=(',', ':'))}" for name in sorted(history) if name in plain]
    source = (f"ONNX Runtime {onnxruntime.__version__} (MIT), as data: the kernels that its CUDA provider registers, by "
              "tools/bench/ort_partition.py: operator -> [[versions, {type variable: element types}], ...]; and the versions of each operator (ONNX)")
    asked.output.write_text("{\n" + f'"source": {json.dumps(source)},\n"kernels": {{\n' + ",\n".join(lines) + '\n},\n"versions": {\n' + ",\n".join(versions_of) + "\n}\n}\n", encoding="utf-8")
    print(f"{asked.output}: {len(plain)} operators, {sum(map(len, plain.values()))} ranges of versions")


def their_placement(path, level):
    """The placement of a model by ONNX Runtime: {"host": [names of nodes], "to_host": N, "to_accelerator": N, "nodes": N}."""
    import onnx
    import onnxruntime
    onnxruntime.set_default_logger_severity(4)
    with tempfile.TemporaryDirectory(prefix="cleave-ort-") as temporary:
        saved = pathlib.Path(temporary) / "saved.onnx"
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = level
        options.optimized_model_filepath = str(saved)
        options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
        session = onnxruntime.InferenceSession(str(path), options, providers=["CUDAExecutionProvider", "CPUExecutionProvider"])
        placed = [(part.ep_name, node.name, node.op_type) for part in session.get_provider_graph_assignment_info() for node in part.get_nodes()]
        model = onnx.load(saved, load_external_data=False)
    kinds = collections.Counter(node.op_type for graph in _graphs(model.graph) for node in graph.node)
    return {"nodes": len(placed), "host": sorted(f"{name} ({op})".strip() for provider, name, op in placed if provider == "CPUExecutionProvider"),
            "to_host": kinds["MemcpyToHost"], "to_accelerator": kinds["MemcpyFromHost"]}


def _graphs(graph):
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in [attribute.g] if attribute.type == attribute.GRAPH else attribute.graphs:
                yield from _graphs(inner)


def optimized(path, folder):
    """Saves a model as ONNX Runtime's optimizer leaves it before the placement, with operators that cleave reads."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(folder / path.name)
    onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return folder / path.name


def sizes(path, size):
    """Flags that fix the open sizes of a model's inputs: the first axis at 1, others at `size`."""
    import onnx
    model = onnx.load(path, load_external_data=False)
    initialized = {each.name for each in model.graph.initializer}
    flags = []
    for each in model.graph.input:
        axes = each.type.tensor_type.shape.dim
        if each.name not in initialized and any(not axis.HasField("dim_value") or axis.dim_value < 0 for axis in axes):
            shape = [axis.dim_value if axis.dim_value > 0 else 1 if at == 0 else size for at, axis in enumerate(axes)]
            flags += ["--shape", f"{each.name}={','.join(map(str, shape))}"]
    return flags


def our_placement(cleave, path, flags):
    """The same by `cleave explain --placement onnxruntime`, or a text that says why there is none."""
    words = [str(cleave), "explain", str(path), "--placement", "onnxruntime", "--device", "simulated", "--json", *flags]
    done = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False, env={**os.environ, "LD_LIBRARY_PATH": ""})
    if done.returncode:
        return next((line for line in done.stderr.splitlines() if "error" in line), f"exit code {done.returncode}")
    found = json.loads(done.stdout)["onnxruntime"]
    to_host = sum(copy["direction"] == "accelerator_to_host" for copy in found["copies"])
    return {"nodes": found["nodes"], "host": sorted(found["host"]), "to_host": to_host, "to_accelerator": len(found["copies"]) - to_host}


def compare(asked):
    import onnxruntime
    level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    cleave = asked.build / "tools" / "cleave"
    equal = different = refused = 0
    with tempfile.TemporaryDirectory(prefix="cleave-ort-") as temporary:
        for path in asked.models:
            shown = path.name if path.stem != "model" else f"{path.parent.name}"
            try:
                model = optimized(path, pathlib.Path(temporary)) if asked.level == "all" else path
                theirs = their_placement(model, level)
            except Exception as error:  # noqa: BLE001: ONNX Runtime refuses the model
                print(f"{shown}: ONNX Runtime refuses it: {str(error).splitlines()[0][:150]}")
                refused += 1
                continue
            ours = our_placement(cleave, model, sizes(model, asked.size) + asked.flag)
            if isinstance(ours, str):
                print(f"{shown}: cleave refuses it: {ours}")
                refused += 1
                continue
            only_theirs = collections.Counter(theirs["host"]) - collections.Counter(ours["host"])
            only_ours = collections.Counter(ours["host"]) - collections.Counter(theirs["host"])
            copies = [(theirs[key], ours[key]) for key in ("to_host", "to_accelerator")]
            same = not only_theirs and not only_ours and all(first == second for first, second in copies)
            equal, different = equal + same, different + (not same)
            if not same or asked.all:
                print(f"{shown}: {'equal' if same else 'DIFFERENT'}; on the host {len(theirs['host'])} (rule {len(ours['host'])}), "
                      f"copies to the host {copies[0][0]} (rule {copies[0][1]}), to the accelerator {copies[1][0]} (rule {copies[1][1]})")
                for title, nodes in (("only ONNX Runtime", only_theirs), ("only the rule", only_ours)):
                    if nodes:
                        print(f"    {title} leaves on the host: {', '.join(list(nodes)[:6])}{' ...' if len(nodes) > 6 else ''}")
    print(f"{equal} equal, {different} different, {refused} refused by either")
    return different


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", default=NEWEST, help="of onnxruntime-gpu")
    commands = parser.add_subparsers(required=True)
    kernels = commands.add_parser("kernels", help="write the table of kernels")
    kernels.add_argument("-o", "--output", type=pathlib.Path, required=True)
    kernels.set_defaults(call=write_kernels)
    compared = commands.add_parser("compare", help="place models by ONNX Runtime and by cleave's rule")
    compared.add_argument("models", nargs="+", type=pathlib.Path)
    compared.add_argument("--build", type=pathlib.Path, default=environment.ROOT / "build")
    compared.add_argument("--level", choices=("none", "all"), default="none", help="of ONNX Runtime's optimizer, before the placement")
    compared.add_argument("--size", type=int, default=64, help="of open sizes but the first axis, which is 1")
    compared.add_argument("--flag", action="append", default=[], help="for cleave, such as --flag=--dim --flag=batch=1")
    compared.add_argument("--all", action="store_true", help="print equal models too")
    compared.set_defaults(call=compare)
    asked = parser.parse_args()
    enter(asked.version)
    sys.exit(1 if asked.call(asked) else 0)


if __name__ == "__main__":
    main()
