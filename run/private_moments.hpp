#pragma once

#include <map>
#include <string>

#include "core/random.hpp"
#include "run/setup.hpp"

namespace fedstride {

/// Mean and deviation of the inputs by an accounted release (normalise private): the noisy means of x and x^2 of each channel, x scaled to
/// [-1, 1] by the range. Where examples are protected a record is a training row, where clients are a client's mean over its rows; with
/// both the client's, which covers its examples. The ledger has it before it is computed (RunPrivacy::enter_once).

/// Throws Error (usage) for a noise multiplier of 0. Requires setup.data.normalises_privately to do anything.
void check_private_moments(const Setup& setup);

/// Releases them and normalises both parts by them; the same draws in every process and after every interruption.
void release_moments(Setup& setup, const RandomSource& source);

/// Writes them into the metadata of a model's file, and takes them from there: its data are to be normalised as they were in training.
void add_moments(const Setup& setup, std::map<std::string, std::string>& metadata);
void take_moments(const std::map<std::string, std::string>& metadata, ReadSettings& settings);

}  // namespace fedstride
