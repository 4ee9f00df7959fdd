#include "core/secret_key.hpp"

#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <string>

#include "core/error.hpp"
#include "core/key_file.hpp"

namespace fedstride {
namespace {

Error key_file_error(const char* verb, const std::filesystem::path& path, int error) {
  return failure(std::string("cannot ") + verb + " the secret key '" + path.string() + "': " + std::strerror(error));
}

void fill_from_kernel(void* to, std::size_t size) {
  auto* bytes = static_cast<unsigned char*>(to);
  while (size > 0) {
    const ssize_t count = ::getrandom(bytes, size, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) throw failure(std::string("the kernel gives no random bytes: ") + std::strerror(errno));
    bytes += count;
    size -= static_cast<std::size_t>(count);
  }
}

/// Reads the open file's key, or says why it is none.
SecretKey read_key(int fd, const std::filesystem::path& path) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) throw key_file_error("read", path, errno);
  const std::string name = "the secret key '" + path.string() + "' ";
  if (!S_ISREG(status.st_mode)) throw failure(name + "is not a file");
  if (status.st_uid != ::geteuid()) throw failure(name + "belongs to another user; it must be this user's alone");
  if ((status.st_mode & 077) != 0)
    throw failure(name + "is open to other users; only mode 0600 will do, and a key others have read must be replaced");
  SecretKey key{};
  if (status.st_size != static_cast<off_t>(key.size()))
    throw failure(name + "has " + std::to_string(status.st_size) + " bytes; a key has 32");
  std::size_t have = 0;
  while (have < key.size()) {
    const ssize_t count = ::read(fd, key.data() + have, key.size() - have);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw key_file_error("read", path, errno);
    if (count == 0) throw failure(name + "ends early; a key has 32 bytes");
    have += static_cast<std::size_t>(count);
  }
  return key;
}

/// 0, or what went wrong.
int write_synced(const std::filesystem::path& path, const SecretKey& key) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return errno;
  int error = 0;
  std::size_t have = 0;
  while (error == 0 && have < key.size()) {
    const ssize_t count = ::write(fd, key.data() + have, key.size() - have);
    if (count >= 0)
      have += static_cast<std::size_t>(count);
    else if (errno != EINTR)
      error = errno;
  }
  if (error == 0 && ::fchmod(fd, 0600) != 0) error = errno;
  if (error == 0 && ::fsync(fd) != 0) error = errno;
  if (::close(fd) != 0 && error == 0) error = errno;
  return error;
}

void sync_folder_of(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

enum class Existing { stays, is_replaced };

/// Keeps a key under `path`; one that is there by then stays or is replaced.
void keep_key(const std::filesystem::path& path, const SecretKey& key, Existing existing) {
  std::uint64_t tag = 0;
  fill_from_kernel(&tag, sizeof tag);
  std::filesystem::path temporary = path;
  temporary += ".new-" + std::to_string(tag);
  int error = write_synced(temporary, key);
  // A link does not replace what is there; a rename does.
  if (error == 0 && existing == Existing::stays && ::link(temporary.c_str(), path.c_str()) != 0 && errno != EEXIST) error = errno;
  if (error == 0 && existing == Existing::is_replaced && ::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  ::unlink(temporary.c_str());
  if (error != 0) throw key_file_error("create", path, error);
  sync_folder_of(path);
}

/// The key in a file; nothing if there is no such file.
std::optional<SecretKey> key_in(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0 && errno == ENOENT) return std::nullopt;
  if (fd < 0) throw key_file_error("read", path, errno);
  try {
    const SecretKey key = read_key(fd, path);
    ::close(fd);
    return key;
  } catch (...) {
    ::close(fd);
    throw;
  }
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
                "' is missing; only that key will do: put it back, since another would draw other noise and continue no ledger");
}

SecretKey renew_key(const std::filesystem::path& path) {
  const SecretKey key = new_secret_key();
  keep_key(path, key, Existing::is_replaced);
  return key;
}

SecretKey derived_key(const SecretKey& key, std::string_view message) {
  SecretKey derived{};
  unsigned size = 0;
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(message.data()),
           message.size(), derived.data(), &size) == nullptr ||
      size != derived.size())
    throw failure("HMAC with SHA-256 is not available in this OpenSSL");
  return derived;
}

std::string keyed_hash(const SecretKey& key, std::string_view message) {
  std::string text;
  for (const std::uint8_t byte : derived_key(key, message)) {
    constexpr std::string_view digits = "0123456789abcdef";
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

std::string_view bytes_of(const SecretKey& key) { return {reinterpret_cast<const char*>(key.data()), key.size()}; }

}  // namespace fedstride
