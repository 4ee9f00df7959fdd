#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>

#include "data/datasets.hpp"
#include "tests/data/files.hpp"

namespace fedstride::test::own_rows_test {
namespace {

Dataset two_columns(const TemporaryFolder& folder, const std::string& text = "1,7,0\n3,8,1\n5,9,0\n") {
  write(folder / "train.csv", text);
  return load_own_rows("file", own(folder.path().string())).train;
}

}  // namespace

TEST_CASE("a client's own rows are all rows of a table that has no test part, and the training part of one that has") {
  const TemporaryFolder folder;
  std::string text;
  for (int row = 0; row < 12; ++row) text += std::to_string(row) + (row % 2 == 0 ? ",0\n" : ",1\n");
  write(folder / "train.csv", text);
  const DataPair alone = load_own_rows("file", own(folder.path().string()));
  CHECK(alone.train.size() == 12);
  CHECK(alone.train.name == "file");
  CHECK(alone.test.size() == 0);
  CHECK(load_dataset("file", own(folder.path().string())).train.size() == 10);
  write(folder / "test.csv", "1,1\n");
  const DataPair with_test = load_own_rows("file", own(folder.path().string()));
  CHECK(with_test.train.size() == 12);
  CHECK(with_test.hash == alone.hash);
  write(folder / "train.csv", text + "12,1\n");
  CHECK(load_own_rows("file", own(folder.path().string())).hash != alone.hash);
}

TEST_CASE(
    "labels that begin at 1 are numbered from 0 where every row is read, and keep their numbers where a client has some rows") {
  const TemporaryFolder folder;
  const auto write_labels = [&](const char* part, int first) {
    std::string text;
    for (int row = 0; row < 12; ++row) text += std::to_string(row) + "," + std::to_string(first + row % 3) + "\n";
    write(folder / part, text);
  };
  write_labels("train.csv", 1);
  write_labels("test.csv", 2);
  const DataPair pair = load_dataset("file", own(folder.path().string()));
  CHECK(pair.train.classes == 4);
  CHECK(pair.train.labels[0] == 0);
  CHECK(pair.test.labels[2] == 3);
  CHECK(pair.train.class_names == std::vector<std::string>{"1", "2", "3", "4"});
  CHECK(load_own_rows("file", own(folder.path().string())).train.labels[0] == 1);
}

TEST_CASE("a client's own rows are told by a keyed hash, whose key stays beside them") {
  const TemporaryFolder folder;
  const TemporaryFolder other;
  for (const TemporaryFolder* one : {&folder, &other}) write(*one / "train.csv", "1,7,0\n3,8,1\n");
  const auto told = [](const std::string& place) {
    return told_hash("file", own(place), load_own_rows("file", own(place)).hash);
  };
  const std::string first = told(folder.path().string());
  CHECK(first.size() == 64);
  CHECK(first != load_own_rows("file", own(folder.path().string())).hash);
  CHECK(told(folder.path().string()) == first);
  CHECK(told(other.path().string()) != first);  // the same rows, another key: nobody can try a guess
  CHECK(std::filesystem::exists(folder / "roster.key"));
  CHECK(told(folder / "train.csv").size() == 64);  // --data-dir may name the table
  CHECK(std::filesystem::exists(folder / "train.csv.roster.key"));
  write(folder / "train.csv", "1,7,0\n3,8,0\n");
  CHECK(told(folder.path().string()) != first);
}

TEST_CASE("what is built in is nobody's own") { CHECK_USAGE_ERROR(load_own_rows("synthetic", {}), "dataset", "'synthetic'"); }

TEST_CASE("own rows take classes and normalization of the experiment") {
  const TemporaryFolder folder;
  Dataset rows = two_columns(folder);
  CHECK(rows.mean.empty());
  fit(rows, {.form = {rows.shape, 5}, .mean = {1, 2}, .deviation = {3, 4}});
  CHECK(rows.classes == 5);
  CHECK(rows.mean == std::vector<float>{1, 2});
  CHECK(rows.deviation == std::vector<float>{3, 4});
}

TEST_CASE("own rows that the experiment's form does not suit are refused, and stay as they were") {
  const TemporaryFolder folder;
  Dataset rows = two_columns(folder);
  const Schema good{.form = {rows.shape, 2}, .mean = {1, 2}, .deviation = {3, 4}};
  const auto refused = [&](auto change, std::string_view value) {
    Schema schema = good;
    change(schema);
    CHECK_FAILURE(fit(rows, schema), value);
  };
  refused([](Schema& schema) { schema.form.shape.channels = 3; }, "1x1x3");
  refused([](Schema& schema) { schema.form.outputs = 0; }, "0 classes");
  refused([](Schema& schema) { schema.form.outputs = 1 << 30; }, "1073741824 classes");
  refused([](Schema& schema) { schema.mean.pop_back(); }, "deviation");
  refused([](Schema& schema) { schema.deviation.push_back(1); }, "deviation");
  refused([](Schema& schema) { schema.deviation[0] = 0; }, "deviation");
  refused([](Schema& schema) { schema.deviation[1] = -1; }, "deviation");
  refused([](Schema& schema) { schema.mean[0] = std::nanf(""); }, "deviation");
  refused([](Schema& schema) { schema.deviation[0] = INFINITY; }, "deviation");
  refused([](Schema& schema) { schema.deviation[0] = 1e-39F; }, "deviation");
  refused([](Schema& schema) { schema.mean[0] = 3e38F, schema.deviation[0] = 1.2e-38F; }, "deviation");
  CHECK(rows.mean.empty());
  fit(rows, good);
  Dataset empty_label = two_columns(folder, "1,7,3\n");
  CHECK_FAILURE(fit(empty_label, good), "label 3");
}

TEST_CASE("gaps of a client's rows become what the schema says, unless rows are protected") {
  const TemporaryFolder folder;
  write(folder / "train.csv", "1,,0\n,8,1\n5,9,0\n");
  ReadSettings read;
  read.missing = Missing::mean;
  const Schema schema{.form = {{1, 1, 2}, 2}, .missing = Missing::mean, .fill = {7, -7}, .mean = {1, 2}, .deviation = {3, 4}};
  const auto fitted = [&](const ReadSettings& settings) {
    Dataset rows = load_own_rows("file", {.data = folder.path().string(), .read = settings}).train;
    fit(rows, schema, settings);
    return rows.features;
  };
  CHECK(fitted(read) == std::vector<float>{1, -7, 7, 8, 5, 9});
  read.rows_are_protected = true;
  read.header = Header::no;
  read.classes = 2;
  CHECK(fitted(read) == std::vector<float>{1, 2, 1, 8, 5, 9});
}

}  // namespace fedstride::test::own_rows_test
