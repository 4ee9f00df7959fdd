#!/usr/bin/env python3
"""Writes the vectors of shamir_test.cpp: Shamir over GF(2^8) with tables of logarithms to base 3, and Lagrange by brute force."""
import hashlib

EXP, x = [], 1
for _ in range(255):
    EXP.append(x)
    x ^= (x << 1) ^ (0x11B if x & 0x80 else 0)  # times 3
LOG = {value: power for power, value in enumerate(EXP)}


def times(a, b):
    return 0 if a == 0 or b == 0 else EXP[(LOG[a] + LOG[b]) % 255]


def chacha20(key, blocks):
    def rotate(v, n):
        return ((v << n) | (v >> (32 - n))) & 0xFFFFFFFF

    out = b""
    words = [int.from_bytes(key[4 * i:4 * i + 4], "little") for i in range(8)]
    for block in range(blocks):
        start = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574] + words + [block, 0, 0, 0]
        s = list(start)
        for turn in range(20):
            for i in range(4):
                a, b, c, d = (i, 4 + i, 8 + i, 12 + i) if turn % 2 == 0 else (
                    i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
                for to, source, mixed, by in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
                    s[to] = (s[to] + s[source]) & 0xFFFFFFFF
                    s[mixed] = rotate(s[mixed] ^ s[to], by)
        out += b"".join(((p + q) & 0xFFFFFFFF).to_bytes(4, "little") for p, q in zip(s, start))
    return out


def shares(secret, threshold, count, randomness):
    stream = chacha20(randomness, threshold)
    rows = [secret] + [stream[32 * i:32 * i + 32] for i in range(threshold - 1)]
    for point in range(1, count + 1):
        value = [0] * 32
        power = 1
        for row in rows:
            value = [v ^ times(c, power) for v, c in zip(value, row)]
            power = times(power, point)
        yield bytes(value)


for threshold, count in ((1, 1), (2, 3), (3, 5), (24, 41), (200, 255)):
    secret = hashlib.sha256(f"secret {threshold} {count}".encode()).digest()
    randomness = hashlib.sha256(f"randomness {threshold} {count}".encode()).digest()
    made = b"".join(shares(secret, threshold, count, randomness))
    print(f'{{{threshold}, {count}, "{made[:32].hex()}",\n "{hashlib.sha256(made).hexdigest()}"}},')
