#pragma once

#include <string>
#include <string_view>

#include "core/text.hpp"

namespace fedstride {

/// A path as the target of a link.
std::string url_of(std::string_view path);

/// Contents that a reader can unfold; omitted on paper.
std::string folded(std::string_view title, const std::string& contents);

/// "0.4421" and "0.4421 ± 0.0032", with as many digits as the spread (NaN: none) justifies.
std::string number_for_people(double value);
std::string spread_for_people(double mean, double spread);

}  // namespace fedstride
