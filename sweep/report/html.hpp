#pragma once

#include <string>
#include <string_view>

#include "core/text.hpp"

namespace fedstride {

/// Returns the path as a link target.
std::string url_of(std::string_view path);

/// Returns the contents folded under a title; they are printed only if unfolded.
std::string folded(std::string_view title, const std::string& contents);

/// Return text such as "0.4421" and "0.4421 ± 0.0032", with as many digits as the spread justifies. A NaN spread is omitted.
std::string number_for_people(double value);
std::string spread_for_people(double mean, double spread);

}  // namespace fedstride
