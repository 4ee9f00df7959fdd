"""A second program for data/features/scattering.hpp, by NumPy's FFT at the full sampling rate: prints some features of a test picture.

    python3 tests/data/features/scattering_twin.py > tests/data/features/scattering_twin.txt
"""
import sys

import numpy as np


def periodic(height, width, value):
    """value(v, u) at whole v, u, summed over five periods in each direction."""
    v, u = np.mgrid[0:height, 0:width].astype(float)
    return sum(value(v + a * height, u + b * width) for a in range(-2, 3) for b in range(-2, 3))


def morlet(height, width, j, l, orientations):
    sigma, slant, xi = 0.8 * 2**j, 4 / orientations, 3 * np.pi / 4 / 2**j
    angle = (int(orientations - orientations / 2 - 1) - l) * np.pi / orientations

    def gabor(frequency):
        def value(v, u):
            along, across = v * np.cos(angle) + u * np.sin(angle), u * np.cos(angle) - v * np.sin(angle)
            return np.exp(-(along**2 + (slant * across) ** 2) / (2 * sigma**2) + 1j * frequency * along)
        return periodic(height, width, value)

    wave, envelope = gabor(xi), gabor(0)
    return (wave - wave.sum() / envelope.sum() * envelope) * slant / (2 * np.pi * sigma**2)


def low_pass(height, width, scales):
    sigma = 0.8 * 2 ** (scales - 1)
    return periodic(height, width, lambda v, u: np.exp(-(v**2 + u**2) / (2 * sigma**2))) / (2 * np.pi * sigma**2)


def cut(response, step):
    """The part of a frequency response that every step-th sample can hold."""
    for axis in range(2):
        size = response.shape[axis]
        kept = size // step
        frequencies = [k for k in range(size) if step == 1 or k < kept // 2 or k >= size - (kept - kept // 2)]
        response = response.take(frequencies, axis)
    return response


def scatter(picture, scales=2, orientations=8):
    """1 + J L + L^2 J (J - 1) / 2 channels x height / 2^J x width / 2^J."""
    step = 2**scales
    sizes = [(size // step + 2) * step for size in picture.shape]
    pads = [((to - size) // 2, (to - size + 1) // 2) for to, size in zip(sizes, picture.shape)]
    padded = np.pad(picture, pads, "reflect")
    psi = {(j, l): np.fft.fft2(morlet(*sizes, j, l, orientations)) for j in range(scales) for l in range(orientations)}
    phi = np.fft.fft2(low_pass(*sizes, scales))

    def filtered(signal, response, at, to):
        """A signal sampled every 2^at, filtered and sampled every 2^to."""
        return np.fft.ifft2(np.fft.fft2(signal) * cut(response, 2**at))[:: 2 ** (to - at), :: 2 ** (to - at)]

    def average(signal, at):
        return filtered(signal, phi, at, scales).real[1:-1, 1:-1]

    first, second = [], []
    for (j, l), wavelet in psi.items():
        modulus = np.abs(filtered(padded, wavelet, 0, j))
        first.append(average(modulus, j))
        second += [average(np.abs(filtered(modulus, other, j, k)), k) for (k, m), other in psi.items() if k > j]
    return np.array([average(padded, 0), *first, *second])


def test_picture(height, width, channel):
    """The picture of tests/data/features/scattering_test.cpp."""
    return np.array([[(y * y * 7 + x * 13 + x * y * (3 + channel) + channel * 50) % 256 for x in range(width)] for y in range(height)]) / 255


def main():
    for height, width, scales, orientations, channel in ((28, 28, 2, 8, 0), (32, 32, 2, 8, 1), (33, 22, 2, 5, 0), (40, 32, 3, 4, 2), (16, 9, 1, 3, 0)):
        features = scatter(test_picture(height, width, channel), scales, orientations)
        for path in range(len(features)):
            y, x = path * 5 % features.shape[1], path * 3 % features.shape[2]
            print(height, width, scales, orientations, channel, path, y, x, f"{features[path, y, x]:.9g}")


if __name__ == "__main__":
    sys.exit(main())
