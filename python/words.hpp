#pragma once

#include <string>
#include <string_view>

namespace fedstride::python {

/// "learning_rate" for the key "learning-rate", and back.
std::string keyword_of(std::string_view key);
std::string key_of(std::string_view keyword);

/// Rewrites text of the program in Python's terms: "--partition natural" becomes partition="natural", "--resume 'x'" becomes
/// fedstride.resume('x'), and `learning-rate` becomes learning_rate. Commands of the program ('fedstride data list'), quoted
/// values, and names that are also values (local-layers) stay unchanged.
std::string in_python_words(std::string_view text);

}  // namespace fedstride::python
