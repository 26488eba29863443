"""The table of measurements: medians, ratios of the peers to cleave, and whether they reach their targets."""
import math
import statistics

PEERS = {"numpy": "NumPy", "torch": "PyTorch", "compiled": "torch.compile", "onnx": "ONNX Runtime"}


def best_peer(row):
    """The fastest peer whose result is right."""
    return min((name for name in PEERS if name in row["seconds"] and name not in row["errors"]), key=row["seconds"].get, default=None)


def ratio(row, name):
    """The peer's time over cleave's: the median of the rounds' ratios, since a disturbance of a round affects both. A peer that was timed
    only once has one ratio."""
    theirs, ours = row["rounds"][name], row["rounds"]["cleave"]
    if len(theirs) != len(ours):
        return row["seconds"][name] / row["seconds"]["cleave"]
    return statistics.median(their / our for their, our in zip(theirs, ours))


def against_best(row):
    best = best_peer(row)
    return ratio(row, best) if best and "cleave" in row["seconds"] and "cleave" not in row["errors"] else None


def by_shortest(row):
    """The row with the shortest times for medians."""
    return row | {"seconds": row["shortest"], "rounds": {name: [seconds] for name, seconds in row["shortest"].items()}}


def judge(row, target):
    """[(name, value, least value)] for the targets of the row that could be measured."""
    if "cleave" not in row["seconds"] or "cleave" in row["errors"]:
        return []
    asked = [("best peer", best_peer(row), target.best), ("roof", "roof", target.roof), ("NumPy", "numpy", target.numpy),
             ("torch.compile", "compiled", target.compiled), ("one thread", "cleave_on_one", target.threads)]
    return [(what, ratio(row, name), least) for what, name, least in asked if least and name in row["seconds"]]


def milliseconds(seconds):
    if seconds is None:
        return "–"
    value = seconds * 1e3
    digits = 2 - math.floor(math.log10(value)) if value > 0 else 0
    return f"{value:.{min(max(digits, 0), 4)}f}"


def geometric_mean(values):
    values = [value for value in values if value]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def as_ratio(value):
    return f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


def table(rows, targets):
    """Markdown. A ratio is another's time over cleave's: above 1 cleave is faster."""
    shown = [name for name in PEERS if any(name in row["seconds"] for row in rows)]
    lines = ["| work | threads | cleave, ms | " + " | ".join(PEERS[name] for name in shown) + " | roof | best peer / cleave | asked | met |",
             "|---|--:|--:|" + "--:|" * len(shown) + "--:|--:|---|---|"]
    for row in rows:
        judged = judge(row, targets[row["case"]])
        asked = "; ".join(f"{least:.2f} of {what}" + (f", is {as_ratio(value)}" if what != "best peer" else "") for what, value, least in judged)
        met = "yes" if judged and all(value >= least for _, value, least in judged) else "no"
        cells = [milliseconds(row["seconds"].get(name)) + ("*" if name in row["errors"] else "") for name in ("cleave", *shown, "roof")]
        stands = against_best(row)
        lines.append(f"| {row['case']} | {row['threads']} | {' | '.join(cells)} | {as_ratio(stands) if stands else '–'} | {asked} | {met} |")
    return "\n".join(lines)


def errors(rows):
    return [f"{row['case']}, {row['threads']} threads, {name}: {error}" for row in rows for name, error in row["errors"].items()]


def summary(rows, programs, start_seconds):
    """Sentences below the table."""
    lines = []
    for threads in sorted({row["threads"] for row in rows}):
        of = [row for row in rows if row["threads"] == threads]
        mean = geometric_mean(against_best(row) for row in of)
        whole = geometric_mean(against_best(row) for row in of if row["case"] in programs)
        if mean:
            of_programs = f", {whole:.2f} over the programs (asked: 1.30)" if whole else ""
            lines.append(f"Geometric mean, {threads} thread{'s' if threads > 1 else ''}: {mean:.2f} of the best peer's speed over all rows"
                         f"{of_programs}.")
    if start_seconds:
        lines.append(f"`cleave run models/linear_regression.yaml --device none`, start to end: {start_seconds * 1e3:.1f} ms (asked: below 50).")
    return "\n".join(lines)
