"""A bound that adapts (Andrew et al. 2021), computed a second time in NumPy from rows, settings and what a run records: counts, noise, bounds
and cost, at random settings of either level. The model stays where it was, so that the norms of all rounds are known."""

import math
import os
import pathlib
import tempfile

import numpy
import own_accountant
import pytest
from conftest import refused

import fedstride
from fedstride import privacy

SETTINGS = 50
INPUTS, CLASSES, ROUNDS = 12, 5, 6
STILL = 1e-6  # of a step


@pytest.fixture
def folder():
    """In memory, where a file is on its disk at once."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as path:
        yield pathlib.Path(path)


def settings(random, level):
    """z, gamma, eta, C and the count's deviation: the paper's, or one that leaves the vector up to four times the noise."""
    z = math.exp(random.uniform(-2.5, 1))
    count = 0 if random.random() < 0.7 else z / 2 * math.exp(random.uniform(0.04, 2))
    return {"noise_multiplier": z, "clip_count_noise": count, "clip_quantile": random.uniform(0.1, 0.9), "clip_rate": random.uniform(0.05, 0.5),
            "clip": math.exp(random.uniform(-1.5, 1) - (0 if level == "example" else 2.5)), "delta": 10 ** random.uniform(-7, -3)}


def gradients(x, y):
    """Of softmax regression at 0, a row each."""
    slopes = 1 / CLASSES - numpy.eye(CLASSES)[y]
    return numpy.hstack([(slopes[:, :, None] * x[:, None, :]).reshape(len(x), -1), slopes])


def spread(scores, count, deviations=4):
    """Sums of squares are within four deviations of what normal draws have."""
    return sum(scores) == pytest.approx(count, abs=deviations * math.sqrt(2 * count))


def test_split_of_the_noise():
    random = numpy.random.default_rng(2)
    for _ in range(SETTINGS):
        z, clients = numpy.exp(random.uniform(-3, 3)), random.integers(1, 10_000)
        noise = privacy.adaptive_clip_noise(z, clients)
        assert noise["count"] == max(clients / 20, z)
        # One Gaussian release in units of each part's noise: a client moves it by (1 / vector, 1/2 / count).
        moved = math.hypot(1 / noise["vector"], 0.5 / noise["count"])
        assert moved <= 1 / z and moved == pytest.approx(1 / z, rel=1e-12)
    with refused(fedstride.UsageError, "deviation 1", "half the noise multiplier, 1.5"):
        privacy.adaptive_clip_noise(3, 10, 1)
    assert privacy.adaptive_clip_noise(1, clients=100) == pytest.approx({"vector": 1.0050378, "count": 5.0}, rel=1e-7)


@pytest.mark.parametrize("level", ["example", "client"])
def test_runs(level, folder):
    random = numpy.random.default_rng(len(level))
    fedstride.save_tensors(folder / "zero.safetensors",
                 {"fc1.weight": numpy.zeros((CLASSES, INPUTS), "f4"), "fc1.bias": numpy.zeros(CLASSES, "f4")})
    noise, counts, draws = [], [], 0
    for number in range(SETTINGS):
        clients = int(random.integers(1, 4)) if level == "example" else int(random.integers(20, 80))
        rows = int(random.integers(20, 200)) if level == "example" else 4
        x, y = random.normal(size=(clients, rows, INPUTS)).astype("f4"), random.integers(0, CLASSES, (clients, rows))
        numpy.savez(folder / f"{number}.npz", x=x.reshape(-1, INPUTS), y=y.ravel(), client=numpy.repeat(range(clients), rows),
                    x_test=x[0, :1], y_test=y[0, :1], client_test=[0])
        given = settings(random, level)
        parts = gradients(x.reshape(-1, INPUTS).astype(float), y.ravel())
        if level == "example":
            given |= {"learning_rate": STILL, "sampling_rate": 1.0}
            lots, members = clients, rows  # a round's lots, and what each has
        else:
            given |= {"learning_rate": 0.1, "batch": rows, "server_learning_rate": STILL}
            parts = -0.1 * parts.reshape(clients, rows, -1).mean(axis=1)
            lots, members = 1, clients
        run = fedstride.run(**given, dp=level, clip_rule="adaptive", data=folder / f"{number}.npz", partition="natural", model="logistic",
                            optimizer="sgd", rounds=ROUNDS, mean="0", deviation="1", public_test=True, classes=CLASSES, seed=number,
                            init=folder / "zero.safetensors", threads=1, out=folder / f"{number}")
        z = given["noise_multiplier"]
        deviation = given["clip_count_noise"] or max(members / 20, z)
        vector = (z**-2 - (2 * deviation) ** -2) ** -0.5
        norms = numpy.linalg.norm(parts, axis=1)
        bounds = [one["clip"] for one in run.rounds]
        assert bounds[0] == given["clip"]
        for bound, following in zip(bounds, bounds[1:]):
            share = 0.5 + ((norms <= bound).sum() - len(norms) / 2) / (lots * members)
            off = math.log(bound / following) / given["clip_rate"] + given["clip_quantile"] - share
            counts.append(off * lots * members / (deviation * math.sqrt(lots)))
            assert abs(counts[-1]) < 5

        moved = sum((numpy.minimum(1, bound / norms)[:, None] * parts).sum(axis=0) for bound in bounds)
        model = run.model()
        found = numpy.concatenate([model["fc1.weight"].ravel(), model["fc1.bias"]]) / STILL * (-1 if level == "example" else 1)
        scores = (found * lots * members - moved) / (vector * math.sqrt(lots * sum(bound**2 for bound in bounds)))
        assert numpy.abs(scores).max() < 5.5
        assert spread(scores**2, len(scores), 6)  # in each of a hundred runs
        noise.append((scores**2).sum())
        draws += len(scores)

        # Every round's release is one of the noise multiplier; beside a full lot nothing is drawn.
        spent = run.summary["privacy"][0]
        exact = own_accountant.smallest_epsilon(lambda epsilon: own_accountant.gaussian_delta(math.sqrt(ROUNDS) / z, epsilon), given["delta"])
        assert exact * (1 - 1e-9) <= spent["epsilon"] <= exact * (1 + 1e-6)
    assert spread(numpy.square(counts), len(counts))
    assert spread(noise, draws)


def joint_delta(rate, vector, count, epsilon):
    """Of a lot's sum and count together, where the example moves them by 1 and 1/2; exact along the sum, on a grid along the count."""
    w = numpy.linspace(-14 * count, 14 * count, 4001)
    density = lambda mean: numpy.exp(-(((w - mean) / count) ** 2) / 2) * (w[1] - w[0]) / (count * math.sqrt(2 * math.pi))
    below = lambda x: own_accountant.normal_cdfs(x / vector)
    loss = lambda outcome: (vector**2) * (outcome - (w / 2 - 1 / 8) / count**2) + 0.5  # the sum at which log N_1 / N_0 is that
    largest = 0
    at = loss(math.log((math.exp(epsilon) - 1 + rate) / rate))
    without, with_it = density(0) * below(-at), density(0.5) * below(1 - at)
    largest = ((1 - rate - math.exp(epsilon)) * without + rate * with_it).sum()
    if math.exp(-epsilon) > 1 - rate:
        at = loss(math.log((math.exp(-epsilon) - 1 + rate) / rate))
        without, with_it = density(0) * below(at), density(0.5) * below(at - 1)
        largest = max(largest, (without - math.exp(epsilon) * ((1 - rate) * without + rate * with_it)).sum())
    return largest


def test_sum_and_count_of_a_drawn_lot_cost_what_the_noise_multiplier_says():
    random = numpy.random.default_rng(3)
    for _ in range(SETTINGS):
        z, rate, delta = math.exp(random.uniform(-1, 1)), random.uniform(0.01, 1), 10 ** random.uniform(-7, -3)
        noise = privacy.adaptive_clip_noise(z, random.integers(1, 200), 0 if random.random() < 0.5 else z * random.uniform(0.51, 2))
        epsilon = privacy.epsilon(sampling="poisson", noise_multiplier=z, sampling_rate=rate, steps=1, delta=delta)
        if epsilon == 0:
            continue
        assert joint_delta(rate, noise["vector"], noise["count"], epsilon) <= delta * (1 + 1e-6)
        # A percent less noise on either is more than that.
        assert joint_delta(rate, noise["vector"], noise["count"], epsilon) >= delta * (1 - 1e-3)
        assert joint_delta(rate, 0.99 * noise["vector"], noise["count"], epsilon) > delta


def test_drawn_lots_of_a_run(folder):
    random = numpy.random.default_rng(4)
    numpy.savez(folder / "data.npz", x=random.normal(size=(120, INPUTS)), y=numpy.arange(120) % CLASSES, client=numpy.repeat([0, 1, 2], 40))
    for number in range(3):
        given = {**settings(random, "example"), "sampling_rate": random.uniform(0.1, 0.9), "noise_multiplier": random.uniform(0.8, 2)}
        given["clip_count_noise"] = max(given["clip_count_noise"], 0.51 * given["noise_multiplier"])
        run = fedstride.run(**given, dp="example", clip_rule="adaptive", data=folder / "data.npz", partition="natural", model="logistic",
                            optimizer="sgd", learning_rate=0.1, rounds=2, mean="0", deviation="1", classes=CLASSES, threads=1,
                            out=folder / f"{number}")
        lots = math.ceil(2 / given["sampling_rate"])
        low, high = own_accountant.interval((("poisson", "zero-out", given["sampling_rate"], given["noise_multiplier"], lots),), given["delta"])
        assert low * (1 - 1e-9) <= run.summary["privacy"][0]["epsilon"] <= high + 1e-4
