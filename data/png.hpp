#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "data/dataset.hpp"

namespace fedstride {

/// Returns the bytes of an image's PNG file (RFC 2083): `pixels` has rows of `width` x `channels` bytes; one channel is gray,
/// three are red, green and blue.
std::string png(std::span<const std::uint8_t> pixels, int width, int height, int channels);

/// A contact sheet of a data set's images as a PNG file: one line for each class (at most 256) with up to `across` of its first
/// images; a single line if answers are not classes. Of more than three channels, the first three are shown; of two, the first.
/// Numbers that are not 8-bit are scaled from black (smallest) to white (largest). Throws Error (usage) if the examples have no
/// height and width.
std::string contact_sheet(const Dataset& data, int across = 12);

}  // namespace fedstride
