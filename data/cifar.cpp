#include "data/cifar.hpp"

#include <algorithm>
#include <fstream>

#include "core/error.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kPixels = 3072;
constexpr std::uint64_t kLargestFile = std::uint64_t{4} << 30;

void append_file(const std::filesystem::path& path, const CifarFormat& format, Dataset& into) {
  const std::string name = "'" + path.string() + "'";
  const std::size_t record = static_cast<std::size_t>(format.label_bytes) + kPixels;
  std::error_code error;
  const std::uint64_t bytes = std::filesystem::file_size(path, error);
  if (error) throw failure("cannot read " + name + ": " + error.message());
  if (bytes > kLargestFile)
    throw failure(name + " has " + std::to_string(bytes) + " bytes; at most " + std::to_string(kLargestFile) + " are read");
  if (bytes % record != 0)
    throw failure(name + " has " + std::to_string(bytes) + " bytes, which is not a whole number of records of " +
                  std::to_string(record) + " bytes");
  std::ifstream file(path, std::ios::binary);
  if (!file) throw failure("cannot open " + name);

  const std::size_t records = bytes / record;
  into.labels.reserve(into.labels.size() + records);
  std::vector<std::uint8_t> chunk(64 * record);
  for (std::size_t done = 0; done < records;) {
    const std::size_t count = std::min<std::size_t>(64, records - done);
    file.read(reinterpret_cast<char*>(chunk.data()), static_cast<std::streamsize>(count * record));
    if (static_cast<std::size_t>(file.gcount()) != count * record)
      throw failure(name + " ended while record " + std::to_string(done) + " was read");
    for (std::size_t i = 0; i < count; ++i, ++done) {
      const std::uint8_t* from = chunk.data() + i * record;
      const Label label = from[format.label_at];
      if (format.classes > 0 && label >= format.classes)
        throw failure(name + ", record " + std::to_string(done) + " (counted from 0): label " + std::to_string(label) +
                      " is out of range; valid: 0 to " + std::to_string(format.classes - 1));
      into.labels.push_back(label);
      into.pixels.insert(into.pixels.end(), from + format.label_bytes, from + record);
    }
  }
}

}  // namespace

Dataset read_cifar(std::span<const std::filesystem::path> files, const CifarFormat& format) {
  Dataset data;
  data.shape = {32, 32, 3};
  std::uint64_t bytes = 0;
  for (const auto& file : files) {
    std::error_code ignored;
    const std::uint64_t size = std::filesystem::file_size(file, ignored);
    if (!ignored) bytes += std::min(size, kLargestFile);
  }
  data.pixels.reserve(bytes);  // one allocation: growing would hold the pictures twice
  for (const auto& file : files) append_file(file, format, data);
  if (data.labels.empty()) throw failure("'" + files.front().string() + "' holds no record");
  data.classes = format.classes > 0 ? format.classes : 1 + *std::max_element(data.labels.begin(), data.labels.end());
  return data;
}

}  // namespace fedstride
