#pragma once

#include <cstddef>
#include <span>

#include "data/batch.hpp"
#include "nn/model.hpp"

namespace fedstride {

/// Dropout masks. Value i (NHWC) of a dropout layer's row is dropped iff word first_word + i of the stream at (dropout, round,
/// client, step, row) is below rate x 2^32, rounded; a kept value is multiplied by 1 / (1 - rate). The first dropout layer of a
/// model begins at word 0; each later one begins after the words of the earlier ones, rounded up to whole blocks of four.
/// Weights, other examples and threads do not affect the masks.

/// first_word of the dropout layer with this index into layers().
std::size_t dropout_first_word(const Model& model, int layer);

/// Fills the mask of one row with values 0 or 1 / (1 - rate). first_word must be a multiple of 4; a row has at most 2^34 words.
void dropout_mask(const BatchAddress& address, Row row, std::size_t first_word, double rate, std::span<float> mask);

}  // namespace fedstride
