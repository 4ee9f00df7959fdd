// HDF5 files as h5py writes them.
// Takes 16 s of processor time: hundreds of cut and altered files, each read by a process of its own.
#include "data/files/hdf5.hpp"

#include <doctest/doctest.h>

#include "data/datasets.hpp"
#include "data/files/texts.hpp"
#include "tests/data/python_files.hpp"
#include "tests/support/skip.hpp"

namespace fedstride::test::hdf5_test {
namespace {

/// A file in a folder of its own, made by lines of Python that have `file`, h5py and np.
class Made {
 public:
  bool make(const std::string& lines, const std::string& name = "d_train.h5") {
    const std::string python = python_with_h5py();
    if (python.empty()) return false;
    write(folder_ / "make.py", "import sys, h5py, numpy as np\nwith h5py.File(sys.argv[1], 'w') as file:\n" + lines);
    REQUIRE(run_python(python, folder_ / "make.py", "'" + (folder_ / name) + "'"));
    return true;
  }
  DataPair load(const ReadSettings& read = {}) const { return load_dataset("file", own(folder_ / "d_train.h5", read)); }
  DataPair load_folder() const { return load_dataset("file", own(folder_.path().string())); }
  std::string error(const ReadSettings& read = {}) const {
    return error_of([&] { load(read); });
  }
  const TemporaryFolder& folder() const { return folder_; }

 private:
  TemporaryFolder folder_;
};

/// The training part as so many processes read it.
Dataset read_by(int processes, const std::filesystem::path& path) {
  const ReadSettings settings;
  Assembly both("data", "data", settings);
  read_hdf5(path, {}, both, false, processes);
  return both.finish(true).train;
}

const char* kNoH5py = "no Python with h5py (Debian: python3-h5py)";

}  // namespace

TEST_CASE("EMNIST's layout: a group a writer, floats of 255ths go back to 8 bits, test rows belong to their writers") {
  Made made;
  if (!made.make(" for writer, rows in ('f2', 3), ('f1', 2):\n"
                 "  file[f'examples/{writer}/pixels'] = np.float32(1) - np.full((rows, 28, 28), rows, np.float32) / 255\n"
                 "  file[f'examples/{writer}/label'] = np.arange(rows, dtype=np.int32)\n"))
    FEDSTRIDE_SKIP(kNoH5py);
  made.make(
      " file['examples/f2/pixels'] = np.zeros((1, 28, 28), np.float32)\n file['examples/f2/label'] = np.array([2])\n"
      " file['examples/f3/pixels'] = np.zeros((0, 28, 28), np.float32)\n file['examples/f3/label'] = np.array([], np.int32)\n",
      "d_test.h5");
  const DataPair pair = made.load_folder();
  CHECK(pair.train.form().text() == "28x28x1, 3 classes");
  CHECK(pair.train.pixels[0] == 253);
  CHECK(pair.train.pixels[2 * 784] == 252);
  CHECK(pair.train.client_names == std::vector<std::string>{"f1", "f2"});
  CHECK(pair.train.clients == std::vector<std::uint32_t>{0, 0, 1, 1, 1});
  CHECK(pair.test.clients == std::vector<std::uint32_t>{1});
}

TEST_CASE("CIFAR-100's layout: color pictures, fine labels, or the key that is named; packed as it may be") {
  Made made;
  if (!made.make(" for c in '0', '1':\n"
                 "  file.create_dataset(f'examples/{c}/image', data=np.arange(2*32*32*3).reshape(2, 32, 32, 3).astype(np.uint8),"
                 " chunks=(1, 32, 32, 3), compression='gzip', shuffle=True)\n"
                 "  file[f'examples/{c}/label'] = np.array([7, 0])\n  file[f'examples/{c}/coarse_label'] = np.array([1, 0])\n"))
    FEDSTRIDE_SKIP(kNoH5py);
  const DataPair pair = made.load();
  CHECK(pair.train.form().text() == "32x32x3, 8 classes");
  CHECK(pair.train.pixels[0] == 0);
  CHECK(pair.train.pixels[1] == 3);
  CHECK(pair.train.pixels[1024] == 1);
  CHECK(made.load(reading("coarse_label")).train.classes == 2);
  CHECK_FAILURE(made.load(reading("color")), "'0'", "color");
}

TEST_CASE("Shakespeare's snippets: begin, characters, end and pads in sequences of 80 with the next ones as labels") {
  Made made;
  if (!made.make(
          " said = ['dh', 'x' * 100]\n file.create_dataset('examples/HAMLET/snippets', data=said, dtype=h5py.string_dtype())\n"))
    FEDSTRIDE_SKIP(kNoH5py);
  const Dataset rows = load_own_rows("file", own(made.folder() / "d_train.h5")).train;
  CHECK(rows.form().text() == "80 tokens of 90, 90 classes a position");
  REQUIRE(rows.size() == 3);
  // 0 pads, "dhlptx..." from 1, 87 another, 88 the beginning, 89 the end.
  CHECK(std::vector<int>(rows.tokens.begin(), rows.tokens.begin() + 5) == std::vector<int>{88, 1, 2, 89, 0});
  CHECK(std::vector<int>(rows.position_labels.begin(), rows.position_labels.begin() + 4) == std::vector<int>{1, 2, 89, kNoLabel});
  CHECK(rows.tokens[80] == 88);
  CHECK(rows.tokens[81] == 6);
  // 102 tokens of the second text: 81 in the first sequence, 21 and 60 pads in the other.
  CHECK(rows.position_labels[80 + 79] == 6);
  CHECK(rows.tokens[160] == 6);
  CHECK(rows.tokens[160 + 20] == 89);
  CHECK(rows.position_labels[160 + 19] == 89);
  CHECK(rows.position_labels[160 + 20] == kNoLabel);
  std::vector<std::uint16_t> tokens;
  Characters::tensorflow_federated().append_tokens("@\r~", tokens);
  CHECK(tokens == std::vector<std::uint16_t>{7, 86, 87});
}

TEST_CASE("StackOverflow's sentences: the training part's most frequent words, of equals the first as texts") {
  Made made;
  if (!made.make(" file.create_dataset('examples/u/tokens', data=['b a b', ' '.join(['c'] * 25)], dtype=h5py.string_dtype())\n"))
    FEDSTRIDE_SKIP(kNoH5py);
  made.make(" file.create_dataset('examples/v/tokens', data=['a z'], dtype=h5py.string_dtype())\n", "d_test.h5");
  const DataPair pair = made.load_folder();
  CHECK(pair.train.form().text() == "20 tokens of 7, 7 classes a position");  // pad, c, b, a, other, begin, end
  CHECK(pair.train.class_names == std::vector<std::string>{"pad", "c", "b", "a", "other", "begin", "end"});
  CHECK(std::vector<int>(pair.train.tokens.begin(), pair.train.tokens.begin() + 6) == std::vector<int>{5, 2, 3, 2, 6, 0});
  CHECK(std::vector<int>(pair.train.position_labels.begin(), pair.train.position_labels.begin() + 5) ==
        std::vector<int>{2, 3, 2, 6, kNoLabel});
  CHECK(pair.train.tokens[20 + 19] == 1);  // cut after 20 words, without an end
  CHECK(pair.train.position_labels[20 + 19] == 1);
  CHECK(std::vector<int>(pair.test.tokens.begin(), pair.test.tokens.begin() + 4) == std::vector<int>{5, 3, 4, 6});
}

TEST_CASE("plain arrays are read as in a NumPy archive: x and y, or other names, texts, single numbers, a test part") {
  Made made;
  if (!made.make(" file['x'] = np.arange(12, dtype=np.float32).reshape(6, 2) / 7\n"
                 " file.create_dataset('y', data=['cat', 'dog', 'cat', 'emu', 'dog', 'cat'], dtype=h5py.string_dtype())\n"
                 " file['client'] = np.array([3, 3, 5, 5, 5, 5])\n file['x_test'] = np.ones((1, 2), np.float32)\n"
                 " file['y_test'] = np.array([b'emu'])\n file['note'] = np.zeros(3)\n",
                 "plain.h5"))
    FEDSTRIDE_SKIP(kNoH5py);
  const DataPair pair = load_dataset("file", own(made.folder() / "plain.h5"));
  CHECK(pair.train.form().text() == "1x1x2, 3 classes");
  CHECK(pair.train.class_names == std::vector<std::string>{"cat", "dog", "emu"});
  CHECK(pair.train.labels == std::vector<Label>{0, 1, 0, 2, 1, 0});
  CHECK(pair.test.labels == std::vector<Label>{2});
  CHECK(pair.train.client_names == std::vector<std::string>{"3", "5"});
  CHECK(pair.train.features[3] == doctest::Approx(3 / 7.0));
  made.make(" file['features'] = np.ones((4, 3), np.float32)\n file['target'] = np.array([0, 1, 0, 1])\n file['classes'] = 5\n",
            "named.h5");
  CHECK_FAILURE(load_dataset("file", own(made.folder() / "named.h5")), "'x'", "features", "target", "--inputs", "--label");
  ReadSettings read = reading("target");
  read.inputs = "features";
  CHECK(load_dataset("file", own(made.folder() / "named.h5", read)).train.form().text() == "1x1x3, 5 classes");
  read.label = "answer";
  CHECK_FAILURE(load_dataset("file", own(made.folder() / "named.h5", read)), "'answer'", "target");
  made.make(" file['x'] = np.ones((4, 3), np.float32)\n file['y'] = h5py.SoftLink('/x')\n", "link.h5");
  CHECK_FAILURE(load_dataset("file", own(made.folder() / "link.h5")), "'y'", "link");
  made.make(
      " for c in 'a', 'b':\n  file[f'examples/{c}/inp'] = np.ones((2, 3), np.float32)\n"
      "  file[f'examples/{c}/out'] = np.array([0, 1])\n");
  ReadSettings by_client = reading("out");
  by_client.inputs = "inp";
  CHECK(made.load(by_client).train.client_names.size() == 2);
  CHECK_FAILURE(made.load(reading("out")), "no known key", "--inputs");
}

TEST_CASE("however many processes read a file, rows and clients are the same, and so are words and the first error") {
  Made numbers;
  // 64 clients a turn: two full turns and a piece.
  if (!numbers.make(" for c in range(150):\n"
                    "  file[f'examples/c{c:03}/x'] = np.full((c % 3 + 1, 2), c, np.float32)\n"
                    "  file[f'examples/c{c:03}/y'] = np.full(c % 3 + 1, c % 7, np.int32)\n"))
    FEDSTRIDE_SKIP(kNoH5py);
  numbers.make(
      " for c in range(150):\n"
      "  file[f'examples/c{c:03}/x'] = np.zeros((1, 2), np.float32)\n"
      "  file[f'examples/c{c:03}/y' if c not in (70, 149) else f'examples/c{c:03}/z'] = np.zeros(1, np.int32)\n",
      "wrong.h5");
  Made words;
  words.make(
      " for c in range(150):\n"
      "  file.create_dataset(f'examples/c{c:03}/tokens', data=[f'w{c % 50} often'], dtype=h5py.string_dtype())\n");
  const Dataset rows = read_by(1, numbers.folder() / "d_train.h5"), sentences = read_by(1, words.folder() / "d_train.h5");
  REQUIRE(rows.size() == 300);
  REQUIRE(sentences.size() == 150);
  for (const int processes : {2, 3, 5}) {
    CAPTURE(processes);
    const Dataset again = read_by(processes, numbers.folder() / "d_train.h5");
    CHECK(again.features == rows.features);
    CHECK(again.labels == rows.labels);
    CHECK(again.clients == rows.clients);
    CHECK(again.client_names == rows.client_names);
    const Dataset said = read_by(processes, words.folder() / "d_train.h5");
    CHECK(said.tokens == sentences.tokens);
    CHECK(said.class_names == sentences.class_names);
    CHECK_FAILURE(read_by(processes, numbers.folder() / "wrong.h5"), "c070", "'y'");
  }
}

TEST_CASE("the processes' shares together are bounded as one process' is") {
  Made made;
  // 110 MB of zeros, next to none of which is in the file, of the first client and of the 65th, which is another process'.
  if (!made.make(
          " for c in range(65):\n"
          "  rows = 110000 if c % 64 == 0 else 1\n"
          "  packed = dict(chunks=(8000, 1000), compression=1) if rows > 1 else {}\n"
          "  file.create_dataset(f'examples/{c:02}/x', (rows, 1000), np.uint8, **packed)[0] = 0\n"
          "  file.create_dataset(f'examples/{c:02}/y', data=np.zeros(rows, np.uint8), compression=1 if rows > 1 else None)\n"))
    FEDSTRIDE_SKIP(kNoH5py);
  const std::filesystem::path path = made.folder() / "d_train.h5";
  CHECK_FAILURE(read_by(1, path), "64", "'x'");
  CHECK_FAILURE(read_by(2, path), "d_train.h5");
}

TEST_CASE("other layouts, missing keys, links to elsewhere and numbers that are not there are refused") {
  Made made;
  const std::string good = " file['examples/a/x'] = np.ones((2, 3))\n file['examples/a/y'] = np.array([0, 1])\n";
  if (!made.make(" file['z'] = np.ones(3)\n")) FEDSTRIDE_SKIP(kNoH5py);
  const auto load = [&](const std::string& lines) {
    made.make(lines);
    return made.load();
  };
  CHECK_FAILURE(made.load(), "'examples'", "z");
  CHECK_FAILURE(load(" file['x'] = np.ones(3)\n"), "'y'");
  CHECK_FAILURE(load(" file['examples/a'] = np.ones(3)\n"), "'a'");
  CHECK_FAILURE(load(" file.create_group('examples')\n"), "examples");
  CHECK_FAILURE(load(" file['examples/a/z'] = np.ones(3)\n"), "'a'", "x", "pixels");
  CHECK_FAILURE(load(" file['examples/a/x'] = np.ones(3)\n"), "'a'", "'x'", "y", "label");
  CHECK_FAILURE(load(good + " file.create_group('examples/b')\n"), "'b'", "'x'");
  CHECK_FAILURE(load(good + " file['examples/b/x'] = np.ones((1, 3))\n file['examples/b/y'] = np.array([0, 1])\n"), "'b'", "1",
                "'x'", "2", "'y'");
  CHECK_FAILURE(load(good + " file['examples/b/x'] = np.ones((0, 3))\n file['examples/b/y'] = np.array([])\n"), "'b'", "'x'");
  CHECK_FAILURE(load(good + " file['examples/b'] = h5py.ExternalLink('/etc/other.h5', '/a')\n"), "'b'");
  CHECK_FAILURE(load(good + " file['examples/b'] = h5py.SoftLink('/examples/a')\n"), "'b'");
  CHECK_FAILURE(
      load(good +
           " g = file.create_group('examples/b')\n g['x'] = h5py.ExternalLink('/etc/other.h5', '/a')\n g['y'] = np.array([0])\n"),
      "'b'", "'x'");
  CHECK_FAILURE(
      load(" file.create_dataset('examples/a/x', (10**12, 3), 'f4', chunks=(1000, 3))\n file['examples/a/y'] = np.array([0])\n"),
      "'a'", "'x'");
  CHECK_FAILURE(load(" file.create_dataset('examples/a/x', (1000, 3), 'f4', chunks=(1000, 3))\n file['examples/a/y'] = "
                     "np.array([0] * 1000)\n"),
                "'a'", "'x'", "12000");
  CHECK_FAILURE(load(" file.create_dataset('examples/a/x', (2, 3), h5py.ref_dtype)\n file['examples/a/x'][0, 0] = file.ref\n "
                     "file['examples/a/y'] = np.array([0, 1])\n"),
                "'a'", "'x'");
  CHECK_FAILURE(load(" file.create_dataset('examples/a/x', (2, 3), 'f4', external=[('/etc/passwd', 0, 24)])\n "
                     "file['examples/a/y'] = np.array([0, 1])\n"),
                "'a'", "'x'");
  CHECK_NOTHROW(load(good));
}

TEST_CASE("a file that is cut off or altered is an error or other data, and never more") {
  Made made;
  if (!made.make(" for c in 'ab':\n  file[f'examples/{c}/x'] = np.random.default_rng(1).random((4, 3))\n  "
                 "file[f'examples/{c}/y'] = np.arange(4)\n"))
    FEDSTRIDE_SKIP(kNoH5py);
  const std::string whole = read(made.folder() / "d_train.h5");
  for (std::size_t size = 0; size < whole.size(); size += 1 + whole.size() / 40) {
    write(made.folder() / "d_train.h5", whole.substr(0, size));
    const std::string text = made.error(reading("", "", TargetsAre::automatic));
    CHECK_FALSE(text.empty());
    CHECK(text.find('\n') == std::string::npos);
  }
  for (std::size_t at = 0; at < whole.size(); at += 61) {
    std::string altered = whole;
    altered[at] = static_cast<char>(altered[at] ^ 0x55);
    write(made.folder() / "d_train.h5", altered);
    CHECK(made.error().find('\n') == std::string::npos);
  }
}

}  // namespace fedstride::test::hdf5_test
