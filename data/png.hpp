#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "data/dataset.hpp"

namespace fedstride {

/// A picture as a PNG file (RFC 2083): `pixels` are rows of `width` x `channels` bytes, one channel (gray) or three (red, green
/// and blue).
std::string png(std::span<const std::uint8_t> pixels, int width, int height, int channels);

/// A sheet of pictures of a data set as a PNG file: a line for each class (at most 256) with up to `across` of its first
/// pictures; if answers are not classes, one line. The first three channels are shown, or the first of two; numbers that are
/// not 8-bit range from their smallest, black, to their largest. Throws Error (usage) if the examples have no height and width.
std::string contact_sheet(const Dataset& data, int across = 12);

}  // namespace fedstride
