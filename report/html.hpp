#pragma once

#include <string>
#include <string_view>

namespace fedstride {

/// UTF-8 without what is none, and without control characters other than a newline and a tab: each becomes U+FFFD.
std::string clean_text(std::string_view text);

/// Text as it stands in HTML and XML, between tags and in quoted attributes.
std::string escaped(std::string_view text);

/// A path as it stands in a link.
std::string url_of(std::string_view path);

/// At most so many characters, with an ellipsis at the end if something was cut off.
std::string shortened(const std::string& text, std::size_t most);

/// "0.4421 ± 0.0032 (3)": as many digits as the deviation (NaN: none) makes sense of.
std::string number_for_people(double value);
std::string spread_for_people(double mean, double deviation);

}  // namespace fedstride
