"""A second opinion on what a publishable run leaves: every field of its files is computed again from the ledger, config.toml and facts
that are public (sizes, who holds which rows, a public test part), or known to be released with noise. A field that is not known here
is an error. Nothing of fedstride is imported; the definitions are those of docs/."""

import dataclasses
import hashlib
import hmac
import json
import math
import re
import struct
import tomllib

import numpy as np

import own_accountant

DEVIATIONS = 7  # of a released number's noise, that it may be off
OWNERS = {"secret.key", "ledger.jsonl", "checkpoint", "states"}
PUBLISHED = {"config.toml", "schema.json", "rounds.jsonl", "summary.json", "model.safetensors"}


@dataclasses.dataclass
class Rows:
    x: np.ndarray
    y: np.ndarray
    client: np.ndarray  # of each


@dataclasses.dataclass
class Facts:
    """The rows that a run has; of the training rows all but their number and their clients is protected."""

    train: Rows
    test: Rows
    constants: list  # the lines of the statements on the data
    neighbours: dict  # level -> relation, by the tables of docs/privacy.md
    program: str  # what --version says
    numerics_version: int

    def sizes(self):
        return np.bincount(self.train.client).tolist()


# Draws at an address (core/random.hpp): Philox4x32-10 of Salmon et al.


def philox(counter, key):
    for _ in range(10):
        a, b = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [b >> 32 ^ counter[1] ^ key[0], b & 0xFFFFFFFF, a >> 32 ^ counter[3] ^ key[1], a & 0xFFFFFFFF]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return counter


def uniform(seed, purpose, place=(0, 0, 0), round=0, number=0):
    """The number-th uniform draw at the address (row, step, client)."""

    def mix(x):
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        x = (x ^ x >> 27) * 0x94D049BB133111EB % 2**64
        return x ^ x >> 31

    key = mix(mix((seed + 0x9E3779B97F4A7C15) % 2**64) ^ (purpose << 32 | round))
    words = philox([number // 2, *place], [key & 0xFFFFFFFF, key >> 32])[number % 2 * 2 :]
    return ((words[1] << 32 | words[0]) >> 11) * 2.0**-53


def held_out(clients):
    """Which rows are the test part where a file has none (docs/data.md): by the client's name and the row's number there alone."""
    seen, test = {}, []
    for client in clients:
        number = seen.get(client, 0)
        seen[client] = number + 1
        address = int(hashlib.sha256(str(client).encode()).hexdigest()[:8], 16)
        test.append(number > 0 and uniform(0, 3, (number, 2, address)) < 1 / 6)
    return np.array(test)


# Files.


class Fields:
    """The fields of a JSON object, each to be explained once. `public` keeps those that follow from facts fixed beforehand."""

    def __init__(self, where, fields, public):
        self.where, self.left, self.known = where, dict(fields), public

    def take(self, name):
        assert name in self.left, f"{self.where} has no field {name}"
        return self.left.pop(name)

    def public(self, name, expected):
        value = self.take(name)
        assert type(value) is type(expected) and value == expected, f"{self.where}, {name}: {value!r} is published; {expected!r} follows"
        self.known[f"{self.where} {name}"] = value

    def close(self, name, expected, tolerance):
        value = self.take(name)
        assert abs(value - expected) <= tolerance, f"{self.where}, {name}: {value} is published; {expected} +- {tolerance} follows"

    def epsilon(self, name, bounds):
        value = self.take(name)
        low, high = bounds
        slack = 1e-9 * high if low == high else 1e-4
        assert low * (1 - 1e-9) <= value <= high + slack, f"{self.where}, {name}: {value} is published; the true epsilon is in {bounds}"
        self.known[f"{self.where} {name}"] = value

    def done(self):
        assert not self.left, f"{self.where}: {sorted(self.left)} is published, and nothing here says why it may"


def read_ledger(folder):
    """The lines, once their chain is right: HMAC-SHA256 under the run's key of the value before, a line end and the line without it."""
    key, value, lines = (folder / "secret.key").read_bytes(), "", []
    for line in (folder / "ledger.jsonl").read_text().splitlines():
        text, chain = re.fullmatch(r'(.*),"chain":"([0-9a-f]{64})"\}', line).groups()
        value = hmac.new(key, f"{value}\n{text}}}".encode(), hashlib.sha256).hexdigest()
        assert value == chain
        lines.append(json.loads(line))
    return lines, value


def read_model(folder):
    data = (folder / "model.safetensors").read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    about = header.pop("__metadata__")
    tensors = {}
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, end = entry["data_offsets"]
        assert entry["dtype"] == "F32"
        tensors[name] = np.frombuffer(data[8 + length + begin : 8 + length + end], "<f4").reshape(entry["shape"])
    return about, tensors


def model_hash(tensors):
    """docs/results.md, model_hash: layer by layer, weights before biases, those of a dense layer input by input."""
    padded = (tensor.T.tobytes() for tensor in tensors.values())
    return hashlib.sha256(b"".join(data + bytes(-len(data) % 64) for data in padded)).hexdigest()


def outputs_of(tensors, x):
    """Of a model of dense layers with ReLU between them."""
    layers = [tensor.astype(float) for tensor in tensors.values()]
    for number, (weight, bias) in enumerate(zip(layers[::2], layers[1::2])):
        x = (np.maximum(x, 0) if number else x) @ weight.T + bias
    return x


def tested(outputs, y, of_numbers):
    """What each row adds to accuracy, and its loss: cross-entropy; of numbers the squared error, and R2 (docs/results.md)."""
    if of_numbers:
        losses = (outputs[:, 0] - y) ** 2
        return 1 - losses / ((y - y.mean()) ** 2).mean(), losses
    top = outputs.max(1)
    return outputs.argmax(1) == y, np.log(np.exp(outputs - top[:, None]).sum(1)) + top - outputs[np.arange(len(y)), y]


# What is reserved.


@dataclasses.dataclass
class Plan:
    """The lots of a client with so many rows (docs/privacy.md, client/private_plan.hpp)."""

    sampling: str
    rate: float
    lots: int  # a step

    @staticmethod
    def of(config, rows):
        lots = 2 if config["optimizer"] in ("adadp", "pooled") else 1
        sampling, rate = config["sampling"], min(1, config["sampling-rate"] or config["batch"] / rows)
        if sampling != "poisson":
            lot = min(max(round(rate * rows), 1), rows)
            if sampling == "shuffle":
                lot = min(max(rows // lots, 1), lot)
            rate = lot / rows
        return Plan("full" if rate == 1 else sampling, rate, lots)

    def steps_before(self, epochs):
        below = lambda value: math.floor(value * (1 + 1e-9))
        if self.sampling == "shuffle":
            return epochs * (below(1 / self.rate) // self.lots)
        if self.lots == 1:
            return math.ceil(epochs / self.rate * (1 - 1e-9))
        return epochs * max(1, below(1 / self.rate / self.lots))

    def steps(self, config, round):
        return self.steps_before(round * config["local-epochs"]) - self.steps_before((round - 1) * config["local-epochs"])


def levels_of(config):
    return {"example": ["example"], "client": ["client"], "both": ["example", "client"]}[config["dp"]]


def level_setting(config, level, name, default=None):
    return config.get("client-" + name if level == "client" and config["dp"] == "both" else name, default)


def cohort(config, facts, round):
    """The clients of a round that anybody knows, since the seed draws them; None where clients are protected."""
    clients = range(len(facts.sizes()))
    if config["dp"] != "example":
        return None
    if config["cohort"] == "poisson":
        return [client for client in clients if uniform(config["seed"], 11, round=round, number=client) < config["cohort-rate"]]
    assert config["cohort"] == "all"
    return list(clients)


def expected_releases(config, facts, round, multipliers):
    """(level, client or None, quantity, sampling, rate, neighbours, noise multiplier, clip) -> count, of a round; 0: before the first."""
    expected = {}
    for level in levels_of(config):
        relation = facts.neighbours[level]
        if round == 0:
            if config["normalize"] == "private":
                expected[level, None, "moments", "full", 1, relation, config["normalize-noise"], 1] = 1
            continue
        if config["evaluate"] == "private" and round % config["evaluate-every"] == 0:
            expected[level, None, "evaluation", "full", 1, relation, config["evaluate-noise"], 1] = 1
        clip = level_setting(config, level, "clip")
        if level == "client":
            drawn = config["cohort"] == "poisson" and config["client-noise"] != "local"
            key = (level, None, "sums", "poisson" if drawn else "full", config["cohort-rate"] if drawn else 1, relation, multipliers[level], clip)
            expected[key] = 1
            continue
        charged = cohort(config, facts, round)
        for client, rows in enumerate(facts.sizes()):
            if charged is not None and client not in charged:
                continue
            plan = Plan.of(config, rows)
            count = plan.steps(config, round) * plan.lots
            expected[level, client, "sums", plan.sampling, plan.rate, relation, multipliers[level], clip] = count
    return expected


def releases_of(groups, clients):
    found = {}
    for group in groups:
        named = [None]
        if group["level"] == "example" and "quantity" not in group:
            named = range(clients)
            if "clients" in group:
                ranges = [piece.split("-") for piece in group["clients"].split(",")]
                named = [client for ends in ranges for client in range(int(ends[0]), int(ends[-1]) + 1)]
        for client in named:
            for noise, clip, count in group["runs"]:
                key = (group["level"], client, group.get("quantity", "sums"), group["sampling"], group["rate"], group["neighbours"], noise, clip)
                found[key] = found.get(key, 0) + count
    return found


@dataclasses.dataclass
class Ledger:
    """rounds[r]: releases of round r as above, r = 0 being those before the first; passes: shuffled epochs of a round."""

    rounds: dict
    passes: int
    config: dict
    clients: int

    def spent(self, level, round, papers=False):
        """The spending of every client (or of the level's one record) up to the round."""
        spendings = []
        for client in range(self.clients) if level == "example" else [None]:
            total = {}
            for _, releases in sorted((r, releases) for r, releases in self.rounds.items() if r <= round):
                for (of, whose, _, sampling, rate, neighbours, noise, _), count in releases.items():
                    if of != level or whose not in (None, client):
                        continue
                    if sampling == "shuffle":
                        count = count if papers else min(count, self.passes)
                        sampling = "poisson" if papers else sampling
                    key = (sampling, neighbours, rate, noise)
                    total[key] = total.get(key, 0) + count
            spendings.append(tuple(sorted((*key, count) for key, count in total.items())))
        return spendings

    def is_at_budget(self, level, round, client=0, quantities=("sums", "evaluation")):
        """True if one more step after the round, and an evaluation if it is due, would pass the budget."""
        own = lambda key: key[0] == level and key[1] in (None, client)
        keys = {key for releases in self.rounds.values() for key in releases if own(key) and key[2] in quantities}
        lots = 2 if level == "example" and self.config["optimizer"] in ("adadp", "pooled") else 1
        next_round = {key: lots if key[2] == "sums" else 1 for key in keys if key[2] == "sums" or (round + 1) % self.config["evaluate-every"] == 0}
        ahead = Ledger({**{r: some for r, some in self.rounds.items() if r <= round}, round + 1: next_round}, self.passes, self.config, self.clients)
        spending = ahead.spent(level, round + 1)[client]
        return own_accountant.interval(spending, level_setting(self.config, level, "delta"))[1] >= level_setting(self.config, level, "epsilon")

    def bounds(self, level, round, papers=False):
        """In which the largest of the clients' epsilons is."""
        low = high = 0.0
        for spending in set(self.spent(level, round, papers)):
            fixed_lots = any(release[0] == "without-replacement" for release in spending)
            delta = level_setting(self.config, level, "delta")
            # A lot of a fixed size whose other records are 0 is the Poisson pair of replaced records, from which the bound is not below.
            one, other = own_accountant.interval(tuple(("poisson" if release[0] == "without-replacement" else release[0], *release[1:])
                                                       for release in spending), delta)
            if fixed_lots:
                other = own_accountant.without_replacement_epsilon(spending, delta)
            low, high = max(low, one), max(high, other)
        return low, high


RELEASE = {"sampling": "poisson", "neighbours": "add-remove", "rate": 1, "passes": 0, "rows": 1}


def completed(groups, header):
    """The groups of a line with the terms that are the statement's, or everybody's."""
    if groups == "all":
        return groups
    each = {statement["level"]: {**RELEASE, **statement.get("each", {})} for statement in header["statements"]}
    other = {level: {**RELEASE, "sampling": "full", "neighbours": one["neighbours"]} for level, one in each.items()}
    return [{**(other if "quantity" in group else each)[group["level"]], **group.get("each", {}), **group} for group in groups]


def check_ledger(folder, config, facts):
    """The ledger's releases, once they are those that sizes and settings make; and its head and length."""
    lines, head = read_ledger(folder)
    header, entries = lines[0], lines[1:]
    reserved = {entry["round"]: completed(entry["groups"], header) for entry in entries if entry["kind"] == "reserve"}
    executed = {entry["round"]: completed(entry["executed"], header) for entry in entries if entry["kind"] == "close"}
    assert reserved.keys() == executed.keys() and len(entries) == 2 * len(reserved)
    clients = len(facts.sizes())
    rounds = {}
    multipliers = {}
    for level in levels_of(config):
        multipliers[level] = level_setting(config, level, "noise-multiplier")
        if multipliers[level] == 0:  # fitted to a budget
            (multipliers[level],) = {run[0] for groups in reserved.values() for group in groups for run in group["runs"]
                                     if group["level"] == level and "quantity" not in group}
    for round, groups in reserved.items():
        done = executed[round]
        rounds[round] = releases_of(groups if done == "all" else done, clients)
        expected = expected_releases(config, facts, round, multipliers)
        ledger = Ledger(rounds, config["local-epochs"], config, clients)
        for key, count in expected.items():
            made = rounds[round].get(key, 0)
            if made < count and config["epsilon"] > 0 and key[:1] + key[2:3] == ("example", "sums"):
                assert made % Plan.of(config, facts.sizes()[key[1]]).lots == 0 and ledger.is_at_budget("example", round, key[1])
                expected[key] = made
        assert rounds[round] == {key: count for key, count in expected.items() if count > 0}, (
            f"round {round} of the ledger has {rounds[round]}; sizes and settings make {expected}")
    assert [statement["level"] for statement in header["statements"]] == levels_of(config)
    assert header["clients"] == clients and header["source"] == "secret"
    return Ledger(rounds, config["local-epochs"], config, clients), header, head, len(lines)


# The results.


def as_read(rows, config):
    """docs/data.md: inputs are clipped to the range, one that is not a number stands as its middle; a label without a class is class 0."""
    low, high = map(float, config["range"].split(","))
    x = np.nan_to_num(np.clip(rows.x.astype(float), low, high), nan=(low + high) / 2)
    return x, np.where((rows.y >= 0) & (rows.y < config["classes"]), rows.y, 0), (low + high) / 2, (high - low) / 2


def expected_test(config, facts, about, tensors, of_a_round):
    """(accuracy, loss) of the model and how far off each may be; None where none may be told."""
    covered = config["evaluate"] == "private" or config["public-test"]
    if not covered or len(facts.test.y) == 0:
        return None
    x, y = facts.test.x.astype(float), facts.test.y
    if config["range"]:
        x, y, mean, deviation = as_read(facts.test, config)
    if config["normalize"] == "private":
        schema = json.loads(about["fedstride.schema"])
        mean, deviation = (np.array(schema[name], np.float32) for name in ("mean", "deviation"))
    elif config["mean"]:
        mean, deviation = float(config["mean"]), float(config["deviation"])
    if of_a_round and config["evaluate-rows"]:
        chosen = sorted(range(len(y)), key=lambda row: uniform(config["seed"], 14, (row, 0, 0)))[: config["evaluate-rows"]]
        x, y = x[chosen], y[chosen]
    of_numbers = config["targets"] == "values"
    right, losses = tested(outputs_of(tensors, (x - mean) / deviation), y, of_numbers)
    if config["evaluate"] == "plain":
        return right.mean(), losses.mean(), 1e-5 if of_numbers else 0, 1e-5 * losses.mean()
    bound, noise = config["evaluate-loss-bound"], config["evaluate-noise"]
    losses = np.clip(losses, 0, bound)  # of each row
    count = len(right)
    if "client" in levels_of(config):  # a record is a client
        count = len(facts.sizes())
        means = lambda values: np.array([values[facts.test.client == client].mean() for client in range(count)])
        right, losses = means(right), means(losses)
    deviation = noise / (math.sqrt(2) * count)
    return right.mean(), losses.mean(), DEVIATIONS * deviation, DEVIATIONS * bound * deviation


def check_test(fields, config, facts, about, tensors, round):
    expected = expected_test(config, facts, about, tensors, fields.where != "summary.json")
    measure = "test_r2" if config["targets"] == "values" else "test_accuracy"
    if expected is None:
        return
    if config["evaluate"] == "private" and round % config["evaluate-every"] != 0:
        if fields.where == "summary.json":
            fields.public(measure, None)
            fields.public("test_loss", None)
        return
    accuracy, loss, accuracy_off, loss_off = expected
    fields.close(measure, accuracy, accuracy_off + 1e-12)
    fields.close("test_loss", loss, loss_off)


def check_moments(config, facts, schema):
    """Mean and deviation of each channel, within the noise of their release (docs/data.md)."""
    x, _, middle, half = as_read(facts.train, config)
    x = (x - middle) / half
    values = np.hstack([x, 2 * x * x - 1])
    if "client" in levels_of(config):
        values = np.array([values[facts.train.client == client].mean(0) for client in range(len(facts.sizes()))])
    off = DEVIATIONS * math.sqrt(values.shape[1]) * config["normalize-noise"] / len(values)
    first = (np.array(schema.take("mean"), float) - middle) / half
    variance = (np.array(schema.take("deviation"), float) / half) ** 2
    exact = np.split(values.mean(0), 2)
    assert (np.abs(first - np.clip(exact[0], -1, 1)) <= off).all(), f"the means {first} are published; {exact[0]} +- {off} follows"
    free = (variance > 1.01e-4) & (variance < 0.999)
    second = 2 * (variance + first**2) - 1
    assert (np.abs(second - exact[1]) <= off + 1e-4)[free].all() and (np.abs(second - exact[1]) <= 3).all()


def check_schema(schema, config, facts):
    """docs/data.md: what turns rows into inputs and answers."""
    inputs = facts.test.x.shape[1]
    targets = config["targets"] if config["targets"] != "auto" else "classes"
    schema.public("form", {"shape": {"height": 1, "width": 1, "channels": inputs}, "outputs": config["classes"] or 1, "targets": targets})
    for name in ("columns", "classes", "labels_are_names"):  # of the header and the settings: the same whatever the rows are
        if name in schema.left:
            schema.public(name, schema.left[name])
    if schema.left.get("missing"):
        schema.public("missing", "mean" if config["missing"] == "auto" else config["missing"])
    if config["normalize"] == "private":
        check_moments(config, facts, schema)
        schema.public("normalized_by", "of an accounted release")
    else:
        if config["mean"]:
            mean, deviation, source = float(config["mean"]), float(config["deviation"]), "named"
        else:
            (low, high) = map(float, config["range"].split(","))
            mean, deviation, source = (low + high) / 2, (high - low) / 2, f"of the range {config['range']}, named"
        schema.public("mean", [float(np.float32(mean))] * inputs)
        schema.public("deviation", [float(np.float32(deviation))] * inputs)
        schema.public("normalized_by", source)
    schema.done()


def number_text(number):
    return str(int(number)) if number == int(number) else repr(float(number))


def constants_of(config, facts):
    weights = np.array(facts.sizes()) if level_setting(config, "client", "weights", config["weights"]) == "examples" else np.ones(len(facts.sizes()))
    if config["dp"] == "example":
        weights = None
    constants = [*facts.constants, f"who holds which rows (partition '{config['partition']}')"]
    if config["public-test"]:
        constants.append("the test part")
    if weights is None:
        return constants, 1
    rate = config["cohort-rate"] if config["cohort"] == "poisson" else 1
    constants.append(f"N = {len(weights)} clients, {number_text(rate * len(weights))} expected in a round; the sum of a round is divided by "
                     f"{number_text(rate * weights.sum())}")
    return constants, weights.max()


RELATIONS = {"add-remove": "present or absent", "zero-out": "contributing or not", "replace-one": "replaced by any other"}


def check_statement(fields, level, config, facts, ledger, header, round):
    promised = next(statement for statement in header["statements"] if statement["level"] == level)
    budget = level_setting(config, level, "epsilon")
    fields.public("level", level)
    fields.public("who", "every client" if level == "client" else "every example in the released model")
    fields.epsilon("epsilon", ledger.bounds(level, round))
    fields.public("delta", level_setting(config, level, "delta"))
    fields.public("budget", budget or None)
    fields.public("accountant", "rdp" if level == "example" and config["sampling"] == "without-replacement" else "tight")
    assert (promised["delta"], promised.get("epsilon"), promised.get("each", {}).get("neighbours", "add-remove")) == (
        level_setting(config, level, "delta"), budget or None, facts.neighbours[level])
    if level == "example" and config["sampling"] == "shuffle":
        fields.epsilon("epsilon_as_in_the_papers_assuming_poisson_sampling", ledger.bounds(level, round, papers=True))
    texts = fields.take("assumptions")
    constants, largest = constants_of(config, facts)
    if config["server-schedule"] == "noise":  # its number: test_noise_rate.py
        rate = [text for text in header["constants"] if re.fullmatch(
            rf"the server's rate [0-9.e-]+ \(1 - \(r - 1\) / [0-9]+\) in round r, from the norm of the first weights, their number, "
            "the rounds and the noise", text)]
        assert len(rate) == 1
        constants += rate
    assert [text.removeprefix("assumed public: ") for text in texts if text.startswith("assumed public: ")] == constants
    assert header["constants"] == constants
    texts = [text for text in texts if not text.startswith("assumed public: ")]
    assert RELATIONS[facts.neighbours[level]] in texts[0] and facts.neighbours[level] in texts[0]
    if level == "client":
        bound = level_setting(config, level, "clip")
        assert texts.pop(1) == f"an update has norm at most {number_text(bound)} and weight at most {number_text(largest)}"
        assert (promised["bound"], promised.get("largest_weight", 1), promised["noise_at"]) == (bound, largest, config["client-noise"])
    for text in texts:
        assert not re.search(r"\d", text), f"'{text}' has a number, and nothing here says which"
    fields.known[f"{fields.where} assumptions"] = texts
    fields.done()


def check_round(line, config, facts, ledger, stage, round, public):
    fields = Fields(f"rounds.jsonl {round}", line, public)
    fields.public("round", round)
    about, tensors = stage
    assert fields.take("model_hash") == model_hash(tensors)
    check_test(fields, config, facts, about, tensors, round)
    for level in levels_of(config):
        spent = Fields(f"{fields.where} {level}", fields.take(f"{level}_privacy"), public)
        spent.epsilon("epsilon", ledger.bounds(level, round))
        spent.public("delta", level_setting(config, level, "delta"))
        spent.done()
    made = {key[1] for key in ledger.rounds[round] if key[0] == "example" and key[2] == "sums"}  # the others have no budget left
    charged = [client for client in cohort(config, facts, round) or [] if client in made]
    if charged:
        clients = fields.take("clients")
        assert len(clients) == len(charged)
        for client, told in zip(charged, clients):
            told = Fields(f"{fields.where} client {client}", told, public)
            plan = Plan.of(config, facts.sizes()[client])
            releases = sum(count for key, count in ledger.rounds[round].items() if key[:3] == ("example", client, "sums"))
            steps = releases // plan.lots
            told.public("client", client)
            told.public("rows", facts.sizes()[client])
            told.public("steps", steps)
            told.public("releases", releases)
            if config["optimizer"] == "adadp":  # follow from pairs of noisy gradients
                assert told.take("accepted") + told.take("rejected") == steps
                assert told.take("learning_rate") > 0
            else:
                told.public("accepted", steps)
                told.public("rejected", 0)
                told.public("learning_rate", config["learning-rate"])
            told.done()
    fields.done()


def check_halt(text, config, ledger, rounds):
    """The budget of a level lets no further step be made, and was not passed."""
    for level in levels_of(config):
        budget = level_setting(config, level, "epsilon")
        evaluates = config["evaluate"] == "private" and (rounds + 1) % config["evaluate-every"] == 0
        clients = range(ledger.clients if level == "example" else 1)
        told = f"budget of epsilon {number_text(budget)} at delta {level_setting(config, level, 'delta')}"
        whose = "another round would exceed the clients'" if level == "client" else "another step would exceed every client's"
        if not budget:
            continue
        assert ledger.bounds(level, rounds)[0] <= budget, f"the budget {budget} was passed: {ledger.bounds(level, rounds)}"
        if text == f"{whose} {told}" and all(ledger.is_at_budget(level, rounds, client) for client in clients):
            return
        if level == "example" and evaluates and text == f"another evaluation would exceed a client's {told}" and any(
            ledger.is_at_budget(level, rounds, client, ["evaluation"]) for client in clients):
            return
    raise AssertionError(f"'{text}' is published as the reason for the end of the run")


def check_config(folder, given):
    config = tomllib.loads((folder / "config.toml").read_text())
    assert "out" not in config
    for name, value in given.items():
        found = config[name]
        assert (found == value) if not isinstance(value, bool) else found is value, f"config.toml has {name} {found!r}; {value!r} was given"
    return config


def check_run(folder, given, facts, stages, published=None):
    """Every field that the run in the folder publishes; stages[r] is its model after round r. Returns the public ones. `published`: the
    lines of rounds.jsonl and the summary, in place of the files'."""
    names = {path.name for path in folder.iterdir()}
    assert PUBLISHED <= names and names <= PUBLISHED | OWNERS, f"the run has left {sorted(names)}"
    public = {}
    config = check_config(folder, given)
    public |= {f"config.toml {name}": value for name, value in config.items() if name not in ("data", "rounds")}
    ledger, header, head, length = check_ledger(folder, config, facts)
    lines, summary = published or read_results(folder)
    about, tensors = read_model(folder)

    fields = Fields("summary.json", summary, public)
    halted = fields.take("halted") if "halted" in summary else None
    rounds = len(lines)
    fields.public("rounds", rounds)
    if halted is None:
        assert rounds == config["rounds"]
    else:
        check_halt(halted, config, ledger, rounds)
    fields.public("finished", True)
    assert fields.take("model_hash") == model_hash(tensors)
    check_test(fields, config, facts, about, tensors, rounds)
    fields.public("metric", "R2" if config["targets"] == "values" else "accuracy")
    fields.public("model", config["model"])
    fields.public("parameters", sum(tensor.size for tensor in tensors.values()))
    fields.public("training_rows", len(facts.train.y))
    fields.public("test_rows", len(facts.test.y))
    version, compiler, instructions, commit = re.fullmatch(r"(\S+) \((.*?), (.*), commit (\S+)\)", facts.program).groups()
    for name, value in {"version": version, "compiler": compiler, "instruction_set": instructions, "commit": commit}.items():
        fields.public(name, value)
    fields.public("numerics_version", facts.numerics_version)
    fields.public("randomness", "secret")
    assert fields.take("ledger_head") == head
    fields.public("ledger_lines", length)
    assert length == 1 + 2 * len(ledger.rounds)
    statements = fields.take("privacy")
    assert len(statements) == len(levels_of(config))
    for level, statement in zip(levels_of(config), statements):
        check_statement(Fields(f"summary.json {level}", statement, public), level, config, facts, ledger, header, rounds)
    fields.done()

    for round, line in enumerate(lines, 1):
        check_round(line, config, facts, ledger, stages[round], round, public)

    metadata = Fields("model.safetensors", about, public)
    assert metadata.take("model_hash") == model_hash(tensors)
    inputs, classes = tensors["fc1.weight"].shape[1], tensors["fc2.weight"].shape[0]
    assert (inputs, classes) == (facts.test.x.shape[1], config["classes"] or 1)
    if config["targets"] == "values":
        metadata.public("fedstride.targets", "values")
    for name, value in {"dataset": "file", "rounds": str(rounds), "format": "pt", "fedstride.format": "1", "fedstride.model": config["model"],
                        "fedstride.input": f"1x1x{inputs}", "fedstride.classes": str(classes)}.items():
        metadata.public(name, value)
    schema = Fields("schema.json", json.loads(metadata.take("fedstride.schema")), public)
    assert (folder / "schema.json").read_text() == about["fedstride.schema"] + "\n"
    check_schema(schema, config, facts)
    metadata.done()
    return public


def read_results(folder):
    lines = [json.loads(line) for line in (folder / "rounds.jsonl").read_text().splitlines()]
    return lines, json.loads((folder / "summary.json").read_text())
