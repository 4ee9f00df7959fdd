#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace fedstride {

// A compressed file may expand to this many times its size plus this many bytes, so a small file cannot fill memory.
constexpr std::uint64_t kMaxUnpacking = 256;
constexpr std::uint64_t kAlwaysUnpacked = std::uint64_t{64} << 20;

/// The maximum number of bytes that a file of `size` bytes may expand to.
constexpr std::uint64_t most_unpacked(std::uint64_t size) { return kAlwaysUnpacked + kMaxUnpacking * size; }

/// A file read once from front to back, decompressed on the way if gzipped. Every error is an Error (failure) naming the file: it
/// is missing, not a file, damaged, cut off in the middle of a gzip stream, or expands beyond what its size allows
/// (most_unpacked).
class InputFile {
 public:
  explicit InputFile(const std::filesystem::path& path);
  ~InputFile();
  InputFile& operator=(InputFile&&) = delete;

  /// Fills `out`; returns the number of bytes read, which is smaller only at the end.
  std::size_t read(std::span<std::uint8_t> out);

  /// "'path'", for messages.
  const std::string& name() const { return name_; }

 private:
  void check();
  void count(std::size_t bytes);

  std::string name_;
  std::uint64_t unpacked_ = 0;
  std::uint64_t look_at_ = 0;
  void* file_ = nullptr;
};

}  // namespace fedstride
