#!/usr/bin/env python3
"""A head that stays with its client: PyTorch trains a shared body and each client's own last layer, which fedstride keeps.

    python3 examples/python/personal_head.py [FOLDER [ROUNDS]]      (Debian: python3-torch)
"""
import sys

import torch
from torch import nn

import fedstride


def body():
    return nn.Sequential(nn.Flatten(), nn.Linear(3 * 32 * 32, 32), nn.ReLU())


@fedstride.named("shared-body-own-head", "1")
def train(weights, task):
    """Three epochs of SGD on body and head; the head is kept as the client's state and never sent."""
    model, head = body(), nn.Linear(32, 10)
    model.load_state_dict(weights)
    if task.state is None:
        torch.manual_seed(task.seed)
        head.reset_parameters()
    else:
        head.load_state_dict({name: torch.from_numpy(array) for name, array in task.state.items() if name != "accuracy"})
    x, y = torch.from_numpy(task.x).float().div(255).flatten(1), torch.from_numpy(task.y)
    apart = len(y) // 5  # the client tests its own model on these rows
    optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        for rows in torch.arange(apart, len(y)).split(20):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(head(model(x[rows])), y[rows])
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        right = (head(model(x[:apart])).argmax(1) == y[:apart]).float().mean().item()
    print(f"round {task.round}, client {task.client}: its own model has accuracy {right:.3f}", flush=True)
    return fedstride.Trained(model.state_dict(), loss=loss.item(), state={**head.state_dict(), "accuracy": right})


if __name__ == "__main__":
    torch.manual_seed(0)
    fedstride.run(dataset="synthetic", clients=4, rounds=int(sys.argv[2]) if len(sys.argv) > 2 else 5, model=body(), train=train,
                  client_state="keep", out=sys.argv[1] if len(sys.argv) > 1 else "runs/personal-head")
