#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/function_ref.hpp"
#include "dp/accountants/accountant.hpp"

namespace fedstride {

/// What every accountant here refuses: neighbours of both kinds in one spending, and no sampling scheme but those named.
struct Covers {
  bool poisson_replace_one = false;
  bool without_replacement = false;  ///< replace-one; under add-remove nothing covers it
  bool adaptive = false;
};

/// Why an accountant that covers so much can say nothing about the spending; empty if it can. One line.
std::string uncovered(std::span<const Releases> spending, const Covers& covers);

/// Throws Error (usage), "<accountant>: <reason>", unless the reason is empty; and for numbers out of range.
void check_sound(std::string_view accountant, std::span<const Releases> spending, const std::string& reason);

/// The smallest delta in (0, 1) with epsilon_of(delta) <= epsilon, to a relative 1e-9 from above; 1 if there is none.
double smallest_delta(function_ref<double(double delta)> epsilon_of, double epsilon);

}  // namespace fedstride
