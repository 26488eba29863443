"""Programs that state their loops by `cleave.for_loop` and `cleave.while_loop`, in the words that come to a user of NumPy first.

Each is followed by the same in NumPy. `REFUSED` has the words of the error where a program uses what cleave does not have.
"""
import numpy as np

import cleave

rng = np.random.default_rng(0)


def mandelbrot(cr, ci):
    z = (cleave.zeros(cr.shape), cleave.zeros(cr.shape), cleave.zeros(cr.shape, "i32"), 0)

    def cond(zr, zi, n, k):
        return (k < 50) & cleave.any(zr * zr + zi * zi <= 4)

    def body(zr, zi, n, k):
        alive = zr * zr + zi * zi <= 4
        n = n + alive.astype("i32")
        zr, zi = cleave.where(alive, zr * zr - zi * zi + cr, zr), cleave.where(alive, 2 * zr * zi + ci, zi)
        return zr, zi, n, k + 1

    return cleave.while_loop(cond, z, body)[2]


def mandelbrot_in_numpy(cr, ci):
    zr, zi, n = np.zeros_like(cr), np.zeros_like(ci), np.zeros(cr.shape, np.int32)
    with np.errstate(all="ignore"):
        for _ in range(50):
            alive = zr * zr + zi * zi <= 4
            n += alive
            zr, zi = np.where(alive, zr * zr - zi * zi + cr, zr), np.where(alive, 2 * zr * zi + ci, zi)
    return n


def logistic_regression(X, y):
    n = X.shape[0]

    def step(i, wb):
        w, b = wb
        p = cleave.sigmoid(X @ w + b)
        g = p - y
        return w - 0.5 * (X.T @ g) / n, b - 0.5 * g.mean()

    return cleave.for_loop(300, (cleave.zeros(5), 0.0), step)


def logistic_regression_in_numpy(X, y):
    w, b = np.zeros(5, np.float32), np.float32(0)
    for _ in range(300):
        g = 1 / (1 + np.exp(-(X @ w + b))) - y
        w, b = w - 0.5 * (X.T @ g) / len(X), b - 0.5 * g.mean()
    return w, b


def kmeans(X, C):
    K = C.shape[0]

    def step(i, C):
        d = ((X[:, None, :] - C[None, :, :]) ** 2).sum(axis=-1)
        a = d.argmin(axis=1)
        one = (a[:, None] == cleave.arange(K)[None, :]).astype(X.dtype)
        return one.T @ X / one.sum(axis=0)[:, None]

    return cleave.for_loop(10, C, step)


def kmeans_in_numpy(X, C):
    for _ in range(10):
        a = ((X[:, None] - C[None]) ** 2).sum(-1).argmin(1)
        C = np.stack([X[a == k].mean(0) for k in range(len(C))])
    return C


def pagerank(src, dst, outdeg):
    n = outdeg.shape[0]
    dangling = outdeg == 0
    inv = cleave.where(dangling, 0.0, 1.0 / outdeg)

    def cond(r, err, k):
        return err > 1e-10

    def body(r, err, k):
        contrib = (r * inv)[src]
        new = cleave.zeros(n, "f64").at[dst].add(contrib)
        new = 0.85 * (new + (r * dangling).sum() / n) + 0.15 / n
        return new, cleave.abs(new - r).sum(), k + 1

    r, err, k = cleave.while_loop(cond, (cleave.full(n, 1 / n, "f64"), 1.0, 0), body)
    return r


def heat(T):
    def step(i, T):
        lap = T[2:, 1:-1] + T[:-2, 1:-1] + T[1:-1, 2:] + T[1:-1, :-2] - 4 * T[1:-1, 1:-1]
        T[1:-1, 1:-1] += 0.2 * lap
        return T

    return cleave.for_loop(100, T, step)


def heat_in_numpy(T):
    T = T.copy()
    for _ in range(100):
        lap = T[2:, 1:-1] + T[:-2, 1:-1] + T[1:-1, 2:] + T[1:-1, :-2] - 4 * T[1:-1, 1:-1]
        T[1:-1, 1:-1] += np.float32(0.2) * lap
    return T


def life(g):
    def step(i, g):
        n = sum(cleave.roll(cleave.roll(g, dy, 0), dx, 1) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if (dy, dx) != (0, 0))
        return ((n == 3) | ((g == 1) & (n == 2))).astype(g.dtype)

    return cleave.for_loop(30, g, step)


def life_in_numpy(g):
    for _ in range(30):
        n = sum(np.roll(np.roll(g, dy, 0), dx, 1) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if (dy, dx) != (0, 0))
        g = ((n == 3) | ((g == 1) & (n == 2))).astype(np.uint8)
    return g


F = np.array([[1, 0.1], [0, 1]])
H = np.array([[1.0, 0]])
Q = np.eye(2) * 0.01
R = np.array([[0.5]])


def kalman(z):
    def step(i, s):
        x, P, out = s
        x = F @ x
        P = F @ P @ F.T + Q
        S = H @ P @ H.T + R
        K = P @ H.T @ cleave.inv(S)
        x = x + K @ (z[i].reshape(1) - H @ x)
        P = (np.eye(2) - K @ H) @ P
        return x, P, cleave.dynamic_update_slice(out, x[None, :], (i, 0))

    return cleave.for_loop(z.shape[0], (np.zeros(2), np.eye(2), np.zeros((z.shape[0], 2))), step)


def kalman_in_numpy(z):
    x, P, out = np.zeros(2), np.eye(2), []
    for t in range(len(z)):
        x = F @ x
        P = F @ P @ F.T + Q
        K = P @ H.T @ np.linalg.inv(H @ P @ H.T + R)
        x = x + K @ (z[t:t + 1] - H @ x)
        P = (np.eye(2) - K @ H) @ P
        out.append(x)
    return x, P, np.array(out)


def viterbi(lA, lB, lpi):
    T, S = lB.shape

    def fwd(t, s):
        delta, back = s
        scores = delta[:, None] + lA
        best = scores.argmax(axis=0)
        delta = scores.max(axis=0) + lB[t + 1]
        return delta, back.at[t + 1].set(best)

    delta, back = cleave.for_loop(T - 1, (lpi + lB[0], cleave.zeros((T, S), "i32")), fwd)

    def bwd(k, s):
        state, path = s
        t = T - 1 - k
        state = back[t, state]
        return state, path.at[t - 1].set(state)

    last = delta.argmax()
    path = cleave.zeros(T, "i32").at[T - 1].set(last)
    return cleave.for_loop(T - 1, (last, path), bwd)[1]


def viterbi_in_numpy(lA, lB, lpi):
    d, back = lpi + lB[0], np.zeros(lB.shape, int)
    for t in range(1, len(lB)):
        scores = d[:, None] + lA
        back[t], d = scores.argmax(0), scores.max(0) + lB[t]
    path = [d.argmax()]
    for t in range(len(lB) - 1, 0, -1):
        path.append(back[t, path[-1]])
    return np.array(path[::-1], np.int32)


def cell(p, x, h, c, lib):
    g = x @ p["Wx"] + h @ p["Wh"] + p["b"]
    i, f, o, u = lib.split(g, 4, axis=-1)
    sg = lib.sigmoid if hasattr(lib, "sigmoid") else lambda v: 1 / (1 + np.exp(-v))
    c = sg(f) * c + sg(i) * lib.tanh(u)
    return sg(o) * lib.tanh(c), c


def lstm(p, xs):
    h = c = cleave.zeros((xs.shape[1], p["Wh"].shape[0]))
    return cleave.for_loop(xs.shape[0], (h, c), lambda t, hc: cell(p, xs[t], *hc, cleave))


def lstm_in_numpy(p, xs):
    h = c = np.zeros((xs.shape[1], p["Wh"].shape[0]), np.float32)
    for x in xs:
        h, c = cell(p, x, h, c, np)
    return h, c


@cleave.host_function(lambda x: x, pure=True)
def blurred(image):
    padded = np.pad(image.astype(np.float32), 1, mode="edge")
    return ((padded[1:-1, :-2] + padded[1:-1, 1:-1] + padded[1:-1, 2:]) / 3).astype(np.uint8)


SOBEL = np.array([[1, 0, -1], [2, 0, -2], [1, 0, -1]], np.float32)


def edges(img):
    b = blurred(img).astype("f32") / 255
    gx = cleave.conv(b[None, None], SOBEL[None, None], padding=1)[0, 0]
    gy = cleave.conv(b[None, None], SOBEL.T[None, None], padding=1)[0, 0]
    m = cleave.sqrt(gx ** 2 + gy ** 2)
    return m / m.max()


def option_price(seed):
    key = cleave.random.key(seed)
    z = cleave.random.normal(key, (200000,))
    return cleave.exp(z).mean()


def lowpass(x):
    X = cleave.fft.rfft(x)
    f = cleave.fft.rfftfreq(x.shape[0])
    return cleave.fft.irfft(X * (f < 0.05), n=x.shape[0])


VOCABULARY = {w: i for i, w in enumerate("the cat sat on a mat <unk>".split())}
EMBEDDING = rng.normal(size=(len(VOCABULARY), 8)).astype(np.float32)


@cleave.host_function("i32[16]", pure=True)
def tokenise(raw):
    words = bytes(raw).rstrip(b"\0").decode().split()
    ids = [VOCABULARY.get(w, VOCABULARY["<unk>"]) for w in words][:16]
    return np.array(ids + [-1] * (16 - len(ids)), np.int32)


def embed(raw):
    ids = tokenise(raw)
    e = cleave.take(cleave.parameter("E", "f32[7, 8]", EMBEDDING), cleave.maximum(ids, 0), axis=0)
    m = (ids >= 0).astype("f32")
    return (e * m[:, None]).sum(axis=0) / m.sum()


def embed_in_numpy(raw):
    ids = tokenise(raw)
    return EMBEDDING[ids[ids >= 0]].mean(axis=0)


def _arguments():
    cr, ci = np.meshgrid(np.linspace(-2, 0.5, 20), np.linspace(-1.25, 1.25, 20))
    X = rng.normal(size=(200, 5)).astype(np.float32)
    clusters = np.concatenate([rng.normal(size=(30, 2)) + m for m in ([0, 0], [5, 5], [0, 6])]).astype(np.float32)
    p = {"Wx": rng.normal(size=(8, 64)) * 0.3, "Wh": rng.normal(size=(16, 64)) * 0.3, "b": np.zeros(64)}
    text = np.zeros(256, np.uint8)
    text[:20] = np.frombuffer(b"the cat sat on a dog", np.uint8)
    return {
        "mandelbrot": (cr.astype(np.float32), ci.astype(np.float32)),
        "logistic_regression": (X, (X @ rng.normal(size=5) > 0).astype(np.float32)),
        "kmeans": (clusters, clusters[[0, 30, 60]]),
        "pagerank": (np.array([0, 1, 2]), np.array([1, 2, 0]), np.array([1, 1, 1])),
        "heat": (rng.random((32, 32)).astype(np.float32),),
        "life": (rng.integers(0, 2, (20, 20)).astype(np.uint8),),
        "kalman": (np.cumsum(rng.normal(size=50) * 0.1),),
        "viterbi": (np.log(rng.dirichlet(np.ones(6), 6)), np.log(rng.random((40, 6))), np.log(np.ones(6) / 6)),
        "lstm": ({key: value.astype(np.float32) for key, value in p.items()}, rng.normal(size=(12, 3, 8)).astype(np.float32)),
        "edges": (rng.integers(0, 256, (24, 32)).astype(np.uint8),),
        "option_price": (np.int64(42),),
        "lowpass": (np.sin(np.arange(64, dtype=np.float32)),),
        "embed": (text,),
    }


ARGUMENTS = _arguments()
#: The words of the error of a program that uses what does not exist.
REFUSED = {
    "pagerank": r"f32\[\] but becomes f64\[\]",
    "edges": "padding",
    "option_price": "random",
    "lowpass": "fft",
}
