"""An LSTM over a sequence: shows the overhead of a loop beside its products."""
import numpy as np

from peers.case import Case, Target
from peers.primitives import numbers, torch

LENGTH, WIDTH, STATE = 128, 256, 512


def lstm_inputs(batch):
    scale = np.float32(STATE**-0.5)
    return {"x": numbers(LENGTH, batch, WIDTH), "w": numbers(1, 4 * STATE, WIDTH, seed=2) * scale, "r": numbers(1, 4 * STATE, STATE, seed=3) * scale,
            "b": numbers(1, 8 * STATE, seed=4) * scale}


def lstm_numpy(x, w, r, b):
    def sigmoid(a):
        return 1 / (1 + np.exp(-a))

    gates = x @ w[0].T + b[0, :4 * STATE] + b[0, 4 * STATE:]
    hidden = cell = np.zeros((x.shape[1], STATE), np.float32)
    y = np.empty((LENGTH, 1, x.shape[1], STATE), np.float32)
    for t in range(LENGTH):
        i, o, f, c = np.split(gates[t] + hidden @ r[0].T, 4, axis=-1)
        cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(c)
        hidden = sigmoid(o) * np.tanh(cell)
        y[t, 0] = hidden
    return y


def lstm_torch():
    kept = {}

    def turned(name, array):
        """In PyTorch's order of gates: input, forget, cell, output. Converted once and kept, since weights are constant."""
        if name not in kept:
            i, o, f, c = array.reshape(4, STATE, -1)
            kept[name] = torch.cat([i, f, c, o]).squeeze(-1).contiguous()
        return kept[name]

    def run(x, w, r, b):
        weights = [turned("w", w[0]), turned("r", r[0]), turned("b", b[0, :4 * STATE]), turned("c", b[0, 4 * STATE:])]
        start = torch.zeros(1, x.shape[1], STATE)
        return torch.lstm(x, (start, start), weights, True, 1, 0.0, False, False, False)[0].unsqueeze(1)
    return run


def recurrent():
    for batch in (1, 8):
        yield Case(f"LSTM 512, 128 steps, batch {batch}", lambda batch=batch: lstm_inputs(batch), '- "y, h, c": lstm(x, w, r, b)', lstm_numpy,
                   Target(best=0.9), torch=lstm_torch() if torch else None, onnx=f"y = LSTM <hidden_size = {STATE}> (x, w, r, b)",
                   constants=("w", "r", "b"), tolerance=1e-5, is_program=True)
