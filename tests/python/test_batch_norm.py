"""Rounds of three clients with normalization, against a twin in NumPy that does each by hand, in double."""
import numpy as np
import pytest

import fedstride

SIZES, RATE, EPSILON, WIDTH = (12, 20, 40), 0.1, 1e-5, 4
SHARES = np.array(SIZES) / sum(SIZES)


def federation():
    random = np.random.default_rng(7)
    x = [random.normal(size=(rows, 3)).astype(np.float32) + np.float32(client) for client, rows in enumerate(SIZES)]
    y = [random.integers(0, 2, rows) for rows in SIZES]
    return x, y


def first_weights(norm):
    random = np.random.default_rng(8)
    weights = {"fc1.weight": random.normal(size=(WIDTH, 3)), f"{norm}1.weight": random.normal(1, 0.1, WIDTH),
               f"{norm}1.bias": random.normal(0, 0.1, WIDTH), "fc2.weight": random.normal(size=(2, WIDTH)), "fc2.bias": np.zeros(2)}
    if norm == "bn":
        weights |= {"bn1.running_mean": random.normal(size=WIDTH), "bn1.running_var": random.uniform(0.5, 2, WIDTH)}
    return {name: value.astype(np.float32).astype(np.float64) for name, value in weights.items()}


def normalized(x, axis):
    """x of mean 0 and variance 1 along the axis, and the function that takes a gradient by the result back to x."""
    deviation = np.sqrt(x.var(axis, keepdims=True) + EPSILON)
    y = (x - x.mean(axis, keepdims=True)) / deviation

    def back(by_y):
        return (by_y - by_y.mean(axis, keepdims=True) - y * (by_y * y).mean(axis, keepdims=True)) / deviation

    return y, back


def trained(weights, x, y, meaning, epochs=2):
    """Steps of gradient descent on all of a client's rows."""
    w = {name: value.copy() for name, value in weights.items()}
    norm = "gn" if meaning == "none" else "bn"
    scale, shift = f"{norm}1.weight", f"{norm}1.bias"
    for step in range(1, epochs + 1):
        linear = x @ w["fc1.weight"].T
        if meaning == "none":
            unit, back = normalized(linear, 1)
        elif meaning == "frozen":
            deviation = np.sqrt(w["bn1.running_var"] + EPSILON)
            unit, back = (linear - w["bn1.running_mean"]) / deviation, lambda by: by / deviation
        else:
            unit, back = normalized(linear, 0)
        hidden = np.maximum(unit * w[scale] + w[shift], 0)
        scores = hidden @ w["fc2.weight"].T + w["fc2.bias"]
        chances = np.exp(scores - scores.max(1, keepdims=True))
        by_scores = (chances / chances.sum(1, keepdims=True) - np.eye(2)[y]) / len(y)
        by_hidden = by_scores @ w["fc2.weight"] * (hidden > 0)
        gradient = {"fc2.weight": by_scores.T @ hidden, "fc2.bias": by_scores.sum(0), "fc1.weight": back(by_hidden * w[scale]).T @ x}
        if meaning != "frozen":
            gradient |= {scale: (by_hidden * unit).sum(0), shift: by_hidden.sum(0)}
        for name, value in gradient.items():
            w[name] -= RATE * value
        if meaning in ("averaged", "local", "cumulative"):
            momentum = 1 / step if meaning == "cumulative" else 0.1
            w["bn1.running_mean"] += momentum * (linear.mean(0) - w["bn1.running_mean"])
            w["bn1.running_var"] += momentum * (linear.var(0, ddof=1) - w["bn1.running_var"])
    return w


def by_hand(weights, meaning, rounds):
    """The global model after some rounds."""
    x, y = federation()
    own = [{name: value for name, value in weights.items() if name.startswith("bn1")} if meaning == "local" else {} for _ in SIZES]
    for _ in range(rounds):
        ends = [trained({**weights, **own[client]}, x[client], y[client], meaning) for client in range(3)]
        own = [{name: end[name] for name in kept} for kept, end in zip(own, ends)]
        mean = {name: sum(share * end[name] for share, end in zip(SHARES, ends)) for name in weights}
        if meaning in ("averaged", "cumulative"):  # the variance of a mixture: the mean variance and the variance of the means
            mean["bn1.running_var"] = sum(share * (end["bn1.running_var"] + (end["bn1.running_mean"] - mean["bn1.running_mean"]) ** 2)
                                          for share, end in zip(SHARES, ends))
        weights = {name: value if name in own[0] else mean[name] for name, value in weights.items()}
    return weights


@pytest.mark.parametrize("meaning, line, settings", [
    ("averaged", "batchnorm", {}),
    ("cumulative", "batchnorm cumulative", {}),
    ("local", "batchnorm", {"method": "fedbn"}),
    ("frozen", "batchnorm", {"freeze": "bn1"}),
    ("none", "groupnorm 1", {}),
])
def test_rounds_are_those_by_hand(tmp_path, meaning, line, settings):
    x, y = federation()
    weights = first_weights("gn" if meaning == "none" else "bn")
    fedstride.save_tensors(tmp_path / "first.safetensors", weights)
    run = fedstride.run(data={"x": np.concatenate(x), "y": np.concatenate(y), "x_test": x[0], "y_test": y[0], "client": np.repeat(range(3), SIZES)},
                        partition="natural", client_column="client", mean="0", deviation="1", classes=2, model=f"dense {WIDTH} nobias | {line} | relu | dense classes",
                        init=tmp_path / "first.safetensors", optimizer="sgd", learning_rate=RATE, batch=64, local_epochs=2, rounds=3,
                        server_optimizer="average", out=tmp_path / "run", **settings)
    expected, found = by_hand(weights, meaning, 3), run.model()
    assert set(found) == set(expected)
    for name, value in expected.items():
        assert np.abs(found[name] - value).max() < 1e-6 * max(1, np.abs(value).max()), name
        is_kept = meaning in ("local", "frozen") and name.startswith("bn1")
        assert (found[name] == weights[name]).all() == is_kept, name
