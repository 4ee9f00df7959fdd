#pragma once

#include <array>
#include <cstdint>
#include <filesystem>

namespace fedstride {

/// The key of a secret source of draws (core/random.hpp). Anyone who has it can repeat the noise and subtract it.
using SecretKey = std::array<std::uint8_t, 32>;

/// 256 bits from the kernel (getrandom).
SecretKey new_secret_key();

/// Reads the key in `path`, 32 bytes that only this user can read; makes and keeps a new one if there is no such file
/// (never a half-written one; two processes that do so at once get the same key). Throws Error (failure) if the file
/// belongs to another user, is open to others, or has another size.
SecretKey load_or_create_key(const std::filesystem::path& path);

}  // namespace fedstride
