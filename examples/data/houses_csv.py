#!/usr/bin/env python3
"""A table of houses with a header, clients (towns) and prices: houses_csv.py houses.csv

fedstride run --data houses.csv --label price --client-column town --partition natural --model 'dense classes' \\
  --optimizer sgd --learning-rate 0.05 --rounds 10
"""
import csv
import random
import sys

if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
    sys.exit(__doc__)

draw = random.Random(1)
with open(sys.argv[1], "w", newline="") as file:
    table = csv.writer(file)
    table.writerow(["town", "rooms", "area", "price"])
    for town, base in ("Ambridge", 50), ("Borchester", 80), ("Felpersham", 120):
        for _ in range(40):
            rooms, area = draw.randint(1, 6), draw.uniform(30, 200)
            table.writerow([town, rooms, round(area, 1), round(base + 8 * rooms + 1.5 * area + draw.gauss(0, 5), 2)])
