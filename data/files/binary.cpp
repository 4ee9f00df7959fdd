#include <algorithm>
#include <array>
#include <fstream>
#include <string>

#include "core/error.hpp"
#include "core/files.hpp"
#include "data/files/readers.hpp"
#include "data/input_file.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSidePixels = 32;
constexpr std::size_t kPicture = 3 * kSidePixels * kSidePixels;
constexpr std::size_t kBytesAtOnce = std::size_t{1} << 20;
constexpr std::size_t kMaxRecordBytes = std::size_t{1} << 24;
constexpr std::uint64_t kMaxNamed = std::uint64_t{1} << 40;
constexpr std::uint64_t kMaxCifarFileBytes = std::uint64_t{4} << 30;

/// Adds the one-byte labels that follow the first `done` labels of the file. If the number of classes is known, labels must be
/// below it.
void add_labels(PartBuilder& part, const std::string& file, std::size_t done, std::span<const std::uint8_t> labels) {
  const int classes = part.shared().rows_are_protected ? 256 : part.shared().classes.value_or(256);
  const auto wrong = std::ranges::find_if(labels, [&](std::uint8_t label) { return label >= classes; });
  if (wrong != labels.end())
    throw failure(file + ", record " + std::to_string(done + static_cast<std::size_t>(wrong - labels.begin())) +
                  " (counted from 0): label " + std::to_string(*wrong) + " is out of range; valid: 0 to " +
                  std::to_string(classes - 1));
  part.add_answers(array_of("labels", labels, {labels.size()}));
}

/// Returns the sizes of so many dimensions in the header of an idx file of bytes.
std::vector<std::size_t> read_idx_header(InputFile& file, std::size_t dimensions) {
  std::array<std::uint8_t, 4> magic{};
  if (file.read(magic) != magic.size()) throw failure(file.name() + " is too short for an idx file");
  if (magic[0] != 0 || magic[1] != 0 || magic[2] != 8 || magic[3] != dimensions)
    throw failure(file.name() + " is not an idx file of bytes; it must begin with the bytes 0 0 8 " + std::to_string(dimensions));
  std::vector<std::size_t> sizes;
  std::uint64_t total = 1;
  std::string pixels;
  for (std::size_t i = 0; i < dimensions; ++i) {
    std::array<std::uint8_t, 4> bytes{};
    if (file.read(bytes) != bytes.size()) throw failure(file.name() + " ends inside its header");
    sizes.push_back(std::size_t{bytes[0]} << 24 | std::size_t{bytes[1]} << 16 | std::size_t{bytes[2]} << 8 | bytes[3]);
    if (sizes.front() == 0) throw failure(file.name() + " has no records");
    if (__builtin_mul_overflow(total, sizes.back(), &total) || total > kMaxNamed)
      throw failure(file.name() + ": its header claims more than " + std::to_string(kMaxNamed) + " bytes of contents");
    if (i > 0) pixels += (i == 1 ? "" : "x") + std::to_string(sizes[i]);
  }
  if (total == 0) throw failure(file.name() + " has images of " + pixels + " pixels; each must have at least one");
  return sizes;
}

/// Reads `records` records of `size` bytes, some at a time: calls use(number of records before these, number of these, bytes).
void read_records(InputFile& file, std::size_t records, std::size_t size, auto use) {
  if (size > kMaxRecordBytes)
    throw failure(file.name() + " has examples of " + std::to_string(size) + " bytes; at most " +
                  std::to_string(kMaxRecordBytes) + " are read");
  std::vector<std::uint8_t> bytes;
  for (std::size_t done = 0; done < records;) {
    const std::size_t count = std::min(std::max<std::size_t>(1, kBytesAtOnce / size), records - done);
    bytes.resize(count * size);
    if (const std::size_t read = file.read(bytes); read < bytes.size())
      throw failure(file.name() + " is truncated: its header claims " + std::to_string(records) + " records, but it has " +
                    std::to_string(done + read / size) + (read % size == 0 ? "" : " and part of another"));
    use(done, count, std::span<const std::uint8_t>(bytes));
    done += count;
  }
  if (std::array<std::uint8_t, 1> more{}; file.read(more) != 0)
    throw failure(file.name() + " has more than the " + std::to_string(records) + " records its header claims");
}

}  // namespace

void read_cifar_file(const fs::path& path, Assembly& into, bool as_test, std::size_t label_bytes) {
  const std::string name = "'" + path.string() + "'";
  if (!is_there(path)) throw failure(name + " is missing");
  const std::uint64_t bytes = size_of_file(path);
  const std::size_t record = label_bytes + kPicture;
  if (bytes == 0) throw failure(name + " has no records");
  if (bytes > kMaxCifarFileBytes)
    throw failure(name + " has " + std::to_string(bytes) + " bytes; at most " + std::to_string(kMaxCifarFileBytes) + " are read");
  if (bytes % record != 0)
    throw failure(name + " has " + std::to_string(bytes) + " bytes, which is not a whole number of records of " +
                  std::to_string(record) + " bytes");
  into.shared.planes_are_known = true;
  PartBuilder& part = as_test ? into.test : into.train;
  std::ifstream file(path, std::ios::binary);
  std::vector<std::uint8_t> some, pixels, labels;
  for (std::size_t done = 0; done < bytes / record; done += labels.size()) {
    some.resize(record * std::min<std::size_t>(kBytesAtOnce / record, bytes / record - done));
    if (!file.read(reinterpret_cast<char*>(some.data()), static_cast<std::streamsize>(some.size())))
      throw failure(name + " cannot be read from record " + std::to_string(done) + " on");
    pixels.clear();
    labels.clear();
    for (auto from = some.begin(); from != some.end(); from += static_cast<std::ptrdiff_t>(record)) {
      const auto picture = from + static_cast<std::ptrdiff_t>(label_bytes);
      labels.push_back(picture[-1]);
      pixels.insert(pixels.end(), picture, picture + kPicture);
    }
    part.add_examples(array_of<std::uint8_t>("pixels", pixels, {labels.size(), 3, kSidePixels, kSidePixels}));
    add_labels(part, name, done, labels);
  }
}

void read_idx_files(const fs::path& images, const fs::path& labels, Assembly& into, bool as_test) {
  InputFile image_file(images);
  InputFile label_file(labels);
  std::vector<std::size_t> sizes = read_idx_header(image_file, 3);
  const std::size_t records = sizes.front();
  if (const std::size_t count = read_idx_header(label_file, 1).front(); count != records)
    throw failure(image_file.name() + " has " + std::to_string(records) + " records, but " + label_file.name() + " has " +
                  std::to_string(count));
  PartBuilder& part = as_test ? into.test : into.train;
  read_records(label_file, records, 1, [&](std::size_t done, std::size_t, std::span<const std::uint8_t> some) {
    add_labels(part, label_file.name(), done, some);
  });
  read_records(image_file, records, sizes[1] * sizes[2], [&](std::size_t, std::size_t count, std::span<const std::uint8_t> some) {
    sizes.front() = count;
    part.add_examples(array_of("images", some, sizes));
  });
}

}  // namespace fedstride
