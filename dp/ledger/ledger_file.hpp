#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/descriptor.hpp"

namespace fedstride {

/// A position in a ledger's chain.
struct LedgerMark {
  std::string head = {};    ///< chain value of the last line
  std::uint64_t lines = 0;  ///< 0: no mark
  bool operator==(const LedgerMark&) const = default;
};

/// Limits on the length of a line written or read, and on the size of a file read.
inline constexpr std::size_t kMaxLedgerLineBytes = std::size_t{32} << 20;
inline constexpr std::uint64_t kMaxLedgerBytes = std::uint64_t{1} << 36;

/// The chain value of a line: a hash of the previous line's value ("" for the first) and of the JSON object `text` without its
/// own value. SHA-256, or HMAC-SHA256 if the key is not empty: without the key, no one can write a valid line.
std::string chain_value(std::string_view before, std::string_view text, std::string_view key);

/// `text` with its chain value as the last member.
std::string chained(std::string_view text, std::string_view value);

/// Reads the lines of a ledger in order and checks the chain. Holds one line in memory.
class LedgerReader {
 public:
  /// Throws Error (failure) if the file cannot be read or is too large.
  LedgerReader(const std::filesystem::path& path, std::string_view key);

  /// The next line's JSON object without its chain value, valid until the next call; empty at the end. Bytes after the last line
  /// end are ignored: a line left incomplete when the machine stopped. Throws Error (failure) that states the line if it is too
  /// long or does not continue the chain.
  std::string_view next();

  const LedgerMark& mark() const { return mark_; }                ///< mark of the last line that next() returned
  std::uint64_t end() const { return end_; }                      ///< bytes up to that line's end
  std::uint64_t torn() const { return buffer_.size() - begin_; }  ///< once all lines are read: bytes after the last

 private:
  bool fill();

  std::filesystem::path path_;
  std::string key_;
  Descriptor file_;
  std::string buffer_;
  std::size_t begin_ = 0;
  std::uint64_t end_ = 0;
  std::string text_;
  LedgerMark mark_;
};

/// The key of the chain of the ledger in this folder: the bytes of secret.key beside it; empty without that file. Throws Error
/// (failure) if it is not a key.
std::string ledger_key(const std::filesystem::path& folder);
/// The same for a key in another place.
std::string ledger_key_in(const std::filesystem::path& file);

/// Appends lines to a ledger, for one process at a time.
class LedgerWriter {
 public:
  /// Creates a file, which must not exist, or opens an existing file unchanged. Both throw Error (failure) if that fails or
  /// another process has the file open for writing.
  static LedgerWriter create(const std::filesystem::path& path);
  static LedgerWriter open(const std::filesystem::path& path);

  /// Keeps the first `size` bytes and removes the rest. Throws Error (failure) if that fails.
  void cut(std::uint64_t size);
  /// Appends a line. If that fails, restores the file if possible and throws Error (failure).
  void append(std::string_view line);
  /// Flushes everything appended to disk. Throws Error (failure) if that fails.
  void sync();

 private:
  LedgerWriter(const std::filesystem::path& path, int flags);

  std::filesystem::path path_;
  Descriptor file_;
  std::uint64_t size_ = 0;
};

/// True if the file has a second line, that is, a reservation whose addresses may have been used. Needs no key. False if there is
/// no file. Throws Error (failure) if it cannot be read.
bool holds_reservation(const std::filesystem::path& ledger);

/// Removes a ledger in which nothing was reserved, left by a run that was killed before its first checkpoint. No other function
/// removes a ledger. Throws Error (failure) if the file holds a reservation.
void remove_unused_ledger(const std::filesystem::path& ledger);

}  // namespace fedstride
