#include "data/files/binary.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "core/files.hpp"
#include "data/cifar.hpp"
#include "data/input_file.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSidePixels = 32;
constexpr std::size_t kPicture = 3 * kSidePixels * kSidePixels;
constexpr std::size_t kBytesAtOnce = std::size_t{1} << 20;
constexpr std::size_t kMaxRecordBytes = std::size_t{1} << 24;
constexpr std::uint64_t kMaxNamed = std::uint64_t{1} << 40;

/// The sizes in the header of an idx file of bytes.
std::vector<std::size_t> read_idx_header(InputFile& file, std::size_t least, std::size_t most) {
  std::array<std::uint8_t, 4> magic{};
  if (file.read(magic) != magic.size()) throw failure(file.name() + " is too short for an idx file");
  const std::size_t dimensions = magic[3];
  if (magic[0] != 0 || magic[1] != 0 || magic[2] != 8 || dimensions < least || dimensions > most)
    throw failure(file.name() + " is not an idx file of bytes in " + std::to_string(least) +
                  (least == most ? "" : " to " + std::to_string(most)) +
                  " dimensions: it must begin with the bytes 0 0 8 and their number");
  std::vector<std::size_t> sizes;
  std::uint64_t total = 1;
  for (std::size_t i = 0; i < dimensions; ++i) {
    std::array<std::uint8_t, 4> bytes{};
    if (file.read(bytes) != bytes.size()) throw failure(file.name() + " ends in its header");
    sizes.push_back(std::size_t{bytes[0]} << 24 | std::size_t{bytes[1]} << 16 | std::size_t{bytes[2]} << 8 | bytes[3]);
    if (sizes.back() == 0) throw failure(file.name() + " holds no record");
    if (__builtin_mul_overflow(total, sizes.back(), &total) || total > kMaxNamed)
      throw failure(file.name() + " names more than " + std::to_string(kMaxNamed) + " bytes of contents");
  }
  return sizes;
}

/// Reads so many records of so many bytes, some at a time.
template <class Use>
void read_records(InputFile& file, std::size_t records, std::size_t size, Use use) {
  if (size > kMaxRecordBytes)
    throw failure(file.name() + " has examples of " + std::to_string(size) + " bytes; at most " +
                  std::to_string(kMaxRecordBytes) + " are read");
  std::vector<std::uint8_t> bytes;
  for (std::size_t done = 0; done < records;) {
    const std::size_t count = std::min(std::max<std::size_t>(1, kBytesAtOnce / size), records - done);
    bytes.resize(count * size);
    const std::size_t read = file.read(bytes);
    if (read < bytes.size())
      throw failure(file.name() + " is cut off: its header names " + std::to_string(records) + " records, it holds " +
                    std::to_string(done + read / size));
    use(bytes, count);
    done += count;
  }
  if (std::array<std::uint8_t, 1> more{}; file.read(more) != 0)
    throw failure(file.name() + " holds more than the " + std::to_string(records) + " records that its header names");
}

fs::path labels_beside(const fs::path& images) {
  std::string name = images.filename().string();
  const std::size_t at = name.rfind("images");
  if (at == name.npos)
    throw failure("'" + images.string() + "' has no \"images\" in its name, by which the file of the labels is found");
  name.replace(at, 6, "labels");
  for (const char* number : {"idx3", "idx4", "idx2"})
    if (const std::size_t place = name.rfind(number); place != name.npos) name.replace(place, 4, "idx1");
  std::error_code error;
  fs::path beside = images.parent_path() / name;
  if (fs::exists(beside, error)) return beside;
  fs::path other = beside.extension() == ".gz" ? fs::path(beside).replace_extension() : fs::path(beside.string() + ".gz");
  if (fs::exists(other, error)) return other;
  throw failure("'" + beside.string() + "' is missing: the labels of '" + images.string() + "'");
}

}  // namespace

void read_cifar_file(const fs::path& path, Assembly& into, bool as_test) {
  const std::uint64_t bytes = size_of_file(path);
  const bool is_fine = bytes % (1 + kPicture) != 0 && bytes % (2 + kPicture) == 0;
  const CifarFormat format{.label_bytes = is_fine ? 2 : 1, .label_at = is_fine ? 1 : 0};
  Dataset data = read_cifar(std::array{path}, format);
  into.shared.planes_are_known = true;
  PartBuilder& part = as_test ? into.test : into.train;
  part.add_examples({.key = "pixels",
                     .kind = 'u',
                     .item = 1,
                     .shape = {data.size(), 3, kSidePixels, kSidePixels},
                     .bytes = std::move(data.pixels)});
  Array labels{.key = "label", .kind = 'u', .item = sizeof(Label), .shape = {data.size()}, .bytes = {}};
  labels.bytes.resize(data.size() * sizeof(Label));
  std::memcpy(labels.bytes.data(), data.labels.data(), labels.bytes.size());
  part.add_answers(labels);
}

void read_idx_files(const fs::path& images, Assembly& into, bool as_test) {
  InputFile image_file(images);
  InputFile label_file(labels_beside(images));
  const std::vector<std::size_t> sizes = read_idx_header(image_file, 2, 4);
  const std::vector<std::size_t> label_sizes = read_idx_header(label_file, 1, 1);
  if (sizes.front() != label_sizes.front())
    throw failure(image_file.name() + " has " + std::to_string(sizes.front()) + " records, " + label_file.name() + " has " +
                  std::to_string(label_sizes.front()));
  PartBuilder& part = as_test ? into.test : into.train;
  Array x{.key = "images", .kind = 'u', .item = 1, .shape = sizes, .bytes = {}};
  Array y{.key = "labels", .kind = 'u', .item = 1, .shape = {}, .bytes = {}};
  const auto give = [&part](Array& array, bool answers) {
    return [&part, &array, answers](const std::vector<std::uint8_t>& some, std::size_t count) {
      array.bytes = some;
      if (array.shape.empty()) array.shape = {count};
      array.shape.front() = count;
      answers ? part.add_answers(array) : part.add_examples(array);
    };
  };
  read_records(image_file, sizes.front(), x.row_size(), give(x, false));
  read_records(label_file, sizes.front(), 1, give(y, true));
}

}  // namespace fedstride
