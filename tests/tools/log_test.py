#!/usr/bin/env python3
"""`cleave run` with --log, --tensorboard, --save-every, --load: event files are read back by a reader of its own, and runs that are killed at
random moments go on to the same states, outputs and rows. Argument: the folder of the built `cleave`."""
import csv
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

CLEAVE = os.path.join(sys.argv.pop(1), "cleave")
MODEL = """cleave: 1
inputs: {{x: "f32[8, 4]"}}
parameters:
  w: {{type: "f32[4]", uniform: [-1, 1], seed: 1}}
  step: {{type: "i32[]", value: 0}}
program:
  - best: 100.0
  - for: epoch in {epochs}
    do:
      - for: batch in 4
        do:
          - loss: mean(square(matmul(x, w) - random_normal([8], 0, 1, seed=3, step=step)))
          - w: w - 0.05 * gradient(loss, w)
          - step: step + 1
          - log("loss", loss)
          - log("step", step)
      - best: minimum(best, loss_of(x, w))
  - log("best", best)
functions:
  loss_of:
    takes: [x, w]
    do:
      - l: mean(square(matmul(x, w)))
    returns: l
outputs: [best]
resident: [w, step]
"""


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(message):
    """The fields of a protobuf message: (number, value)."""
    at = 0
    while at < len(message):
        key, at = varint(message, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(message, at)
        elif kind == 1:
            value, at = struct.unpack_from("<d", message, at)[0], at + 8
        elif kind == 5:
            value, at = struct.unpack_from("<f", message, at)[0], at + 4
        else:
            size, at = varint(message, at)
            value, at = message[at:at + size], at + size
        yield key >> 3, value


def events(path):
    """The scalars of an event file: (step, tag, value), and the steps at which a session starts."""
    with open(path, "rb") as file:
        data = file.read()
    scalars, starts, at, versions = [], [], 0, []
    while at < len(data):
        (length,), head = struct.unpack_from("<Q", data, at), data[at:at + 8]
        assert struct.unpack_from("<I", data, at + 8)[0] == masked(head)
        record = data[at + 12:at + 12 + length]
        assert struct.unpack_from("<I", data, at + 12 + length)[0] == masked(record)
        at += 16 + length
        event = dict(fields(record))
        assert abs(event[1] - time.time()) < 3600
        if 3 in event:
            versions.append(event[3])
        if 7 in event:
            starts.append(event.get(2, 0))
        for number, summary in fields(record):
            if number == 5:
                for _, value in fields(summary):
                    value = dict(fields(value))
                    scalars.append((event.get(2, 0), value[1].decode(), value[2]))
    assert versions == [b"brain.Event:2"]
    return scalars, starts


def rows(path):
    """The rows of a log without their seconds, which must not fall."""
    with open(path, newline="", encoding="utf-8") as file:
        table = list(csv.reader(file))
    seconds = [float(row[1]) for row in table[1:]]
    assert seconds == sorted(seconds), seconds
    return [row[:1] + row[2:] for row in table]


def tensors(path):
    with open(path, "rb") as file:
        data = file.read()
    size = struct.unpack_from("<Q", data)[0]
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__")
    return {name: (entry["dtype"], entry["shape"], data[8 + size + entry["data_offsets"][0]:8 + size + entry["data_offsets"][1]])
            for name, entry in header.items()}


class Log(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="cleave-log-")
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def model(self, epochs):
        with open(self.path("m.yaml"), "w", encoding="utf-8") as file:
            file.write(MODEL.format(epochs=epochs))

    def command(self, arguments):
        return [CLEAVE, "run", "m.yaml", "--input", "x=0.5", *arguments]

    def run_model(self, *arguments, code=0):
        done = subprocess.run(self.command(arguments), cwd=self.folder, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def test_files_have_a_row_for_each_step(self):
        self.model(3)
        done = self.run_model("--log", "log.csv", "--tensorboard", "tb", "--device", "none")
        self.assertNotIn("step ", done.stderr)  # no progress in a pipe
        table = rows(self.path("log.csv"))
        self.assertEqual(table[0], ["step", "loss", "step", "best"])
        self.assertEqual([row[0] for row in table[1:]], [str(i) for i in range(13)])
        self.assertEqual([row[2] for row in table[1:-1]], [str(i + 1) for i in range(12)])
        self.assertEqual(table[-1][1:3], ["", ""])
        (name,) = os.listdir(self.path("tb"))
        scalars, starts = events(self.path("tb/" + name))
        self.assertEqual(starts, [])
        expected = [(int(row[0]), tag, float(row[i])) for row in table[1:] for i, tag in ((1, "loss"), (2, "step"), (3, "best")) if row[i]]
        self.assertEqual(len(scalars), len(expected))
        for (step, tag, value), (wanted_step, wanted_tag, wanted) in zip(scalars, expected):
            self.assertEqual((step, tag), (wanted_step, wanted_tag))
            self.assertAlmostEqual(value, wanted, delta=1e-6 * abs(wanted))

    def test_several_runs_count_on(self):
        self.model(2)
        self.run_model("--log", "log.csv", "--runs", "3", "--device", "none")
        self.assertEqual([row[0] for row in rows(self.path("log.csv"))[1:]], [str(i) for i in range(27)])

    def test_files_that_cannot_be_written_are_errors_before_the_run(self):
        self.model(2)
        for arguments in (["--log", "no/such/log.csv"], ["--tensorboard", "/proc/none"], ["--log", self.folder]):
            done = self.run_model(*arguments, code=1)
            self.assertEqual(done.stdout, "")
            self.assertEqual(done.stderr.count("error:"), 1, done.stderr)

    def test_progress_shows_logged_numbers(self):
        self.model(400000)
        done = self.run_model("--progress", "--time-limit", "3", "--device", "none", "--log", "log.csv", code=3)
        self.assertRegex(done.stderr, r"step \d+ of 400000, loss [\d.]+, step \d+, \d+ a second, 0 transfers a step, .* left")
        quiet = self.run_model("--progress", "--time-limit", "2", "--device", "none", "--quiet", code=3)
        self.assertNotIn("a second", quiet.stderr)

    def test_wrong_uses_of_save_every(self):
        self.model(2)
        for arguments in (["--save-every", "3"], ["--save", "s", "--save-every", "0"], ["--save", "s", "--save-every", "2", "--runs", "2"]):
            self.run_model(*arguments, code=2)
        with open(self.path("m.yaml"), "w", encoding="utf-8") as file:
            file.write(MODEL.format(epochs=2).replace('  - log("best", best)', '  - step: step + 1'))
        done = self.run_model("--save", "s", "--save-every", "1")  # `step` is carried, and changed once more behind the loop
        self.assertIn("best", done.stdout)
        with open(self.path("m.yaml"), "w", encoding="utf-8") as file:
            file.write(MODEL.format(epochs=2).replace("          - step: step + 1\n", "").replace(
                '  - log("best", best)', '  - step: step + 1'))
        done = self.run_model("--save", "s", "--save-every", "1", code=1)
        self.assertRegex(done.stderr, r"m.yaml:8:\d+: error: states are saved .* does not carry `step`")

    def test_resume_bits(self):
        """Killed at 20 random moments, on host and simulated accelerator, with 1 and 2 threads."""
        seed = int(os.environ.get("CLEAVE_LOG_SEED", "1"))
        chance = random.Random(seed)
        self.model(60)
        for device in ("none", "simulated"):
            for threads in ("1", "2"):
                common = ["--device", device, "--threads", threads, "--quiet"] + (["--placement", "accelerator"] if device == "simulated" else [])
                begun = time.monotonic()
                whole = self.run_model(*common, "--log", "whole.csv", "--save", "whole")
                seconds = time.monotonic() - begun
                killed = resumed = 0
                for _ in range(5):
                    shutil.rmtree(self.path("part"), ignore_errors=True)
                    shutil.rmtree(self.path("tb"), ignore_errors=True)
                    if os.path.exists(self.path("part.csv")):
                        os.remove(self.path("part.csv"))
                    every = str(chance.choice([1, 2, 7]))
                    outcome = None
                    for attempt in range(30):
                        arguments = common + ["--log", "part.csv", "--tensorboard", "tb", "--save", "part", "--save-every", every]
                        if os.path.exists(self.path("part/state.safetensors")):
                            arguments += ["--load", "part"]
                            resumed += 1
                        process = subprocess.Popen(self.command(arguments), cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                                   text=True)
                        try:
                            out, err = process.communicate(timeout=None if attempt > 3 else chance.uniform(0.2, 1.2) * seconds)
                        except subprocess.TimeoutExpired:
                            process.send_signal(signal.SIGKILL)
                            process.communicate()
                            killed += 1
                            continue
                        self.assertEqual(process.returncode, 0, err)
                        outcome = out
                        break
                    self.assertEqual(outcome, whole.stdout, f"seed {seed}")
                    self.assertEqual(rows(self.path("part.csv")), rows(self.path("whole.csv")), f"seed {seed}")
                    mine, theirs = tensors(self.path("part/state.safetensors")), tensors(self.path("whole/state.safetensors"))
                    for name, tensor in theirs.items():
                        self.assertEqual(mine[name], tensor, f"seed {seed}: {name}")
                    self.check_events()
                self.assertGreater(killed, 0)

    def test_batches_go_on_in_the_order_of_their_pass(self):
        """Stopped by --save-every and another number of passes, in a loop over shuffled batches with a smaller one at its end."""
        text = """cleave: 1
inputs: {data: {type: "f32[11]", value: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]}}
dims: {passes: 6}
parameters: {w: {type: "f32[]", value: 0}}
program:
  - for: pass in passes
    do:
      - for: x in batches(data, size=3, shuffle=5, remainder=smaller)
        do:
          - w: 0.9 * w + sum(x)
          - log("w", w)
resident: [w]
outputs: []
"""
        with open(self.path("b.yaml"), "w", encoding="utf-8") as file:
            file.write(text)

        def run(*arguments):
            done = subprocess.run([CLEAVE, "run", "b.yaml", "--device", "none", *arguments], cwd=self.folder, capture_output=True, text=True,
                                  timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)

        run("--log", "whole.csv", "--save", "whole", "--save-every", "6")
        self.assertEqual([row[0] for row in rows(self.path("whole.csv"))[1:]], [str(i) for i in range(24)])
        for stopped in ("1", "4"):
            run("--dim", "passes=" + stopped, "--log", "part.csv", "--save", "part", "--save-every", "1")
            run("--load", "part", "--log", "part.csv", "--save", "part", "--save-every", "1")
            self.assertEqual(rows(self.path("part.csv")), rows(self.path("whole.csv")))
            self.assertEqual(tensors(self.path("part/state.safetensors")), tensors(self.path("whole/state.safetensors")))

    def check_events(self):
        """What a reader of the folder sees, which drops what a later session repeats, is the log."""
        seen = {}
        for name in sorted(os.listdir(self.path("tb"))):
            try:
                scalars, starts = events(self.path("tb/" + name))
            except (AssertionError, struct.error, IndexError, KeyError):
                continue  # cut off with its process
            for start in starts:
                seen = {key: value for key, value in seen.items() if key[0] < start}
            seen.update({(step, tag): value for step, tag, value in scalars})
        for (step, tag), value in seen.items():
            row = rows(self.path("part.csv"))[1:][step]
            wanted = float(row[{"loss": 1, "step": 2, "best": 3}[tag]])
            self.assertAlmostEqual(value, wanted, delta=1e-6 * abs(wanted))


if __name__ == "__main__":
    unittest.main()
