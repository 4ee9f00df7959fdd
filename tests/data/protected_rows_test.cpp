// Rows that are protected (dp): nothing is read off them, and none of them is refused for what it contains.
#include <doctest/doctest.h>

#include <cmath>

#include "data/datasets.hpp"
#include "data/named_facts.hpp"
#include "data/normalisation.hpp"
#include "tests/data/files.hpp"
#include "tests/data/npz_files.hpp"

namespace fedstride::test::protected_rows_test {
namespace {

ReadSettings protect(ReadSettings settings = {}) {
  settings.rows_are_protected = true;
  return settings;
}

ReadSettings named(int classes = 3, const std::string& range = "0,10") {
  ReadSettings settings = protect();
  settings.classes = classes;
  settings.range = range;
  return settings;
}

DataPair loaded(const std::string& table, const ReadSettings& settings) {
  const TemporaryFolder folder;
  return load_dataset("file", own(write(folder / "t.csv", table), settings));
}
std::string error(const std::string& table, const ReadSettings& settings) {
  return error_of([&] { loaded(table, settings); });
}

const std::string kTable = "1,2,0\n3,4,1\n5,6,2\n7,8,0\n9,1,1\n2,3,2\n4,5,0\n6,7,1\n";

bool has_fact(const DataPair& pair, const std::string& fact) { return std::ranges::find(pair.facts, fact) != pair.facts.end(); }

}  // namespace

TEST_CASE("what only rows tell must be named, in one line that says how") {
  CHECK(contains(error(kTable, protect()), "name it: --classes N (or --class-names), or --targets values or flags"));
  ReadSettings settings = protect();
  settings.classes = 3;
  CHECK(contains(error(kTable, settings), "name --range LOW,HIGH, or --mean and --deviation, or --public-data FILE"));
  settings.normalise = Normalise::rows;
  CHECK(contains(error(kTable, settings), "normalise is 'rows'"));
  settings = named();
  settings.public_test = true;
  CHECK(contains(error(kTable, settings), "public-test is true"));
  // Without dp all of this follows from the rows, as ever.
  const DataPair plain = loaded(kTable, {});
  CHECK(plain.train.classes == 3);
  CHECK(has_fact(plain, plain.facts.back()));
  CHECK(contains(plain.facts.back(), "(of the training rows)"));
}

TEST_CASE("constants come from where the facts say, and from no row") {
  DataPair pair = loaded(kTable, named());
  CHECK(pair.train.classes == 3);
  CHECK(pair.train.mean == std::vector<float>{5, 5});
  CHECK(pair.train.deviation == std::vector<float>{5, 5});
  CHECK(pair.facts == std::vector<std::string>{"classes 3 (named)", "mean 5,5, deviation 5,5 (of the range 0,10, named)"});
  CHECK_FALSE(pair.has_public_test);
  ReadSettings settings = named(4, "");
  settings.mean = "1,2";
  settings.deviation = "3";
  pair = loaded(kTable, settings);
  CHECK(pair.train.classes == 4);  // a class that no row has
  CHECK(pair.train.deviation == std::vector<float>{3, 3});
  settings.deviation = "";
  CHECK(contains(error(kTable, settings), "deviation is not named"));
  settings.deviation = "1,0";
  CHECK(contains(error(kTable, settings), "deviation has 0"));
  settings.deviation = "1,2,3";
  CHECK(contains(error(kTable, settings), "deviation has 3 numbers"));
  settings.normalise = Normalise::none;
  CHECK(loaded(kTable, settings).train.mean == std::vector<float>{0, 0});
}

TEST_CASE("public rows tell what the protected ones must not") {
  const TemporaryFolder folder;
  ReadSettings settings = protect();
  settings.public_data = write(folder / "public.csv", "0,0,0\n10,20,1\n0,0,2\n10,20,3\n").string();
  const DataPair pair = load_dataset("file", own(write(folder / "t.csv", kTable), settings));
  CHECK(pair.train.classes == 4);
  CHECK(pair.train.mean == std::vector<float>{5, 10});
  CHECK(pair.train.deviation == std::vector<float>{5, 10});
  CHECK(contains(pair.facts.back(), "(of public-data)"));
  write(folder / "public.csv", "0,0,0\n10,40,1\n0,0,2\n10,40,3\n");
  const DataPair other = load_dataset("file", own(folder / "t.csv", settings));
  CHECK(other.hash != pair.hash);  // a run does not go on under other constants
  settings.public_data = write(folder / "wide.csv", "0,0,0,0\n1,1,1,1\n").string();
  CHECK(contains(error_of([&] { load_dataset("file", own(folder / "t.csv", settings)); }), "they must be alike"));
}

TEST_CASE("a value that would be refused stands as another, which follows from it alone") {
  const DataPair pair = loaded("nan,2,0\n3,inf,7\n5,-1e30,-2\n7,99,x\n1,1,1.5\n1,1,1\n1,1,1\n2,2,2\n", named());
  std::vector<float> first(8, -1);
  std::vector<float> second(8, -1);
  std::vector<int> labels(8, -1);
  for (const Dataset* part : {&pair.train, &pair.test})
    for (std::size_t i = 0; i < part->size(); ++i) {
      first[part->file_rows[i]] = part->features[2 * i];
      second[part->file_rows[i]] = part->features[2 * i + 1];
      labels[part->file_rows[i]] = part->labels[i];
    }
  CHECK(first == std::vector<float>{5, 3, 5, 7, 1, 1, 1, 2});     // the mean
  CHECK(second == std::vector<float>{2, 10, 0, 10, 1, 1, 1, 2});  // the ends of the range
  CHECK(labels == std::vector<int>{0, 0, 0, 0, 0, 1, 1, 2});
  // Without dp each of these is refused, with its line.
  ReadSettings plain = named();
  plain.rows_are_protected = false;
  CHECK(contains(error("nan,2,0\n3,4,1\n", plain), "line 1: field 1 is 'nan'"));
  CHECK(contains(error("1,2,0\n3,4,7\n", plain), "label 7 is out of range"));
}

TEST_CASE("labels of one class, or of none, change no shape and refuse nothing") {
  for (const std::string label : {"0", "2", "nine"}) {
    CAPTURE(label);
    const DataPair pair = loaded("1,2," + label + "\n3,4," + label + "\n5,6," + label + "\n", named());
    CHECK(pair.train.classes == 3);
    CHECK(pair.train.targets == Targets::classes);
  }
}

TEST_CASE("words are classes in the order in which they are named, in every form of file") {
  ReadSettings settings = named(0);
  settings.class_names = "dog, cat,bird";
  const DataPair pair = loaded("1,1,cat\n2,2,dog\n3,3,cow\n4,4,bird\n5,5,cat\n6,6,dog\n7,7,dog\n8,8,dog\n", settings);
  CHECK(pair.train.class_names == std::vector<std::string>{"dog", "cat", "bird"});
  for (std::size_t i = 0; i < pair.train.size(); ++i)
    CHECK(pair.train.labels[i] == std::vector<int>{1, 0, 0, 2, 1, 0, 0, 0}[pair.train.file_rows[i]]);
  settings.class_names = "dog,dog";
  CHECK(contains(error(kTable, settings), "class-names has 'dog' twice"));
  settings.class_names = "3,4";
  settings.classes = 3;
  CHECK(contains(error(kTable, settings), "classes is 3 and class-names has 2 names"));
  // Without dp an unknown label is refused, and numbers may be named in any order.
  ReadSettings plain;
  plain.class_names = "2,1,0";
  CHECK(loaded(kTable, plain).train.class_names.front() == "2");
  plain.class_names = "1,0";
  CHECK(contains(error(kTable, plain), "label '2' is none of class-names; valid: 1, 0"));
}

TEST_CASE("the kind of inputs follows from their type: floats stay numbers whatever their values, bytes are bytes") {
  const TemporaryFolder folder;
  const std::vector<std::int64_t> y{0, 1, 2, 0, 1, 2};
  const auto load = [&](const std::string& x, const ReadSettings& settings) {
    return load_dataset(
        "file", own(write(folder / "a.npz", npz_bytes({{"x", x}, {"y", npy_bytes("<i8", "(6,)", bytes_of(y))}})), settings));
  };
  const std::string in_255ths = npy_bytes("<f4", "(6, 8, 8)", bytes_of(std::vector<float>(384, 0.2F)));
  CHECK(load(in_255ths, {}).train.is_pictures());
  const DataPair numbers = load(in_255ths, named(3, "0,1"));
  CHECK_FALSE(numbers.train.is_pictures());
  CHECK(numbers.train.shape.text() == "8x8x1");
  CHECK(numbers.train.mean == std::vector<float>{0.5F});
  const DataPair bytes = load(npy_bytes("|u1", "(6, 8, 8)", std::string(384, 'a')), named(3, ""));
  CHECK(bytes.train.is_pictures());
  CHECK(bytes.train.mean == std::vector<float>{0.5F});
  CHECK(contains(bytes.facts.back(), "of the range of 8-bit numbers"));
  ReadSettings shaped = named(3, "0,1");
  shaped.shape = "8x8";
  CHECK(load(npy_bytes("<f4", "(6, 64)", bytes_of(std::vector<float>(384, 0.2F))), shaped).train.shape.text() == "8x8x1");
  shaped.shape = "8x9";
  CHECK(contains(error_of([&] { load(in_255ths, shaped); }), "cannot have the shape 8x9x1"));
  for (const std::string wrong : {"0x8", "8xx8", "a", "8x8x1x1", ""})
    CHECK(wrong.empty() == error_of([&] {
                             if (!wrong.empty()) named_shape(wrong);
                           }).empty());
}

TEST_CASE("a file's own keys are public, are said to be, and yield to what is named") {
  const TemporaryFolder folder;
  const std::vector<std::int64_t> y{0, 1, 0, 1};
  const auto file = [&](const std::vector<float>& mean) {
    return write(folder / "a.npz",
                 npz_bytes({{"x", npy_bytes("<f4", "(4, 1)", bytes_of(std::vector<float>{1, 2, 3, 4}))},
                            {"y", npy_bytes("<i8", "(4,)", bytes_of(y))},
                            {"classes", npy_bytes("<i8", "()", bytes_of(std::vector<std::int64_t>{5}))},
                            {"mean", npy_bytes("<f4", "(" + std::to_string(mean.size()) + ",)", bytes_of(mean))},
                            {"deviation", npy_bytes("<f4", "(1,)", bytes_of(std::vector<float>{2}))}}));
  };
  const DataPair pair = load_dataset("file", own(file({3}), protect()));
  CHECK(pair.train.classes == 5);
  CHECK(pair.train.mean == std::vector<float>{3});
  CHECK(has_fact(pair, "classes 5 (the file's key, taken as public)"));
  CHECK(has_fact(pair, "mean 3, deviation 2 (the file's keys, taken as public)"));
  CHECK(load_dataset("file", own(file({4}), protect())).hash != pair.hash);
  CHECK(load_dataset("file", own(file({3}), named(7, "0,4"))).train.classes == 7);
  CHECK(contains(error_of([&] { load_dataset("file", own(file({3, 4}), protect())); }), "'mean' has 2 numbers, 'deviation' 1"));
  CHECK(contains(error_of([&] { load_dataset("file", own(file({NAN}), protect())); }), "it must be finite numbers"));
}

TEST_CASE("tokens: the vocabulary is named, one outside it is token 0, and a position without a class does not count") {
  const TemporaryFolder folder;
  const std::vector<std::int32_t> x{1, 2, 3, 4, 5, 60, -1, 7};
  const std::vector<std::int32_t> y{0, 1, 9, 1, 0, 1, 1, 0};
  const auto path =
      write(folder / "a.npz",
            npz_bytes({{"x", npy_bytes("<i4", "(4, 2)", bytes_of(x))}, {"y", npy_bytes("<i4", "(4, 2)", bytes_of(y))}}));
  ReadSettings settings = named(2, "");
  CHECK(contains(error_of([&] { load_dataset("file", own(path, settings)); }), "name it: --vocabulary N"));
  settings.vocabulary = 10;
  const DataPair pair = load_dataset("file", own(path, settings));
  CHECK(pair.train.vocabulary == 10);
  for (const Dataset* part : {&pair.train, &pair.test})
    for (std::size_t i = 0; i < part->size(); ++i) {
      const Row row = part->file_rows[i];
      for (std::size_t k = 0; k < 2; ++k) {
        const int token = x[2 * row + k];
        CHECK(part->tokens[2 * i + k] == (token < 0 || token >= 10 ? 0 : token));
        CHECK(part->position_labels[2 * i + k] == (y[2 * row + k] == 9 ? kNoLabel : y[2 * row + k]));
      }
    }
}

TEST_CASE("the data sets that are known say what they publish, and one of a program's own must be named") {
  const DataPair pair = load_dataset("synthetic-li:0.5,0.5,4,1", {.data_dir = "", .data = "", .read = protect()});
  CHECK(pair.has_public_test);
  CHECK(contains(pair.facts.front(), "classes 10 (published with data set"));
  for (const DatasetSource& source : dataset_sources()) {
    CAPTURE(std::string(source.name));
    CHECK(source.is_published != static_cast<bool>(source.read));
  }
  add_dataset({.name = "mine-protected", .summary = "", .files = "", .place = {}, .load = [](const std::filesystem::path&) {
                 DataPair mine;
                 for (Dataset* part : {&mine.train, &mine.test}) {
                   part->shape = {1, 1, 1};
                   part->classes = 2;
                   part->features = std::vector<float>{1, 2, 3};
                   part->labels = {0, 1, 1};
                   part->mean = {2};
                   part->deviation = {1};
                 }
                 return mine;
               }});
  ReadSettings settings = protect();
  const auto load = [&] { return load_dataset("mine-protected", {.data_dir = "", .data = "", .read = settings}); };
  CHECK(contains(error_of(load), "classes is 0; data set 'mine-protected' has 2"));
  settings.classes = 2;
  CHECK(contains(error_of(load), "name --range LOW,HIGH"));
  settings.range = "0,4";
  CHECK(load().train.mean == std::vector<float>{2});
  CHECK_FALSE(load().has_public_test);
}

}  // namespace fedstride::test::protected_rows_test
