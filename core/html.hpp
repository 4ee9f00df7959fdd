#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fedstride {

/// The number of bytes of the text's first UTF-8 character; 0 if there is none (RFC 3629: no overlong forms, no surrogates)
/// or it is a control character other than a newline and a tab.
std::size_t character_bytes(std::string_view text);

/// The text with invalid UTF-8, and each control character other than a newline and a tab, replaced by U+FFFD.
std::string clean_text(std::string_view text);

/// The text escaped for HTML and XML, between tags and in quoted attributes.
std::string escaped(std::string_view text);

}  // namespace fedstride
