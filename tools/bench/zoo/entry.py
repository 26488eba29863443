"""An entry of the zoo: makes one real model, with random weights, and its inputs."""
import dataclasses
import typing


@dataclasses.dataclass
class Made:
    """A module and its inputs by name, in the order of `forward`. `dynamic` names dimensions that stay open: {input: {axis: name}}."""
    module: typing.Any
    inputs: dict
    outputs: list[str] | None = None
    dynamic: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Entry:
    name: str
    family: str
    make: typing.Callable[[], Made]
    script: bool = False  # by the exporter through TorchScript at once
    opset: int | None = None


def image(*shape, seed=1):
    import torch
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def tokens(words, *shape, seed=2):
    import torch
    return torch.randint(5, words, shape, generator=torch.Generator().manual_seed(seed))


def spread(module):
    """Sets statistics and heads as if trained: otherwise the values of deep random networks explode or vanish, and cannot be compared."""
    import torch
    torch.manual_seed(3)
    for each in module.modules():
        if isinstance(each, torch.nn.modules.batchnorm._BatchNorm):
            torch.nn.init.uniform_(each.running_var, 0.5, 1.5)
            torch.nn.init.normal_(each.running_mean, 0, 0.1)
        elif isinstance(each, torch.nn.Linear) and not each.weight.any():  # a head that starts at zero gives nothing but its bias
            torch.nn.init.normal_(each.weight, 0, 0.02)
    return module.eval()
