"""Draws expressions of Python over the names that a random function has bound so far.

Values that decide a branch, an index or a printed text must be equal in Python and in the program to the bit. Three rules ensure this:
`num` and `nums` hold multiples of 1/4 within ±64, so that sums and products by small constants are exact in f32; integers stay within ±96;
`soft` and `softs` hold the results of tanh, sin and the like, are only compared within a tolerance, and never decide anything.
"""
from __future__ import annotations

import ast
import random
import re

#: Types of names: scalars; arrays of `width` elements; a matrix of 2 rows and `width` columns. A tuple is ("tuple", …), a dict ("dict", …).
SCALARS = ("int", "num", "flag", "soft")
ARRAYS = ("nums", "ints", "softs", "rows")


_PLAIN = re.compile(r"[\w.]+|[\w.]+\([^()]*\)")


def enclosed(text: str) -> str:
    """The expression, in parentheses where it could not stand before an index or beside an operator without."""
    if _PLAIN.fullmatch(text):
        return text
    node = ast.parse(text, mode="eval").body
    if isinstance(node, (ast.Name, ast.Call, ast.Subscript, ast.Attribute)) or isinstance(node, ast.Constant):
        return text
    if text.startswith("(") and text.endswith(")"):
        depth = 0
        for at, letter in enumerate(text):
            depth += {"(": 1, ")": -1}.get(letter, 0)
            if depth == 0:
                if at == len(text) - 1:
                    return text
                break
    return f"({text})"


class Expressions:
    """Draws an expression of a given type. `names` maps each name that is bound on every path to its type."""

    def __init__(self, rng: random.Random, width: int) -> None:
        self.rng = rng
        self.width = width
        self.names: dict[str, object] = {}
        self.kinds: dict[str, int] = {}
        self.effects = True  # whether host calls may stand in an expression
        self._labels = 0

    def count(self, kind: str) -> None:
        """Notes that a kind of statement or expression was drawn."""
        self.kinds[kind] = self.kinds.get(kind, 0) + 1

    def label(self) -> str:
        """A text that no other effect of the function has."""
        self._labels += 1
        return f"e{self._labels}"

    def places(self, wanted: object) -> list[str]:
        """The names, items and attributes of a type."""
        found = []
        for name, kind in self.names.items():
            if kind == wanted:
                found.append(name)
            elif isinstance(kind, tuple) and kind[0] == "tuple":
                found += [f"{name}[{i}]" for i, part in enumerate(kind[1:]) if part == wanted]
            elif isinstance(kind, tuple) and kind[0] == "dict":
                found += [f"{name}[{key!r}]" for key, part in kind[1:] if part == wanted]
            elif isinstance(kind, tuple) and kind[0] == "box":
                found += [f"{name}.{key}" for key, part in kind[1:] if part == wanted]
        return found

    def draw(self, wanted: object, depth: int = 2) -> str:
        """An expression of the type `wanted`, which may also be a nest."""
        if isinstance(wanted, tuple):
            if wanted[0] == "tuple":
                parts = [self.fresh(part, depth - 1) for part in wanted[1:]]
                return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
            if wanted[0] == "dict":
                return "{" + ", ".join(f"{key!r}: {self.fresh(part, depth - 1)}" for key, part in wanted[1:]) + "}"
            return "Box(" + ", ".join(self.fresh(part, depth - 1) for _, part in wanted[1:]) + ")"
        places = self.places(wanted)
        if places and self.rng.random() < (0.35 if depth > 0 else 0.8):
            return self.rng.choice(places)
        if depth <= 0:
            return self._leaf(wanted)
        if self.rng.random() < 0.06 and wanted != "rows":
            self.count("conditional expression")
            return f"({self.draw(wanted, depth - 1)} if {self.flag(depth - 1)} else {self.draw(wanted, depth - 1)})"
        return enclosed(getattr(self, f"_{wanted}")(depth))

    def fresh(self, wanted: object, depth: int = 2) -> str:
        """An expression whose value is bounded, and which is no second name for an array."""
        text = self.draw(wanted, max(depth, 0))
        if wanted == "int":
            return text if text.isidentifier() or text.lstrip("-").isdigit() else f"({text}) % {self.rng.choice([7, 23, 97])}"
        if wanted == "num":
            style = self.rng.random()
            if style < 0.2:
                self.count("user function")
                return f"bound({text})"
            if style < 0.6:
                return f"({text}) // 0.25 * 0.25 % {self.rng.choice([8.0, 32.0, -16.0])}"
            return f"min(max(({text}) // 0.25 * 0.25, -64.0), 64.0)"
        if wanted in ("nums", "rows"):
            return self.rng.choice([f"np.floor(np.clip({text}, -16.0, 16.0) * 4.0) / 4.0", f"({text}) // 0.25 * 0.25 % 8.0"])
        if wanted == "ints":
            return f"({text}) % {self.rng.choice([5, 97])}"
        if wanted == "soft":
            return self.rng.choice([f"np.tanh({text}) * 0.5", f"0.5 * np.sin({text})"])
        if wanted == "softs":
            return self.rng.choice([f"np.tanh({text}) * 0.5", f"0.5 * np.sin({text})"])
        return text

    def index(self, extent: int) -> str:
        """An expression of an index within an axis, which may count from the end."""
        rng = self.rng
        style = rng.random()
        if style < 0.3:
            return str(rng.randrange(-extent, extent))
        self.count("computed index")
        text = self.draw("int", 1)
        if style < 0.85:
            return f"({text}) % {extent}"
        return f"({text}) % {extent} - {rng.randint(1, extent)}"

    def flag(self, depth: int = 1) -> str:
        """A condition."""
        return self.draw("flag", max(depth, 0))

    def _leaf(self, wanted: object) -> str:
        rng, width = self.rng, self.width
        if wanted == "int":
            return enclosed(str(rng.randint(-9, 9)))
        if wanted == "num":
            return enclosed(str(rng.randint(-20, 20) / 4))
        if wanted == "flag":
            return (rng.choice(["True", "False"]) if rng.random() < 0.3 else
                    f"({self.draw('int', 0)} {rng.choice(['<', '>=', '=='])} {rng.randint(-5, 40)})")
        if wanted == "soft":
            return f"np.tanh({self.draw('num', 0)})"
        if wanted == "nums":
            return rng.choice([f"np.zeros({width}, np.float32)", f"np.full({width}, {rng.randint(-8, 8) / 4}, np.float32)",
                               f"np.array({[rng.randint(-8, 8) / 4 for _ in range(width)]}, dtype=np.float32)"])
        if wanted == "ints":
            return rng.choice([f"np.arange({width}, dtype=np.int32)", f"np.zeros({width}, np.int32)"])
        if wanted == "softs":
            return f"np.sin({self.draw('nums', 0)})"
        return f"np.zeros((2, {width}), np.float32)"

    def _pick(self, depth: int, *makers: object) -> str:
        maker = self.rng.choice(makers)
        return maker() if callable(maker) else str(maker)

    def _int(self, depth: int) -> str:
        def d(kind: str) -> str:
            return self.draw(kind, depth - 1)

        rng = self.rng
        return self._pick(
            depth, lambda: f"({d('int')} + {d('int')})", lambda: f"({d('int')} - {d('int')})", lambda: f"({d('int')} * {d('int')} % 31)",
            lambda: f"{d('int')} // {rng.choice([2, 3, -4])}", lambda: f"-{d('int')}", lambda: f"abs({d('int')})",
            lambda: f"{rng.choice(['min', 'max'])}({d('int')}, {d('int')})", lambda: f"int({d('num')})",
            lambda: f"{d('ints')}[{self.index(self.width)}]", lambda: f"{d('ints')}.max()", lambda: f"len({d('nums')})",
            lambda: f"{d('int')} % {rng.choice([3, 7, -5])}", lambda: f"int({d('flag')})", lambda: self._host("probe_int", d("int")),
            lambda: f"{d('int')} ** 2 % 41")

    def _num(self, depth: int) -> str:
        def d(kind: str) -> str:
            return self.draw(kind, depth - 1)

        rng = self.rng
        return self._pick(
            depth, lambda: f"({d('num')} + {d('num')})", lambda: f"({d('num')} - {d('num')})",
            lambda: f"{d('num')} * {rng.choice([0.5, 2.0, -1.0, 3.0])}", lambda: f"-{d('num')}", lambda: f"abs({d('num')})",
            lambda: f"{rng.choice(['min', 'max'])}({d('num')}, {d('num')})", lambda: f"{d('int')} * 0.5", lambda: f"float({d('int')})",
            lambda: f"{d('nums')}[{self.index(self.width)}]", lambda: f"{d('nums')}.{rng.choice(['sum', 'max', 'min'])}()",
            lambda: f"np.{rng.choice(['sum', 'max', 'min'])}({d('nums')})", lambda: f"{d('num')} / 2.0", lambda: f"{d('int')} / 4",
            lambda: f"np.clip({d('nums')}, -4.0, 4.0) @ {self._small()}", lambda: f"{d('rows')}[{self.index(2)}, {self.index(self.width)}]",
            lambda: f"{d('num')} % {rng.choice([4.0, 2.5, -3.0])}", lambda: f"{d('num')} // 2.0", lambda: self._host("probe_num", d("num")),
            lambda: f"first_above({d('nums')}, {d('num')})")

    def _small(self) -> str:
        return f"np.clip({self.draw('nums', 0)}, -4.0, 4.0)"

    def _host(self, name: str, argument: str) -> str:
        if not self.effects:
            return argument
        self.count("host call")
        return f"{name}({self.label()!r}, {argument})"

    def _flag(self, depth: int) -> str:
        def d(kind: str) -> str:
            return self.draw(kind, depth - 1)

        def logic(word: str) -> str:
            self.count(word)
            right = d("flag")
            if self.effects and self.rng.random() < 0.4:
                self.count("short circuit before an effect")
                right = f"{self._host('probe_int', d('int'))} > {self.rng.randint(-3, 20)}"
            return f"({d('flag')} {word} {right})"

        rng = self.rng
        compare = rng.choice(["<", "<=", ">", ">=", "==", "!="])

        def chained() -> str:
            self.count("chained comparison")
            middle = self._host("probe_int", d("int")) if rng.random() < 0.3 else d("int")
            return f"({d('int')} {rng.choice(['<', '<='])} {middle} {rng.choice(['<', '<=', '!='])} {d('int')})"

        return self._pick(
            depth, lambda: f"({d('int')} {compare} {d('int')})", lambda: f"({d('num')} {compare} {d('num')})", lambda: f"(not {d('flag')})",
            lambda: logic("and"), lambda: logic("or"), lambda: logic("and"), lambda: logic("or"), chained,
            lambda: f"({d('nums')} > {d('num')}).{rng.choice(['any', 'all'])}()",
            lambda: f"np.{rng.choice(['any', 'all'])}({d('nums')} < {d('num')})",
            lambda: f"({d('int')} % 2 == 0)", lambda: f"({d('flag')} {rng.choice(['==', '!='])} {d('flag')})",
            lambda: f"bool({d('int')})")

    def _soft(self, depth: int) -> str:
        def d(kind: str) -> str:
            return self.draw(kind, depth - 1)

        rng = self.rng
        return self._pick(
            depth, lambda: f"({d('soft')} + {d('num')}) * 0.25", lambda: f"np.{rng.choice(['tanh', 'sin', 'cos'])}({d('soft')})",
            lambda: f"np.sqrt(abs({d('num')}))", lambda: f"np.exp(-abs({d('soft')}))",
            lambda: f"{d('softs')}.{rng.choice(['mean', 'max'])}()",
            lambda: f"{d('softs')}[{self.index(self.width)}]", lambda: f"1.0 / (1.0 + abs({d('num')}))")

    def _nums(self, depth: int) -> str:
        def d(kind: str) -> str:
            return self.draw(kind, depth - 1)

        rng, width = self.rng, self.width
        cut = rng.randint(1, width - 1)
        return self._pick(
            depth, lambda: f"({d('nums')} + {d('nums')})", lambda: f"({d('nums')} - {d('num')})",
            lambda: f"{d('nums')} * {rng.choice([0.5, -1.0, 2.0])}",
            lambda: f"np.{rng.choice(['maximum', 'minimum'])}({d('nums')}, {d('nums')})",
            lambda: f"np.where({d('nums')} {rng.choice(['<', '>'])} {d('num')}, {d('nums')}, {d('nums')})", lambda: f"{d('nums')}[::-1]",
            lambda: f"np.abs({d('nums')})", lambda: f"-{d('nums')}", lambda: f"{d('rows')}.sum(axis=0)",
            lambda: f"{d('rows')}[{self.index(2)}]",
            lambda: self._rotated(cut), lambda: f"{d('nums')}.copy()", lambda: f"np.sort({d('nums')})", lambda: f"np.cumsum({d('nums')})",
            lambda: f"np.zeros_like({d('nums')})", lambda: f"{d('ints')}.astype(np.float32)", lambda: self._host("probe_nums", d("nums")))

    def _rotated(self, cut: int) -> str:
        text = self.draw("nums", 0)
        return f"np.concatenate([{text}[{cut}:], {text}[:{cut}]])"

    def _ints(self, depth: int) -> str:
        def d(kind: str) -> str:
            return self.draw(kind, depth - 1)

        rng = self.rng
        return self._pick(
            depth, lambda: f"({d('ints')} + {d('ints')})", lambda: f"({d('ints')} * {rng.randint(-3, 3)})",
            lambda: f"({d('ints')} - {d('int')})",
            lambda: f"np.maximum({d('ints')}, {d('int')})", lambda: f"{d('ints')} // {rng.choice([2, 3, -2])}",
            lambda: f"{d('ints')}[::-1]",
            lambda: f"({d('nums')} > {d('num')}).astype(np.int32)", lambda: f"np.where({d('nums')} > 0, {d('ints')}, {d('ints')})")

    def _softs(self, depth: int) -> str:
        def d(kind: str) -> str:
            return self.draw(kind, depth - 1)

        return self._pick(
            depth, lambda: f"({d('softs')} + {d('nums')}) * 0.25", lambda: f"np.{self.rng.choice(['tanh', 'sin', 'cos'])}({d('nums')})",
            lambda: f"np.exp(-np.abs({d('softs')}))", lambda: f"({d('softs')} * {d('soft')})", lambda: f"np.sqrt(np.abs({d('nums')}))")

    def _rows(self, depth: int) -> str:
        def d(kind: str) -> str:
            return self.draw(kind, depth - 1)

        return self._pick(
            depth, lambda: f"({d('rows')} + {d('nums')})", lambda: f"({d('rows')} - {d('num')})",
            lambda: f"np.stack([{d('nums')}, {d('nums')}])",
            lambda: f"{d('rows')}[::-1]", lambda: f"np.maximum({d('rows')}, {d('nums')})",
            lambda: f"{d('rows')} * {self.rng.choice([0.5, -1.0])}")
