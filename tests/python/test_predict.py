"""Predictions and metrics of a run: by column name, without labels, against scikit-learn, from the program and from Python."""

import csv
import json
import subprocess

import numpy
import pandas
import pytest
import sklearn.metrics

import fedstride
from conftest import PROGRAM


def table(rows, seed, classes=2):
    random = numpy.random.default_rng(seed)
    age, pressure = random.normal(size=rows), random.normal(2, 3, rows)
    city = random.choice(["Oslo", "Paris", "Rome"], rows)
    score = age + (city == "Oslo") + pressure / 5 + random.normal(size=rows)
    outcome = numpy.array(["ill", "mild, or so", "well"][:classes])[numpy.digitize(score, [0.3, 1.2][: classes - 1])]
    return pandas.DataFrame({"age": age, "city": city, "pressure": pressure, "outcome": outcome, "score": score})


@pytest.fixture(scope="module", params=[2, 3])
def trained(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("predict")
    rows = table(300, 1, request.param)
    rows.drop(columns="score").to_csv(folder / "train.csv", index=False)
    run = fedstride.run(data=folder / "train.csv", label="outcome", model="dense 8 | relu | dense classes", partition="iid", clients=3, rounds=5,
                        out=folder / "run")
    return run, folder, table(80, 2, request.param)


def test_predictions_need_no_labels_and_find_columns_by_name(trained):
    run, folder, rows = trained
    inputs = rows[["city", "pressure", "age"]]
    found = run.predict(inputs)
    assert found["names"] == sorted(set(rows["outcome"]))
    assert numpy.allclose(found["probabilities"].sum(1), 1, atol=1e-12)
    for extra in (rows.drop(columns="score"), rows):  # labels and other columns are not read
        assert run.predict(extra) == found | {"probabilities": pytest.approx(found["probabilities"])}
    inputs.to_csv(folder / "new.csv", index=False)
    out = folder / "predictions.csv"
    subprocess.run([PROGRAM, "predict", run.folder, "--data", folder / "new.csv", "--out", out], check=True, capture_output=True)
    with open(out, newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert [line["class"] for line in lines] == found["class"]
    assert [int(line["row"]) for line in lines] == list(range(1, 81))
    for name, column in zip(found["names"], found["probabilities"].T):
        assert [float(line["probability_" + name]) for line in lines] == column.tolist()


def test_metrics_are_those_of_scikit_learn(trained):
    run, folder, rows = trained
    rows.drop(columns="score").to_csv(folder / "labelled.csv", index=False)
    found, report = run.predict(rows), run.evaluate(data=folder / "labelled.csv")
    names, truth, chances = found["names"], rows["outcome"].tolist(), found["probabilities"]
    ours = report["metrics"]
    few = len(names) == 2
    expected = {
        "accuracy": sklearn.metrics.accuracy_score(truth, found["class"]),
        "balanced_accuracy": sklearn.metrics.balanced_accuracy_score(truth, found["class"]),
        "macro_f1": sklearn.metrics.f1_score(truth, found["class"], average="macro"),
        "auc": sklearn.metrics.roc_auc_score(truth, chances[:, 1] if few else chances, multi_class="ovr"),
        "log_loss": sklearn.metrics.log_loss(truth, chances),
    }
    for name, value in expected.items():
        assert ours[name] == pytest.approx(value, abs=1e-12), name
    assert report["confusion"] == sklearn.metrics.confusion_matrix(truth, found["class"]).tolist()
    precision, recall, f1, count = sklearn.metrics.precision_recall_fscore_support(truth, found["class"])
    for number, one in enumerate(ours["classes"]):
        assert [one["precision"], one["recall"], one["f1"], one["examples"]] == pytest.approx(
            [precision[number], recall[number], f1[number], count[number]], abs=1e-12)


def test_values_have_r2_and_mean_absolute_error_and_come_back_in_their_units(tmp_path):
    rows = table(200, 3)
    rows["when"] = 1_700_000_000 + rows["score"]  # an offset is subtracted from the answers
    rows[["age", "pressure", "when"]].to_csv(tmp_path / "t.csv", index=False)
    run = fedstride.run(data=tmp_path / "t.csv", label="when", partition="iid", clients=2, rounds=5, model="logistic", out=tmp_path / "run")
    found = run.predict(rows[["pressure", "age"]])
    assert found["names"] == ["when"]
    values = found["values"][:, 0]
    assert abs(values - rows["when"]).max() < 10
    ours = run.evaluate(data=tmp_path / "t.csv")["metrics"]
    assert set(ours) == {"r2", "mae", "mse"}


def test_what_cannot_be_predicted_is_refused(trained, tmp_path):
    run, folder, rows = trained
    with pytest.raises(fedstride.Error, match="has no column 'age'"):
        run.predict(rows[["city", "pressure"]])
    with pytest.raises(fedstride.UsageError, match="keeps no personal models"):
        run.predict(rows, client=1)
    gap = rows.copy()
    gap.loc[3, "age"] = None
    with pytest.raises(fedstride.Error, match="line 5"):
        run.predict(gap)
    done = subprocess.run([PROGRAM, "predict", run.folder], capture_output=True, text=True)
    assert done.returncode == 2 and "data is ''" in done.stderr


def test_a_client_predicts_with_its_own_model(tmp_path):
    rows = table(300, 5)
    rows["site"] = numpy.arange(300) % 3
    rows.loc[rows["site"] == 1, "outcome"] = "ill"
    rows.drop(columns="score").to_csv(tmp_path / "t.csv", index=False)
    run = fedstride.run(data=tmp_path / "t.csv", label="outcome", client_column="site", partition="natural", client_test=0.2, personal="ditto",
                        model="logistic", rounds=5, optimizer="sgd", learning_rate=0.3, out=tmp_path / "run")
    shared, own = run.predict(rows), run.predict(rows, client=1)
    assert own["probabilities"][:, 0].mean() > shared["probabilities"][:, 0].mean() + 0.1
    report = run.evaluate(per_client=True)
    clients = report["global"]["clients"]
    assert [one["name"] for one in clients] == ["0", "1", "2"]
    weights = [one["examples"] for one in clients]
    assert report["global"]["accuracy"]["mean_by_rows"] == pytest.approx(numpy.average([one["accuracy"] for one in clients], weights=weights))
    last = json.loads((run.folder / "rounds.jsonl").read_text().splitlines()[-1])
    assert [one["own_examples"] for one in sorted(last["clients"], key=lambda one: one["client"])] == weights


def test_tables_without_names_are_those_of_the_run_or_its_inputs_in_order(tmp_path):
    rows = table(200, 6)
    rows["site"] = numpy.arange(200) % 2
    order = ["site", "age", "pressure", "outcome"]
    rows[order].to_csv(tmp_path / "t.csv", index=False, header=False)
    run = fedstride.run(data=tmp_path / "t.csv", header="no", client_column="1", partition="natural", model="logistic", rounds=3, out=tmp_path / "run")
    assert run.evaluate()["accuracy"] == pytest.approx(run.summary["test_accuracy"])  # on the same rows
    few = rows[:9]
    expected = run.predict(few[["age", "pressure"]].to_numpy())["probabilities"]
    for columns in (order, ["age", "pressure"]):
        few[columns].to_csv(tmp_path / "few.csv", index=False, header=False)
        assert numpy.allclose(run.predict(tmp_path / "few.csv")["probabilities"], expected)
    few[order[1:]].to_csv(tmp_path / "few.csv", index=False, header=False)
    with pytest.raises(fedstride.Error, match="3 columns.*no names"):
        run.predict(tmp_path / "few.csv")


def test_arrays_and_frames_are_read_as_they_are(tmp_path):
    x = numpy.random.default_rng(7).normal(size=(200, 4))
    run = fedstride.run(data=(x, (x[:, 0] > 0).astype(int)), partition="iid", clients=2, model="logistic", rounds=3, out=tmp_path / "run")
    expected = run.predict(x)["probabilities"]
    assert numpy.array_equal(run.predict(x[::2])["probabilities"], expected[::2])
    assert numpy.array_equal(run.predict(x.astype(">f8"))["probabilities"], expected)
    assert numpy.array_equal(run.predict(pandas.DataFrame(x[:2]))["probabilities"], expected[:2])
    assert len(run.predict(numpy.ones((3, 4), int))["class"]) == 3
    with pytest.raises(fedstride.UsageError, match="1 dimension"):
        run.predict(x[0])


def test_frames_are_read_by_the_rules_of_the_run(tmp_path):
    rows = table(120, 8)
    rows["city"] = rows["city"].replace("Rome", "K\u00f6ln")
    rows[["age", "city", "outcome"]].to_csv(tmp_path / "t.csv", index=False, sep=";", decimal=",", encoding="latin1")
    run = fedstride.run(data=tmp_path / "t.csv", encoding="latin1", decimal_mark="comma", missing="mean", partition="iid", clients=2, model="logistic",
                        rounds=2, out=tmp_path / "run")
    few = rows[:5].copy()
    few.loc[2, "age"] = None
    assert len(run.predict(few)["class"]) == 5
