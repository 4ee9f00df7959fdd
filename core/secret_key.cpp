#include "core/secret_key.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "core/error.hpp"

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

/// Keeps a new key under `path` unless something has that name by then.
void create_key(const std::filesystem::path& path) {
  std::uint64_t tag = 0;
  fill_from_kernel(&tag, sizeof tag);
  std::filesystem::path temporary = path;
  temporary += ".new-" + std::to_string(tag);
  int error = write_synced(temporary, new_secret_key());
  // A link does not replace what is there; a rename would.
  if (error == 0 && ::link(temporary.c_str(), path.c_str()) != 0 && errno != EEXIST) error = errno;
  ::unlink(temporary.c_str());
  if (error != 0) throw key_file_error("create", path, error);
  sync_folder_of(path);
}

}  // namespace

SecretKey new_secret_key() {
  SecretKey key{};
  fill_from_kernel(key.data(), key.size());
  return key;
}

SecretKey load_or_create_key(const std::filesystem::path& path) {
  for (bool created = false;; created = true) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0) {
      try {
        const SecretKey key = read_key(fd, path);
        ::close(fd);
        return key;
      } catch (...) {
        ::close(fd);
        throw;
      }
    }
    if (errno != ENOENT || created) throw key_file_error("read", path, errno);
    create_key(path);
  }
}

}  // namespace fedstride
