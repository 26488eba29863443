"""Draws random Python functions from the part of the language that `cleave.program` extracts."""
from __future__ import annotations

import random

from .expressions import Expressions

PARAMETERS = (("n", "int"), ("t", "num"), ("x", "nums"), ("m", "rows"), ("q", "ints"))
_NESTS = (("tuple", "int", "num"), ("tuple", "num", "nums"), ("tuple", "flag", "int"), ("dict", ("a", "int"), ("b", "nums")),
          ("dict", ("u", "num"), ("v", "soft")), ("box", ("count", "int"), ("level", "num")))
_NEW = ("int", "int", "num", "num", "flag", "soft", "nums", "nums", "ints", "softs", "rows")


class Drawing:
    """One function: `source` is its text, `kinds` counts its kinds of statements."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = random.Random(seed)
        self.width = rng.choice([3, 4, 5])
        self.exprs = Expressions(rng, self.width)
        self.kinds = self.exprs.kinds
        self.budget = rng.choice([4, 6, 8, 10, 14])
        self._fresh = 0
        self._owned: set[str] = set()  # arrays that the function made and no other name refers to
        self._busy: set[str] = set()   # counters that the loops around depend on
        used = [each for each in PARAMETERS if rng.random() < 0.75] or [PARAMETERS[0]]
        self.parameters = [name for name, _ in used]
        self.exprs.names = dict(used)
        self.result = tuple(rng.choice(["int", "num", "nums", "soft", "flag", "ints", "softs", "rows"]) for _ in range(rng.randint(1, 3)))
        lines = [f"def drawn({', '.join(self.parameters)}):"]
        for kind in rng.sample(["int", "num", "nums", rng.choice(_NESTS)], 2):
            lines += self._assign(new=kind)
        body = self._block(0, loops=0)
        lines += body
        if not self._ends(body):
            lines.append(self._return())
        self.source = lines[0] + "\n" + "\n".join("    " + line for line in lines[1:]) + "\n"

    def arguments(self, number: int) -> list[tuple[str, object]]:
        """The arguments' kinds and plain values of call `number`."""
        rng = random.Random(f"{self.source}{number}")
        width = self.width

        def nums(count: int) -> list[float]:
            return [rng.randint(-24, 24) / 4 for _ in range(count)]

        makers = {"int": lambda: rng.randint(-3, 12), "num": lambda: rng.randint(-20, 20) / 4, "nums": lambda: nums(width),
                  "rows": lambda: [nums(width), nums(width)], "ints": lambda: [rng.randint(-9, 9) for _ in range(width)]}
        return [(kind, makers[kind]()) for name, kind in PARAMETERS if name in self.parameters]

    def _block(self, depth: int, loops: int) -> list[str]:
        lines: list[str] = []
        for _ in range(self.rng.randint(1, 3) if depth else 12):
            if self.budget <= 0 or self._ends(lines):
                break
            self.budget -= 1
            lines += self._statement(depth, loops)
        return lines or ["pass"]

    @staticmethod
    def _ends(lines: list[str]) -> bool:
        return bool(lines) and lines[-1][0] != " " and lines[-1].split()[0] in ("return", "break", "continue", "raise")

    def _statement(self, depth: int, loops: int) -> list[str]:
        rng = self.rng
        weights = {self._assign: 5, self._augmented: 3, self._item: 4, self._print: 2, self._note: 1, self._swap: 1, self._nest_store: 8,
                   self._unpack: 3, self._call: 1, self._assert: 0.7, self._chain: 0.5, self._comprehension: 0.4}
        compound = {self._if: 5, self._for: 5, self._while: 3, self._unrolled: 1, self._over_tensor: 1}
        leaving = {self._leave: 4}
        found: list[str] = []
        while not found:
            table: dict = dict(weights)
            if depth < 3:
                table.update(compound)
            if loops:
                table.update(leaving)
            chosen = rng.choices(list(table), list(table.values()))[0]
            found = chosen(depth, loops) if chosen in compound or chosen in leaving else chosen()
        return found

    def _name(self) -> str:
        self._fresh += 1
        return f"v{self._fresh}"

    def _assignable(self, kind: object) -> list[str]:
        return [name for name, its in self.exprs.names.items() if its == kind and name not in self._busy]

    def _assign(self, new: object = None) -> list[str]:
        rng = self.rng
        kind = new or rng.choice(_NEW + _NESTS if rng.random() < 0.4 else _NEW)
        old = self._assignable(kind)
        text = self.exprs.fresh(kind) if not isinstance(kind, tuple) else self.exprs.draw(kind)
        name = rng.choice(old) if old and not new and rng.random() < 0.75 else self._name()
        self.exprs.names[name] = kind
        self._owned.add(name)
        self.exprs.count("nest" if isinstance(kind, tuple) else "assignment")
        return [f"{name} = {text}"]

    def _augmented(self) -> list[str]:
        rng = self.rng
        kind = rng.choice(["int", "num", "nums", "softs"])
        names = [name for name in self._assignable(kind) if kind in ("int", "num") or name in self._owned]
        if not names:
            return []
        name = rng.choice(names)
        self.exprs.count("augmented assignment")
        if kind == "int":
            return [f"{name} {rng.choice(['+=', '-='])} {self.exprs.draw('int', 1)}", f"{name} %= 97"]
        if kind == "num":
            return [f"{name} {rng.choice(['+=', '-='])} {self.exprs.fresh('num', 1)}", f"{name} %= 16.0"]
        if kind == "nums":
            return [f"{name} {rng.choice(['+=', '-='])} {self.exprs.fresh(rng.choice(['num', 'nums']), 1)}", f"{name} %= 16.0"]
        return [f"{name} *= 0.5", f"{name} += {self.exprs.draw('softs', 0)} * 0.25"]

    def _item(self) -> list[str]:
        rng, e = self.rng, self.exprs
        kind = rng.choice(["nums", "nums", "ints", "rows"])
        names = [name for name in self._assignable(kind) if name in self._owned]
        if not names:
            return []
        name = rng.choice(names)
        if kind == "ints":
            e.count("item assignment")
            return [f"{name}[{e.index(self.width)}] = {e.fresh('int', 1)}"]
        if kind == "rows":
            e.count("item assignment")
            if rng.random() < 0.5:
                return [f"{name}[{e.index(2)}] = {e.fresh('nums', 1)}"]
            return [f"{name}[{e.index(2)}, {e.index(self.width)}] {rng.choice(['=', '+='])} {e.fresh('num', 1)}"]
        style = rng.random()
        if style < 0.5:
            e.count("item assignment")
            return [f"{name}[{e.index(self.width)}] {rng.choice(['=', '+=', '-='])} {e.fresh('num', 1)}"]
        if style < 0.75:
            e.count("slice assignment")
            where = rng.choice(["1:", ":2", "::2", ":-1", "1:3"])
            return [f"{name}[{where}] {rng.choice(['=', '+='])} {e.fresh('num', 1)}"]
        e.count("mask assignment")
        return [f"{name}[{name} {rng.choice(['<', '>'])} {e.draw('num', 0)}] {rng.choice(['=', '+='])} {e.fresh('num', 1)}"]

    def _print(self) -> list[str]:
        e = self.exprs
        style = self.rng.random()
        e.count("print")
        if style < 0.3:
            return [f"print({e.label()!r}, {e.draw('int', 1)})"]
        if style < 0.45:
            return [f"print({e.label()!r}, {e.draw('nums', 1)})"]
        e.count("f-string")
        if style < 0.8:
            return [f'print(f"{e.label()} {{{e.draw("int", 0)}}} {{{e.draw("num", 0)}:.2f}} {{{e.draw("int", 0)}:4d}}|")']
        return [f'print(f"{e.label()} {{{e.draw("num", 1)}:8.3f}}", {e.draw("flag", 0)}, sep=" / ")']

    def _note(self) -> list[str]:
        e = self.exprs
        e.count("host call for its effect")
        return [f"note({e.label()!r}, {e.draw(self.rng.choice(['int', 'num', 'nums', 'flag']), 1)}, {e.draw('int', 0)})"]

    def _swap(self) -> list[str]:
        kind = self.rng.choice(["int", "num"])
        names = self._assignable(kind)
        if len(names) < 2:
            return []
        a, b = self.rng.sample(names, 2)
        self.exprs.count("swap")
        return [f"{a}, {b} = {b}, {self.exprs.fresh(kind, 1)}"]

    def _chain(self) -> list[str]:
        kind = self.rng.choice(["int", "num", "flag"])
        a, b = self._name(), self._name()
        text = self.exprs.fresh(kind, 1)
        self.exprs.names.update({a: kind, b: kind})
        self.exprs.count("assignment to two names")
        return [f"{a} = {b} = {text}"]

    def _nest_store(self) -> list[str]:
        e, rng = self.exprs, self.rng
        nests = [(name, kind) for name, kind in e.names.items() if isinstance(kind, tuple) and name not in self._busy]
        if not nests:
            return []
        name, kind = rng.choice(nests)
        if kind[0] == "tuple":
            e.count("nest")
            return [f"{name} = {e.draw(kind)}"]
        key, part = rng.choice(kind[1:])
        e.count("store of an item of a dict" if kind[0] == "dict" else "store of an attribute")
        target = f"{name}[{key!r}]" if kind[0] == "dict" else f"{name}.{key}"
        if part == "int" and rng.random() < 0.4:
            return [f"{target} += {e.draw('int', 0)}", f"{target} %= 97"]
        return [f"{target} = {e.fresh(part)}"]

    def _unpack(self) -> list[str]:
        e = self.exprs
        nests = [(name, kind) for name, kind in e.names.items() if isinstance(kind, tuple) and kind[0] == "tuple"
                 and not any(part in ("nums",) for part in kind[1:])]
        if not nests:
            return []
        name, kind = self.rng.choice(nests)
        new = [self._name() for _ in kind[1:]]
        e.names.update(zip(new, kind[1:]))
        e.count("unpacking")
        return [f"{', '.join(new)} = {name}"]

    def _call(self) -> list[str]:
        e = self.exprs
        a, b = self._name(), self._name()
        times = self.rng.choice(["", ", 3", f", times={e.draw('int', 0)} % 4"])
        text = f"{a}, {b} = mixed({e.draw('num', 1)}, {e.draw('num', 1)}{times})"
        e.names.update({a: "num", b: "num"})
        e.count("user function")
        return [text]

    def _assert(self) -> list[str]:
        e, rng = self.exprs, self.rng
        e.count("assert")
        never = rng.random() < 0.7
        condition = f"{e.draw('int', 1)} < 1000" if never else f"{e.draw('int', 1)} != {rng.randint(-3, 9)}"
        if rng.random() < 0.5:
            return [f'assert {condition}, "stopped at {e.label()}"']
        e.count("raise")
        return [f"if not {condition}:", f'    raise ValueError(f"stopped at {e.label()} with {{{e.draw("int", 0)}}}")']

    def _comprehension(self) -> list[str]:
        e = self.exprs
        name, value = self._name(), e.draw("num", 0)
        e.names[name] = "num"
        e.count("comprehension")
        return [f"{name} = sum([{value} * c for c in (0.5, -1.0, 2.0)]) // 0.25 * 0.25 % 16.0"]

    def _inside(self, depth: int, loops: int, bound: dict[str, object] | None = None, busy: tuple[str, ...] = ()) -> tuple[list[str], dict]:
        """A nested block, and the names that are bound at its end; the names before are in force again afterwards."""
        before, owned, was_busy = dict(self.exprs.names), set(self._owned), set(self._busy)
        self.exprs.names.update(bound or {})
        self._busy |= set(busy)
        lines = self._block(depth + 1, loops)
        after = self.exprs.names
        self.exprs.names, self._owned, self._busy = before, owned, was_busy
        return lines, after

    @staticmethod
    def _indented(lines: list[str]) -> list[str]:
        return ["    " + line for line in lines]

    def _if(self, depth: int, loops: int) -> list[str]:
        e = self.exprs
        e.count("if")
        lines = [f"if {e.flag(2)}:"]
        then, first = self._inside(depth, loops)
        lines += self._indented(then)
        arms = [(then, first)]
        while self.rng.random() < 0.25 and len(arms) < 3:
            e.count("elif")
            lines.append(f"elif {e.flag(1)}:")
            arm = self._inside(depth, loops)
            lines += self._indented(arm[0])
            arms.append(arm)
        if self.rng.random() < 0.6:
            e.count("else")
            lines.append("else:")
            # A name that the first arm binds is often bound in the last one as well.
            extra: list[str] = []
            added = {name: kind for name, kind in first.items() if name not in e.names}
            for name, kind in added.items():
                if not isinstance(kind, tuple):
                    extra.append(f"{name} = {e.fresh(kind, 1)}")
            otherwise, last = self._inside(depth, loops, {name: kind for name, kind in added.items() if not isinstance(kind, tuple)})
            lines += self._indented(extra + otherwise)
            arms.append((otherwise, last))
            going = [names for body, names in arms if not self._ends(body)]
            for name in list(going[0]) if going else []:
                if name not in e.names and all(names.get(name) == going[0][name] for names in going):
                    e.count("name bound in every arm")
                    e.names[name] = going[0][name]
        return lines

    def _leave(self, depth: int, loops: int) -> list[str]:
        e = self.exprs
        word = self.rng.choice(["break", "continue", "return"])
        e.count(word)
        lines = [f"if {e.flag(2)}:"]
        if self.rng.random() < 0.3:
            lines.append(f"    print({e.label()!r}, {e.draw('int', 0)})")
        lines.append("    " + (self._return() if word == "return" else word))
        return lines

    def _return(self) -> str:
        self.exprs.count("return")
        parts = [self.exprs.draw(kind) for kind in self.result]
        return "return " + (parts[0] if len(parts) == 1 else ", ".join(parts))

    def _range(self) -> str:
        e, rng = self.exprs, self.rng
        style = rng.random()
        if style < 0.35:
            return str(rng.randint(0, 4))
        e.count("computed range")
        if style < 0.65:
            return f"{e.draw('int', 1)} % {rng.randint(2, 5)}"
        if style < 0.85:
            return f"{rng.randint(-3, 2)}, {e.draw('int', 1)} % 4"
        e.count("range with a step")
        if style < 0.93:
            return f"{e.draw('int', 1)} % 5, {rng.randint(-2, 0)}, {rng.choice([-1, -2])}"
        return f"{rng.randint(-2, 1)}, {e.draw('int', 1)} % 7, {rng.choice([2, 3])}"

    def _else(self, depth: int, loops: int, kind: str) -> list[str]:
        if self.rng.random() < 0.25:
            self.exprs.count(f"{kind}-else")
            return ["else:", *self._indented(self._inside(depth, loops)[0])]
        return []

    def _for(self, depth: int, loops: int) -> list[str]:
        e = self.exprs
        e.count("for")
        if loops:
            e.count("nested loop")
        old = self._assignable("int")
        reused = bool(old) and self.rng.random() < 0.25
        counter = self.rng.choice(old) if reused else self._name()
        lines = [f"for {counter} in range({self._range()}):"]
        body, _ = self._inside(depth, loops + 1, {counter: "int"})
        return [*lines, *self._indented(body), *self._else(depth, loops, "for")]

    def _while(self, depth: int, loops: int) -> list[str]:
        e, rng = self.exprs, self.rng
        e.count("while")
        if loops:
            e.count("nested loop")
        counter = self._name()
        e.names[counter] = "int"
        limit = rng.randint(1, 4)
        if rng.random() < 0.3:
            e.count("while True")
            lines = ["while True:"]
            first = [f"{counter} += 1", f"if {counter} > {limit}:", "    break"]
        else:
            lines = [f"while {counter} < {limit}" + (f" and {e.flag(2)}:" if rng.random() < 0.7 else ":")]
            first = [f"{counter} += 1"]
        body, _ = self._inside(depth, loops + 1, busy=(counter,))
        return [f"{counter} = 0", *lines, *self._indented(first + body), *self._else(depth, loops, "while")]

    def _unrolled(self, depth: int, loops: int) -> list[str]:
        e, rng = self.exprs, self.rng
        e.count("for over a container")
        a, b = self._name(), self._name()
        head, bound = rng.choice([(f"for {a} in (1, -2, 5):", {a: "int"}),
                                  (f"for {a}, {b} in zip((1, 2), (0.5, -1.5)):", {a: "int", b: "num"}),
                                  (f"for {a}, {b} in enumerate([2.5, 0.0]):", {a: "int", b: "num"}),
                                  (f"for {a} in cleave.unrolled(range(3)):", {a: "int"})])
        body, _ = self._inside(depth, loops + 1, bound, busy=(a, b))
        return [head, *self._indented(body), *self._else(depth, loops, "for")]

    def _over_tensor(self, depth: int, loops: int) -> list[str]:
        e = self.exprs
        kind, item = self.rng.choice([("nums", "num"), ("rows", "nums"), ("ints", "int")])
        places = e.places(kind)
        if not places:
            return []
        e.count("for over a tensor")
        name, place = self._name(), self.rng.choice(places)
        root = place.split("[")[0].split(".")[0]
        body, _ = self._inside(depth, loops + 1, {name: item}, busy=(name, root))
        return [f"for {name} in {place}:", *self._indented(body), *self._else(depth, loops, "for")]
