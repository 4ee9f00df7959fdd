// What labels become if no setting says it, and that it is said.
#include <doctest/doctest.h>

#include <algorithm>

#include "data/datasets.hpp"
#include "tests/data/npz_files.hpp"

namespace fedstride::test::targets_test {
namespace {

constexpr int kRows = 12;

/// Rows of one input; y is `each` numbers a row, of a floating-point or a whole type.
template <class Number>
DataPair loaded(const std::vector<Number>& y, int each = 1, const ReadSettings& read = {}) {
  const TemporaryFolder folder;
  std::vector<float> x;
  for (std::size_t i = 0; i < y.size() / static_cast<std::size_t>(each); ++i) x.push_back(0.3F * static_cast<float>(i));
  const std::string rows = std::to_string(x.size());
  const std::string shape = each == 1 ? "(" + rows + ",)" : "(" + rows + ", " + std::to_string(each) + ")";
  const char* type = std::is_same_v<Number, float> ? "<f4" : "<i8";
  return load_dataset("file", own(write(folder / "d.npz", npz_bytes({{"x", npy_bytes("<f4", "(" + rows + ", 1)", bytes_of(x))},
                                                                     {"y", npy_bytes(type, shape, bytes_of(y))}})),
                                  read));
}

std::vector<float> repeated(const std::vector<float>& values) {
  std::vector<float> all;
  for (int i = 0; i < kRows; ++i) all.push_back(values[static_cast<std::size_t>(i) % values.size()]);
  return all;
}

/// Lists of `width` with a single one, at row % width.
template <class Number>
std::vector<Number> one_hot(int width) {
  std::vector<Number> all(static_cast<std::size_t>(kRows * width), Number{0});
  for (int i = 0; i < kRows; ++i) all[static_cast<std::size_t>(i * width + i % width)] = 1;
  return all;
}

bool says(const DataPair& pair, std::initializer_list<std::string_view> words) {
  return std::ranges::count_if(pair.notes, [&](const std::string& note) { return names(note, words); }) == 1;
}

/// The label of each row of the file.
std::vector<int> labels_of(const DataPair& pair) {
  std::vector<int> labels(pair.train.size() + pair.test.size(), -1);
  for (const Dataset* part : {&pair.train, &pair.test})
    for (std::size_t i = 0; i < part->size(); ++i) labels[part->file_rows[i]] = part->labels[i];
  return labels;
}

ReadSettings asked(TargetsAre targets, int classes = 0, bool rows_are_protected = false) {
  ReadSettings read{.targets = targets, .classes = classes};
  read.rows_are_protected = rows_are_protected;
  read.range = "0,4";
  return read;
}

}  // namespace

TEST_CASE("floating-point labels that are few whole numbers are classes, and --targets values keeps them numbers") {
  const DataPair pair = loaded(repeated({0, 2, 1}));
  CHECK(pair.train.form().text() == "1x1x1, 3 classes");
  CHECK(labels_of(pair) == std::vector<int>{0, 2, 1, 0, 2, 1, 0, 2, 1, 0, 2, 1});
  CHECK(says(pair, {"targets auto", "floating-point whole numbers", "3 classes", "--targets values"}));
  CHECK(loaded(repeated({0, 2, 1}), 1, asked(TargetsAre::values)).train.targets == Targets::values);
  CHECK(loaded(repeated({-1, 1})).train.class_names == std::vector<std::string>{"-1", "1"});
  CHECK(loaded(repeated({3, 5})).train.class_names == std::vector<std::string>{"3", "5"});
}

TEST_CASE("other floating-point labels are values, which is said with the setting that makes them classes") {
  for (const std::vector<float>& y : {repeated({0, 2, 1.5F}), repeated({-3, 2}), repeated({0, 2e9F})}) {
    const DataPair pair = loaded(y);
    CHECK(pair.train.targets == Targets::values);
    CHECK(says(pair, {"targets auto", "values", "--targets classes"}));
  }
  std::vector<float> ages;  // as many different ones as rows: nothing says that these are classes
  for (int i = 0; i < kRows; ++i) ages.push_back(static_cast<float>(20 + i));
  CHECK(loaded(ages).train.targets == Targets::values);
  std::vector<float> prices;  // more than can be classes by themselves
  for (int i = 0; i < 500; ++i) prices.push_back(static_cast<float>(i % 101));
  CHECK(loaded(prices).train.targets == Targets::values);
  for (float& price : prices) price = std::min(price, 99.0F);
  CHECK(loaded(prices).train.classes == 100);
}

TEST_CASE("one-hot lists are classes of any type, of both parts and all rows; other lists of 0 and 1 are flags") {
  const std::vector<int> expected{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2};
  const DataPair floats = loaded(one_hot<float>(3), 3), whole = loaded(one_hot<std::int64_t>(3), 3);
  for (const DataPair* pair : {&floats, &whole}) {
    CHECK(pair->train.form().text() == "1x1x1, 3 classes");
    CHECK(labels_of(*pair) == expected);
    CHECK(says(*pair, {"targets auto", "one-hot lists of 3", "3 classes"}));
  }
  CHECK(floats.hash == whole.hash);
  CHECK(loaded(one_hot<float>(4), 4, asked(TargetsAre::flags)).train.targets == Targets::flags);
  for (const float other : {1.0F, 0.0F}) {  // a row of two ones, or of none
    std::vector<float> lists = one_hot<float>(3);
    lists[3] = other;
    lists[4] = other;
    const DataPair flags = loaded(lists, 3);
    CHECK(flags.train.targets == Targets::flags);
    CHECK(says(flags, {"targets auto", "flags"}));
    CHECK_FAILURE(loaded(lists, 3, asked(TargetsAre::classes)), "'y'", "targets", "classes");
  }
  CHECK(loaded(one_hot<float>(3), 3, asked(TargetsAre::classes)).train.classes == 3);
  CHECK_FAILURE(loaded(one_hot<float>(3), 3, asked(TargetsAre::automatic, 4)), "3", "classes is 4");
}

TEST_CASE("a class that no row of a one-hot file has keeps its place") {
  std::vector<float> lists = one_hot<float>(3);
  for (int i = 0; i < kRows; ++i)
    if (i % 3 == 0) std::swap(lists[static_cast<std::size_t>(3 * i)], lists[static_cast<std::size_t>(3 * i + 1)]);
  const DataPair pair = loaded(lists, 3);
  CHECK(pair.train.classes == 3);
  CHECK(std::ranges::count(labels_of(pair), 0) == 0);
}

TEST_CASE("where rows are protected, settings and dimensions alone make lists classes: by the largest number of each row") {
  std::vector<float> lists = one_hot<float>(3);
  const DataPair pair = loaded(lists, 3, asked(TargetsAre::classes, 0, true));
  CHECK(pair.train.classes == 3);
  CHECK(std::ranges::any_of(pair.facts, [](const std::string& fact) { return names(fact, {"classes 3", "list of targets"}); }));
  CHECK(labels_of(pair) == labels_of(loaded(lists, 3)));
  // A row that is no one-hot list moves no other, and is not refused.
  const std::vector<int> before = labels_of(pair);
  lists[0] = 0.2F;
  lists[1] = 7;
  lists[2] = NAN;
  const DataPair odd = loaded(lists, 3, asked(TargetsAre::automatic, 3, true));
  CHECK(odd.train.targets == Targets::classes);
  const std::vector<int> after = labels_of(odd);
  CHECK(after[0] == 1);
  CHECK(std::equal(after.begin() + 1, after.end(), before.begin() + 1));
  CHECK_FAILURE(loaded(lists, 3, asked(TargetsAre::automatic, 0, true)), "--classes", "--targets");
  CHECK_FAILURE(loaded(repeated({0, 1}), 1, asked(TargetsAre::automatic, 0, true)), "--classes", "--targets");
  CHECK_FAILURE(loaded(lists, 3, asked(TargetsAre::automatic, 4, true)), "3", "classes is 4");
}

TEST_CASE("each decision on a file that settings leave open is one note with the setting that changes it") {
  const DataPair pair = loaded(repeated({0, 1}));
  CHECK(says(pair, {"targets auto", "--targets"}));
  CHECK(says(pair, {"normalize auto", "of the training rows", "--normalize"}));
  CHECK(says(pair, {"format auto", "npz", "--format"}));
  ReadSettings all = asked(TargetsAre::classes);
  all.format = FileForm::npz;
  for (const std::string& note : loaded(repeated({0, 1}), 1, all).notes) CHECK(note.find(" auto: ") == note.npos);
  const TemporaryFolder folder;
  const auto tokens =
      write(folder / "t.npz", npz_bytes({{"x", npy_bytes("<i4", "(4, 2)", bytes_of<std::int32_t>({0, 5, 1, 2, 3, 3, 1, 1}))},
                                         {"y", npy_bytes("<i8", "(4,)", bytes_of<std::int64_t>({0, 1, 0, 1}))}}));
  CHECK(says(load_dataset("file", own(tokens)), {"vocabulary auto", "6", "--vocabulary"}));
}

}  // namespace fedstride::test::targets_test
