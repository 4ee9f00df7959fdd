#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace fedstride {

/// The key of a secret random source (core/random.hpp). Anyone who has it can reproduce the noise and subtract it.
using SecretKey = std::array<std::uint8_t, 32>;

/// A new key: 256 random bits from the kernel (getrandom).
SecretKey new_secret_key();

/// Reads the key in `path`, 32 bytes that only this user can read. If the file is missing, stores a new key there (never
/// half-written; two processes that do this at once get the same key). Throws Error (failure) if the file belongs to another
/// user, is accessible to others, or has another size.
SecretKey load_or_create_key(const std::filesystem::path& path);

/// Like load_or_create_key, but throws Error (failure) if the key is missing.
SecretKey load_key(const std::filesystem::path& path);

/// Replaces the key in `path`, or creates one; if the process is killed, either the old or the new key remains. Throws Error
/// (failure).
SecretKey renew_key(const std::filesystem::path& path);

/// HMAC-SHA256 of `message`, as a derived key for one use or as 64 hexadecimal digits that may be public: without the key, a
/// guess of the message cannot be tested. Messages for different uses must begin differently.
SecretKey derived_key(const SecretKey& key, std::string_view message);
std::string keyed_hash(const SecretKey& key, std::string_view message);

/// The bytes of a key, for the chain of a ledger.
std::string_view bytes_of(const SecretKey& key);

}  // namespace fedstride
