"""The contenders: cleave, NumPy, PyTorch and ONNX Runtime, each prepared for one case. `result` is the computed value, `batch(n)` the
seconds of n runs. Inputs are in memory; results are written to the same memory in each run where the interface allows it, so that no run
pays for new pages."""
import json
import subprocess
import time

import numpy as np

from peers import case as cases


class Failed(Exception):
    """The reason why a contender cannot run a case."""


# The clock for all measurements: wall time, or processor time, which advances only while the process runs.
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
clock = "wall"


def timed(once, count):
    now, seconds = CLOCKS[clock], []
    for _ in range(count):
        before = now()
        once()
        seconds.append(now() - before)
    return seconds


class Numpy:
    name = "numpy"

    def __init__(self, case, arrays):
        place = cases.place_for_result(case, case.numpy, arrays)
        self.once = lambda: case.numpy(**arrays, **place)
        self.result = self.once()

    def batch(self, count):
        return timed(self.once, count)


class Torch:
    name = "torch"

    def __init__(self, case, arrays, threads, compiled=False):
        import torch
        torch.set_num_threads(threads)
        tensors = [torch.from_numpy(array) for array in arrays.values()]
        place = {name: torch.from_numpy(array) for name, array in cases.place_for_result(case, case.torch, arrays).items()}
        function = torch.compile(case.torch) if compiled else case.torch

        def once():
            with torch.inference_mode():
                return function(*tensors, **place)

        self.once = once
        self.result = once().numpy()

    def batch(self, count):
        return timed(self.once, count)


class Compiled(Torch):
    name = "compiled"

    def __init__(self, case, arrays, threads):
        super().__init__(case, arrays, threads, compiled=True)


class Onnx:
    name = "onnx"

    def __init__(self, case, arrays, threads, reference):
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(cases.onnx_model(case, arrays, reference), options, providers=["CPUExecutionProvider"])
        binding = session.io_binding()
        for name, array in arrays.items():
            if name not in case.constants:
                binding.bind_cpu_input(name, array)
        out = onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros_like(reference))
        binding.bind_ortvalue_output(case.output, out)
        self.once = lambda: session.run_with_iobinding(binding)
        self.once()
        self.result = out.numpy()

    def batch(self, count):
        return timed(self.once, count)


class Program:
    """host_bench in a process of its own, on the same cores."""

    def __init__(self, words):
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.says = self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise Failed(self.process.stderr.read().strip() or f"ended with {self.process.wait()}")
        return json.loads(line)

    def ask(self, number):
        try:
            self.process.stdin.write(f"{number}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # the answer says why
        return self.answer()

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()


class Cleave:
    name = "cleave"

    def __init__(self, model, build, *, output="", threads=0, machine=""):
        file = model.with_name(f"result{threads}.npy")
        words = [str(build / "tools" / "bench" / "host_bench"), str(model), "--libraries", str(build / "lib"), "--clock", clock]
        words += ["--output", f"{output}={file}"] if output else []
        words += ["--threads", str(threads)] if threads else []
        words += ["--machine", machine] if machine else []
        self.program = Program(words)
        self.predicted = self.program.says["predicted_seconds"]
        self.result = np.load(file) if output else None

    def batch(self, count):
        return self.program.ask(count)

    def close(self):
        self.program.close()


class Registers:
    """The roof for matrix products: the same number of multiply-adds in registers, on each of the cores."""
    name = "roof"

    def __init__(self, build, multiply_adds, threads):
        self.program = Program([str(build / "tools" / "bench" / "host_bench"), "--roof", "--clock", clock])
        self.number = multiply_adds // threads

    def batch(self, count):
        return [self.program.ask(self.number)[0] for _ in range(count)]

    def close(self):
        self.program.close()


class Copy:
    """The roof for cases that read and write memory once."""
    name = "roof"

    def __init__(self, array):
        import torch
        source, target = torch.from_numpy(array), torch.empty(array.shape)
        self.once = lambda: target.copy_(source)

    def batch(self, count):
        return timed(self.once, count)
