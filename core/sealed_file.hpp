#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace fedstride {

/// A file that says what it is and whether it is whole: "NAME VERSION\n", the SHA-256 of the body in hexadecimal, "\n",
/// the body. `kind` is "fedstride checkpoint 3".

/// Replaces the file (write_file).
void write_sealed(const std::filesystem::path& path, std::string_view kind, std::string_view body);

/// The body; a length in it may be believed no more than one in any file. Throws Error (failure) if the file cannot be
/// read, is damaged, or is of another version; `what` names it ("checkpoint").
std::string read_sealed(const std::filesystem::path& path, std::string_view kind, std::string_view what);

}  // namespace fedstride
