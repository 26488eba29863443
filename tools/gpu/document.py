"""The result of a check: one JSON document, complete on disk after every step, so that nothing is lost if the check is killed."""
import datetime
import json
import os
import subprocess


def gpu_name():
    """Returns what nvidia-smi reports of the GPUs, or None."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version,clocks.max.sm,power.limit", "--format=csv,noheader"]
    try:
        return subprocess.run(query, capture_output=True, text=True, timeout=10).stdout.strip() or None
    except (OSError, subprocess.TimeoutExpired):
        return None


def read_json(file):
    """Returns the document in a file, or None if there is none yet."""
    try:
        with open(file, encoding="utf-8") as opened:
            return json.load(opened)
    except (OSError, ValueError):
        return None


def seconds_on_link(link, direction, size):
    """Returns the seconds of one of many copies in a row, interpolated between the sizes of the probe; None: not measured."""
    points = sorted((row["bytes"], row["seconds_in_a_row"]) for row in link
                    if (row["memory"], row["direction"]) == ("page-locked", direction))
    if not points:
        return None
    if size >= points[-1][0]:
        return points[-1][1] * size / points[-1][0]
    below = max((point for point in points if point[0] <= size), default=points[0])
    above = min(point for point in points if point[0] >= size)
    if above[0] <= below[0]:
        return below[1]
    return below[1] + (above[1] - below[1]) * (size - below[0]) / (above[0] - below[0])


def share_of_link(row, link):
    """Records for each size of a program's transfers their seconds at the link's measured limit, and their share of a run's time. The two
    directions may overlap each other and the work, so only the larger of the two sums is a lower bound of a run."""
    transfers = (row.get("bound") or {}).get("transfers", [])
    for transfer in transfers:
        each = seconds_on_link(link, transfer["direction"], transfer["bytes"])
        if each is not None and row.get("seconds"):
            transfer["seconds_at_limit"] = each * transfer["count"]
            transfer["share_of_run"] = transfer["seconds_at_limit"] / row["seconds"]
    sums = [sum(transfer["seconds_at_limit"] for transfer in transfers if transfer["direction"] == direction and "seconds_at_limit" in transfer)
            for direction in ("to_device", "to_host")]
    if any(sums) and row.get("seconds"):
        row["share_of_link"] = max(sums) / row["seconds"]


def share_of_limits(calibrated, link, memory):
    """Records for each size of copy its share of the link's measured limit, and for each family of kernels its share of memory's."""
    for copy in calibrated.get("copies", []):
        limit = seconds_on_link(link, copy["direction"], copy["bytes"])
        if limit is not None:
            copy["share_of_limit"] = limit / copy["seconds"]
    best = max((row["bytes_per_second"] for row in memory), default=0)
    for family in calibrated.get("kernels", []) if best else []:
        family["share_of_limit"] = family["bytes_per_second"] / best


#: The peers' modes; must match tools/bench/device_bench_torch.py.
MODES = ("eager", "compile", "reduce_overhead", "graph", "segments", "jax")

#: The modes to compare with a loop that the device decides: JAX, which also leaves it to the device, and the fastest with CUDA graphs.
LOOP_PEERS = {"jax": ("jax",), "best_graph": ("reduce_overhead", "graph", "segments")}


def us_a_trip(row, seconds):
    """Returns microseconds per iteration: a run, copies included, by the trip count of its loop; None for a program without a loop."""
    steps = row["sizes"].get("steps")
    return seconds / steps * 1e6 if steps else None


def beside_peers(row, peer, missing):
    """Records beside a loop the times of its peers, from their row of the same program and sizes, and the ratio to ours. Without a time it
    is None, with the reason: that of the modes, else `missing`."""
    row["us_a_trip"] = us_a_trip(row, row["seconds"])
    row["peers"] = {}
    for kind, modes in LOOP_PEERS.items():
        mode = min((mode for mode in modes if peer.get(mode)), key=peer.get, default=None)
        if mode:
            row["peers"][kind] = {"mode": mode, "seconds": peer[mode], "us_a_trip": us_a_trip(row, peer[mode]),
                                  "ratio": peer[mode] / row["seconds"]}
        else:
            reasons = [f"{mode}: {peer[mode + '_why']}" for mode in modes if mode + "_why" in peer]
            row["peers"].update({kind: None, kind + "_why": "; ".join(reasons) or missing})


class Document:
    """`parts` are entries by name: `state` (running, passed, failed, skipped, not run), `seconds`, `result`, and `errors` where it failed."""

    def __init__(self, file, commit, device, seconds):
        self.file = file
        self.content = {"commit": commit, "device": device, "date": datetime.date.today().isoformat(), "gpu": gpu_name(),
                        "deadline_seconds": seconds, "complete": False}

    def part(self, name, **entry):
        """Sets the entry of a part as known so far, and writes the document."""
        self.content.setdefault(name, {}).update(entry)
        self.write()

    def finish(self, passed):
        self.content["complete"] = True
        self.content["passed"] = passed
        self.write()

    def write(self):
        self._compare()
        text = json.dumps(self.content, indent=1)
        with open(self.file + ".new", "w", encoding="utf-8") as file:
            file.write(text + "\n")
        os.replace(self.file + ".new", self.file)

    def _rows(self, part, kind="programs"):
        result = self.content.get(part, {}).get("result")
        return result.get(kind, []) if isinstance(result, dict) else []

    def _compare(self):
        """Puts ratios into the rows: the peers' times by ours, for each mode; the link's share of our time; calibrated rates by the limits
        of the probe."""
        calibrated = self.content.get("calibrate", {}).get("result")
        if isinstance(calibrated, dict):
            share_of_limits(calibrated, self._rows("probe", "link"), self._rows("probe", "memory"))
        for row in self._rows("bench"):
            share_of_link(row, self._rows("probe", "link"))
        ours = {row["name"]: row.get("seconds") for row in self._rows("bench")}
        for row in self._rows("peers"):
            mine = ours.get(row["name"])
            if mine:
                row["ratio"] = {mode: row[mode] / mine for mode in MODES if row.get(mode)}
        self._compare_loops()

    def _compare_loops(self):
        """Puts each program of the part `loops` beside its row of the part `peers`."""
        missing = self.content.get("peers", {}).get("why", "not measured")
        for row in self._rows("loops"):
            same = [peer for peer in self._rows("peers") if (peer["name"], peer["sizes"]) == (row["name"], row["sizes"])]
            if row.get("seconds"):
                beside_peers(row, same[0] if same else {}, missing)
