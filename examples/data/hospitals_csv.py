#!/usr/bin/env python3
"""Tables of four hospitals, whose patients have one to three visits, a public one and a new one: hospitals_csv.py FOLDER

docs/hospitals.md trains on them.
"""
import csv
import math
import pathlib
import random
import sys

if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
    sys.exit(__doc__)

folder = pathlib.Path(sys.argv[1])
draw = random.Random(1)


def visits(patient, older):
    """A patient's visits: number, age, sex, pressure, cholesterol, whether ill."""
    age, sex, tendency = draw.gauss(52 + older, 9), draw.choice("fm"), draw.gauss(0, 1)
    for _ in range(draw.randint(1, 3)):
        pressure, cholesterol = draw.gauss(130 + 8 * tendency, 9), draw.gauss(230 + 25 * tendency, 30)
        risk = 0.08 * (age - 54) + 0.05 * (pressure - 130) + 0.012 * (cholesterol - 230) + (0.5 if sex == "m" else -0.5)
        yield [patient, round(age), sex, round(pressure), round(cholesterol), "yes" if draw.random() < 1 / (1 + math.exp(-2 * risk)) else "no"]


for name, patients, older in (("public", 100, 0), ("boston", 150, 4), ("cleveland", 300, 0), ("pecs", 250, -3), ("zurich", 100, 2),
                              ("new/boston", 40, 4), ("new/pecs", 60, -3)):
    path = folder / f"{name}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["patient", "age", "sex", "pressure", "cholesterol", "ill"])
        table.writerows(visit for patient in range(patients) for visit in visits(patient, older))
