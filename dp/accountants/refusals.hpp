#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "core/function_ref.hpp"
#include "dp/accountants/accountant.hpp"

namespace fedstride {

/// The sampling schemes that an accountant covers. Every accountant refuses all others, and neighbours of both kinds in one
/// spending.
struct Covers {
  bool poisson_replace_one = false;
  bool without_replacement = false;  ///< replace-one; under add-remove nothing covers it
  bool adaptive = false;
};

/// The reason why an accountant that covers these schemes has no bound for the spending, in one line; empty if it has one.
std::string uncovered(std::span<const Releases> spending, const Covers& covers);

/// Throws Error (usage), "<accountant>: <reason>", unless the reason is empty, and Error (usage) for numbers out of range.
void check_sound(std::string_view accountant, std::span<const Releases> spending, const std::string& reason);

/// The remark on an answer whose releases, of more kinds than `most`, were counted by coarser(); empty for fewer kinds.
std::string coarse_warning(std::size_t kinds, std::size_t most);

/// The bound e^log_delta, at most 1. One that no double holds becomes the smallest that has all its digits, never 0, and the remark
/// says its power of 10.
PrivacyBound bound_of(double log_delta, std::string remark = {});

/// The smallest delta in (0, 1) with epsilon_of(delta) <= epsilon, to a relative 1e-9 from above and from 1e-300 on; 1 if there is
/// none.
double smallest_delta(function_ref<double(double delta)> epsilon_of, double epsilon);

}  // namespace fedstride
