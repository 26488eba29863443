"""Grids, integers and searches in plain NumPy, with the decorator alone."""
import numpy as np

import cleave


@cleave.program
def mandelbrot(cr, ci):
    zr = np.zeros_like(cr)
    zi = np.zeros_like(ci)
    n = np.zeros(cr.shape, np.int32)
    for k in range(30):
        alive = zr * zr + zi * zi <= 4
        if not alive.any():
            break
        n[alive] += 1
        zr, zi = np.where(alive, zr * zr - zi * zi + cr, zr), np.where(alive, 2 * zr * zi + ci, zi)
    return n


@cleave.program
def life(board, generations):
    for _ in range(generations):
        n = sum(np.roll(np.roll(board, dy, 0), dx, 1) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if (dy, dx) != (0, 0))
        board = ((n == 3) | ((board == 1) & (n == 2))).astype(board.dtype)
    return board


@cleave.program
def life_with_slices(board, generations):
    rows, columns = board.shape
    for g in range(generations):
        n = np.zeros((rows, columns), np.int32)
        n[1:, :] += board[:-1, :]
        n[:-1, :] += board[1:, :]
        n[:, 1:] += board[:, :-1]
        n[:, :-1] += board[:, 1:]
        n[1:, 1:] += board[:-1, :-1]
        n[1:, :-1] += board[:-1, 1:]
        n[:-1, 1:] += board[1:, :-1]
        n[:-1, :-1] += board[1:, 1:]
        new = np.where((n == 3) | ((board == 1) & (n == 2)), 1, 0).astype(np.int32)
        if np.all(new == board):
            print("still after", g)
            break
        board = new
    return board, board.sum()


@cleave.program
def edit_distance(a, b):
    rows, columns = a.shape[0] + 1, b.shape[0] + 1
    D = np.zeros((rows, columns), np.int32)
    for i in range(rows):
        D[i, 0] = i
    for j in range(columns):
        D[0, j] = j
    for i in range(1, rows):
        for j in range(1, columns):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            D[i, j] = min(D[i - 1, j] + 1, D[i, j - 1] + 1, D[i - 1, j - 1] + cost)
    return D[rows - 1, columns - 1]


@cleave.program
def sieve(n):
    prime = np.ones(60, dtype=bool)
    prime[:2] = False
    for k in range(2, 8):
        if prime[k]:
            j = k * k
            while j < 60:
                prime[j] = False
                j += k
    count = 0
    for k in range(60):
        if k <= n and prime[k]:
            count += 1
    return count, prime


@cleave.program
def bubble_sort(values):
    a = values.copy()
    n = len(a)
    passes = 0
    while True:
        swapped = False
        for i in range(n - 1):
            if a[i] > a[i + 1]:
                smaller = a[i + 1]
                a[i + 1] = a[i]
                a[i] = smaller
                swapped = True
        passes += 1
        if not swapped:
            return a, passes


@cleave.program
def collatz(start):
    n, steps, peak = start, 0, start
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
        peak = max(peak, n)
    return steps, peak


@cleave.program
def greatest_divisor(a, b):
    while b:
        a, b = b, a % b
    return a


@cleave.program
def beam_search(scores, width_penalty):
    """The best two paths through a table of scores; a change of column costs."""
    steps, columns = scores.shape
    best = np.array([0.0, -1e9])
    last = np.array([0, 0], dtype=np.int32)
    for t in range(steps):
        candidates = best[:, None] + scores[t][None, :]
        for j in range(2):
            for c in range(columns):
                if t > 0 and last[j] != c:
                    candidates[j, c] -= width_penalty
        flat = candidates.reshape(-1)
        first = np.argmax(flat)
        value = flat[first]
        flat = np.where(np.arange(flat.shape[0]) == first, -1e9, flat)
        second = np.argmax(flat)
        best = np.stack([value, flat[second]])
        last = np.stack([first % columns, second % columns]).astype(np.int32)
    return best, last


def _arguments():
    rng = np.random.default_rng(3)
    cr, ci = np.meshgrid(np.linspace(-2, 0.5, 12), np.linspace(-1.25, 1.25, 9))
    return {
        "mandelbrot": [(cr, ci)],
        "life": [(rng.integers(0, 2, (8, 9)).astype(np.uint8), np.int32(6))],
        "life_with_slices": [(rng.integers(0, 2, (7, 6)).astype(np.int32), np.int32(5)),
                             (np.array([[0, 1, 1, 0, 0, 0]] * 2 + [[0] * 6] * 5, np.int32), np.int32(5))],
        "edit_distance": [(np.frombuffer(b"kitten", np.uint8).astype(np.int32), np.frombuffer(b"sitting", np.uint8).astype(np.int32))],
        "sieve": [(np.int32(30),), (np.int32(59),)],
        "bubble_sort": [(np.array([5, 1, 4, 2, 3, -7]),), (np.arange(6),)],
        "collatz": [(np.int32(27),), (np.int32(1),)],
        "greatest_divisor": [(np.int32(84), np.int32(36)), (np.int32(7), np.int32(0))],
        "beam_search": [(rng.random((5, 4)), np.float64(0.3))],
    }


ARGUMENTS = _arguments()
