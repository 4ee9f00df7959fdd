#!/usr/bin/env python3
"""A PyTorch LSTM that learns to predict the next character, trained by your own function, on private texts.

    python3 examples/python/pytorch_lstm.py [FOLDER [ROUNDS]]      (Debian: python3-torch)

Each client's text is private: fedstride knows only its length.
"""
import sys

import torch
from torch import nn

import fedstride

TEXTS = ["the quick brown fox jumps over the lazy dog. " * 20, "pack my box with five dozen liquor jugs. " * 15,
         "how vexingly quick daft zebras jump! " * 10]
LETTERS = sorted(set("".join(TEXTS)))


class Predictor(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.lstm = nn.Embedding(len(LETTERS), 8), nn.LSTM(8, 32, batch_first=True)
        self.dense = nn.Linear(32, len(LETTERS))

    def forward(self, tokens):
        return self.dense(self.lstm(self.embedding(tokens))[0])


def windows(text):
    """Returns sequences of 20 characters and, for each character, the one that follows."""
    tokens = torch.tensor([LETTERS.index(letter) for letter in text])
    parts = tokens.unfold(0, 21, 10)
    return parts[:, :-1], parts[:, 1:]


@fedstride.named("lstm-sgd", "1")
def train(weights, task):
    model = Predictor()
    model.load_state_dict(weights)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    inputs, answers = windows(TEXTS[task.client])
    order = torch.randperm(len(inputs), generator=torch.Generator().manual_seed(task.seed))
    for rows in order.split(10):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs[rows]).flatten(0, 1), answers[rows].flatten())
        loss.backward()
        optimizer.step()
    return fedstride.Trained(model.state_dict(), loss=loss.item())


@torch.no_grad()
def test(weights):
    model = Predictor()
    model.load_state_dict(weights)
    inputs, answers = (torch.cat(parts) for parts in zip(*map(windows, TEXTS)))
    return float((model(inputs).argmax(-1) == answers).float().mean())


if __name__ == "__main__":
    torch.manual_seed(0)
    run = fedstride.run(model=Predictor(), train=train, evaluate=test, clients=3, examples=[len(text) for text in TEXTS],
                        rounds=int(sys.argv[2]) if len(sys.argv) > 2 else 20, out=sys.argv[1] if len(sys.argv) > 1 else "runs/pytorch-lstm")
    print(f"accuracy {run.summary['test_accuracy']:.3f}")
