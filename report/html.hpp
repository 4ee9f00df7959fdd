#pragma once

#include <string>
#include <string_view>

#include "core/html.hpp"

namespace fedstride {

/// A path as the target of a link.
std::string url_of(std::string_view path);

/// The text cut to at most `most` characters, with an ellipsis at the end if something was cut off.
std::string shortened(const std::string& text, std::size_t most);

/// "0.4421 ± 0.0032 (3)": as many digits as the deviation (NaN: none) justifies.
std::string number_for_people(double value);
std::string spread_for_people(double mean, double deviation);

}  // namespace fedstride
