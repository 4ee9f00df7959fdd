"""PyTorch modules as models of layers."""

import numpy
import pytest
from conftest import refused

import fedstride

torch = pytest.importorskip("torch")
nn = torch.nn

RANDOM = numpy.random.default_rng(3)
PICTURES = RANDOM.integers(0, 256, (90, 3, 12, 12), numpy.uint8)
LABELS = RANDOM.integers(0, 4, 90)
DATA = {"x": PICTURES[:60], "y": LABELS[:60], "x_test": PICTURES[60:], "y_test": LABELS[60:]}
OWN = {"clients": 3, "rounds": 2, "threads": 1, "partition": "iid", "mean": "0.5", "deviation": "0.25", "optimizer": "sgd", "learning_rate": 0.05}


def modules():
    torch.manual_seed(1)
    yield nn.Sequential(nn.Flatten(), nn.Linear(432, 9), nn.Tanh(), nn.Dropout(0), nn.Linear(9, 4))
    yield nn.Sequential(nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False), nn.GroupNorm(4, 8), nn.ReLU(),
                        nn.Sequential(nn.Conv2d(8, 6, 3), nn.LeakyReLU(0.2), nn.MaxPool2d(2)), nn.Identity(), nn.Flatten(), nn.Linear(24, 4))
    yield nn.Sequential(nn.Conv2d(3, 8, 5), nn.GELU(), nn.AvgPool2d(2, padding=1), nn.AdaptiveAvgPool2d((1, 1)), nn.Flatten(),
                        nn.Linear(8, 7), nn.LayerNorm(7), nn.Sigmoid(), nn.Linear(7, 4, bias=False))


@torch.no_grad()
def loss_of(module):
    scores = module((torch.from_numpy(DATA["x_test"]) / 255 - 0.5) / 0.25)
    return float(nn.functional.cross_entropy(scores, torch.from_numpy(DATA["y_test"])))


@pytest.mark.parametrize("module", modules())
def test_a_module_is_the_model_it_becomes(tmp_path, module):
    model = fedstride.from_torch(module)
    run = fedstride.run(**OWN, model=model, data=DATA, out=tmp_path / "run")
    assert run.settings["model"] == model.line
    module.load_state_dict(model.state_dict(run.model()))
    assert run.summary["test_loss"] == pytest.approx(loss_of(module), rel=1e-5)
    # The first weights are the module's: a rate of almost nothing leaves them.
    first = fedstride.run(**{**OWN, "learning_rate": 1e-30}, model=fedstride.from_torch(module), data=DATA, out=tmp_path / "first")
    assert first.summary["test_loss"] == pytest.approx(run.summary["test_loss"], rel=1e-5)


def test_tokens(tmp_path):
    tokens = RANDOM.integers(0, 9, (90, 5))
    module = nn.Sequential(nn.Embedding(9, 4), nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 9))
    model = fedstride.from_torch(module)
    assert model.line == "embedding 4 | dense 6 | relu | dense classes"
    run = fedstride.run(clients=3, rounds=1, threads=1, partition="iid", vocabulary=9, classes=9, model=model, data=(tokens, numpy.roll(tokens, 1, 1)),
                        out=tmp_path / "run")
    module.load_state_dict(model.state_dict(run.model()))


def test_what_fedstride_has_not_is_named():
    class Own(nn.Module):
        def forward(self, x):
            return x

    end = nn.Linear(4, 2)
    for module, *parts in (
        (nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), end), "'1'", "BatchNorm2d", "train="),
        (nn.Sequential(nn.Sequential(Own()), end), "'0.0'", "Own"),
        (nn.Sequential(nn.Conv2d(4, 4, 3, groups=2), end), "'0'", "groups", "2"),
        (nn.Sequential(nn.Conv2d(4, 4, (3, 5)), end), "'0'", "kernel_size", "(3, 5)"),
        (nn.Sequential(nn.Conv2d(4, 4, 3, padding="same"), end), "'0'", "padding", "same"),
        (nn.Sequential(nn.MaxPool2d(2, ceil_mode=True), end), "'0'", "ceil_mode"),
        (nn.Sequential(nn.AdaptiveAvgPool2d(2), end), "'0'", "output_size", "2"),
        (nn.Sequential(nn.GroupNorm(2, 4, eps=1e-3), end), "'0'", "eps", "0.001"),
        (nn.Sequential(nn.GELU("tanh"), end), "'0'", "approximate"),
        (nn.Sequential(end, nn.Softmax(1)), "Softmax", "Linear"),
        (nn.Sequential(), "nothing", "Linear"),
        ({"w": 1}, "dict", "Sequential"),
    ):
        with refused(fedstride.UsageError, *parts):
            fedstride.from_torch(module)


def test_layers_of_other_shapes_start_anew_and_a_note_says_so(tmp_path):
    model = fedstride.from_torch(nn.Sequential(nn.Flatten(), nn.Linear(432, 5), nn.ReLU(), nn.Linear(5, 7)))
    run = fedstride.run(**OWN, model=model, data=DATA, out=tmp_path / "run")
    print(run.summary["notes"])
    assert any("fc2.weight" in note for note in run.summary["notes"])
    with refused(fedstride.UsageError, "init"):
        fedstride.run(**OWN, model=model, init="x.safetensors", data=DATA, out=tmp_path / "run")
