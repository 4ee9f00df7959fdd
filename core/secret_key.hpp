#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace fedstride {

/// The key of a secret random source (core/random.hpp). Anyone who has it can reproduce the noise and subtract it.
using SecretKey = std::array<std::uint8_t, 32>;

/// 256 bits from the kernel (getrandom).
SecretKey new_secret_key();

/// Reads the key in `path`, 32 bytes that only this user can read; makes and keeps a new one if there is no such file
/// (never a half-written one; two processes that do so at once get the same key). Throws Error (failure) if the file
/// belongs to another user, is open to others, or has another size.
SecretKey load_or_create_key(const std::filesystem::path& path);

/// Reads the key in `path`, as load_or_create_key does. Throws Error (failure) if it is missing, and makes none.
SecretKey load_key(const std::filesystem::path& path);

/// Replaces the key in `path`, or creates one; if the process is killed, either the old or the new key remains. Throws Error
/// (failure).
SecretKey renew_key(const std::filesystem::path& path);

/// HMAC-SHA256 of `message`: without the key, a guess of the message cannot be tested. Either as a derived key for one use, or as
/// 64 hexadecimal digits that may be public. Messages of different uses begin differently.
SecretKey derived_key(const SecretKey& key, std::string_view message);
std::string keyed_hash(const SecretKey& key, std::string_view message);

/// The bytes of a key, for the chain of a ledger.
std::string_view bytes_of(const SecretKey& key);

}  // namespace fedstride
