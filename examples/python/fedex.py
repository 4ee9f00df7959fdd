#!/usr/bin/env python3
"""FedEx (Khodak et al. 2021, algorithm 2): the clients' settings are tuned while the federation trains. In each round, each
client draws a setting from a distribution, trains with it and scores the result on its own validation rows. Exponentiated
gradient then moves the distribution to settings that score well.

    fedex.py [FOLDER] [ROUNDS]        # resumes a stopped run in the folder, with the same bits

Not for runs under dp: the scores concern single clients and would be releases that no ledger counts.
"""
import math
import pathlib
import sys

import numpy as np

import fedstride

SETTINGS = [{"rate": rate, "epochs": epochs} for rate in (0.0003, 0.003, 0.03) for epochs in (1, 3)]


class FedEx:
    """The distribution over k settings: a function of the scores of all earlier rounds, so it can be recomputed from a run's
    folder."""

    def __init__(self, k, seed=1, discount=0.9):
        self.k, self.seed, self.discount = k, seed, discount
        self.scores = {}  # by round: each client's setting, its number of validation rows and its loss on them

    def odds(self, round):
        """The distribution in this round."""
        odds, squares, losses = np.full(self.k, 1 / self.k), 0.0, []
        for earlier in range(1, round):
            scores = self.scores.get(earlier, [])
            rows = sum(n for _, n, _ in scores)
            if rows == 0:
                continue
            loss = sum(n * one for _, n, one in scores) / rows
            ages = self.discount ** np.arange(len(losses))[::-1]
            baseline = float(ages @ losses / ages.sum()) if losses else loss  # a discounted mean; its own loss in the first round
            gradient = np.zeros(self.k)
            for setting, n, one in scores:
                gradient[setting] += n * (one - baseline) / (odds[setting] * rows)
            squares += np.abs(gradient).max() ** 2
            losses.append(loss)
            if squares > 0:
                odds = odds * np.exp(-math.sqrt(2 * math.log(self.k) / squares) * gradient)
                odds = np.maximum(odds / odds.sum(), 1e-6)  # every setting keeps a chance
                odds /= odds.sum()
        return odds

    def draw(self, round, client):
        """Draws the setting of a client in a round: the same one on every call."""
        return int(np.random.default_rng([self.seed, round, client]).choice(self.k, p=self.odds(round)))

    def take(self, record):
        """Keeps the scores of a round: the losses that its clients returned, which rounds.jsonl records exactly."""
        self.scores[record["round"]] = [(self.draw(record["round"], one["client"]), len(range(0, one["rows"], 5)), one["loss"])
                                        for one in record["clients"] if not one.get("failure") and one["loss"] is not None]


def probabilities(weights, x):
    z = x @ weights["w"] + weights["b"]
    z = np.exp(z - z.max(axis=1, keepdims=True))
    return z / z.sum(axis=1, keepdims=True)


def main(folder="runs/fedex", rounds=10):
    fedex = FedEx(len(SETTINGS))

    @fedstride.named("fedex-softmax", "1")
    def train(weights, task):
        setting = SETTINGS[fedex.draw(task.round, task.client)]
        x, y = task.x.reshape(len(task.y), -1).astype(np.float32) / 255, task.y
        mine = np.arange(len(y)) % 5 > 0  # every fifth row is for validation
        w = {name: tensor.copy() for name, tensor in weights.items()}
        random = np.random.default_rng(task.seed)
        for _ in range(setting["epochs"]):
            for rows in np.array_split(random.permutation(np.flatnonzero(mine)), max(1, mine.sum() // 10)):
                error = probabilities(w, x[rows]) - np.eye(10, dtype=np.float32)[y[rows]]
                w["w"] -= setting["rate"] * x[rows].T @ error / len(rows)
                w["b"] -= setting["rate"] * error.mean(axis=0)
        right = probabilities(w, x[~mine])[np.arange((~mine).sum()), y[~mine]]
        return fedstride.Trained(w, loss=float(-np.log(np.maximum(right, 1e-12)).mean()))

    tests = fedstride.load_dataset("synthetic")
    x_test = tests["x_test"].reshape(len(tests["y_test"]), -1).astype(np.float32) / 255

    def evaluate(weights):
        return float((probabilities(weights, x_test).argmax(axis=1) == tests["y_test"]).mean())

    functions = {"train": train, "evaluate": evaluate, "on_round": fedex.take}
    if (pathlib.Path(folder) / "rounds.jsonl").exists():
        for record in fedstride.open_run(folder).rounds:
            fedex.take(record)
        run = fedstride.resume(folder, rounds=rounds, **functions)
    else:
        first = {"w": np.zeros((3072, 10), np.float32), "b": np.zeros(10, np.float32)}
        run = fedstride.run(model=first, dataset="synthetic", partition="iid", clients=10, rounds=rounds, out=folder, **functions)
    for setting, odds in zip(SETTINGS, fedex.odds(rounds + 1)):
        print(f"{odds:.3f}  rate {setting['rate']}, epochs {setting['epochs']}")
    print("accuracy", run.summary["test_accuracy"])


if __name__ == "__main__":
    main(*sys.argv[1:2], *map(int, sys.argv[2:3]))
