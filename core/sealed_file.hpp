#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace fedstride {

/// A file that states its kind and can be checked for damage: "NAME VERSION\n", the SHA-256 of the body in hexadecimal,
/// "\n", the body. `kind` is "NAME VERSION", such as "fedstride checkpoint 4".

/// Replaces the file (write_file).
void write_sealed(const std::filesystem::path& path, std::string_view kind, std::string_view body);

/// Returns the body; lengths in it must be checked as those of any file. Throws Error (failure) if the file cannot be
/// read, is damaged, or has another version; `what` names it in messages ("checkpoint").
std::string read_sealed(const std::filesystem::path& path, std::string_view kind, std::string_view what);

}  // namespace fedstride
