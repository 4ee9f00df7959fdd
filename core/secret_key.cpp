#include "core/secret_key.hpp"

#include <sys/random.h>
#include <sys/stat.h>

#include <cstring>
#include <optional>

#include "core/call_failed.hpp"
#include "core/descriptor.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/hash.hpp"

namespace fedstride {
namespace {

Error key_file_error(const char* verb, const std::filesystem::path& path, int error) {
  return call_failed(std::string("cannot ") + verb + " the secret key '" + path.string() + "': " + std::strerror(error), error);
}

void fill_from_kernel(void* to, std::size_t size) {
  if (uninterrupted([&] { return ::getrandom(to, size, 0); }) != static_cast<ssize_t>(size))
    throw failure(std::string("cannot get random bytes from the kernel: ") + std::strerror(errno));
}

/// Reads the key from the open file, or throws Error (failure) with the reason.
SecretKey read_key(int fd, const std::filesystem::path& path) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) throw key_file_error("read", path, errno);
  const std::string name = "the secret key '" + path.string() + "' ";
  if (!S_ISREG(status.st_mode)) throw failure(name + "is not a file");
  if (status.st_uid != ::geteuid()) throw failure(name + "belongs to another user; it must belong to you");
  if ((status.st_mode & 077) != 0)
    throw failure(name + "is accessible to other users; set its mode to 0600, and replace the key if others may have read it");
  SecretKey key{};
  if (status.st_size != static_cast<off_t>(key.size()))
    throw failure(name + "has " + std::to_string(status.st_size) + " bytes; a key has 32");
  const ssize_t count = uninterrupted([&] { return ::read(fd, key.data(), key.size()); });
  if (count < 0) throw key_file_error("read", path, errno);
  if (count != status.st_size) throw failure(name + "ends early; a key has 32 bytes");
  return key;
}

/// Returns false and sets errno if the key cannot be written.
bool write_synced(const std::filesystem::path& path, const SecretKey& key) {
  const Descriptor file = opened(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
  return file && write_all(file.get(), bytes_of(key)) && ::fchmod(file.get(), 0600) == 0 && ::fsync(file.get()) == 0;
}

enum class Existing { stays, is_replaced };

/// Stores a key at `path`; an existing key stays or is replaced.
void keep_key(const std::filesystem::path& path, const SecretKey& key, Existing existing) {
  std::uint64_t tag = 0;
  fill_from_kernel(&tag, sizeof tag);
  std::filesystem::path temporary = path;
  temporary += ".new-" + std::to_string(tag);
  // A link does not replace an existing file; a rename does.
  const auto put_in_place = [&] {
    if (existing == Existing::is_replaced) return ::rename(temporary.c_str(), path.c_str()) == 0;
    return ::link(temporary.c_str(), path.c_str()) == 0 || errno == EEXIST;
  };
  const int error = write_synced(temporary, key) && put_in_place() ? 0 : errno;
  ::unlink(temporary.c_str());
  if (error != 0) throw key_file_error("create", path, error);
  sync_folder_of(path);
}

/// The key in a file; nothing if there is no such file.
std::optional<SecretKey> key_in(const std::filesystem::path& path) {
  const Descriptor file = opened(path, O_RDONLY | O_NONBLOCK);
  if (!file && errno == ENOENT) return std::nullopt;
  if (!file) throw key_file_error("read", path, errno);
  return read_key(file.get(), path);
}

}  // namespace

SecretKey new_secret_key() {
  SecretKey key{};
  fill_from_kernel(key.data(), key.size());
  return key;
}

SecretKey load_or_create_key(const std::filesystem::path& path) {
  if (const auto key = key_in(path)) return *key;
  keep_key(path, new_secret_key(), Existing::stays);
  return load_key(path);
}

SecretKey load_key(const std::filesystem::path& path) {
  if (const auto key = key_in(path)) return *key;
  throw failure("the secret key '" + path.string() +
                "' is missing; restore it, because another key would draw different noise and cannot continue the ledger");
}

SecretKey renew_key(const std::filesystem::path& path) {
  const SecretKey key = new_secret_key();
  keep_key(path, key, Existing::is_replaced);
  return key;
}

SecretKey derived_key(const SecretKey& key, std::string_view message) { return hmac_sha256(bytes_of(key), message); }

std::string keyed_hash(const SecretKey& key, std::string_view message) { return hex_of(derived_key(key, message)); }

std::string_view bytes_of(const SecretKey& key) { return {reinterpret_cast<const char*>(key.data()), key.size()}; }

}  // namespace fedstride
