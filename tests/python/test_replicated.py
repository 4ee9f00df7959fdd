"""experiments/replicate: docs/replicated.md is made from its records, and the runs that verify repeats are those of the records."""
import importlib.machinery
import importlib.util
import json
import tomllib

import pytest
from conftest import SOURCE

loader = importlib.machinery.SourceFileLoader("replicated", str(SOURCE / "tools" / "replicated"))
replicated = importlib.util.module_from_spec(importlib.util.spec_from_loader("replicated", loader))
loader.exec_module(replicated)

RECORDED = sorted(file.parent.name for file in replicated.FOLDER.glob("*/results.json"))


def test_the_page_is_made_from_the_records(capsys):
    replicated.page()
    assert capsys.readouterr().out == (SOURCE / "docs" / "replicated.md").read_text()


@pytest.mark.parametrize("name", RECORDED)
def test_references_are_the_recorded_cells(name):
    experiment, record = replicated.read(name)
    runs = tomllib.loads((replicated.FOLDER / name / "reference.toml").read_text())["run"]
    first = [cell for cell in record["cells"] if cell["point"]["seed"] == str(experiment["sweep"]["seed"][0])]
    assert len(runs) == 2 * len(first)
    full = {run: table for run, table in runs.items() if not run.endswith(": two rounds")}
    assert {table["hash"] for table in full.values()} == {cell["model_hash"] for cell in first}
    settings = [{key: value for key, value in table.items() if key != "hash"} for table in full.values()]
    assert settings == [replicated.settings_of(experiment, cell["point"]) for cell in first]
    for run, table in full.items():
        short = runs[f"{run}: two rounds"]
        assert {**table, "rounds": 2, "hash": short["hash"]} == short and short["hash"] != table["hash"]


@pytest.mark.parametrize("claim, equals", [("row 1: 98.1 %", 0.981), ("row 1: 98.1 % within a point", 0.982),
                                           ("row 2: FedAvg: 62.47 +- 0.4 %, within the deviation and a point", 0.6247)])
def test_a_claim_whose_text_is_not_what_is_checked_is_refused(claim, equals):
    experiment = {"experiment": {}, "expect": [{"claim": claim, "equals": equals, "within": 0.01, "value": {"metric": "test_accuracy"}}]}
    with pytest.raises(SystemExit) as error:
        replicated.Cell("x", experiment, None, 0)
    assert str(error.value).startswith("replicated: x: the claim")


def test_variants_and_conditions_make_a_cells_settings():
    experiment = {"rounds": 5, "sweep": {"seed": [1, 2], "partition": ["a", "b"]}, "when": {"partition": {"b": {"alpha": 0.5}}},
                  "variant": {"slow": {"rounds": 9}}, "expect": [], "experiment": {}}
    of = lambda **point: replicated.settings_of(experiment, {"seed": "2", **point})
    assert of(partition="a", variant="slow") == {"rounds": 9, "seed": 2, "partition": "a"}
    assert of(partition="b", variant="other") == {"rounds": 5, "alpha": 0.5, "seed": 2, "partition": "b"}


def test_the_missions_table_is_its_record():
    folder = SOURCE / "experiments" / "field" / "mission"
    values = json.loads((folder / "results.json").read_text())["values"]
    found = {(one["point"]["variant"], one["point"]["random-fraction"]): f"{one['mean']:.4f}" for one in values
             if one["metric"] == "test_accuracy"}
    shares, *rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in (folder / "README.md").read_text().splitlines()
                     if line.startswith("| ")]
    assert {(row[0], share): value for row in rows for share, value in zip(shares[1:], row[1:])} == found
