"""A second program for server schedule 'noise': docs/reference/adaptive.md in NumPy, for clients of one's own."""

import numpy as np
import pytest

import fedstride

ROUNDS = 20
CLIENTS = 8
RANDOM = np.random.default_rng(5)
WEIGHTS = {"w": RANDOM.normal(size=(30, 20)).astype(np.float32), "b": RANDOM.normal(size=50).astype(np.float32)}
SIZE = 650


def flat(weights):
    return np.concatenate([weights["w"].ravel(), weights["b"]]).astype(float)


def change(start, client, round):
    """Toward a point of the client's own, in lengths from 0.3 to 30; client 3 stays where it is."""
    if client == 3:
        return np.zeros(SIZE, np.float32)
    goal = np.random.default_rng(1000 + client).normal(size=SIZE)
    return ((start + (goal - start) * 10.0 ** -((client + round) % 3)).astype(np.float32) - start.astype(np.float32)).astype(np.float32)


def course(folder, moves, **settings):
    """The weights at the start of each round, and at the end, of clients that move or not: the noise is the same, of an equal identity."""
    seen = {}

    @fedstride.named("toward", "1")
    def train(weights, task):
        start = flat(weights)
        seen[task.round] = start
        moved = start.astype(np.float32) + (change(start, task.client, task.round) if moves else 0)
        return {"w": moved[:600].reshape(30, 20).astype(np.float32), "b": moved[600:].astype(np.float32)}

    run = fedstride.run(model=WEIGHTS, train=train, examples=[10] * CLIENTS, clients=CLIENTS, rounds=ROUNDS, dp="client", clip_rule="scaled",
                        server_schedule="noise", seed=3, out=folder, **settings)
    return [seen[round] for round in range(1, ROUNDS + 1)] + [flat(run.model())]


@pytest.mark.parametrize("clip, noise, factor", [(1.0, 2.0, 3.0), (0.1, 2.0, 3.0), (2.0, 0.01, 3.0), (1.0, 20.0, 1.5)])
def test_twenty_rounds_are_those_of_the_page(tmp_path, clip, noise, factor):
    settings = {"clip": clip, "noise_multiplier": noise, "server_noise_factor": factor}
    start = flat(WEIGHTS)
    deviation = clip * noise / CLIENTS / (1 - 2 * noise * np.sqrt(SIZE) / 2**23)  # with what rounding to the grid is charged
    first = min(factor * np.linalg.norm(start) * np.sqrt(3 / (2 * ROUNDS)) / (deviation * np.sqrt(SIZE)), 0.21 * SIZE**0.25 / clip)
    rates = [first * (1 - round / ROUNDS) for round in range(ROUNDS)]

    still = course(tmp_path / "still", False, **settings)
    noises = [(after - before) / rate for before, after, rate in zip(still, still[1:], rates)]
    assert np.std(noises) == pytest.approx(deviation, rel=0.05)

    model = start
    for round, (rate, noise_of_round) in enumerate(zip(rates, noises), 1):
        changes = [change(model, client, round).astype(float) for client in range(CLIENTS)]
        scaled = [D * (clip / np.linalg.norm(D)) if D.any() else D for D in changes]
        model = (model + rate * (sum(scaled) / CLIENTS + noise_of_round)).astype(np.float32).astype(float)
    moving = course(tmp_path / "moving", True, **settings)
    assert np.abs(moving[-1] - still[-1]).max() > 0.01
    assert np.abs(model - moving[-1]).max() < 1e-6 * np.abs(model).max()
