"""The result of a check: one JSON document, whole on disk after every step, so that whatever ends the check loses nothing."""
import datetime
import json
import os
import subprocess


def gpu_name():
    """What nvidia-smi says of the GPUs, or None."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version,clocks.max.sm,power.limit", "--format=csv,noheader"]
    try:
        return subprocess.run(query, capture_output=True, text=True, timeout=10).stdout.strip() or None
    except (OSError, subprocess.TimeoutExpired):
        return None


def read_json(file):
    """The document in a file, or None where there is none yet."""
    try:
        with open(file, encoding="utf-8") as opened:
            return json.load(opened)
    except (OSError, ValueError):
        return None


class Document:
    """`parts` are entries by name: `state` (running, passed, failed, skipped, not run), `seconds`, `result`, and `errors` where it failed."""

    def __init__(self, file, commit, device, seconds):
        self.file = file
        self.content = {"commit": commit, "device": device, "date": datetime.date.today().isoformat(), "gpu": gpu_name(),
                        "deadline_seconds": seconds, "complete": False}

    def part(self, name, **entry):
        """Sets what is known of a part so far, and writes the document."""
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

    def _compare(self):
        """How many times as long the peers take as we do, by mode, in the rows of the peers."""
        def rows(part):
            result = self.content.get(part, {}).get("result")
            return result.get("programs", []) if isinstance(result, dict) else []

        ours = {row["name"]: row.get("seconds") for row in rows("bench")}
        for row in rows("peers"):
            mine = ours.get(row["name"])
            if mine:
                row["ratio"] = {mode: row[mode] / mine for mode in ("eager", "compile", "graph") if row.get(mode)}
