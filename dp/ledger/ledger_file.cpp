#include "dp/ledger/ledger_file.hpp"

#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <system_error>

#include "core/call_failed.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/hash.hpp"

namespace fedstride {
namespace {

constexpr std::string_view kOpening = ",\"chain\":\"";
constexpr std::size_t kDigits = 64;

Error cannot(const char* verb, const std::filesystem::path& path, int error) {
  return call_failed(std::string("cannot ") + verb + " the ledger '" + path.string() + "': " + std::strerror(error), error);
}

Descriptor opened_to_read(const std::filesystem::path& path) {
  if (is_there(path)) size_of_file(path);
  return opened(path, O_RDONLY);
}

}  // namespace

std::string chain_value(std::string_view before, std::string_view text, std::string_view key) {
  if (key.empty()) return Hash().text(before).text("\n").text(text).hex();
  return hex_of(hmac_sha256(key, std::string(before) + "\n" + std::string(text)));
}

std::string chained(std::string_view text, std::string_view value) {
  return std::string(text.substr(0, text.size() - 1)) + std::string(kOpening) + std::string(value) + "\"}";
}

LedgerReader::LedgerReader(const std::filesystem::path& path, std::string_view key)
    : path_(path), key_(key), file_(opened_to_read(path)) {
  struct stat status {};
  if (!file_ || ::fstat(file_.get(), &status) != 0) throw cannot("read", path, errno);
  if (static_cast<std::uint64_t>(status.st_size) > kMaxLedgerBytes) throw cannot("read", path, EFBIG);
}

// Reads more of the file into the buffer; returns false at the end of the file.
bool LedgerReader::fill() {
  buffer_.erase(0, begin_);
  begin_ = 0;
  const std::size_t had = buffer_.size();
  buffer_.resize(had + (std::size_t{1} << 18));
  const ssize_t count = uninterrupted([&] { return ::read(file_.get(), buffer_.data() + had, buffer_.size() - had); });
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
    throw failure(where + "breaks the chain: it, or a line before it, was changed, added or removed" +
                  (!key_.empty()      ? ", or the key is wrong"
                   : mark_.lines == 0 ? "; a ledger with a secret source needs its key"
                                      : ""));
  mark_.head = value;
  ++mark_.lines;
  end_ += line.size() + 1;
  begin_ = end + 1;
  return text_;
}

// Only one writer at a time: the lock lasts until the descriptor is closed.
LedgerWriter::LedgerWriter(const std::filesystem::path& path, int flags)
    : path_(path), file_(opened(path, O_WRONLY | O_APPEND | flags, 0644)) {
  if (!file_) throw cannot("write", path_, errno);
  if (::flock(file_.get(), LOCK_EX | LOCK_NB) != 0)
    throw failure("another process is writing to the ledger '" + path_.string() + "'");
}

LedgerWriter LedgerWriter::create(const std::filesystem::path& path) {
  LedgerWriter writer(path, O_CREAT | O_EXCL);
  sync_folder_of(path);
  return writer;
}

LedgerWriter LedgerWriter::open(const std::filesystem::path& path) {
  LedgerWriter writer(path, 0);
  const off_t size = ::lseek(writer.file_.get(), 0, SEEK_END);
  if (size < 0) throw cannot("write", path, errno);
  writer.size_ = static_cast<std::uint64_t>(size);
  return writer;
}

void LedgerWriter::cut(std::uint64_t size) {
  if (size == size_) return;
  if (::ftruncate(file_.get(), static_cast<off_t>(size)) != 0) throw cannot("write", path_, errno);
  size_ = size;
}

void LedgerWriter::append(std::string_view line) {
  std::string bytes(line);
  bytes += '\n';
  if (!write_all(file_.get(), bytes)) {
    const int error = errno;
    [[maybe_unused]] const int restored = ::ftruncate(file_.get(), static_cast<off_t>(size_));
    throw cannot("write", path_, error);
  }
  size_ += bytes.size();
}

void LedgerWriter::sync() {
  if (::fsync(file_.get()) != 0) throw cannot("write", path_, errno);
}

bool holds_reservation(const std::filesystem::path& ledger) {
  std::error_code error;
  if (!std::filesystem::exists(ledger, error) && !error) return false;
  size_of_file(ledger);
  std::ifstream file(ledger, std::ios::binary);
  std::array<char, 4096> some{};
  for (std::ptrdiff_t ended = 0; file;) {
    file.read(some.data(), some.size());
    // A line without a line end was never synced, so the work it reserved never began.
    ended += std::count(some.begin(), some.begin() + file.gcount(), '\n');
    if (ended > 1) return true;
  }
  if (!file.eof()) throw failure("cannot read the ledger '" + ledger.string() + "'");
  return false;
}

void remove_unused_ledger(const std::filesystem::path& ledger) {
  if (holds_reservation(ledger))
    throw failure(
        "the ledger '" + ledger.string() +
        "' holds releases, but the state to resume from is missing; starting over here would reuse their noise: restore "
        "the checkpoint (for a client, its memory) or use another folder");
  std::error_code error;
  std::filesystem::remove(ledger, error);
  if (error) throw failure("cannot remove '" + ledger.string() + "': " + error.message());
}

std::string ledger_key_in(const std::filesystem::path& file) {
  constexpr std::uint64_t kSize = 32;
  std::string key = read_file(file, kSize);
  if (key.size() != kSize)
    throw failure("the key '" + file.string() + "' has " + std::to_string(key.size()) + " bytes; it must have 32");
  return key;
}

std::string ledger_key(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "secret.key";
  return is_there(file) ? ledger_key_in(file) : std::string();
}

}  // namespace fedstride
