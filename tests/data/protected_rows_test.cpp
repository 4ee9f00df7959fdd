// Rows that are protected (dp): nothing is read off them, and none of them is refused for what it contains.
#include <doctest/doctest.h>

#include <cmath>

#include "data/datasets.hpp"
#include "data/named_facts.hpp"
#include "data/normalization.hpp"
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

DataPair read_as_told(const std::string& table, const ReadSettings& settings) {
  const TemporaryFolder folder;
  return load_dataset("file", own(write(folder / "t.csv", table), settings));
}

/// A table without a header, unless the settings say otherwise.
DataPair loaded(const std::string& table, ReadSettings settings) {
  if (settings.header == Header::automatic) settings.header = Header::no;
  return read_as_told(table, settings);
}

const std::string kTable = "1,2,0\n3,4,1\n5,6,2\n7,8,0\n9,1,1\n2,3,2\n4,5,0\n6,7,1\n";

bool has_fact(const DataPair& pair, const std::string& fact) { return std::ranges::find(pair.facts, fact) != pair.facts.end(); }

}  // namespace

TEST_CASE("constants are named by column, all of them or none") {
  const std::string table = "age,city,chol,sick\n30,Rome,200,0\n40,Oslo,900,1\n50,Rome,-7,0\n60,Oslo,250,1\n";
  ReadSettings settings = protect();
  settings.header = Header::yes;
  CHECK_USAGE_ERROR(loaded(table, settings), "--classes N --range age=LOW..HIGH,city=LOW..HIGH,chol=LOW..HIGH");
  settings.categories = "city=Rome,Oslo";
  settings.classes = 2;
  CHECK_USAGE_ERROR(loaded(table, settings), "--range age=LOW..HIGH,chol=LOW..HIGH;");
  settings.range = "chol=100..600,age=20..90";
  const DataPair ranged = loaded(table, settings);
  CHECK(ranged.train.mean == std::vector<float>{55, 350, 0, 0});
  CHECK(ranged.train.deviation == std::vector<float>{35, 250, 1, 1});
  const Borrowable<float>& features = ranged.train.features;
  for (std::size_t i = 1; i < features.size(); i += 4) CHECK((features[i] >= 100 && features[i] <= 600));
  for (const auto& [range, part] : {std::pair("age=20..90", "chol=LOW..HIGH"), std::pair("age=20..90,bmi=1..2", "'bmi=1..2'"),
                                    std::pair("age=20..90,age=1..2", "'age=1..2'"), std::pair("age=20..90,chol", "'chol'"),
                                    std::pair("age=90..20,chol=1..2", "age=90..20"), std::pair("age=20,chol=1..2", "20..90")}) {
    settings.range = range;
    CHECK_USAGE_ERROR(loaded(table, settings), "range", part);
  }
  settings.range = "";
  settings.mean = "chol=240,age=50";
  settings.deviation = "age=10,chol=50";
  CHECK(loaded(table, settings).train.mean == std::vector<float>{50, 240, 0, 0});
  settings.deviation = "age=10,chol=x";
  CHECK_USAGE_ERROR(loaded(table, settings), "deviation", "'x'", "COLUMN=NUMBER");
  settings.deviation = "age=10";
  CHECK_USAGE_ERROR(loaded(table, settings), "deviation", "chol=NUMBER");
  CHECK_USAGE_ERROR(loaded(kTable, named(3, "age=0..1")), "age=0..1", "1, 2");
  CHECK(loaded(kTable, named(3, "1=0..10,2=0..20")).train.mean == std::vector<float>{5, 10});
}

TEST_CASE("what only rows tell must be named, in one line that says how") {
  CHECK_USAGE_ERROR(loaded(kTable, protect()), "--classes N --range LOW,HIGH", "--class-names", "--targets", "--public-data",
                    "fedstride data constants");
  ReadSettings settings = protect();
  settings.classes = 3;
  CHECK_USAGE_ERROR(loaded(kTable, settings), "--range", "--mean", "--deviation", "--public-data");
  settings.normalize = Normalize::rows;
  CHECK_USAGE_ERROR(loaded(kTable, settings), "normalize", "'rows'");
  settings = named();
  settings.public_test = true;
  CHECK_USAGE_ERROR(loaded(kTable, settings), "public-test");
  // Without dp all of this follows from the rows, as ever.
  const DataPair plain = loaded(kTable, {});
  CHECK(plain.train.classes == 3);
  CHECK(has_fact(plain, plain.facts.back()));
  CHECK(contains(plain.facts.back(), "(of the training rows)"));
}

TEST_CASE("whether there is a header is asked, whatever the first line is, unless a flag names a column in it") {
  const std::string names = "age,chol,sick\n";
  for (const std::string& first : {names, std::string(), std::string("x,2,0\n"), std::string("0,1,2\n")}) {
    ReadSettings settings = named();
    CHECK_USAGE_ERROR(read_as_told(first + kTable, settings), "line 1", "first line is a header", "--header yes", "--header no");
  }
  for (const char* range : {"age=0..10,chol=0..20", "chol=0..20,age=0..10"}) {
    ReadSettings settings = named(3, range);
    CHECK(read_as_told(names + kTable, settings).train.mean == std::vector<float>{5, 10});
  }
  ReadSettings settings = named();
  settings.label = "sick";
  CHECK(read_as_told(names + kTable, settings).train.shape.channels == 2);
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
  CHECK_USAGE_ERROR(loaded(kTable, settings), "deviation");
  settings.deviation = "1,0";
  CHECK_USAGE_ERROR(loaded(kTable, settings), "deviation", "0");
  settings.deviation = "1,2,3";
  CHECK_USAGE_ERROR(loaded(kTable, settings), "deviation", "3");
  settings.normalize = Normalize::none;
  CHECK(loaded(kTable, settings).train.mean == std::vector<float>{0, 0});
}

TEST_CASE("public rows tell what the protected ones must not") {
  const TemporaryFolder folder;
  ReadSettings settings = protect();
  settings.header = Header::no;
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
  CHECK_USAGE_ERROR(load_dataset("file", own(folder / "t.csv", settings)), "public-data", "1x1x3", "1x1x2");
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
  CHECK_FAILURE(loaded("nan,2,0\n3,4,1\n", plain), "field 1", "nan");
  CHECK_FAILURE(loaded("1,2,0\n3,4,7\n", plain), "7");
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
  CHECK_USAGE_ERROR(loaded(kTable, settings), "class-names", "'dog'");
  settings.class_names = "3,4";
  settings.classes = 3;
  CHECK_USAGE_ERROR(loaded(kTable, settings), "classes", "3", "2");
  // Without dp an unknown label is refused, and numbers may be named in any order.
  ReadSettings plain;
  plain.class_names = "2,1,0";
  CHECK(loaded(kTable, plain).train.class_names.front() == "2");
  plain.class_names = "1,0";
  CHECK_FAILURE(loaded(kTable, plain), "'2'", "class-names", "1, 0");
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
  const DataPair squares = load(npy_bytes("<f4", "(6, 64)", bytes_of(std::vector<float>(384, 0.2F))), shaped);
  CHECK(squares.train.shape.text() == "8x8x1");
  CHECK(has_fact(squares, "shape 8x8x1 (named)"));
  shaped.shape = "8x9";
  CHECK_FAILURE(load(in_255ths, shaped), "8x9x1");
  for (const std::string wrong : {"0x8", "8xx8", "a", "8x8x1x1"})
    CHECK_USAGE_ERROR(named_shape(wrong), "shape", "'" + wrong + "'");
}

TEST_CASE("public pictures of floats are read by their type, as the protected ones are") {
  const TemporaryFolder folder;
  const auto pictures = [&](const std::string& name, const std::vector<float>& two) {
    std::vector<float> x;
    for (int i = 0; i < 6 * 64; ++i) x.push_back(two[static_cast<std::size_t>(i % 2)]);
    const std::string y = bytes_of(std::vector<std::int64_t>{0, 1, 2, 0, 1, 2});
    return write(folder / name,
                 npz_bytes({{"x", npy_bytes("<f4", "(6, 8, 8)", bytes_of(x))}, {"y", npy_bytes("<i8", "(6,)", y)}}));
  };
  ReadSettings settings = protect();
  settings.public_data = pictures("public.npz", {0.2F, 0.4F}).string();  // 255ths, which would be kept in 8 bits
  const DataOptions options = own(pictures("mine.npz", {0.6F, 0.8F}), settings);
  const DataPair pair = load_dataset("file", options);
  CHECK_FALSE(pair.train.is_pictures());
  CHECK(pair.train.classes == 3);
  CHECK(pair.train.mean[0] == doctest::Approx(0.3));
  CHECK(pair.train.deviation[0] == doctest::Approx(0.1));
  pictures("public.npz", {0.25F, 0.5F});  // no 255ths: kept as the same
  CHECK(load_dataset("file", options).train.mean[0] == doctest::Approx(0.375));
  ReadSettings plain = settings;
  plain.rows_are_protected = false;
  pictures("public.npz", {0.2F, 0.4F});
  CHECK(load_dataset("file", own(folder / "mine.npz", plain)).train.is_pictures());
}

TEST_CASE("a file's own keys are public, are said to be, and yield to what is named") {
  const TemporaryFolder folder;
  const std::vector<std::int64_t> y{0, 1, 0, 1};
  const auto file = [&](const std::vector<float>& mean) {
    return write(folder / "a.npz",
                 npz_bytes({{"x", npy_bytes("<f4", "(4, 1)", bytes_of(std::vector<float>{1, 2, 3, 4}))},
                            {"y", npy_bytes("<i8", "(4,)", bytes_of(y))},
                            {"classes", npy_bytes("<i8", "()", bytes_of(std::vector<std::int64_t>{5}))},
                            {"shape", npy_bytes("<i8", "(3,)", bytes_of(std::vector<std::int64_t>{1, 1, 1}))},
                            {"mean", npy_bytes("<f4", "(" + std::to_string(mean.size()) + ",)", bytes_of(mean))},
                            {"deviation", npy_bytes("<f4", "(1,)", bytes_of(std::vector<float>{2}))}}));
  };
  const DataPair pair = load_dataset("file", own(file({3}), protect()));
  CHECK(pair.train.classes == 5);
  CHECK(pair.train.mean == std::vector<float>{3});
  CHECK(has_fact(pair, "classes 5 (the file's key, taken as public)"));
  CHECK(has_fact(pair, "shape 1x1x1 (the file's key, taken as public)"));
  CHECK(has_fact(pair, "mean 3, deviation 2 (the file's keys, taken as public)"));
  CHECK(load_dataset("file", own(file({4}), protect())).hash != pair.hash);
  CHECK(load_dataset("file", own(file({3}), named(7, "0,4"))).train.classes == 7);
  CHECK_FAILURE(load_dataset("file", own(file({3, 4}), protect())), "'mean'", "2", "'deviation'", "1");
  CHECK_FAILURE(load_dataset("file", own(file({NAN}), protect())), "'mean'");
}

TEST_CASE("tokens: the vocabulary is named, one outside it is token 0, and a position without a class does not count") {
  const TemporaryFolder folder;
  const std::vector<std::int32_t> x{1, 2, 3, 4, 5, 60, -1, 7};
  const std::vector<std::int32_t> y{0, 1, 9, 1, 0, 1, 1, 0};
  const auto path =
      write(folder / "a.npz",
            npz_bytes({{"x", npy_bytes("<i4", "(4, 2)", bytes_of(x))}, {"y", npy_bytes("<i4", "(4, 2)", bytes_of(y))}}));
  ReadSettings settings = named(2, "");
  CHECK_FAILURE(load_dataset("file", own(path, settings)), "--vocabulary");
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
  CHECK_USAGE_ERROR(load(), "classes", "0", "'mine-protected'", "2");
  settings.classes = 2;
  CHECK_USAGE_ERROR(load(), "--range");
  settings.range = "0,4";
  CHECK(load().train.mean == std::vector<float>{2});
  CHECK_FALSE(load().has_public_test);
}

}  // namespace fedstride::test::protected_rows_test
