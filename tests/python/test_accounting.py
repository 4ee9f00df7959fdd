"""Single mechanisms computed a second time, in NumPy and from other formulas, at random settings: no upper bound is below it, no lower bound
above."""

import inspect
import itertools
import math
import typing

import numpy
import pytest
from conftest import refused

import fedstride
from fedstride import privacy

SETTINGS = 50


@pytest.fixture
def random(request):
    return numpy.random.default_rng(sum(map(ord, request.node.name)))


def normal(x):
    """The normal distribution function."""
    return numpy.vectorize(lambda one: math.erfc(-one / math.sqrt(2)) / 2, otypes=[float])(x)


def toeplitz_matrix(column, steps):
    column = numpy.concatenate([column, numpy.zeros(max(0, steps - len(column)))])
    return numpy.array([[column[row - at] if at <= row else 0 for at in range(steps)] for row in range(steps)])


def test_toeplitz(random):
    for _ in range(SETTINGS):
        steps = int(random.integers(2, 60))
        bands = int(random.integers(1, steps + 1))
        column = numpy.array(privacy.toeplitz(steps, bands))
        assert len(column) == bands and column[0] == 1

        def loss(column):
            matrix = toeplitz_matrix(column, steps)
            decoder = numpy.tril(numpy.ones((steps, steps))) @ numpy.linalg.inv(matrix)
            return math.sqrt((decoder**2).sum(axis=1).max()) * numpy.linalg.norm(matrix, axis=0).max()

        best = loss(column)
        assert privacy.prefix_error(column, steps) * privacy.sensitivity(column, steps, steps)["value"] == pytest.approx(best, rel=1e-10)
        for _ in range(5 if bands > 1 else 0):  # a minimum
            assert loss(column + numpy.concatenate([[0], random.normal(size=bands - 1) * 1e-3])) >= best * (1 - 1e-9)


def brute_force(matrix, separation, most, random):
    """Over all patterns; directions are signs, and random starts of vectors in three dimensions that are then turned to the best."""
    steps = len(matrix)
    largest = 0
    for size in range(1, most + 1):
        for pattern in itertools.combinations(range(steps), size):
            if any(later - earlier < separation for earlier, later in itertools.pairwise(pattern)):
                continue
            columns = matrix[:, pattern]
            for signs in itertools.product((1, -1), repeat=size - 1):
                largest = max(largest, numpy.linalg.norm(columns @ numpy.array([1, *signs])))
            ways = random.normal(size=(size, 3))
            ways /= numpy.linalg.norm(ways, axis=1)[:, None]
            gram = columns.T @ columns
            for _ in range(5):
                for i in range(size):
                    pull = gram[i] @ ways - gram[i, i] * ways[i]
                    if numpy.linalg.norm(pull) > 0:
                        ways[i] = pull / numpy.linalg.norm(pull)
            largest = max(largest, numpy.linalg.norm(columns @ ways))
    return largest


def test_sensitivity(random):
    for _ in range(SETTINGS):
        steps = int(random.integers(1, 8))
        bands, separation = (int(random.integers(1, steps + 1)) for _ in range(2))
        most = int(random.integers(1, -(-steps // separation) + 1))
        matrix = numpy.tril(random.normal(size=(steps, steps)))
        matrix[numpy.subtract.outer(range(steps), range(steps)) >= bands] = 0
        matrix += numpy.eye(steps)
        found = privacy.sensitivity(matrix.tolist(), steps, separation, most)
        forced = brute_force(matrix, separation, most, random)
        assert found["value"] >= forced * (1 - 1e-12)
        assert found["exact"] == (separation >= bands or most == 1)
        assert not found["exact"] or found["value"] == pytest.approx(forced, rel=1e-9)
        falling = numpy.cumprod(numpy.concatenate([[1], random.uniform(0, 1, bands - 1)]))
        found = privacy.sensitivity(falling, steps, separation, most)
        assert found["exact"] and found["value"] == pytest.approx(brute_force(toeplitz_matrix(falling, steps), separation, most, random), rel=1e-9)
    with refused(fedstride.UsageError, "lower triangular"):
        privacy.sensitivity([[1, 1], [0, 1]], 2, 1)


def test_tree(random):
    for _ in range(SETTINGS):
        steps = int(random.integers(1, 40))
        nodes = numpy.array([[begin <= step < begin + width for step in range(steps)]
                             for width in (1, 2, 4, 8, 16, 32) for begin in range(0, steps - width + 1, width)], float)
        found = privacy.tree(steps)
        assert found["depth"] == nodes.sum(axis=0).max() and found["sensitivity"] == pytest.approx(math.sqrt(found["depth"]), rel=1e-12)
        # The best linear estimator of the last prefix sum from all nodes.
        ones = numpy.ones(steps)
        assert found["better_variance"] == pytest.approx(ones @ numpy.linalg.solve(nodes.T @ nodes, ones), rel=1e-9)
        twice = privacy.tree(steps, trees=2)  # RDP of DP-FTRL: order x depth / (2 z^2) an epoch
        assert twice["sensitivity"] ** 2 == pytest.approx(2 * found["depth"]) and twice["variance"] == 2 * found["variance"]
        separation = int(random.integers(1, steps + 1))
        pattern = numpy.zeros(steps)
        at = int(random.integers(0, separation))
        while at < steps:
            pattern[at] = 1
            at += separation + int(random.integers(0, 3))
        assert privacy.tree(steps, separation)["sensitivity"] >= numpy.linalg.norm(nodes @ pattern) * (1 - 1e-12)


def test_buffered_toeplitz(random):
    for _ in range(SETTINGS):
        steps, buffers = int(random.integers(4, 80)), int(random.integers(1, 5))
        separation = int(random.integers(1, steps + 1))
        found = privacy.buffered_toeplitz(buffers, steps, separation)
        scale, decay = numpy.array(found["scale"]), numpy.array(found["decay"])
        assert (scale > 0).all() and scale.sum() <= 1 and (decay > 0).all() and (decay < 1).all()
        column = numpy.concatenate([[1], [(scale * decay ** (t - 1)).sum() for t in range(1, steps)]])
        matrix = toeplitz_matrix(column, steps)
        pattern = (numpy.arange(steps) % separation == 0).astype(float)
        assert privacy.sensitivity(column, steps, separation)["value"] == pytest.approx(numpy.linalg.norm(matrix @ pattern), rel=1e-9)
        decoder = numpy.tril(numpy.ones((steps, steps))) @ numpy.linalg.inv(matrix)
        error = math.sqrt((decoder**2).sum(axis=1).max())
        assert privacy.prefix_error(column, steps) == pytest.approx(error, rel=1e-9)
        # No worse than independent noise, nor for one round than the optimum by more than few buffers lose.
        assert error * numpy.linalg.norm(matrix @ pattern) <= math.sqrt(steps * pattern.sum()) * (1 + 1e-9)
        if separation == steps and buffers >= 2:
            assert error * numpy.linalg.norm(matrix[:, 0]) < 1.05 * sum(one**2 for one in privacy.toeplitz(steps))


def test_user_rows(random):
    for _ in range(SETTINGS):
        rows, rate, z, epsilon = int(random.integers(1, 12)), random.uniform(0.01, 0.99), random.uniform(0.4, 4), random.uniform(0, 3)
        x = numpy.linspace(-12 * z, rows + 12 * z, 20_001)
        density = lambda mean: numpy.exp(-((x - mean) ** 2) / (2 * z * z)) / (z * math.sqrt(2 * math.pi))
        mixture = sum(math.comb(rows, j) * rate**j * (1 - rate) ** (rows - j) * density(j) for j in range(rows + 1))
        alone, width = density(0), x[1] - x[0]
        delta = max(numpy.maximum(p - math.exp(epsilon) * q, 0).sum() * width for p, q in ((mixture, alone), (alone, mixture)))
        found = privacy.user_rows(z, rows, rate, epsilon=epsilon)
        assert found >= delta * (1 - 1e-6) - 1e-9 and found == pytest.approx(delta, rel=1e-5, abs=1e-8)
        if delta > 1e-8:
            assert privacy.user_rows(z, rows, rate, delta=found) == pytest.approx(epsilon, abs=1e-6)
    orders = [*(one / 10 for one in range(11, 110)), *range(11, 64)]
    for rows, rate, z, releases in ((3, 0.05, 1.2, 20), (8, 0.01, 2, 500)):
        x = numpy.arange(-60 * z, 63 * rows + 60 * z, z / 15)
        log_density = -(x**2) / (2 * z * z) - math.log(z * math.sqrt(2 * math.pi))
        ratio = numpy.logaddexp.reduce([math.log(math.comb(rows, j) * rate**j * (1 - rate) ** (rows - j)) + (j * x - j * j / 2) / z**2
                                        for j in range(rows + 1)])
        least = math.inf
        for order in orders:
            divergence = max(numpy.logaddexp.reduce(log_density + power * ratio) + math.log(z / 15) for power in (order, 1 - order)) / (order - 1)
            least = min(least, releases * divergence + math.log1p(-1 / order) - math.log(1e-5 * order) / (order - 1))
        assert privacy.user_rows(z, rows, rate, releases, delta=1e-5) == pytest.approx(least, rel=1e-6)


def test_selection(random):
    orders = numpy.array([*(one / 10 for one in range(11, 110)), *range(11, 64), 128, 256, 512, 1024])
    convert = lambda divergences, delta: (divergences + numpy.log1p(-1 / orders) - numpy.log(delta * orders) / (orders - 1)).min()
    for _ in range(SETTINGS):
        rho, delta, mean, shape = numpy.exp(random.uniform(-5, 0)), 10 ** random.uniform(-9, -4), random.uniform(2, 200), random.uniform(-0.5, 3)
        low, high = -700.0, -1e-9  # of ln gamma
        for _ in range(200):
            middle = (low + high) / 2
            found = shape * math.expm1(-middle) / -math.expm1(shape * middle)
            low, high = (middle, high) if found > mean else (low, middle)
        base = rho * orders
        choosing = (1 + shape) * ((1 - 1 / orders) * base - low / orders).min()
        expected = convert(base + choosing + math.log(mean) / (orders - 1), delta)
        assert privacy.selection(mean, delta, shape=shape, rho=rho) == pytest.approx(max(0, expected), rel=1e-7)
        hats = numpy.log1p(1 / (orders - 1))
        deltas = numpy.exp(numpy.minimum(0, ((orders - 1) * (base - hats[:, None] + numpy.log1p(-1 / orders)) - numpy.log(orders)).min(axis=1)))
        expected = convert(base + mean * deltas + math.log(mean) / (orders - 1), delta)
        assert privacy.selection(mean, delta, shape="poisson", rho=rho) == pytest.approx(max(0, expected), rel=1e-7)
    assert privacy.selection(10, 1e-6, rho=0.1) == pytest.approx(privacy.selection(10, 1e-6, noise_multiplier=math.sqrt(5)), rel=1e-9)
    with refused(fedstride.UsageError, "mean is 1"):
        privacy.selection(1, 1e-6, rho=0.1)


def test_one_run(random):
    for _ in range(SETTINGS):
        canaries = int(random.integers(20, 400))
        guesses = int(random.integers(10, canaries + 1))
        right = int(random.integers(guesses // 2, guesses + 1))
        delta, confidence = 10 ** random.uniform(-8, -3), random.choice([0.9, 0.95, 0.99])

        def p_value(epsilon):
            chance = 1 / (1 + math.exp(-epsilon))
            chances = numpy.array([math.exp(math.lgamma(guesses + 1) - math.lgamma(k + 1) - math.lgamma(guesses - k + 1)
                                            + k * math.log(chance) + (guesses - k) * math.log1p(-chance)) for k in range(guesses + 1)])
            tail = chances[::-1].cumsum()[::-1]
            alpha = max(((tail[right - i] - tail[right]) / i for i in range(1, right + 1)), default=0)
            return tail[right] + 2 * canaries * delta * alpha

        bound = privacy.one_run(canaries, guesses, right, delta, confidence)
        if bound["epsilon"] > 0:
            assert p_value(bound["epsilon"]) <= (1 - confidence) * (1 + 1e-9)
        assert bound["epsilon"] > 20 or p_value(bound["epsilon"] + 1e-6) > 1 - confidence
    with refused(fedstride.UsageError, "12 right of 10"):
        privacy.one_run(20, 10, 12, 1e-5)


def test_one_run_bounds_do_not_accuse_an_honest_gaussian(random):
    mu, delta = 1.0, 1e-5
    honest = privacy.epsilon(sampling="full", noise_multiplier=1 / mu, steps=1, delta=delta)
    accused = 0
    for _ in range(40):
        found = privacy.audit_scores(random.normal(mu, size=200), random.normal(size=200), delta)
        accused += found["epsilon"] > honest or found["gaussian_epsilon"] > honest
    assert accused <= 2
    strong = privacy.audit_scores(random.normal(8 * mu, size=500), random.normal(size=500), delta)
    assert strong["epsilon"] > honest  # noise / 8


# Scores of a release of clip 1 and noise 1 / mu: canaries' own directions are independent of each other.
def test_a_fit_sees_halved_noise_and_seldom_accuses(random):
    mu, delta = 0.5, 1e-5
    honest = privacy.epsilon(sampling="full", noise_multiplier=1 / mu, steps=1, delta=delta)
    accused = sum(privacy.fitted_audit(random.normal(mu, size=300), random.normal(size=300), delta, 0.99)["epsilon"] > honest for _ in range(200))
    assert accused <= 2
    for wrong in (2 * mu, 4 * mu):  # noise halved; clip skipped, say
        seen = sum(privacy.fitted_audit(random.normal(wrong, size=300), random.normal(size=300), delta, 0.99)["epsilon"] > honest for _ in range(20))
        assert seen >= 19
        weaker = privacy.audit_scores(random.normal(wrong, size=300), random.normal(size=300), delta)
        assert weaker["epsilon"] < honest * 3
    with refused(fedstride.UsageError, "at least 10 scores", "there are 3 and 20"):
        privacy.fitted_audit([1, 2, 3], range(20), delta)


def test_canaries_of_a_run_show_less_than_its_ledger(tmp_path):
    fedstride.run(dataset="synthetic", model="logistic", optimizer="sgd", rounds=2, clients=4, limit_per_client=50, dp="client",
                  noise_multiplier=2, out=tmp_path / "run")
    found = privacy.measure(tmp_path / "run", canaries=300)  # fewer see less than chance does
    (level,) = found["levels"]
    assert found["rounds"] == 2 and level["level"] == "client" and level["contradiction"] == ""
    assert 0.2 * level["epsilon"] < level["bounds"][0]["epsilon"] < level["epsilon"]
    with refused(fedstride.UsageError, "not the folder of a run"):
        privacy.measure(tmp_path)


def test_the_page_s_lines_run():
    import re

    from conftest import SOURCE

    text = (SOURCE / "docs" / "privacy-mechanisms.md").read_text()
    (block,) = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    names = {}
    exec(compile(block, "privacy-mechanisms.md", "exec"), names)
    p = names["p"]
    assert p.user_rows(1, rows=2, rate=0.5, epsilon=1) == pytest.approx(0.166033, abs=5e-7)
    assert p.selection(mean=10, delta=1e-6, rho=0.1) == pytest.approx(4.0688, rel=1e-6)
    assert names["s"]["exact"]


QUESTIONS = {"epsilon": {"noise_multiplier": 4, "steps": 100, "delta": 1e-5}, "delta": {"noise_multiplier": 4, "steps": 100, "epsilon": 1},
             "calibrate": {"epsilon": 2, "steps": 100, "delta": 1e-5}, "steps": {"noise_multiplier": 4, "epsilon": 2, "delta": 1e-5},
             "compare": {"noise_multiplier": 4, "steps": 100, "delta": 1e-5}}


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_function_takes_the_defaults_and_each_choice_that_its_signature_shows(name):
    function = getattr(fedstride.privacy, name)
    question = {"sampling_rate": 0.01, **QUESTIONS[name]}
    shown = inspect.signature(function).parameters
    assert function(**question) == function(**{**{one: parameter.default for one, parameter in shown.items()}, **question})
    for accountant in typing.get_args(typing.get_args(shown["accountant"].annotation)[0]) if "accountant" in shown else ():
        try:
            function(**question, accountant=accountant)
        except fedstride.Error as error:  # it may have no answer, but it is known
            assert "is unknown" not in str(error)
    for sampling in typing.get_args(typing.get_args(shown["sampling"].annotation)[0]):
        try:
            function(**{**question, "sampling": sampling, **({"sampling_rate": None} if sampling == "full" else {})})
        except fedstride.Error as error:
            assert "is unknown" not in str(error)
