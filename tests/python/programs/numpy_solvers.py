"""Numerical methods in plain NumPy, with the decorator alone."""
import numpy as np

import cleave


@cleave.program
def conjugate_gradients(A, b):
    x = np.zeros_like(b)
    r = b - A @ x
    p = r.copy()
    rs = r @ r
    steps = 0
    for k in range(200):
        Ap = A @ p
        alpha = rs / (p @ Ap)
        x = x + alpha * p
        r = r - alpha * Ap
        new = r @ r
        steps = k + 1
        if np.sqrt(new) < 1e-8:
            break
        p = r + (new / rs) * p
        rs = new
    return x, steps


@cleave.program
def lotka_volterra(start, dt, steps):
    def slope(z):
        prey, predators = z[0], z[1]
        return np.stack([1.1 * prey - 0.4 * prey * predators, 0.1 * prey * predators - 0.4 * predators])

    z = start
    peak = start[0]
    for i in range(steps):
        k1 = slope(z)
        k2 = slope(z + dt / 2 * k1)
        k3 = slope(z + dt / 2 * k2)
        k4 = slope(z + dt * k3)
        z = z + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        if z[0] > peak:
            peak = z[0]
    return z, peak


@cleave.program
def heat(T, steps):
    T = T.copy()
    for _ in range(steps):
        inner = T[2:, 1:-1] + T[:-2, 1:-1] + T[1:-1, 2:] + T[1:-1, :-2] - 4 * T[1:-1, 1:-1]
        T[1:-1, 1:-1] += 0.2 * inner
    return T


@cleave.program
def newton(a):
    """The square root of `a`, which must not be negative."""
    if a < 0:
        return -1.0, 0
    x = a
    n = 0
    while True:
        if x == 0:
            break
        step = (x * x - a) / (2 * x)
        if abs(step) < 1e-10:
            break
        x = x - step
        n += 1
        if n >= 60:
            print("no convergence after", n)
            break
    return x, n


@cleave.program
def jacobi(A, b):
    D = np.diag(A)
    x = np.zeros_like(b)
    n = 0
    error = 1.0
    while error > 1e-9 and n < 500:
        new = (b - A @ x + D * x) / D
        error = np.max(np.abs(new - x))
        x = new
        n += 1
    return x, n


@cleave.program
def gram_schmidt(A):
    rows, columns = A.shape
    Q = np.zeros((rows, columns))
    for j in range(columns):
        v = A[:, j]
        for i in range(j):
            v = v - (Q[:, i] @ A[:, j]) * Q[:, i]
        Q[:, j] = v / np.sqrt(v @ v)
    return Q


@cleave.program
def power_iteration(A, v):
    value = 0.0 * v[0]
    change = value + 1
    steps = 0
    while change > 1e-10 and steps < 1000:
        w = A @ v
        w = w / np.linalg.norm(w)
        new = w @ A @ w
        change = abs(new - value)
        value = new
        v = w
        steps += 1
    return value, v


@cleave.program
def bisection(low, high):
    for i in range(100):
        middle = (low + high) / 2
        f = middle ** 3 - middle - 2
        if abs(f) < 1e-9:
            return middle, i
        if f > 0:
            high = middle
        else:
            low = middle
    return middle, 100


@cleave.program
def kalman(z, F, H, Q, R):
    n = z.shape[0]
    x = np.zeros(2)
    P = np.eye(2)
    out = np.zeros((n, 2))
    for t in range(n):
        x = F @ x
        P = F @ P @ F.T + Q
        S = H @ P @ H.T + R
        K = P @ H.T @ np.linalg.inv(S)
        x = x + K @ (z[t] - H @ x)
        P = (np.eye(2) - K @ H) @ P
        out[t] = x
    return out, P


def _arguments():
    rng = np.random.default_rng(5)
    B = rng.normal(size=(8, 8))
    A, b = B @ B.T + 8 * np.eye(8), rng.normal(size=8)
    F = np.array([[1, 0.1], [0, 1]])
    z = np.cumsum(rng.normal(size=30) * 0.1) + rng.normal(size=30) * 0.7
    return {
        "conjugate_gradients": [(A, b)],
        "lotka_volterra": [(np.array([10.0, 5.0]), np.float64(0.01), np.int32(300))],
        "heat": [(rng.random((12, 9)), np.int32(20)), (rng.random((12, 9)), np.int32(0))],
        "newton": [(np.float64(2.0),), (np.float64(-1.0),), (np.float64(0.0),)],
        "jacobi": [(A + 20 * np.eye(8), b)],
        "gram_schmidt": [(B[:, :4],)],
        "power_iteration": [(A, b)],
        "bisection": [(np.float64(1.0), np.float64(2.0))],
        "kalman": [(z, F, np.array([[1.0, 0.0]]), np.eye(2) * 0.01, np.array([[0.5]]))],
    }


ARGUMENTS = _arguments()
