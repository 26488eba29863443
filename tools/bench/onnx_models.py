#!/usr/bin/env python3
"""Real models as ONNX files, with random weights, in the cache folder: what onnx_peers.py measures cleave with.

    tools/bench/onnx_models.py                 # every model that is not there yet (an hour, 7 GB)
    tools/bench/onnx_models.py --only 'gpt2'   # models whose names match
    tools/bench/onnx_models.py --list
    tools/bench/onnx_models.py --file mine.onnx --dim batch=1    # one that you have, fed with random numbers

Of each there is FOLDER/NAME/model.onnx (and model.onnx.data), its inputs and ONNX Runtime's results as .npy, and record.json: how it was made,
what flags `cleave run` needs. Models come from torchvision and transformers by torch.onnx.export (by the exporter through TorchScript where the
other cannot). The first call makes an environment with what peers/requirements.txt pins."""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))

from peers import environment  # noqa: E402

PACKAGES = ["numpy", "onnx", "onnxruntime", "onnxscript", "torch", "torchvision", "transformers"]


def entries():
    from zoo import language, vision
    return [*vision.entries(), *language.entries()]


def export(entry, folder):
    """Writes model.onnx; returns the name of the exporter used."""
    import torch
    made = entry.make()
    path, names = folder / "model.onnx", list(made.inputs)
    arguments = tuple(made.inputs.values())
    problem = None
    with torch.no_grad():
        if not entry.script:
            axes = [{axis: torch.export.Dim(name) if isinstance(name, str) else name for axis, name in made.dynamic.get(each, {}).items()} or None
                    for each in names]
            try:
                torch.onnx.export(made.module, arguments, str(path), input_names=names, output_names=made.outputs, dynamo=True, verbose=False,
                                  opset_version=entry.opset, external_data=True, dynamic_shapes=_nested(made.module, axes) if made.dynamic else None)
                return made, "dynamo", None
            except Exception as error:  # noqa: BLE001: one exporter fails, the other one may succeed
                problem = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        torch.onnx.export(made.module, arguments, str(path), input_names=names, output_names=made.outputs, dynamo=False,
                          opset_version=entry.opset or 17, dynamic_axes=made.dynamic or None)
    return made, "TorchScript", problem


def _nested(module, axes):
    """Axes in the form of forward's parameters: those of `*rest` form a tuple."""
    import inspect
    kinds = [parameter.kind for parameter in inspect.signature(module.forward).parameters.values()]
    plain = sum(kind == inspect.Parameter.POSITIONAL_OR_KEYWORD for kind in kinds)
    return (*axes[:plain], tuple(axes[plain:])) if inspect.Parameter.VAR_POSITIONAL in kinds else tuple(axes)


def make(entry, folder):
    """Model, data and record of one entry."""
    begin = time.monotonic()
    return record(entry, folder, *export(entry, folder), begin)


def adopt(path, dims, folder):
    """The same for an existing file: inputs of floating types are normal, integers 0 or 1, open sizes those of `dims` or 1."""
    import numpy as np
    import onnx
    from zoo.entry import Entry, Made
    begin = time.monotonic()
    model = onnx.load(path)
    onnx.save(model, folder / "model.onnx", save_as_external_data=model.ByteSize() > 2**30, location="model.onnx.data")
    generator, inputs = np.random.default_rng(1), {}
    for each in model.graph.input:
        tensor = each.type.tensor_type
        shape = [dims.get(extent.dim_param, 1) if extent.dim_param else extent.dim_value for extent in tensor.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        inputs[each.name] = (generator.standard_normal(shape) if dtype.kind == "f" else generator.integers(0, 2, shape)).astype(dtype)
    return record(Entry(folder.name, "file", None), folder, Made(None, inputs), model.producer_name or "unknown", None, begin)


def record(entry, folder, made, exporter, problem, begin):
    """Runs the model with ONNX Runtime; writes its inputs, its outputs, and record.json."""
    import numpy as np
    import onnx
    import onnxruntime
    model = onnx.load(folder / "model.onnx", load_external_data=False)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
    wanted = [each.name for each in session.get_inputs()]
    given = {name: np.asarray(value) for name, value in made.inputs.items() if name in wanted}
    results = session.run(None, given)
    for side, arrays in (("inputs", given), ("results", dict(zip([each.name for each in session.get_outputs()], results)))):
        (folder / side).mkdir(exist_ok=True)
        for name, array in arrays.items():
            np.save(folder / side / f"{_file(name)}.npy", array)
    flags = []
    for each in session.get_inputs():
        for extent, is_ in zip(each.shape, given[each.name].shape):
            if isinstance(extent, str) and ["--dim", f"{extent}={is_}"] not in flags:
                flags.append(["--dim", f"{extent}={is_}"])
    said = {"name": entry.name, "family": entry.family, "exporter": exporter, "problem": problem, "flags": [word for flag in flags for word in flag],
              "inputs": {name: f"inputs/{_file(name)}.npy" for name in given},
              "results": {each.name: f"results/{_file(each.name)}.npy" for each in session.get_outputs()},
              "opset": {each.domain: each.version for each in model.opset_import}, "nodes": len(model.graph.node), "ir_version": model.ir_version,
              "bytes": sum(path.stat().st_size for path in folder.glob("model.onnx*")),
              "largest": {each.name: float(np.abs(array[np.isfinite(array)]).max()) if array.size and array.dtype.kind == "f" else None
                          for each, array in zip(session.get_outputs(), results)},
              "seconds": round(time.monotonic() - begin, 1)}
    (folder / "record.json").write_text(json.dumps(said, indent=1), encoding="utf-8")
    return said


def _file(name):
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=pathlib.Path, default=environment.cache_folder(), metavar="FOLDER", help="of environment and models")
    parser.add_argument("--only", default="", metavar="PATTERN", help="models whose names match the regular expression")
    parser.add_argument("--again", action="store_true", help="make what is there already anew")
    parser.add_argument("--list", action="store_true", help="names and families, and what is there")
    parser.add_argument("--file", type=pathlib.Path, metavar="MODEL.onnx", help="takes that model in")
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=N", help="of that model")
    parser.add_argument("--one", metavar="NAME", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    asked.cache.mkdir(parents=True, exist_ok=True)
    environment.enter(asked.cache, PACKAGES)
    root = asked.cache / "onnx"
    if asked.one or asked.file:
        folder = root / (asked.one or asked.file.stem)
        folder.mkdir(parents=True, exist_ok=True)
        if asked.one:
            made = make(*[each for each in entries() if each.name == asked.one], folder)
        else:
            made = adopt(asked.file, {name: int(size) for name, _, size in (each.partition("=") for each in asked.dim)}, folder)
        print(f"{made['name']}: {made['exporter']}, {made['nodes']} nodes, {made['bytes'] / 1e6:.0f} MB, {made['seconds']} s")
        return 0
    failed = 0
    for entry in entries():
        there = (root / entry.name / "record.json").exists()
        if asked.list:
            print(f"{entry.name:40} {entry.family:20} {'there' if there else ''}")
        elif re.search(asked.only, entry.name) and (asked.again or not there):
            # Each model has a process of its own, so that memory is released, and a crash of an exporter affects one model only.
            again = [sys.executable, __file__, "--cache", str(asked.cache), "--one", entry.name]
            done = subprocess.run(again, capture_output=True, text=True, check=False)
            if done.returncode == 0:
                print(done.stdout.splitlines()[-1], flush=True)
            else:
                failed += 1
                (root / entry.name / "problem.txt").write_text(done.stderr, encoding="utf-8")
                print(f"{entry.name}: not made: {(done.stderr.strip().splitlines() or ['?'])[-1]}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
