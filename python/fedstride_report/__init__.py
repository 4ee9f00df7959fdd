"""Tables, statistics, pages and exports of sweeps and runs, for `fedstride sweep`, `report` and `export`.

The program starts `python3 -m fedstride_report` with a task as JSON on standard input (sweep/results/task.cpp). The package is
beside `fedstride`, not in it, since it must work without the compiled module; nothing here computes what training computes.
"""
