"""Checks an experiment's claims ([[expect]]) against the results."""

import math

from .comparison import metric_name, ordered
from .model import quantities, without_seed
from .statistics import is_to_target
from .text import counted, point_text, short_number

MAX_NAMED = 3  # missing cells


class _NotRun(Exception):
    """The reason why a claim cannot be checked."""


def same_value(a, b):
    """True if two values are equal as text or are the same number, such as "0.0" and "0"."""
    try:
        return a == b or float(a) == float(b)
    except ValueError:
        return False


class _Checker:
    def __init__(self, sweep):
        self.experiment, self.groups = sweep.experiment, sweep.groups
        metrics = {one["metric"] for one in quantities(sweep.experiment["expectations"])}
        wanted = sweep.summary[sweep.summary["metric"].isin(metrics)]
        columns = [wanted[name].astype(object).where(wanted[name].notna(), None) for name in ("configuration", "metric", "client", "round")]
        self.means = dict(zip(zip(*columns), wanted["mean"])) if len(wanted) else {}

    def result(self, expectation):
        """The expectation with status, value, other and text."""
        told = {"value": math.nan, "other": math.nan}
        try:
            if expectation["scale"] not in ("both", self.experiment["scale"]):
                raise _NotRun(f"checked at scale '{expectation['scale']}' only; this is '{self.experiment['scale']}'")
            sides = [self.evaluate(expectation["value"]),
                     self.evaluate(expectation["other"]) if isinstance(expectation["other"], dict) else (expectation["other"], "")]
            told["value"], told["other"] = (number for number, _ in sides)
            status = "holds" if _holds(expectation, told["value"], told["other"]) else "fails"
            text = " against ".join(short_number(number) + (f" ({chosen})" if chosen else "") for number, chosen in sides)
        except _NotRun as reason:
            status, text = "not run", str(reason)
        within = expectation["within" if expectation["relation"] == "equals" else "margin"]
        return expectation | told | {"status": status, "text": text, "within": within}

    def evaluate(self, quantity):
        """The number, and text that names the configuration that `pick` chose."""
        number, chosen = self.single(quantity)
        for minus in quantity["minus"]:
            number -= self.evaluate(minus)[0]
        for over in quantity["over"]:
            divisor = self.evaluate(over)[0]
            if divisor == 0:
                raise _NotRun(f"cannot divide by {over['metric']}, which is 0")
            number /= divisor
        return number, chosen

    def selected(self, where):
        """The cells that `where` selects, by configuration. All must be finished: the best of only the finished cells would be a
        different claim."""
        groups = [[cell for cell in seeds if all(same_value(cell.value(key), value) for key, value in where.items())]
                  for seeds in self.groups]
        groups = [seeds for seeds in groups if seeds]
        if not groups:
            raise _NotRun(f"no cell has {point_text(where)}")
        missing = [f"{point_text(cell.point)} ({cell.status})" for seeds in groups for cell in seeds if cell.status != "finished"]
        if missing:
            named = "; ".join(missing[:MAX_NAMED] + ["..."] * (len(missing) > MAX_NAMED))
            raise _NotRun(f"{counted(len(missing), 'cell')} {'is' if len(missing) == 1 else 'are'} missing: {named}")
        return groups

    def number_of(self, quantity, seeds):
        metric, at = quantity["metric"], point_text(without_seed(seeds[0].point))
        never = sum(metric not in cell.numbers for cell in seeds) if is_to_target(metric) else 0
        if never:  # the mean over only the seeds that reached the target would be too low
            raise _NotRun(f"{never} of {counted(len(seeds), 'seed')} have no {metric}, for {at}: they never reached the target")
        mean = self.means.get((seeds[0].configuration, metric, quantity["client"], quantity["round"]))
        if mean is None:
            of = "" if quantity["client"] is None else f" of client {quantity['client']}"
            after = "" if quantity["round"] is None else f" after round {quantity['round']}"
            raise _NotRun(f"no {metric}{of}{after} for {at}")
        return mean

    def single(self, quantity):
        groups, pick = self.selected(quantity["where"]), quantity["pick"]
        if pick == "mean":
            return sum(self.number_of(quantity, seeds) for seeds in groups) / len(groups), ""
        if not pick and len(groups) > 1:
            raise _NotRun(f"{point_text(quantity['where'])} matches {len(groups)} configurations; set pick to choose one")
        seeds = groups[self.place_of(quantity, groups)]
        others = {key: value for key, value in without_seed(seeds[0].point).items() if key not in quantity["where"]}
        return self.number_of(quantity, seeds), f"{pick}: {point_text(others)}" if len(groups) > 1 and others else ""

    def judges(self, quantity, groups):
        """The groups whose results decide the pick: the groups themselves, or their counterparts at pick-where."""
        pick_where = quantity["pick_where"]
        if not pick_where:
            return groups
        candidates, judges = self.selected(quantity["where"] | pick_where), []
        for seeds in groups:
            wanted = {key: pick_where.get(key, value) for key, value in without_seed(seeds[0].point).items()}
            found = [one for one in candidates if _same_point(without_seed(one[0].point), wanted)]
            if not found:
                raise _NotRun(f"cannot pick: no cell has {point_text(wanted)}")
            judges.append(found[0])
        return judges

    def place_of(self, quantity, groups):
        pick = quantity["pick"]
        if not pick:
            return 0
        judges = self.judges(quantity, groups)
        if pick in ("lowest", "highest"):
            numbers = [self.number_of(quantity, seeds) for seeds in judges]
            return numbers.index(min(numbers) if pick == "lowest" else max(numbers))
        order = ordered(self.experiment["tuning"], judges)
        if len(order) < len(judges):
            raise _NotRun(f"cannot pick: {len(judges) - len(order)} of {len(judges)} configurations have no "
                          f"{metric_name(self.experiment['tuning'])}")
        if pick == "second" and len(order) < 2:
            raise _NotRun(f"{point_text(quantity['where'])} matches one configuration, so there is no second")
        return order[{"worst": -1, "best": 0, "second": 1}[pick]]


def _same_point(a, b):
    return list(a) == list(b) and all(same_value(a[key], b[key]) for key in a)


def _holds(expectation, value, other):
    if expectation["relation"] == "above":
        return value > other + expectation["margin"]
    if expectation["relation"] == "below":
        return value < other - expectation["margin"]
    return abs(value - other) <= expectation["within"] * (1 + 1e-9)  # 1.265 is within 0.005 of 1.26, though not in binary


def check(sweep):
    """The experiment's claims with their outcomes, in order; one that cannot be checked is "not run"."""
    checker = _Checker(sweep)
    return [checker.result(one) for one in sweep.experiment["expectations"]]
