"""The cases of linear algebra, small matrices many at a time and large ones, and of Fourier transforms. ONNX has no linear algebra."""
import numpy as np

from peers.case import Case, Target
from peers.primitives import numbers, torch

TARGET = Target(best=0.9)


def dominant(*shape):
    """Symmetric and positive definite, in f64."""
    x = numbers(*shape).astype(np.float64)
    return x + np.swapaxes(x, -1, -2) + 2 * np.eye(shape[-1]) * shape[-1]


def of(name, program, in_numpy, in_torch, *shapes):
    for shape in shapes:
        yield Case(f"{name} {'x'.join(map(str, shape))}", lambda shape=shape: {"a": dominant(*shape)}, program, in_numpy, TARGET,
                   torch=in_torch, tolerance=1e-9)


def matrices():
    many, large, eigen = (1000, 8, 8), (512, 512), (256, 256)
    yield from of("solve", "- y: solve(a, a)", lambda a: np.linalg.solve(a, a), lambda a: torch.linalg.solve(a, a), many, large)
    yield from of("inv", "- y: inv(a)", lambda a: np.linalg.inv(a), lambda a: torch.linalg.inv(a), many, large)
    yield from of("cholesky", "- y: cholesky(a)", lambda a: np.linalg.cholesky(a), lambda a: torch.linalg.cholesky(a), many, large)
    yield from of("eigvalsh", "- y: eigvalsh(a)", lambda a: np.linalg.eigvalsh(a), lambda a: torch.linalg.eigvalsh(a), many, eigen)
    yield from of("svdvals", "- y: svdvals(a)", lambda a: np.linalg.svd(a, compute_uv=False), lambda a: torch.linalg.svdvals(a), many, eigen)


def pairs(z):
    return np.ascontiguousarray(z.astype(np.complex64)).view(np.float32).reshape(*z.shape, 2)


def transforms():
    """In f32: many short lines, a long one, lengths that are no powers of two and one that is prime."""
    for lines, n in ((4096, 64), (1024, 1024), (1, 1 << 20), (512, 1000), (256, 1009)):
        yield Case(f"fft {lines}x{n}", lambda lines=lines, n=n: {"x": numbers(lines, n, 2)}, "- y: fft(x)",
                   lambda x: pairs(np.fft.fft(x.view(np.complex64)[..., 0])), TARGET,
                   torch=lambda x: torch.view_as_real(torch.fft.fft(torch.view_as_complex(x))), tolerance=3e-6)
    for lines, n in ((1024, 1024), (1, 1 << 20)):
        yield Case(f"rfft {lines}x{n}", lambda lines=lines, n=n: {"x": numbers(lines, n)}, "- y: rfft(x)", lambda x: pairs(np.fft.rfft(x)),
                   TARGET, torch=lambda x: torch.view_as_real(torch.fft.rfft(x)), tolerance=3e-6)
