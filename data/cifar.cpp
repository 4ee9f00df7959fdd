#include "data/cifar.hpp"

#include <algorithm>
#include <array>
#include <fstream>

#include "core/error.hpp"
#include "core/files.hpp"
#include "data/data_folder.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPixels = 3072;
constexpr std::uint64_t kMaxCifarFileBytes = std::uint64_t{4} << 30;

void append_file(const fs::path& path, const CifarFormat& format, Dataset& into) {
  const std::string name = "'" + path.string() + "'";
  const std::size_t record = static_cast<std::size_t>(format.label_bytes) + kPixels;
  const std::uint64_t bytes = size_of_file(path);
  if (bytes > kMaxCifarFileBytes)
    throw failure(name + " has " + std::to_string(bytes) + " bytes; at most " + std::to_string(kMaxCifarFileBytes) + " are read");
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
      into.pixels.append(from + format.label_bytes, from + record);
    }
  }
}

fs::path existing(const fs::path& path) {
  if (std::error_code ignored; !fs::is_regular_file(path, ignored)) throw failure("'" + path.string() + "' is missing");
  return path;
}

Dataset read_one(const fs::path& file, const CifarFormat& format) { return read_cifar(std::array{existing(file)}, format); }

}  // namespace

Dataset read_cifar(std::span<const fs::path> files, const CifarFormat& format) {
  Dataset data;
  data.shape = {32, 32, 3};
  data.mean = {0.4914F, 0.4822F, 0.4465F};
  data.deviation = {0.2023F, 0.1994F, 0.2010F};
  std::uint64_t bytes = 0;
  for (const auto& file : files) {
    std::error_code ignored;
    const std::uint64_t size = fs::file_size(file, ignored);
    if (!ignored) bytes += std::min(size, kMaxCifarFileBytes);
  }
  data.pixels.reserve(bytes);  // one allocation: growing would hold the pictures twice
  for (const auto& file : files) append_file(file, format, data);
  if (data.labels.empty()) throw failure("'" + files.front().string() + "' holds no record");
  data.classes = format.classes > 0 ? format.classes : 1 + *std::max_element(data.labels.begin(), data.labels.end());
  return data;
}

DataPair load_cifar10(const fs::path& folder) {
  std::vector<fs::path> train;
  for (int i = 1; i <= 5; ++i) train.push_back(existing(folder / ("data_batch_" + std::to_string(i) + ".bin")));
  const std::array test{existing(folder / "test_batch.bin")};
  const CifarFormat format{.classes = 10};
  DataPair pair{read_cifar(train, format), read_cifar(test, format), {}};
  pair.train.class_names = {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"};
  // Client 1 has cars and trucks, 2 planes and ships, 3 cats and dogs, 4 birds and frogs, 5 deer and horses.
  pair.train.class_order = {1, 9, 0, 8, 3, 5, 2, 6, 4, 7};
  return pair;
}

DataPair load_cifar100(const fs::path& folder) {
  const CifarFormat format{.label_bytes = 2, .label_at = 1, .classes = 100};
  return {read_one(folder / "train.bin", format), read_one(folder / "test.bin", format), {}};
}

}  // namespace fedstride
