#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/secret_key.hpp"

namespace fedstride {

/// Reads the key in `path`, as load_or_create_key does. Throws Error (failure) if it is missing, and makes none.
SecretKey load_key(const std::filesystem::path& path);

/// Puts a new key in the place of the one in `path`, or where none is; the old one or the new one is there after a kill.
/// Throws Error (failure).
SecretKey renew_key(const std::filesystem::path& path);

/// HMAC-SHA256 of `message`: without the key nobody can test a guess of the message. As a key of its own for one use, and as
/// 64 hexadecimal digits that may be written where others read them. Messages of different uses begin differently.
SecretKey derived_key(const SecretKey& key, std::string_view message);
std::string keyed_hash(const SecretKey& key, std::string_view message);

/// The bytes of a key, for the chain of a ledger.
std::string_view bytes_of(const SecretKey& key);

}  // namespace fedstride
