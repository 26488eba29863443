"""Learning and probability in plain NumPy, with the decorator alone."""
import numpy as np

import cleave


@cleave.program
def kmeans(X, C):
    K = C.shape[0]
    for step in range(100):
        d = ((X[:, None, :] - C[None, :, :]) ** 2).sum(axis=-1)
        nearest = d.argmin(axis=1)
        one = (nearest[:, None] == np.arange(K)[None, :]).astype(X.dtype)
        new = one.T @ X / one.sum(axis=0)[:, None]
        moved = np.abs(new - C).max()
        C = new
        if moved < 1e-6:
            print(f"converged after {step} steps")
            break
    else:
        print("not converged")
    return C, nearest


@cleave.program
def logistic_regression(X, y):
    n, features = X.shape
    w = np.zeros(features, np.float32)
    b = 0.0
    for i in range(100):
        p = 1 / (1 + np.exp(-(X @ w + b)))
        g = p - y
        w = w - 0.5 * (X.T @ g) / n
        b = b - 0.5 * g.mean()
        if i % 50 == 0:
            loss = -np.mean(y * np.log(p) + (1 - y) * np.log(1 - p))
            print(f"step {i}: loss {loss:.3f}")
    return w, b


@cleave.program
def attention(q, k, v):
    scores = q @ k.T / np.sqrt(q.shape[-1])
    scores = scores - scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores)
    weights = weights / weights.sum(axis=-1, keepdims=True)
    return weights @ v


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def cell(p, x, h, c):
    g = x @ p["Wx"] + h @ p["Wh"] + p["b"]
    i, f, o, u = np.split(g, 4, axis=-1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(u)
    return sigmoid(o) * np.tanh(c), c


@cleave.program
def lstm(p, xs):
    h = c = np.zeros((xs.shape[1], p["Wh"].shape[0]), np.float32)
    for x in xs:
        h, c = cell(p, x, h, c)
    return h, c


@cleave.program
def viterbi(lA, lB, lpi):
    T, S = lB.shape
    delta = lpi + lB[0]
    back = np.zeros((T, S), np.int32)
    for t in range(1, T):
        scores = delta[:, None] + lA
        back[t] = scores.argmax(axis=0)
        delta = scores.max(axis=0) + lB[t]
    path = np.zeros(T, np.int32)
    state = delta.argmax()
    path[T - 1] = state
    for t in range(T - 1, 0, -1):
        state = back[t, state]
        path[t - 1] = state
    return path


@cleave.program
def pagerank(A):
    n = A.shape[0]
    degree = A.sum(axis=1)
    dangling = degree == 0
    inverse = np.where(dangling, 0.0, 1.0 / np.maximum(degree, 1.0))
    r = np.full(n, 1 / n)
    steps = 0
    error = 1.0
    while error > 1e-10:
        new = (r * inverse) @ A
        new = 0.85 * (new + (r * dangling).sum() / n) + 0.15 / n
        error = np.abs(new - r).sum()
        r = new
        steps += 1
    return r, steps


@cleave.program
def perceptron(X, y):
    w = np.zeros(X.shape[1])
    mistakes = 0
    for epoch in range(50):
        wrong = 0
        for i in range(X.shape[0]):
            if y[i] * (w @ X[i]) <= 0:
                w += y[i] * X[i]
                wrong += 1
        mistakes += wrong
        if wrong == 0:
            return w, epoch, mistakes
    return w, 50, mistakes


def _arguments():
    rng = np.random.default_rng(11)
    X = np.concatenate([rng.normal(size=(20, 2)) + m for m in ([0, 0], [6, 6], [0, 9])]).astype(np.float32)
    L = rng.normal(size=(60, 4)).astype(np.float32)
    w = rng.normal(size=4).astype(np.float32)
    size, hidden = 3, 4
    p = {"Wx": rng.normal(size=(size, 4 * hidden)) * 0.3, "Wh": rng.normal(size=(hidden, 4 * hidden)) * 0.3, "b": np.zeros(4 * hidden)}
    p = {key: value.astype(np.float32) for key, value in p.items()}
    return {
        "kmeans": [(X, X[[0, 20, 40]])],
        "logistic_regression": [(L, (L @ w > 0).astype(np.float32))],
        "attention": [tuple(rng.normal(size=(6, 4)).astype(np.float32) for _ in range(3))],
        "lstm": [(p, rng.normal(size=(5, 2, size)).astype(np.float32))],
        "viterbi": [(np.log(rng.dirichlet(np.ones(4), 4)), np.log(rng.random((12, 4))), np.log(np.ones(4) / 4))],
        "pagerank": [((rng.random((20, 20)) < 0.1).astype(np.float64),)],
        "perceptron": [(np.float64(L), np.where(L @ w > 0, 1.0, -1.0))],
    }


ARGUMENTS = _arguments()
