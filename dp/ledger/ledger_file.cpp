#include "dp/ledger/ledger_file.hpp"

#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/hash.hpp"

namespace fedstride {
namespace {

constexpr std::string_view kOpening = ",\"chain\":\"";
constexpr std::size_t kDigits = 64;

Error cannot(const char* verb, const std::filesystem::path& path, int error) {
  return failure(std::string("cannot ") + verb + " the ledger '" + path.string() + "': " + std::strerror(error));
}

int opened_to_read(const std::filesystem::path& path) {
  if (is_there(path)) size_of_file(path);
  return ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
}

std::string hexadecimal(std::span<const unsigned char> bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

}  // namespace

std::string chain_value(std::string_view before, std::string_view text, std::string_view key) {
  if (key.empty()) return Hash().text(before).text("\n").text(text).hex();
  const std::string message = std::string(before) + "\n" + std::string(text);
  std::array<unsigned char, 32> code{};
  unsigned size = 0;
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(message.data()),
           message.size(), code.data(), &size) == nullptr ||
      size != code.size())
    throw failure("HMAC-SHA256 is not available in this OpenSSL");
  return hexadecimal(code);
}

std::string chained(std::string_view text, std::string_view value) {
  return std::string(text.substr(0, text.size() - 1)) + std::string(kOpening) + std::string(value) + "\"}";
}

LedgerReader::LedgerReader(const std::filesystem::path& path, std::string_view key)
    : path_(path), key_(key), fd_(opened_to_read(path)) {
  struct stat status {};
  if (fd_ < 0) throw cannot("read", path, errno);
  int error = ::fstat(fd_, &status) != 0 ? errno : 0;
  if (error == 0 && static_cast<std::uint64_t>(status.st_size) > kMaxLedgerBytes) error = EFBIG;
  if (error == 0) return;
  ::close(fd_);
  throw cannot("read", path, error);
}

LedgerReader::~LedgerReader() { ::close(fd_); }

// More bytes behind the buffer; false at the end of the file.
bool LedgerReader::fill() {
  buffer_.erase(0, begin_);
  begin_ = 0;
  const std::size_t had = buffer_.size();
  buffer_.resize(had + (std::size_t{1} << 18));
  ssize_t count = 0;
  do {
    count = ::read(fd_, buffer_.data() + had, buffer_.size() - had);
  } while (count < 0 && errno == EINTR);
  const int error = errno;
  buffer_.resize(had + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  if (count < 0) throw cannot("read", path_, error);
  return count > 0;
}

std::string_view LedgerReader::next() {
  const std::string where = "line " + std::to_string(mark_.lines + 1) + " of the ledger '" + path_.string() + "' ";
  std::size_t searched = begin_;
  std::size_t end = buffer_.find('\n', searched);
  while (end == std::string::npos) {
    searched = buffer_.size() - begin_;
    if (searched > kMaxLedgerLineBytes) throw failure(where + "is longer than " + std::to_string(kMaxLedgerLineBytes) + " bytes");
    if (!fill()) return {};
    end = buffer_.find('\n', searched);
  }
  const std::string_view line = std::string_view(buffer_).substr(begin_, end - begin_);
  constexpr std::size_t kTail = kOpening.size() + kDigits + 2;
  if (line.size() <= kTail || !line.ends_with("\"}") || line.substr(line.size() - kTail, kOpening.size()) != kOpening)
    throw failure(where + "does not end in a chain value");
  const std::string_view value = line.substr(line.size() - kDigits - 2, kDigits);
  text_.assign(line.substr(0, line.size() - kTail));
  text_ += '}';
  if (chain_value(mark_.head, text_, key_) != value)
    throw failure(where + "breaks the chain: it, or a line before it, was changed, added or taken out" +
                  (!key_.empty()      ? ", or the key is another"
                   : mark_.lines == 0 ? "; that of a secret source needs its key"
                                      : ""));
  mark_.head = value;
  ++mark_.lines;
  end_ += line.size() + 1;
  begin_ = end + 1;
  return text_;
}

// One writer at a time: the lock goes with the descriptor.
LedgerWriter::LedgerWriter(std::filesystem::path path, int fd) : path_(std::move(path)), fd_(fd) {
  if (fd_ < 0) throw cannot("write", path_, errno);
  if (::flock(fd_, LOCK_EX | LOCK_NB) == 0) return;
  ::close(fd_);
  throw failure("another process writes to the ledger '" + path_.string() + "'");
}

LedgerWriter::LedgerWriter(LedgerWriter&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), size_(other.size_) {}

LedgerWriter::~LedgerWriter() {
  if (fd_ >= 0) ::close(fd_);
}

LedgerWriter LedgerWriter::create(const std::filesystem::path& path) {
  LedgerWriter writer(path, ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644));
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  if (const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); descriptor >= 0) {
    ::fsync(descriptor);
    ::close(descriptor);
  }
  return writer;
}

LedgerWriter LedgerWriter::open(const std::filesystem::path& path) {
  LedgerWriter writer(path, ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  const off_t size = ::lseek(writer.fd_, 0, SEEK_END);
  if (size < 0) throw cannot("write", path, errno);
  writer.size_ = static_cast<std::uint64_t>(size);
  return writer;
}

void LedgerWriter::cut(std::uint64_t size) {
  if (size == size_) return;
  if (::ftruncate(fd_, static_cast<off_t>(size)) != 0) throw cannot("write", path_, errno);
  size_ = size;
}

void LedgerWriter::append(std::string_view line) {
  std::string bytes(line);
  bytes += '\n';
  std::string_view left = bytes;
  while (!left.empty()) {
    const ssize_t written = ::write(fd_, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int error = errno;
      [[maybe_unused]] const int restored = ::ftruncate(fd_, static_cast<off_t>(size_));
      throw cannot("write", path_, error);
    }
    left.remove_prefix(static_cast<std::size_t>(written));
  }
  size_ += bytes.size();
}

void LedgerWriter::sync() {
  if (::fsync(fd_) != 0) throw cannot("write", path_, errno);
}

}  // namespace fedstride
