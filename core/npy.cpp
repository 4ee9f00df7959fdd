#include "core/npy.hpp"

#include <bit>
#include <charconv>
#include <cstring>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "core/files.hpp"

namespace fedstride {
namespace {

constexpr std::string_view kMagic{"\x93NUMPY\x01\x00", 8};
constexpr std::string_view kBefore = "{'descr': '<u4', 'fortran_order': False, 'shape': (";
constexpr std::string_view kAfter = ",), }";
constexpr std::size_t kAlignment = 64;    // of the numbers in the file, in bytes
constexpr std::size_t kMaxHeader = 1024;  // NumPy's header for one dimension has 118 bytes
static_assert(std::endian::native == std::endian::little, "numbers are written in their memory representation");

Error unreadable(const std::filesystem::path& path, const std::string& why) {
  return failure("'" + path.string() + "' cannot be read as an array: " + why +
                 "; it must be a .npy file of format 1.0 with one dimension of type '<u4'");
}

}  // namespace

void write_npy(const std::filesystem::path& path, std::span<const std::uint32_t> numbers) {
  std::string header(kBefore);
  header += std::to_string(numbers.size());
  header += kAfter;
  const std::size_t begin = (kMagic.size() + 2 + header.size() + 1 + kAlignment - 1) / kAlignment * kAlignment;
  header.resize(begin - kMagic.size() - 2 - 1, ' ');
  header += '\n';
  std::string text;
  text.reserve(begin + numbers.size_bytes());
  text += kMagic;
  text += static_cast<char>(header.size() % 256);
  text += static_cast<char>(header.size() / 256);
  text += header;
  text.append(reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes());
  write_file(path, text);
}

std::vector<std::uint32_t> read_npy(const std::filesystem::path& path, std::uint64_t most) {
  const std::string text = read_file(path, kMaxHeader + most * sizeof(std::uint32_t));
  const std::string_view view = text;
  if (!view.starts_with(kMagic) || view.size() < kMagic.size() + 2) throw unreadable(path, "it does not start like a .npy file");
  const auto byte = [&](std::size_t at) { return static_cast<std::size_t>(static_cast<unsigned char>(view[at])); };
  const std::size_t begin = kMagic.size() + 2 + byte(kMagic.size()) + 256 * byte(kMagic.size() + 1);
  if (view.size() < begin) throw unreadable(path, "it ends inside its header");
  std::string_view header = view.substr(kMagic.size() + 2, begin - kMagic.size() - 2);
  if (!header.starts_with(kBefore)) throw unreadable(path, "its header has another type or shape");
  header.remove_prefix(kBefore.size());
  std::uint64_t count = 0;
  const auto [end, error] = std::from_chars(header.data(), header.data() + header.size(), count);
  header.remove_prefix(static_cast<std::size_t>(end - header.data()));
  if (error != std::errc{} || !header.starts_with(kAfter)) throw unreadable(path, "its header has another type or shape");
  const std::uint64_t bytes = view.size() - begin;
  if (count > most || bytes != count * sizeof(std::uint32_t))
    throw unreadable(path,
                     "its header claims " + std::to_string(count) + " numbers, but " + std::to_string(bytes) + " bytes follow");
  std::vector<std::uint32_t> numbers(count);
  if (count > 0) std::memcpy(numbers.data(), view.data() + begin, bytes);
  return numbers;
}

}  // namespace fedstride
