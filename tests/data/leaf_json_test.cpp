#include "data/files/readers.hpp"

#include <doctest/doctest.h>

#include "data/datasets.hpp"
#include "data/files/texts.hpp"
#include "tests/data/files.hpp"

namespace fedstride::test::leaf_json_test {
namespace {

DataPair loaded(const std::string& text, const ReadSettings& read = {}) {
  const TemporaryFolder folder;
  return load_dataset("file", own(write(folder / "all.json", text).string(), read));
}

std::string two_users(const std::string& first, const std::string& second, const std::string& samples = "[2, 1]") {
  return R"({"users": ["a", "b"], "num_samples": )" + samples + R"(, "user_data": {"a": )" + first + R"(, "b": )" + second + "}}";
}

const std::string kTwo = R"({"x": [[0.5, 1], [2, 3]], "y": [0, 1]})";
const std::string kOne = R"({"x": [[4, 5]], "y": [1]})";

}  // namespace

TEST_CASE("users are clients, x lists are numbers, whole y are classes") {
  const TemporaryFolder folder;
  write(folder / "data/train/one.json", two_users(kTwo, kOne));
  write(folder / "data/train/two.json", R"({"user_data": {"c": {"y": [2], "x": [[6, 7]]}}})");
  write(folder / "data/test/one.json", two_users(kOne, R"({"x": [], "y": []})", "[1, 0]"));
  const DataPair pair = load_dataset("file", own(folder.path().string()));
  CHECK(pair.train.form().text() == "1x1x2, 3 classes");
  CHECK(pair.train.features == std::vector<float>{0.5F, 1, 2, 3, 4, 5, 6, 7});
  CHECK(pair.train.client_names == std::vector<std::string>{"a", "b", "c"});
  CHECK(pair.train.clients == std::vector<std::uint32_t>{0, 0, 1, 2});
  CHECK(pair.test.clients == std::vector<std::uint32_t>{0});
}

TEST_CASE("other keys are passed over, and y may be numbers to predict, words or flags") {
  const auto with = [&](const std::string& y) {
    return loaded(
        R"({"metadata": {"a": [{"b": [1, "c"]}]}, "hierarchies": [["x"], []], "user_data": {"a": {"x": [1.5, 2, 3], "note": "n", "more": ["t", 1], "y": )" +
        y + "}}}");
  };
  CHECK(with("[0.5, 1, 2]").train.targets == Targets::values);
  CHECK(with(R"(["cat", "dog", "cat"])").train.class_names == std::vector<std::string>{"cat", "dog"});
  CHECK(with("[[0, 1], [1, 1], [0, 0]]").train.form().text() == "1x1x1, 2 flags");
}

TEST_CASE("Shakespeare's texts are tokens of LEAF's letters, and the answer is the next one") {
  const DataPair pair = loaded(R"({"user_data": {"HAMLET": {"x": ["\n To", "be\u00e9}"], "y": ["b", "#"]}}})");
  CHECK(pair.train.form().text() == "4 tokens of 81, 81 classes");
  std::vector<std::uint16_t> tokens = pair.train.tokens;
  std::vector<Label> labels = pair.train.labels;
  tokens.insert(pair.train.file_rows[0] == 0 ? tokens.end() : tokens.begin(), pair.test.tokens.begin(), pair.test.tokens.end());
  labels.insert(pair.train.file_rows[0] == 0 ? labels.end() : labels.begin(), pair.test.labels[0]);
  // "\n !\"&'(),-." are 0 to 10 with the blank 1, digits from 11, ":;>?" from 21, capitals from 25, "[]" from 51, small letters from 53, "}" 79.
  CHECK(tokens == std::vector<std::uint16_t>{0, 1, 25 + 19, 53 + 14, 53 + 1, 53 + 4, 80, 79});
  CHECK(labels == std::vector<Label>{54, 80});
  CHECK(Characters::leaf().size() == 81);
  CHECK_FAILURE(loaded(R"({"user_data": {"a": {"x": ["abc", "ab"], "y": ["d", "e"]}}})"), "x", "3", "2");
  CHECK_FAILURE(loaded(R"({"user_data": {"a": {"x": ["abc"], "y": ["de"]}}})"), "'de'", "y");
}

TEST_CASE("names of pictures, as CelebA has them in x, are refused and not read as text") {
  CHECK_FAILURE(loaded(R"({"user_data": {"7": {"x": ["000001.jpg", "000012.jpg"], "y": [0, 1]}}})"), "'7'", "x", "'000001.jpg'");
  CHECK_FAILURE(loaded(R"({"user_data": {"7": {"x": ["img/a.PNG"], "y": ["cat"]}}})"), "'img/a.PNG'");
  // A text that ends so is still a text where it has blanks, or stands among texts that do not.
  CHECK(loaded(R"({"user_data": {"a": {"x": ["see a.jpg", "the b.jpg"], "y": ["b", "c"]}}})").train.vocabulary == 81);
  CHECK(loaded(R"({"user_data": {"a": {"x": ["see.jpg", "what is"], "y": ["b", "c"]}}})").train.vocabulary == 81);
}

TEST_CASE("rows of 784 numbers that are whole 255ths are pictures") {
  std::string ink = "[0.2, 0.996078431372549";
  for (int i = 2; i < 784; ++i) ink += ", 1.0";
  const DataPair pair = loaded(R"({"user_data": {"a": {"x": [)" + ink + "], " + ink + R"(]], "y": [0, 1]}}})");
  CHECK(pair.train.shape == Shape{28, 28, 1});
  CHECK(pair.train.pixels[0] == 51);
  CHECK(pair.train.pixels[1] == 254);
}

TEST_CASE("what is not LEAF's form is an error that names the file, the user and what would be valid") {
  CHECK_FAILURE(loaded("{\"users\": ["), "all.json", "JSON");
  CHECK_FAILURE(loaded("{\"a\": 1}"), "all.json", "user_data");
  CHECK_FAILURE(loaded("{\"user_data\": [1]}"), "all.json", "user_data");
  CHECK_FAILURE(loaded("{\"user_data\": {\"a\": 3}}"), "'a'");
  CHECK_FAILURE(loaded(two_users(kTwo, R"({"x": [[1, 2]]})")), "'b'", "1", "0");
  CHECK_FAILURE(loaded(two_users(kTwo, R"({"x": [], "y": []})")), "'b'");
  CHECK_FAILURE(loaded(two_users(kTwo, R"({"x": [[1, 2, 3]], "y": [1]})")), "3", "2");
  CHECK_FAILURE(loaded(two_users(kTwo, R"({"x": [[1, 2], [3]], "y": [1, 0]})")), "'b'", "'x'", "2", "1");
  CHECK_FAILURE(loaded(two_users(kTwo, R"({"x": [[1, "a"]], "y": [1]})")), "'b'");
  CHECK_FAILURE(loaded(two_users(kTwo, R"({"x": [[1, null]], "y": [1]})")), "'b'");
  CHECK_FAILURE(loaded(two_users(kTwo, kOne, "[2, 5]")), "'b'", "1", "num_samples", "5");
  CHECK_FAILURE(loaded(two_users(kTwo, kOne, "[2]")), "num_samples", "1");
  CHECK_FAILURE(loaded(R"({"users": ["z"], "user_data": {"a": )" + kTwo + "}}"), "'z'");
  CHECK_FAILURE(loaded(R"({"user_data": {"a": )" + kTwo + R"(, "a": )" + kTwo + "}}"), "'a'");
  CHECK_FAILURE(loaded(two_users(kTwo, R"({"x": [[1, 1e999]], "y": [1]})")), "all.json", "too large", "3.4e38");
  CHECK_FAILURE(loaded(two_users(kTwo, R"({"x": [[1, 1e300]], "y": [1]})")), "all.json", "too large", "3.4e38");
  CHECK_USAGE_ERROR(loaded(two_users(kTwo, kOne), reading("", "name")), "client-column", "user-column", "'name'", "leaf",
                    "users");
  CHECK_FAILURE(loaded("{\"a\": " + std::string(100'000, '[')), "all.json", "12");
  CHECK_FAILURE(loaded(R"({"user_data": {"a": {"x": [[[[[1]]]]], "y": [1]}}})"), "'a'", "3");
}

TEST_CASE("NaN and null are missing numbers, as Python writes them, and infinite ones are refused, with the byte of the file") {
  const auto with = [](const std::string& number) { return two_users(kTwo, R"({"x": [[1, )" + number + R"(]], "y": [1]})"); };
  const std::string text = R"("NaN \" NaN Infinity\\")";
  for (const std::string odd : {"NaN", "null"}) {
    CHECK_FAILURE(loaded(with(odd)), "all.json", "'b'", "'x'", "missing", "--missing");
    ReadSettings read;
    read.missing = Missing::zero;
    const DataPair pair = loaded(R"({"note": )" + text + ", " + with(odd).substr(1), read);
    CHECK(pair.train.size() + pair.test.size() == 3);
    CHECK(std::ranges::count(pair.train.features, 0) + std::ranges::count(pair.test.features, 0) == 1);
    CHECK_FAILURE(loaded(two_users(kTwo, R"({"x": [[1, 2]], "y": [)" + odd + "]}"), read), "'b'", "'y'", "missing");
    // A mistake behind it has its place in the file.
    const std::string broken = with(odd) + "}";
    CHECK_FAILURE(loaded(broken), "'b'");
    CHECK_FAILURE(loaded(broken, read), "byte " + std::to_string(broken.size()));
  }
  for (const std::string odd : {"Infinity", "-Infinity"}) CHECK_FAILURE(loaded(with(odd)), "all.json", "infinite");
  CHECK_FAILURE(loaded(with("Nan")), "JSON", "byte");
  // Wherever a file's stretches end.
  ReadSettings read = as_form(FileForm::leaf);
  read.missing = Missing::zero;
  for (std::size_t pad = (std::size_t{1} << 18) - 90; pad < (std::size_t{1} << 18); ++pad)
    CHECK(loaded(std::string(pad, ' ') + with("NaN"), read).train.classes == 2);
}

TEST_CASE("a byte order mark is passed over") { CHECK(loaded("\xef\xbb\xbf" + two_users(kTwo, kOne)).train.classes == 2); }

}  // namespace fedstride::test::leaf_json_test
