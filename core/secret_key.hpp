#pragma once

#include <array>
#include <cstdint>
#include <filesystem>

namespace fedstride {

/// Key of a secret source of draws (core/random.hpp). Whoever has it can redo the noise and subtract it.
using SecretKey = std::array<std::uint8_t, 32>;

/// 256 bits from the kernel (getrandom).
SecretKey new_secret_key();

/// The key kept in `path`, 32 bytes that nobody but this user can read; a new one is made and kept if there is no such
/// file (never a half-written one, and of two processes that make one at once both get the same). Throws Error
/// (failure) if the file is somebody else's, open to others, or of another size.
SecretKey load_or_create_key(const std::filesystem::path& path);

}  // namespace fedstride
