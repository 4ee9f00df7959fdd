#include "data/files/readers.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "data/datasets.hpp"
#include "tests/data/npz_files.hpp"

namespace fedstride::test::npz_test {
namespace {

DataPair loaded(const std::string& bytes, const ReadSettings& read = {}) {
  const TemporaryFolder folder;
  return load_dataset("file", own(write(folder / "d.npz", bytes).string(), read));
}

DataPair loaded(const Entries& entries, const ReadSettings& read = {}) { return loaded(npz_bytes(entries), read); }

/// Two training rows and one test row of the same kind.
Entries with_test(const std::string& type, const std::string& each, const std::string& two, const std::string& one) {
  const std::string labels = bytes_of<std::int64_t>({0, 1});
  return {{"x_train", npy_bytes(type, "(2, " + each + ")", two)},
          {"y_train", npy_bytes("<i8", "(2,)", labels)},
          {"x_test", npy_bytes(type, "(1, " + each + ")", one)},
          {"y_test", npy_bytes("<i8", "(1,)", bytes_of<std::int64_t>({1}))}};
}

std::string counting(int count, int first = 0) {
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes += static_cast<char>(first + i);
  return bytes;
}

}  // namespace

TEST_CASE("bytes in two dimensions an example are grey pictures, of three with channels last planes of 8 bits") {
  const DataPair grey = loaded(with_test("|u1", "2, 3", counting(12), counting(6)));
  CHECK(grey.train.form().text() == "2x3x1, 2 classes");
  CHECK(grey.train.pixels.size() == 12);
  CHECK(grey.train.mean.size() == 1);
  const DataPair color = loaded(with_test("|u1", "2, 2, 3", counting(24), counting(12)));
  CHECK(color.train.shape == Shape{2, 2, 3});
  CHECK(std::vector<int>(color.train.pixels.begin(), color.train.pixels.begin() + 12) ==
        std::vector<int>{0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11});
  CHECK(color.train.mean.size() == 3);
  const DataPair first = loaded(with_test("|u1", "3, 5, 2", counting(60), counting(30)));  // as PyTorch has them
  CHECK(first.train.shape == Shape{5, 2, 3});
  CHECK(first.train.pixels[10] == 10);
}

TEST_CASE("numbers that are whole 255ths go back to 8 bits, and others stay what they are") {
  std::vector<float> numbers;
  for (int i = 0; i < 12; ++i) numbers.push_back(static_cast<float>((255 - 20 * i) / 255.0));
  const auto part = [&](int begin, int end) {
    return bytes_of(std::vector<float>(numbers.begin() + begin, numbers.begin() + end));
  };
  const DataPair pair = loaded(with_test("<f4", "2, 2", part(0, 8), part(8, 12)));
  CHECK(pair.train.is_pictures());
  CHECK(pair.train.pixels[1] == 235);
  CHECK(pair.test.pixels[3] == 35);
  CHECK(std::ranges::any_of(pair.notes, [](const std::string& note) { return names(note, {"1/255"}); }));
  numbers[9] = 0.5F;
  const DataPair other = loaded(with_test("<f4", "2, 2", part(0, 8), part(8, 12)));
  CHECK_FALSE(other.train.is_pictures());
  CHECK(other.train.features[1] == doctest::Approx(235 / 255.0));
  CHECK(other.test.features[1] == 0.5F);
  CHECK(other.train.mean.size() == 1);
}

TEST_CASE("numbers beside whole 255ths, however close, are not rounded to them") {
  const std::string labels = bytes_of<std::int64_t>({0, 1});
  for (const float scale : {1e-7F, 1e-12F}) {
    const std::string x = bytes_of(std::vector<float>{scale, 2 * scale, -scale, 3 * scale});
    const DataPair tiny = loaded({{"x_train", npy_bytes("<f4", "(2, 2)", x)},
                                  {"y_train", npy_bytes("<i8", "(2,)", labels)},
                                  {"x_test", npy_bytes("<f4", "(2, 2)", x)},
                                  {"y_test", npy_bytes("<i8", "(2,)", labels)}});
    CHECK(tiny.train.features == std::vector<float>{scale, 2 * scale, -scale, 3 * scale});
    CHECK(tiny.train.deviation[0] == doctest::Approx(scale));
  }
  const auto beside = static_cast<float>(7 / 255.0 + 2e-7);
  const DataPair pair =
      loaded(with_test("<f4", "2, 2", bytes_of(std::vector<float>(8, beside)), bytes_of(std::vector<float>(4, beside))));
  CHECK(pair.train.features[3] == beside);
}

TEST_CASE("the names that people give arrays are found, with their test part, and a part that is not read is named") {
  const std::string labels = bytes_of<std::int64_t>({0, 1}), x = bytes_of(std::vector<float>{0.1F, 0.2F, 0.3F, 0.4F});
  const auto entry = [&](const std::string& name) {
    return name.find_first_of("yYl") == name.npos ? Entries::value_type{name, npy_bytes("<f4", "(2, 2)", x)}
                                                  : Entries::value_type{name, npy_bytes("<i8", "(2,)", labels)};
  };
  for (const auto& [inputs, answers] : {std::pair("images", "labels"), std::pair("X", "y"), std::pair("data", "labels")})
    for (const bool in_front : {false, true}) {
      const auto name = [&](const std::string& key, const std::string& part) {
        return in_front ? part + "_" + key : key + "_" + part;
      };
      CAPTURE(name(inputs, "train"));
      const Entries all{entry(name(inputs, "train")), entry(name(answers, "train")), entry(name(inputs, "test")),
                        entry(name(answers, "test"))};
      CHECK(loaded(all).test.size() == 2);
      const DataPair named = loaded(all, {.label = name(answers, "train"), .inputs = name(inputs, "train")});
      CHECK(named.test.size() == 2);
    }
  const std::string more_labels = bytes_of<std::int64_t>({0, 1, 0, 1, 0, 1, 0, 1, 0, 1}),
                    more = bytes_of(std::vector<float>(20, 0.5F));
  const DataPair pair = loaded({{"images", npy_bytes("<f4", "(10, 2)", more)},
                                {"labels", npy_bytes("<i8", "(10,)", more_labels)},
                                {"val_images", npy_bytes("<f4", "(2, 2)", x)}});
  CHECK(std::ranges::any_of(pair.notes, [](const std::string& note) { return names(note, {"val_images", "test_images"}); }));
}

TEST_CASE("rows of 784 such numbers are pictures of 28x28, rows of zeros and ones are columns") {
  std::vector<double> ink(2 * 784, 1.0);
  ink[5] = 77 / 255.0;
  const Entries flat{{"x", npy_bytes("<f8", "(2, 784)", bytes_of(ink))},
                     {"y", npy_bytes("<i4", "(2,)", bytes_of<std::int32_t>({0, 1}))}};
  const DataPair pair = loaded(flat);
  CHECK(pair.train.shape == Shape{28, 28, 1});
  CHECK(pair.train.is_pictures());
  CHECK(std::ranges::any_of(pair.notes, [](const std::string& note) { return names(note, {"28x28x1", "--shape 784"}); }));
  ink[5] = 0;
  CHECK(loaded({{"x", npy_bytes("<f8", "(2, 784)", bytes_of(ink))}, flat[1]}).train.shape == Shape{1, 1, 784});
}

TEST_CASE("rows of whole numbers are tokens; whole answers of the same length are positions, negative ones do not count") {
  const Entries entries{{"x", npy_bytes("<i4", "(2, 3)", bytes_of<std::int32_t>({4, 0, 1, 2, 2, 9}))},
                        {"y", npy_bytes("<i8", "(2, 3)", bytes_of<std::int64_t>({0, -1, 3, 2, 1, -100}))},
                        {"x_test", npy_bytes("<i4", "(1, 3)", bytes_of<std::int32_t>({1, 1, 11}))},
                        {"y_test", npy_bytes("<i8", "(1, 3)", bytes_of<std::int64_t>({0, 0, 6}))}};
  const DataPair pair = loaded(entries);
  CHECK(pair.train.form().text() == "3 tokens of 12, 7 classes a position");
  CHECK(pair.train.tokens == std::vector<std::uint16_t>{4, 0, 1, 2, 2, 9});
  CHECK(pair.train.position_labels == std::vector<Label>{0, kNoLabel, 3, 2, 1, kNoLabel});
  Entries small = entries;
  small.emplace_back("vocabulary", npy_bytes("<i8", "()", bytes_of<std::int64_t>({10})));
  CHECK_FAILURE(loaded(small), "11", "0 to 9");
}

TEST_CASE("answers: floating ones are values, lists of 0 and 1 flags, texts and numbers from 1 classes in order") {
  const auto with_y = [](const std::string& type, const std::string& shape, const std::string& bytes) {
    return Entries{{"x", npy_bytes("<f4", "(3, 1)", bytes_of<float>({0.5F, 1, 2}))}, {"y", npy_bytes(type, shape, bytes)}};
  };
  const DataPair values = loaded(with_y("<f8", "(3, 2)", bytes_of<double>({1, 2, 3, 4, 5, 6.5})));
  CHECK(values.train.form().text() == "1x1x1, 2 values");
  CHECK(values.train.values.size() + values.test.values.size() == 6);
  CHECK(loaded(with_y("|b1", "(3, 2)", counting(2) + std::string(4, '\0'))).train.targets == Targets::flags);
  CHECK_FAILURE(loaded(with_y("<i4", "(3, 2)", bytes_of<std::int32_t>({0, 1, 2, 3, 4, 5}))), "'y'", "2");
  const DataPair texts =
      loaded(with_y("<U3", "(3,)", std::string("d\0\0\0o\0\0\0g\0\0\0c\0\0\0a\0\0\0t\0\0\0d\0\0\0o\0\0\0g\0\0\0", 36)));
  CHECK(texts.train.class_names == std::vector<std::string>{"cat", "dog"});
  const DataPair from_3 = loaded(with_y("|u1", "(3, 1)", "\x07\x03\x05"));  // a column, as Keras' CIFAR-10 has it
  CHECK(from_3.train.class_names == std::vector<std::string>{"3", "5", "7"});
  CHECK(from_3.train.classes == 3);
  const DataPair sentiment = loaded(with_y("<i4", "(3,)", bytes_of<std::int32_t>({0, -1, 1})));
  CHECK(sentiment.train.class_names == std::vector<std::string>{"-1", "0", "1"});
  const DataPair signs = loaded(with_y("<i4", "(3,)", bytes_of<std::int32_t>({1, -1, 1})));
  CHECK(signs.train.classes == 2);
  CHECK_FAILURE(loaded(with_y("<f4", "(3,)", bytes_of<float>({0, NAN, 1}))), "1");
  CHECK(loaded(with_y("<f4", "(3,)", bytes_of<float>({0, 2, 1})), reading("", "", TargetsAre::classes)).train.classes == 3);
  CHECK(loaded(with_y("<i4", "(3,)", bytes_of<std::int32_t>({5, 6, 7})), reading("", "", TargetsAre::values)).train.targets ==
        Targets::values);
}

TEST_CASE("clients are numbers, in their order, or texts, in the order of the file, the same in both parts") {
  Entries entries = with_test("<f4", "1", bytes_of<float>({0.5F, 7}), bytes_of<float>({3}));
  entries.emplace_back("client_train", npy_bytes("<i8", "(2,)", bytes_of<std::int64_t>({10, 9})));
  entries.emplace_back("client_test", npy_bytes("<i8", "(1,)", bytes_of<std::int64_t>({10})));
  const DataPair pair = loaded(entries);
  CHECK(pair.train.client_names == std::vector<std::string>{"9", "10"});
  CHECK(pair.train.clients == std::vector<std::uint32_t>{1, 0});
  CHECK(pair.test.clients == std::vector<std::uint32_t>{1});
  CHECK(pair.test.client_names == pair.train.client_names);
  entries[4].second = npy_bytes("|S1", "(2,)", "ba");
  entries.pop_back();
  CHECK(loaded(entries).train.client_names == std::vector<std::string>{"b", "a"});
  CHECK(loaded(entries).hash != pair.hash);
}

TEST_CASE("big-endian numbers, Fortran's order, compression and half precision are read as what they mean") {
  const std::string big("\x3f\x80\0\0\x40\0\0\0\x40\x40\0\0\x40\x80\0\0", 16);
  const std::string labels = npy_bytes(">i2", "(2,)", std::string("\0\0\0\1", 4));
  const std::vector<float> rows{1, 2, 3, 4};
  const auto features = [&](const std::string& x, bool compressed) {
    const TemporaryFolder folder;
    return load_own_rows("file", own(write(folder / "d.npz", npz_bytes({{"x", x}, {"y", labels}}, compressed)).string()))
        .train.features;
  };
  CHECK(features(npy_bytes(">f4", "(2, 2)", big), false) == rows);
  CHECK(features(npy_bytes("<f4", "(2, 2)", bytes_of<float>({1, 3, 2, 4}), "True"), true) == rows);
  CHECK(features(npy_bytes("<f2", "(2, 2)", std::string("\0\x3c\0\x40\0\x42\0\x44", 8)), false) == rows);
}

TEST_CASE(
    "inputs and labels may have any names, in either order with train and test; without them the names that are there are told") {
  const std::string x = npy_bytes("<f4", "(2, 1)", bytes_of<float>({0.5F, 1}));
  const std::string y = npy_bytes("|u1", "(2, 1)", std::string("\0\1", 2));
  const Entries medical{{"train_images", x}, {"train_labels", y}, {"val_images", x}, {"test_images", x}, {"test_labels", y}};
  ReadSettings read = reading("labels");
  read.inputs = "images";
  const DataPair pair = loaded(medical, read);
  CHECK(pair.train.size() == 2);
  CHECK(pair.test.size() == 2);
  CHECK(pair.train.classes == 2);
  CHECK(loaded({{"images", x}, {"labels", y}, {"images_test", x}, {"labels_test", y}}, read).hash == pair.hash);
  CHECK(loaded(medical).hash == pair.hash);
  CHECK_FAILURE(loaded({{"train_views", x}, {"train_labels", y}, {"val_views", x}}), "'x'", "train_views, val_views", "--inputs",
                "--label");
  CHECK_FAILURE(loaded({{"images", x}, {"y", y}}, read), "'labels'", "but y");
  CHECK_FAILURE(loaded({{"images_test", x}, {"test_images", x}, {"images", x}, {"labels", y}}, read), "'images_test'",
                "'test_images'");
}

TEST_CASE("a missing key, other lengths and shapes are errors that name them") {
  const std::string x = npy_bytes("<f4", "(2, 1)", bytes_of<float>({0.5F, 1}));
  const std::string y = npy_bytes("<i8", "(2,)", bytes_of<std::int64_t>({0, 1}));
  CHECK_FAILURE(loaded({{"y", y}}), "'x'");
  CHECK_FAILURE(loaded({{"x", x}}), "'y'");
  CHECK_FAILURE(loaded({{"x", x}, {"y", y}}, reading("z")), "'z'");
  CHECK_FAILURE(loaded({{"x", x}, {"y", npy_bytes("<i8", "(1,)", bytes_of<std::int64_t>({0}))}}), "'x'", "2", "'y'", "1");
  CHECK_FAILURE(loaded({{"x", npy_bytes("<f4", "()", bytes_of<float>({1}))}, {"y", y}}), "'x'");
  CHECK_FAILURE(loaded({{"x", npy_bytes("<f4", "(2, 0)", "")}, {"y", y}}), "'x'");
  CHECK_FAILURE(loaded({{"x", x}, {"x_train", x}, {"y", y}}), "'x'", "x_train");
  CHECK_FAILURE(loaded({{"x", npy_bytes("<f4", "(2, 1)", bytes_of<float>({0.5F, INFINITY}))}, {"y", y}}), "'x'", "1");
}

TEST_CASE("pickles, records and what is no array are refused; sizes are held against the bytes that are there") {
  const std::string y = npy_bytes("<i8", "(2,)", bytes_of<std::int64_t>({0, 1}));
  CHECK_FAILURE(loaded({{"x", npy_bytes("|O", "(2,)", "\x80\x03")}, {"y", y}}), "'x'");
  CHECK_FAILURE(loaded({{"x", npy_bytes("<c8", "(2,)", std::string(16, 'a'))}, {"y", y}}), "'<c8'");
  CHECK_FAILURE(loaded({{"x", "no array"}, {"y", y}}), "'x'");
  CHECK_FAILURE(loaded({{"x", std::string(200, 'a')}, {"y", y}}), "'x'");
  CHECK_FAILURE(loaded({{"x", npy_bytes("<f4", "(2, 1)", "abcd")}, {"y", y}}), "'x'", "float32", "(2, 1)", "8", "4");
  CHECK_FAILURE(loaded({{"x", npy_bytes("<f4", "(1, 1)", "abcdefgh")}, {"y", y}}), "'x'");
  CHECK_FAILURE(loaded({{"x", npy_bytes("<f4", "(4611686018427387904, 4)", "abcd")}, {"y", y}}), "'x'", "float32",
                "4611686018427387904");
  CHECK_FAILURE(loaded({{"x", npy_bytes("<f4", "(1000000000, 1)", "abcd")}, {"y", y}}), "'x'", "1000000000");
  const std::string whole = npz_bytes({{"x", npy_bytes("<f4", "(2, 1)", bytes_of<float>({0.5F, 1}))}, {"y", y}});
  for (const std::size_t size : {std::size_t{30}, whole.size() / 3, whole.size() / 2}) {
    CHECK_FAILURE(loaded(whole.substr(0, size)), "d.npz");
  }
}

TEST_CASE("what is wrong with the test part is blamed on its array") {
  const std::string two = bytes_of<float>({0.5F, 7, 2, 3}), one = bytes_of<float>({1.5F, 2});
  const auto with = [&](const std::string& key, const std::string& array, const ReadSettings& read = {}) {
    Entries entries = with_test("<f4", "2", two, one);
    for (auto& [name, bytes] : entries)
      if (name == key) bytes = array;
    return error_of([&] { loaded(entries, read); });
  };
  const auto labels = [](std::int64_t label) { return npy_bytes("<i8", "(1,)", bytes_of<std::int64_t>({label})); };
  CHECK(names(with("x_test", npy_bytes("<f4", "(1, 3)", bytes_of<float>({1.5F, 2, 3}))), {"'x_test'", "3", "2", "'x_train'"}));
  CHECK(names(with("y_test", npy_bytes("<i8", "(1, 2)", bytes_of<std::int64_t>({1, 0}))), {"'y_test'", "2", "'y_train'"}));
  CHECK(names(with("y_test", npy_bytes("<f4", "(1,)", bytes_of<float>({0.5F}))), {"'y_test'", "type", "'y_train'"}));
  CHECK(names(with("y_test", labels(-3)), {"'y_test'", "label -3"}));
  CHECK(names(with("y_test", labels(70000)), {"'y_test'", "label 70000"}));
  ReadSettings read;
  read.classes = 2;
  CHECK(names(with("y_test", labels(2), read), {"'y_test'", "label 2", "0 to 1"}));
  read = {};
  read.targets = TargetsAre::flags;
  CHECK(names(with("y_test", labels(2), read), {"'y_test'", "flags", "0 or 1"}));
  Entries tokens = with_test("<i4", "3", bytes_of<std::int32_t>({1, 1, 2, 0, 1, 2}), bytes_of<std::int32_t>({1, 1, 9}));
  tokens.emplace_back("vocabulary", npy_bytes("<i8", "()", bytes_of<std::int64_t>({5})));
  CHECK_FAILURE(loaded(tokens), "'x_test'", "token 9");
}

TEST_CASE("doubles that lie close together far from 0 are stored by differences, in the inputs and the answers") {
  std::vector<double> x, near, y;
  std::vector<std::int64_t> whole;
  for (int i = 0; i < 12; ++i) {
    x.insert(x.end(), {1.7e9 + i * 5 % 12, i * 0.25});
    near.insert(near.end(), {static_cast<double>(i * 5 % 12), i * 0.25});
    y.push_back(1e9 + i + 0.5);
    whole.push_back(1'000'000'000 + i);
  }
  const auto entries = [](const std::vector<double>& inputs, const std::string& answers) {
    return Entries{{"x", npy_bytes("<f8", "(12, 2)", bytes_of(inputs))}, {"y", answers}};
  };
  const DataPair pair = loaded(entries(x, npy_bytes("<f8", "(12,)", bytes_of(y))));
  const DataPair same = loaded(entries(near, npy_bytes("<f8", "(12,)", bytes_of(y))));
  CHECK(pair.offsets == "1=1700000006;y=1000000006");
  CHECK(same.offsets == "y=1000000006");
  CHECK(pair.train.deviation == same.train.deviation);
  for (std::size_t i = 0; i < pair.train.features.size(); ++i)
    CHECK(pair.train.features[i] == same.train.features[i] - (i % 2 == 0 ? 6.0F : 0.0F));
  for (std::size_t i = 0; i < pair.train.size(); ++i) CHECK(pair.train.values[i] == pair.train.features[2 * i + 1] * 4 - 5.5F);
  ReadSettings read;
  read.targets = TargetsAre::values;
  const DataPair counts = loaded(entries(near, npy_bytes("<i8", "(12,)", bytes_of(whole))), read);
  CHECK(counts.offsets == "y=1000000006");
  CHECK(counts.train.values[0] == counts.train.features[1] * 4 - 6);
  read = {};
  read.offsets = "3=1";
  CHECK_USAGE_ERROR(loaded(entries(x, npy_bytes("<f8", "(12,)", bytes_of(y))), read), "offsets", "3", "1 to 2");
}

TEST_CASE("a number beyond single precision is too large, in the inputs and the answers") {
  const std::string y = npy_bytes("<i8", "(2,)", bytes_of<std::int64_t>({0, 1}));
  CHECK_FAILURE(loaded({{"x", npy_bytes("<f8", "(2, 1)", bytes_of<double>({0.5, 1e300}))}, {"y", y}}), "'x'", "1e+300",
                "too large");
  CHECK_FAILURE(loaded({{"x", npy_bytes("<f8", "(2, 1)", bytes_of<double>({0.5, 1}))},
                        {"y", npy_bytes("<f8", "(2,)", bytes_of<double>({0.5, -1e39}))}}),
                "'y'", "-1e+39", "too large");
}

TEST_CASE("an archive that is cut behind an array is refused, although the arrays before are whole") {
  const TemporaryFolder folder;
  const std::string whole = npz_bytes(with_test("<f4", "1", bytes_of<float>({0.5F, 7}), bytes_of<float>({3})));
  for (std::size_t cut = whole.find("PK\x03\x04", 4); cut != std::string::npos; cut = whole.find("PK", cut + 2)) {
    write(folder / "d.npz", whole.substr(0, cut));
    CHECK_FAILURE(load_dataset("file", own(folder / "d.npz")), folder / "d.npz");
  }
}

TEST_CASE("an archive that unpacks to far more than its size is refused before it is unpacked") {
  const std::string x = npy_bytes("|u1", "(100000000, 1)", std::string(100'000'000, '\0'));
  const TemporaryFolder folder;
  const auto path = write(folder / "d.npz", npz_bytes({{"x", x}, {"y", npy_bytes("<i8", "(1,)", std::string(8, '\0'))}}, true));
  CHECK_FAILURE(load_dataset("file", own(path.string())), "uint8", "(100000000, 1)");
}

}  // namespace fedstride::test::npz_test
