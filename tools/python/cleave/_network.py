"""Networks: ONNX files, which run like every model and which traced functions call."""
from __future__ import annotations

from typing import Any

from . import _cleave
from ._model import Model
from ._nest import flatten
from ._tensor import Tensor, operand, recorder, traces
from ._where import here


class Network(Model):
    """A model from an ONNX file. A traced function calls it with tensors: `y = net(x)`; its weights are parameters of that program.

        net = cleave.load("net.onnx", parameters="all")

        @cleave.trace("f32[8, 64]", "i32[8]")
        def step(x, y):
            weights = net.weights()
            loss = cleave.cross_entropy(net(x, weights=weights), y)
            return cleave.optim.sgd(weights, cleave.gradient(loss, weights), rate=0.1)
    """

    _options_of_file: dict[str, Any] = {}
    _opened: _cleave.OnnxFunction | None = None
    _declared_in: tuple[_cleave.Recorder, str, dict[str, Tensor]] | None = None

    def _function(self) -> _cleave.OnnxFunction:
        with self._lock:
            if self._opened is None:
                path: str = self._source.path  # type: ignore[attr-defined]
                options: dict[str, Any] = {name: self._options_of_file[name] for name in ("parameters", "host_functions")
                                           if name in self._options_of_file}
                self._opened = _cleave.OnnxFunction.open(path, options)
            return self._opened

    def weights(self, prefix: str | None = None) -> dict[str, Tensor]:
        """The weights that `load(…, parameters=…)` chose, as parameters of the program that is traced: tensors by their names in the file.

        The parameters are called `PREFIX.NAME`; the prefix is the model's name, or none if it is empty. The first call in a trace must
        stand outside of loops and branches; later ones return the same tensors.
        """
        owner = recorder("weights")
        prefix = self.name if prefix is None else prefix
        known = self._declared_in
        if known is not None and known[0] is owner and known[1] == prefix:
            return dict(known[2])
        function = self._function()
        operands = owner.declare_weights(function, prefix, here())
        found = {name: Tensor(each, owner) for (name, _), each in zip(function.weights, operands)}
        self._declared_in = (owner, prefix, found)
        return dict(found)

    def __call__(self, *arguments: Any, weights: Any = None, **named: Any) -> Any:
        """Runs with arrays; inside of a traced function, records the network. Returns its result, or a tuple of its results.

        Arguments are in the order of the file's inputs, or by name. `weights`: the values of the weights inside of a traced function, a nest
        like that of `weights()`, which is the default.
        """
        if not traces.stack:
            if weights is not None:
                raise TypeError(f"cleave: {self.name}(…, weights=…) is called inside of a traced function; a run takes parameters by name")
            return super().__call__(*arguments, **named)
        owner = recorder("net")
        function = self._function()
        names = function.inputs
        inputs = list(arguments)
        for name in names[len(inputs):]:
            if name in named:
                inputs.append(named.pop(name))
        if named:
            raise TypeError(f"cleave: {self.name}({', '.join(names)}) got an unexpected argument '{next(iter(named))}'")
        values = [leaf for _, leaf in flatten(self.weights() if weights is None else weights)]
        if len(values) != len(function.weights):
            raise TypeError(f"cleave: {self.name} has {len(function.weights)} weights, but {len(values)} are given")
        results = owner.call_onnx(function, self.name, [operand(each, owner) for each in inputs], [operand(each, owner) for each in values], here())
        tensors = tuple(Tensor(each, owner) for each in results)
        return tensors[0] if len(tensors) == 1 else tensors
