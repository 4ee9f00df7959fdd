#include "data/input_file.hpp"

#include <sys/stat.h>

#include "data/datasets.hpp"
#include "data/idx.hpp"
#include "data/table.hpp"
#include "tests/data/files.hpp"

namespace fedstride::test::input_file_test {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;

// Streams of a mebibyte each behind one another are one gzipped file: a thousandth of what it unpacks to.
std::string packed(std::string_view beginning, char filling, int pieces) {
  std::string piece(kPiece, filling);
  piece.back() = '\n';
  const std::string again = gzipped(piece);
  std::string file = gzipped(beginning);
  for (int i = 0; i < pieces; ++i) file += again;
  return file;
}

bool is_bound(const std::string& message) {
  return contains(message, "' unpacks to ") &&
         contains(message, "a packed file may be unpacked to 256 times its size and 67108864 bytes more");
}

}  // namespace

TEST_CASE("a small gzipped file does not unpack to what fills the memory, whatever reads it") {
  const TemporaryFolder folder;
  const std::string table = packed("1,2,0\n3,4,1\n", ' ', 100);
  const auto csv = write(folder / "train.csv.gz", table);
  CHECK(is_bound(error_of([&] { read_table(csv, {}); })));
  CHECK(is_bound(error_of([&] { load_dataset("file", own(csv)); })));

  // An idx file that says what it holds: 25,600 pictures of 64 times 64.
  using namespace std::string_view_literals;
  const std::string images = packed("\0\0\x08\x03\0\0\x64\0\0\0\0\x40\0\0\0\x40"sv, 'x', 100);
  const auto pictures = write(folder / "train-images-idx3-ubyte.gz", images);
  const auto labels = write(folder / "train-labels-idx1-ubyte", "\0\0\x08\x01\0\0\x64\0"sv);
  std::ofstream(labels, std::ios::app) << std::string(25600, '\1');
  CHECK(is_bound(error_of([&] { read_idx(pictures, labels); })));
  CHECK(is_bound(error_of([&] { load_dataset("file", own(pictures)); })));
}

TEST_CASE("what unpacks to less is read, however well it is packed") {
  const TemporaryFolder folder;
  InputFile input(write(folder / "zeros.gz", packed("", ' ', 60)));
  std::vector<std::uint8_t> some(kPiece);
  std::size_t total = 0;
  while (const std::size_t count = input.read(some)) total += count;
  CHECK(total == 60 * kPiece);
}

TEST_CASE("a pipe, a device and a folder are refused at once") {
  const TemporaryFolder folder;
  REQUIRE(::mkfifo((folder / "pipe.csv").c_str(), 0600) == 0);
  for (const FileForm form :
       {FileForm::automatic, FileForm::csv, FileForm::npz, FileForm::hdf5, FileForm::leaf, FileForm::cifar}) {
    CAPTURE(choice_name(form));
    const auto reading_it = [&](const std::filesystem::path& path) {
      return error_of([&] { load_dataset("file", own(path, as_form(form))); });
    };
    CHECK(contains(reading_it(folder / "pipe.csv"), "/pipe.csv': it is a pipe; valid is a regular file"));
    CHECK(contains(reading_it("/dev/zero"), "cannot read '/dev/zero': it is a device; valid is a regular file"));
  }
  CHECK(contains(error_of([&] { InputFile input(folder.path()); }), "Is a directory"));
}

}  // namespace fedstride::test::input_file_test
