#include "data/input_file.hpp"

#include <sys/stat.h>

#include "data/datasets.hpp"
#include "data/files/readers.hpp"
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

/// Checks that the call fails for what a file unpacks to, which its error names with the bound: 256 times its size and 64 MiB.
template <class Call>
void check_bound(const std::filesystem::path& file, Call&& call) {
  CHECK_FAILURE(call(), file.string(), "256", "67108864");
}

}  // namespace

TEST_CASE("a small gzipped file does not unpack to what fills the memory, whatever reads it") {
  const TemporaryFolder folder;
  const std::string table = packed("1,2,0\n3,4,1\n", ' ', 100);
  const auto csv = write(folder / "train.csv.gz", table);
  check_bound(csv, [&] { load_dataset("file", own(csv.string())); });
  check_bound(csv, [&] { load_dataset("file", own(csv)); });

  // An idx file that says what it holds: 25,600 pictures of 64 times 64.
  using namespace std::string_view_literals;
  const std::string images = packed("\0\0\x08\x03\0\0\x64\0\0\0\0\x40\0\0\0\x40"sv, 'x', 100);
  const auto pictures = write(folder / "train-images-idx3-ubyte.gz", images);
  const auto labels = write(folder / "train-labels-idx1-ubyte", "\0\0\x08\x01\0\0\x64\0"sv);
  std::ofstream(labels, std::ios::app) << std::string(25600, '\1');
  const ReadSettings settings;
  Assembly both("the pictures", "none", settings);
  check_bound(pictures, [&] { read_idx_files(pictures, labels, both, false); });
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
    CHECK_FAILURE(load_dataset("file", own(folder / "pipe.csv", as_form(form))), folder / "pipe.csv", "pipe");
    CHECK_FAILURE(load_dataset("file", own("/dev/zero", as_form(form))), "'/dev/zero'", "device");
  }
  CHECK_FAILURE(InputFile(folder.path()), folder.path().string(), "Is a directory");
}

}  // namespace fedstride::test::input_file_test
