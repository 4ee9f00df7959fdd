"""PyTorch modules as models of layers."""

import collections
import copy
import os

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


@pytest.mark.parametrize("momentum", [0.3, None])
def test_batch_normalization_is_pytorchs(tmp_path, momentum):
    torch.manual_seed(2)
    module = nn.Sequential(nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(150, 8),
                           nn.BatchNorm1d(8, momentum=momentum), nn.Tanh(), nn.Linear(8, 4))
    model = fedstride.from_torch(module)
    settings = {**OWN, "clients": 1, "rounds": 1, "batch": 60, "local_steps": 3, "server_optimizer": "average", "model": model, "data": DATA}
    run = fedstride.run(**settings, out=tmp_path / "run")
    trained = model.state_dict(run.model())
    optimizer = torch.optim.SGD(module.parameters(), 0.05)
    x, y = (torch.from_numpy(DATA["x"]) / 255 - 0.5) / 0.25, torch.from_numpy(DATA["y"])
    for _ in range(3):
        optimizer.zero_grad()
        nn.functional.cross_entropy(module(x), y).backward()
        optimizer.step()
    for name, tensor in module.state_dict().items():
        if not name.endswith("num_batches_tracked"):
            assert torch.allclose(trained[name], tensor, rtol=1e-4, atol=1e-6), name
    module.load_state_dict(trained)
    module.eval()
    assert run.summary["test_loss"] == pytest.approx(loss_of(module), rel=1e-5)


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

    class Holding(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 2)

    end = nn.Linear(4, 2)
    for module, *parts in (
        (nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4, momentum=0), end), "'1'", "BatchNorm2d", "momentum"),
        (nn.Sequential(nn.BatchNorm1d(4, track_running_stats=False), end), "'0'", "track_running_stats"),
        (nn.Sequential(nn.BatchNorm1d(4, affine=False), end), "'0'", "affine"),
        (nn.Sequential(nn.Conv2d(3, 4, 3), nn.InstanceNorm2d(4), end), "'1'", "InstanceNorm2d", "train="),
        (nn.Sequential(nn.Sequential(Own()), end), "'0.0'", "Own"),
        (Holding(), "Holding", "Sequential", "train="),
        (nn.Sequential(nn.Conv2d(4, 4, 3, groups=2), end), "'0'", "groups", "2"),
        (nn.Sequential(nn.Conv2d(4, 4, (3, 5)), end), "'0'", "kernel_size", "(3, 5)"),
        (nn.Sequential(nn.Conv2d(4, 4, 3, padding="same"), end), "'0'", "padding", "same"),
        (nn.Sequential(nn.MaxPool2d(2, ceil_mode=True), end), "'0'", "ceil_mode"),
        (nn.Sequential(nn.AdaptiveAvgPool2d(2), end), "'0'", "output_size", "2"),
        (nn.Sequential(nn.GroupNorm(2, 4, eps=1e-3), end), "'0'", "eps", "0.001"),
        (nn.Sequential(nn.GELU("tanh"), end), "'0'", "approximate"),
        (nn.Sequential(nn.Dropout(1), end), "'0'", "p", "1"),
        (nn.Sequential(nn.Embedding(9, 4, scale_grad_by_freq=True), end), "'0'", "scale_grad_by_freq"),
        (nn.Sequential(end, nn.Softmax(1)), "Softmax", "Linear"),
        (nn.Sequential(), "nothing", "Linear"),
        ({"w": 1}, "dict", "Sequential"),
    ):
        with refused(fedstride.UsageError, *parts):
            fedstride.from_torch(module)


def test_layers_of_other_shapes_start_anew_and_a_note_says_so(tmp_path):
    model = fedstride.from_torch(nn.Sequential(nn.Flatten(), nn.Linear(432, 5), nn.ReLU(), nn.Linear(5, 7)))
    run = fedstride.run(**OWN, model=model, data=DATA, out=tmp_path / "run")
    assert any("fc2.weight" in note for note in run.summary["notes"])
    with refused(fedstride.UsageError, "init"):
        fedstride.run(**OWN, model=model, init="x.safetensors", data=DATA, out=tmp_path / "run")


def two_of(layer):
    return nn.Sequential(nn.Linear(4, 8), layer, nn.ReLU(), layer, nn.Linear(8, 2))


def tied(tie):
    first, second = nn.Linear(8, 8), nn.Linear(8, 8)
    tie(first, second)
    return nn.Sequential(nn.Linear(4, 8), first, nn.ReLU(), second, nn.Linear(8, 2))


def changed(change):
    module = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    change(module)
    return module


class Same:
    """Names of PyTorch's layers with other forwards."""

    class ReLU(nn.Module):
        def forward(self, x):
            return x.clamp(min=-0.1)

    class Tanh(nn.Module):
        def forward(self, x):  # the same value, no gradient
            return x.detach().tanh() + 0 * x

    class Sigmoid(nn.Module):
        def forward(self, x):
            return x.sin()

    class Sequential(nn.Sequential):
        def forward(self, x):
            return 2 * super().forward(x)


@pytest.mark.parametrize("module, parts", (
    (two_of(nn.Linear(8, 8)), ("'3'", "Linear", "'1'")),
    (nn.Sequential(*2 * [nn.Sequential(nn.Linear(4, 4))], nn.Linear(4, 2)), ("'1.0'", "'0.0'")),
    (tied(lambda one, other: setattr(other, "weight", one.weight)), ("'3'", "weight", "'1'")),
    (tied(lambda one, other: setattr(other.weight, "data", one.weight.data)), ("'3'", "weight", "'1'")),
    (tied(lambda one, other: setattr(other.bias, "data", one.weight.data[0])), ("bias", "'1'")),
    (changed(lambda module: setattr(module[0].bias, "data", torch.zeros(1).expand(8))), ("'0'", "bias")),
    (changed(lambda module: module[0].bias.requires_grad_(False)), ("'0'", "bias", "requires_grad", "fc1", "freeze")),
    (changed(lambda module: module[2].bias.data.fill_(float("nan"))), ("'2'", "bias")),
    (changed(lambda module: module[1].register_forward_hook(lambda *_: None)), ("'1'", "ReLU", "hook")),
    (changed(lambda module: module.register_forward_pre_hook(lambda *_: None)), ("Sequential", "hook")),
    (changed(lambda module: module[0].register_full_backward_hook(lambda *_: None)), ("'0'", "hook")),
    (changed(lambda module: module[0].weight.register_hook(lambda gradient: 2 * gradient)), ("'0.weight'", "hook")),
    (changed(lambda module: nn.utils.weight_norm(module[2])), ("'2'", "weight_g", "weight_norm")),
    (changed(lambda module: nn.utils.parametrizations.spectral_norm(module[0])), ("'0'", "parametrization")),
    (changed(lambda module: module[1].register_buffer("seen", torch.zeros(1))), ("'1.seen'",)),
    (changed(lambda module: setattr(module[0], "forward", torch.sin)), ("'2'", "in_features", "8", "4")),
    (changed(lambda module: setattr(module[1], "forward", torch.sin)), ("'1'", "ReLU")),
    (nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(2), nn.Linear(100, 2)), ("'1'", "start_dim", "2", "1")),
    (nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(1, 2), nn.Linear(10, 2)), ("'1'", "end_dim", "2", "-1")),
    (nn.Sequential(nn.Embedding(9, 4), nn.Flatten(), nn.Linear(12, 9)), ("'1'", "Flatten", "Embedding")),
    (nn.Sequential(nn.Conv2d(3, 14, 3), nn.LayerNorm(14), nn.Flatten(), nn.Linear(14**3, 2)), ("'1'", "LayerNorm", "Flatten")),
    (nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Linear(10, 2)), ("'2'", "Linear", "Flatten")),
    (nn.Sequential(nn.Linear(4, 8), nn.Conv2d(8, 8, 1), nn.Flatten(), nn.Linear(8, 2)), ("'0'", "Linear", "Flatten")),
    (nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(9, 2)), ("'2'", "in_features", "9", "8")),
    (nn.Sequential(nn.Conv2d(3, 8, 3), nn.Flatten(), nn.Linear(433, 2)), ("'2'", "in_features", "433", "8")),
    (nn.Sequential(nn.Conv2d(3, 8, 3), nn.Conv2d(7, 8, 3), nn.Flatten(), nn.Linear(72, 2)), ("'1'", "in_channels", "7", "8")),
    (nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(6), nn.Linear(8, 2)), ("'1'", "normalized_shape", "6", "8")),
    (nn.Sequential(nn.Linear(4, 8), nn.GroupNorm(2, 6), nn.Linear(8, 2)), ("'1'", "num_channels", "6", "8")),
    (nn.Sequential(nn.Linear(4, 8), nn.Sigmoid(), nn.Linear(8, 8), Same.ReLU(), nn.Linear(8, 2)), ("'3'", "ReLU")),
    (nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 8), Same.Tanh(), nn.Linear(8, 2)), ("'2'", "Tanh", "gradient")),
    (nn.Sequential(Same.Sequential(nn.Linear(4, 8)), nn.ReLU(), nn.Linear(8, 2)), ("module",)),
))
def test_what_a_line_would_train_otherwise_is_refused(module, parts):
    with refused(fedstride.UsageError, *parts):
        fedstride.from_torch(module)


def test_a_layer_without_weights_may_stand_twice():
    act = nn.LeakyReLU(0.1, inplace=True)
    model = fedstride.from_torch(nn.Sequential(nn.Linear(4, 8), act, nn.Linear(8, 8), act, nn.Linear(8, 2)))
    assert model.line == "dense 8 | leakyrelu 0.1 | dense 8 | leakyrelu 0.1 | dense classes"


def test_a_conversion_leaves_module_and_random_numbers_as_they_were():
    module = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 2)).eval()
    before, state = copy.deepcopy(module.state_dict()), torch.random.get_rng_state()
    with torch.no_grad():
        fedstride.from_torch(module)
    assert torch.equal(state, torch.random.get_rng_state()) and not module.training
    assert all(torch.equal(before[name], tensor) for name, tensor in module.state_dict().items())


def test_data_that_the_module_cannot_read_are_refused_before_the_run(tmp_path):
    rows, tokens = RANDOM.normal(size=(30, 12)).astype("float32"), RANDOM.integers(0, 9, (30, 5))
    pictures, answers = {"data": DATA}, {"data": (rows, LABELS[:30])}
    for module, settings, *parts in (
        (nn.Sequential(nn.Flatten(), nn.Linear(431, 4)), pictures, "'1'", "in_features", "431", "432"),
        (nn.Sequential(nn.Conv2d(3, 2, 3), nn.Flatten(), nn.Linear(2 * 9 * 9, 4)), pictures, "'2'", "in_features", "162", "200"),
        (nn.Sequential(nn.Linear(12, 5), nn.ReLU(), nn.Linear(5, 4)), pictures, "'0'", "Linear", "Flatten"),
        (nn.Sequential(nn.Linear(11, 5), nn.ReLU(), nn.Linear(5, 4)), answers, "'0'", "in_features", "11", "12"),
        (nn.Sequential(nn.Embedding(10, 4), nn.Linear(4, 9)), {"data": (tokens, numpy.roll(tokens, 1, 1)), "vocabulary": 9, "classes": 9},
         "'0'", "num_embeddings", "10", "9"),
    ):
        model = fedstride.from_torch(module)
        with refused(fedstride.UsageError, *parts):
            fedstride.run(**{**OWN, "mean": None, "deviation": None}, **settings, model=model, out=tmp_path / "run")
        assert not (tmp_path / "run").exists()


def test_a_module_that_trains_on_is_still_the_one_converted(tmp_path):
    module = nn.Sequential(nn.Flatten(), nn.Linear(432, 4))
    model = fedstride.from_torch(module)
    first = fedstride.run(**OWN, model=model, data=DATA, out=tmp_path / "first")
    module[1].weight.data.zero_()
    assert fedstride.run(**OWN, model=model, data=DATA, out=tmp_path / "again").summary["model_hash"] == first.summary["model_hash"]


# --- random modules ---

FAULTS = ("shared", "tied", "frozen", "hook", "weight norm", "sizes", "data", "own", "buffer", "flatten", "lines")
ROUND = {"clients": 1, "rounds": 1, "threads": 1, "partition": "iid", "optimizer": "sgd", "batch": 8}


class Draw:
    """A random module, the fault that it has, if any, and the shape of the data that it is trained on: (values,), (positions,) of 7
    tokens or (channels, height, width)."""

    def __init__(self, seed):
        self.random = numpy.random.default_rng(seed)
        self.form = self.one("rows", "tokens", "pictures")
        self.fault = self.one(None, *FAULTS) if self.random.random() < 0.6 else None
        if self.form != "pictures" and self.fault in ("flatten", "lines"):
            self.fault = None
        self.activations = [nn.ReLU(), nn.Tanh(), nn.Sigmoid(), nn.GELU(), nn.LeakyReLU(0.1), nn.Identity(), nn.Dropout(self.one(0, 0, 0.3))]
        self.layers = []
        getattr(self, self.form)()
        self.layers.append(nn.Linear(self.width, self.whole(2, 5)))
        if self.fault is not None:
            self.spoil()
        self.module = nn.Sequential(*self.nested(self.layers))

    def one(self, *values):
        return values[self.random.integers(len(values))]

    def whole(self, least, most):
        return int(self.random.integers(least, most + 1))

    def activate(self):
        self.layers += [self.one(*self.activations) for _ in range(self.whole(0, 2))]

    def dense(self, *norms):
        for _ in range(self.whole(0, 2)):
            before, self.width = self.width, 2 * self.whole(2, 5) + self.whole(0, 1)
            self.layers.append(nn.Linear(before, self.width, bias=self.one(True, False)))
            norm = self.one(None, *norms)
            if norm == "group":
                self.layers.append(nn.GroupNorm(next(groups for groups in (3, 2, 1) if self.width % groups == 0), self.width))
            elif norm == "layer":
                self.layers.append(nn.LayerNorm(self.width))
            self.activate()

    def rows(self):
        self.shape = (self.whole(3, 9),)
        self.width, = self.shape
        self.layers += self.one([], [nn.Flatten()])
        self.dense("group", "layer")

    def tokens(self):
        self.shape, self.width = (self.whole(2, 5),), self.whole(2, 5)
        self.layers.append(nn.Embedding(7, self.width))
        self.dense("layer")

    def pictures(self):
        channels = self.one(1, 3)
        self.shape = (channels, self.whole(12, 17), self.whole(12, 17))
        for _ in range(self.whole(1, 2)):
            kernel, before, channels = self.whole(1, 3), channels, 2 * self.whole(1, 3)
            self.layers.append(nn.Conv2d(before, channels, kernel, self.whole(1, 2), self.whole(0, kernel - 1), bias=self.one(True, False)))
            if self.random.random() < 0.4:
                self.layers.append(nn.GroupNorm(2, channels))
            self.activate()
            if min(self.reached(self.layers).shape[2:]) > 4 and self.random.random() < 0.4:
                self.layers.append(self.one(nn.MaxPool2d, nn.AvgPool2d)(self.whole(2, 3), self.whole(1, 2), self.whole(0, 1)))
        self.convolutions = len(self.layers)
        self.layers += [nn.AdaptiveAvgPool2d(1)] if self.random.random() < 0.3 else []
        self.layers.append(nn.Flatten())
        self.width = self.reached(self.layers).shape[1]
        self.dense("layer")

    def reached(self, layers):
        with torch.no_grad():
            return nn.Sequential(*layers)(torch.zeros(2, *self.shape))

    def spoil(self):
        last, width = self.layers[-1], self.width
        parameters = list(nn.Sequential(*self.layers).parameters())
        if self.fault in ("shared", "tied"):
            one, other = nn.Linear(width, width), nn.Linear(width, width)
            other.weight = one.weight
            self.layers[-1:] = [one, self.activations[0], one if self.fault == "shared" else other, last]
        elif self.fault == "frozen":
            self.one(*parameters).requires_grad_(False)
        elif self.fault == "hook":
            self.one(*self.layers).register_forward_hook(lambda *_: None)
        elif self.fault == "weight norm":
            nn.utils.weight_norm(last)
        elif self.fault == "sizes":
            self.layers[-1] = nn.Linear(width + self.one(-1, 1), last.out_features)
        elif self.fault == "own":
            self.layers.insert(-1, Same.Sigmoid())
        elif self.fault == "buffer":
            self.one(*self.layers).register_buffer("seen", torch.zeros(1))
        elif self.fault == "flatten":
            begun = self.layers[: self.convolutions]
            begun += [nn.Flatten(1, 2), nn.Linear(self.reached(begun).shape[3], 3), nn.Flatten()]
            self.layers = begun + [nn.Linear(self.reached(begun).shape[1], last.out_features)]
        elif self.fault == "lines":
            self.layers.insert(1, nn.LayerNorm(self.reached(self.layers[:1]).shape[3]))

    def nested(self, layers):
        cut = self.whole(0, len(layers))
        return [nn.Sequential(*layers[:cut]), *layers[cut:]] if cut and self.random.random() < 0.5 else layers

    def data(self):
        """A round's examples: the module's own inputs and answers, and those for fedstride."""
        shape, outputs = self.shape, self.layers[-1].out_features
        if self.fault == "data":
            shape = (shape[0] + 1, *shape[1:])
        if self.form == "tokens":
            x, y = self.random.integers(0, 7, (8, *shape)), self.random.integers(0, outputs, (8, *shape))
            vocabulary = 8 if self.fault == "data" else 7
            return torch.from_numpy(x), y, {"data": (x, y, x, y), "vocabulary": vocabulary, "classes": outputs, "targets": "positions"}
        y = self.random.integers(0, outputs, 8)
        if self.form == "rows":
            x = self.random.normal(size=(8, *shape)).astype("float32")
            return torch.from_numpy(x), y, {"data": (x, y, x, y), "classes": outputs, "normalize": "none"}
        x = self.random.integers(0, 256, (8, *shape), numpy.uint8)
        return (torch.from_numpy(x) / 255 - 0.5) / 0.25, y, {"data": (x, y, x, y), "classes": outputs, "mean": 0.5, "deviation": 0.25}


def test_random_modules_are_the_models_they_become_or_refused(tmp_path):
    # With FEDSTRIDE_EVERY_CHECK 20 s of processor time: 1,000 modules, with up to four runs of a proof and one to compare with each.
    outcomes = collections.Counter()
    for seed in range(1000 if os.environ.get("FEDSTRIDE_EVERY_CHECK") else 60):
        torch.manual_seed(seed)
        draw = Draw(seed)
        x, y, settings = draw.data()
        x_train, y_train, x_test, y_test = settings.pop("data")
        settings.update(data={"x": x_train, "y": y_train, "x_test": x_test, "y_test": y_test}, out=tmp_path / str(seed))
        try:
            model = fedstride.from_torch(draw.module)
            has_dropout = any(isinstance(layer, nn.Dropout) and layer.p for layer in draw.layers)
            rate = 1e-30 if has_dropout else 0.5
            run = fedstride.run(**ROUND, **settings, model=model, learning_rate=rate)
        except fedstride.UsageError as error:
            assert draw.fault is not None and "\n" not in str(error), (seed, draw.module, str(error))
            outcomes["refused: " + draw.fault] += 1
            continue
        assert draw.fault is None, (seed, draw.fault, draw.module)
        assert_one_step(draw.module.eval(), x, torch.from_numpy(y), rate, model, run, seed)
        outcomes["equal"] += 1
    print(outcomes)
    assert {"equal", *(f"refused: {fault}" for fault in FAULTS)} == outcomes.keys()


def assert_one_step(module, x, y, rate, model, run, seed):
    """The run's model is the module after a step of gradient descent, which PyTorch takes here with 64 bits."""
    module = module.double()
    x = x.double() if x.is_floating_point() else x

    def loss():
        scores = module(x)
        return nn.functional.cross_entropy(scores.flatten(0, -2), y.flatten())

    gradients = dict(zip((name for name, _ in module.named_parameters()), torch.autograd.grad(loss(), list(module.parameters()))))
    trained = model.state_dict(run.model())
    assert trained.keys() == module.state_dict().keys()
    largest = max(float(gradient.abs().max()) for gradient in gradients.values())
    for name, value in module.named_parameters():
        wanted = value - rate * gradients[name]
        allowed = rate * (2e-3 * gradients[name].abs().max() + 1e-4 * largest) + 1e-6 * value.abs().max() + 1e-9
        assert (trained[name] - wanted).abs().max() <= allowed, (seed, name, module)
    module.load_state_dict(trained)
    assert run.summary["test_loss"] == pytest.approx(float(loss()), rel=1e-4, abs=1e-6), (seed, module)
