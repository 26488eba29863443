"""Fourier transforms, compared with NumPy's; fft also with ONNX's DFT."""
import numpy as np

from case import Case, numbers, onnx_op


def pairs(z, dtype):
    return np.stack([z.real, z.imag], axis=-1).astype(dtype)


def joined(x):
    return x[..., 0].astype(np.float64) + 1j * x[..., 1]


def cases():
    for dtype in (np.float32, np.float64):
        kind = np.dtype(dtype)
        loose = {"relative": 0, "absolute": 3e-6 if dtype == np.float32 else 1e-13}
        for n in (*range(1, 34), 49, 60, 64, 97, 100, 121, 128, 143, 169, 243, 331, 512, 1000, 1024, 2187, 4099, 4096, 5040):
            x = numbers(3, n, 2, dtype=dtype)
            yield Case(f"fft {kind} {n}", "fft(x)", {"x": x}, lambda x, d=dtype: pairs(np.fft.fft(joined(x)), d), **loose)
            yield Case(f"ifft {kind} {n}", "ifft(x)", {"x": x}, lambda x, d=dtype: pairs(np.fft.ifft(joined(x)), d), **loose)
            yield Case(f"rfft {kind} {n}", "rfft(x)", {"x": x[..., 0]}, lambda x, d=dtype: pairs(np.fft.rfft(x), d), **loose)
            yield Case(f"irfft {kind} {n}", f"irfft(x, n={n})", {"x": x[:, : n // 2 + 1]},
                       lambda x, d=dtype, n=n: np.fft.irfft(joined(x), n).astype(d), **loose)
        y = numbers(4, 5, 6, 2, dtype=dtype)
        for axis in (0, 1, 2, -1, -2, -3):
            yield Case(f"fft {kind} axis {axis}", f"fft(x, axis={axis})", {"x": y},
                       lambda x, d=dtype, axis=axis: pairs(np.fft.fft(joined(x), axis=axis), d), **loose)
            yield Case(f"rfft {kind} axis {axis}", f"rfft(x, axis={axis})", {"x": y[..., 0]},
                       lambda x, d=dtype, axis=axis: pairs(np.fft.rfft(x, axis=axis), d), **loose)
        yield Case(f"fft there and back {kind}", "ifft(fft(x, axis=0), axis=0)", {"x": y}, lambda x: x, **loose)
    x = numbers(2, 12, 2)
    yield Case("DFT of ONNX", "fft(x)", {"x": x}, lambda x: onnx_op("DFT", [x, None, np.int64(1)]), relative=0, absolute=3e-6)
