#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fedstride {

/// Bytes of the character a text begins with; 0 if none does (RFC 3629: no overlong forms, no surrogates) or it is a control
/// character other than a newline and a tab.
std::size_t character_bytes(std::string_view text);

/// UTF-8 without what is none, and without control characters other than a newline and a tab: each becomes U+FFFD.
std::string clean_text(std::string_view text);

/// Text as it stands in HTML and XML, between tags and in quoted attributes.
std::string escaped(std::string_view text);

}  // namespace fedstride
