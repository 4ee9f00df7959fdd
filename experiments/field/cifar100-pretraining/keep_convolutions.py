#!/usr/bin/env python3
"""Keeps the convolutions of a model file: keep_convolutions.py MODEL.safetensors OUT.safetensors"""
import json
import struct
import sys

source, target = sys.argv[1:]
with open(source, "rb") as file:
    header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    data = file.read()
kept, parts, at = {}, [], 0
for name, tensor in header.items():
    if not name.startswith("conv"):
        continue
    first, last = tensor["data_offsets"]
    kept[name] = dict(tensor, data_offsets=[at, at + last - first])
    parts.append(data[first:last])
    at += last - first
kept["__metadata__"] = header.get("__metadata__", {})
text = json.dumps(kept).encode()
text += b" " * (-len(text) % 8)
with open(target, "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + b"".join(parts))
print(f"{target}: {', '.join(n for n in kept if n != '__metadata__')}, {8 + len(text) + at} bytes")
