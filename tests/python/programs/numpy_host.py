"""Programs in plain NumPy of which a part can only run on the host, with the decorator alone."""
import math

import numpy as np

import cleave

rng = np.random.default_rng(1)


@cleave.host
def points(count) -> "f64[64, 2]":
    return rng.random((64, 2))


@cleave.program
def monte_carlo(rounds):
    inside = 0
    for i in range(rounds):
        p = points(i)
        inside = inside + ((p ** 2).sum(axis=1) < 1).sum()
    return 4 * inside / (64 * rounds)


@cleave.host
def cpu_only(weights):
    return np.int32(np.sum(weights) % 2)


@cleave.program
def the_loop_of_the_proposal(gradients, weights):
    for i in range(4):
        weights = weights + gradients
        if cpu_only(weights) == 0:
            weights = weights + 1
    return weights


@cleave.host
def draw(probabilities):
    return np.int32(rng.choice(len(probabilities), p=probabilities / probabilities.sum()))


@cleave.program
def sample_tokens(table, start):
    tokens = np.zeros(6, np.int32)
    token = start
    for i in range(6):
        logits = table[token]
        weights = np.exp(logits - logits.max())
        token = draw(weights)
        tokens[i] = token
        if token == 0:
            break
    return tokens


class CartPole:
    """A simulator in Python, which only the host can run."""

    def __init__(self):
        self.steps = 0

    @cleave.host
    def step(self, state, force):
        self.steps += 1
        x, v, angle, turn = [float(value) for value in state]
        turn += 0.02 * (9.8 * math.sin(angle) - float(force) * math.cos(angle))
        v += 0.02 * float(force)
        return np.array([x + 0.02 * v, v, angle + 0.02 * turn, turn])


simulator = CartPole()


@cleave.program
def rollout(weights, state):
    reward = 0
    for t in range(30):
        force = 10.0 if weights @ state > 0 else -10.0
        state = simulator.step(state, force)
        if abs(state[2]) > 0.2:
            print("fell at", t)
            break
        reward += 1
    return state, reward


@cleave.program
def angles(x):
    """A C function of another module is called on the host."""
    total = 0.0
    for i in range(3):
        total = total + math.atan2(x[i], 2.0)
    return total


def reset():
    """Puts the host's state back, so that two runs draw the same numbers."""
    global rng
    rng = np.random.default_rng(1)
    simulator.steps = 0


def _arguments():
    r = np.random.default_rng(2)
    return {
        "monte_carlo": [(np.int32(5),)],
        "the_loop_of_the_proposal": [(np.float32([1, 2]), np.float32([0, 1]))],
        "sample_tokens": [(r.normal(size=(5, 5)), np.int32(2))],
        "rollout": [(np.array([0.1, 0.2, 3.0, 1.0]), np.array([0.0, 0.1, 0.05, 0.0]))],
        "angles": [(np.array([1.0, -2.0, 0.5]),)],
    }


ARGUMENTS = _arguments()
