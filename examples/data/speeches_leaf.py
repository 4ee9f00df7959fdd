#!/usr/bin/env python3
"""Roles and their speeches, as in LEAF's Shakespeare: 80 characters and the one that follows. speeches_leaf.py FILE.json

fedstride data show FILE.json
"""
import json
import sys

if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
    sys.exit(__doc__)

speeches = {
    "HAMLET": "To be, or not to be: that is the question:\nWhether 'tis nobler in the mind to suffer the slings and arrows "
              "of outrageous fortune, or to take arms against a sea of troubles, and by opposing end them?\n",
    "OPHELIA": "Good my lord, how does your honour for this many a day?\nMy lord, I have remembrances of yours, that I have "
               "longed long to re-deliver; I pray you, now receive them.\n",
}
data = {
    role: {"x": [text[i : i + 80] for i in range(len(text) - 80)], "y": [text[i + 80] for i in range(len(text) - 80)]}
    for role, text in speeches.items()
}
with open(sys.argv[1], "w", encoding="utf-8") as file:
    json.dump({"users": list(data), "num_samples": [len(d["x"]) for d in data.values()], "user_data": data}, file)
