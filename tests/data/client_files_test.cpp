// Files of which each has one client's rows.
#include <doctest/doctest.h>

#include "data/public_facts.hpp"
#include "tests/data/files.hpp"
#include "tests/data/npz_files.hpp"

namespace fedstride::test::client_files_test {
namespace {

DataPair loaded(const std::string& data, ReadSettings read = {}) {
  return load_dataset(kOwnFile, {.data = data, .read = std::move(read)});
}

/// Rows of one hospital: "age,chol,sick", `rows` of them, the ages from `first` on.
std::string hospital(int first, int rows, const std::string& header = "age,chol,sick\n") {
  std::string text = header;
  for (int i = 0; i < rows; ++i) {
    const std::string age = std::to_string(first + i), chol = std::to_string(200 + i), sick = std::to_string(i % 2);
    text += header.starts_with("chol") ? chol + "," + age + "," + sick + "\n" : age + "," + chol + "," + sick + "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("each file is the client after which it is named, and columns are found by name") {
  const TemporaryFolder folder;
  const std::string va = write(folder / "va.csv", hospital(20, 8));
  const std::string budapest = write(folder / "budapest.csv", hospital(50, 12, "chol,age,sick\n"));
  const DataPair pair = loaded(va + "," + budapest);
  CHECK(pair.train.client_names == std::vector<std::string>{"va", "budapest"});
  CHECK(pair.train.size() + pair.test.size() == 20);
  CHECK(pair.columns.inputs == std::vector<std::string>{"age", "chol"});
  const Borrowable<float>& features = pair.train.features;
  for (Row row = 0; row < pair.train.size(); ++row) {
    CHECK((features[2 * row] >= 50) == (pair.train.clients[row] == 1));
    CHECK(features[2 * row + 1] >= 200);
  }
  ReadSettings by_file;
  by_file.client_column = "file";
  const DataPair whole = loaded(folder.path().string(), by_file);
  CHECK(whole.train.client_names == std::vector<std::string>{"budapest", "va"});
  CHECK(whole.train.size() == pair.train.size());
}

TEST_CASE("a folder of client files may have a test part") {
  const TemporaryFolder folder;
  for (const std::string part : {"train", "test"})
    for (const std::string name : {"a", "b"})
      write(folder / (part + "/" + name + ".csv"), hospital(part == "train" ? 20 : 70, 6));
  ReadSettings read;
  read.client_column = "file";
  const DataPair pair = loaded(folder.path().string(), read);
  CHECK(pair.train.size() == 12);
  CHECK(pair.test.clients == std::vector<std::uint32_t>{0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1});
  CHECK(pair.test.features[0] == 70);
}

TEST_CASE("several archives are clients too, and a client column of the tables' own counts before their names") {
  const TemporaryFolder folder;
  for (const std::string name : {"a", "b"})
    write(folder / (name + ".npz"),
          npz_bytes({{"x", npy_bytes("<f4", "(4, 1)", bytes_of(std::vector<float>{1, 2, 3, 4.5F}))},
                     {"y", npy_bytes("<i8", "(4,)", bytes_of(std::vector<std::int64_t>{0, 1, 0, 1}))}}));
  const DataPair pair = loaded((folder / "a.npz") + "," + (folder / "b.npz"));
  CHECK(pair.train.client_names == std::vector<std::string>{"a", "b"});
  const std::string one = write(folder / "1.csv", "who,v,y\nx,1,0\ny,2,1\nx,4,1\ny,3,0\n");
  const std::string two = write(folder / "2.csv", "who,v,y\nz,1,0\nz,2,1\nx,4,1\ny,3,0\n");
  ReadSettings read;
  read.client_column = "who";
  CHECK(loaded(one + "," + two, read).train.client_names == std::vector<std::string>{"x", "y", "z"});
}

TEST_CASE("files that do not belong together are refused by name") {
  const TemporaryFolder folder;
  const std::string a = write(folder / "a.csv", hospital(20, 8)),
                    other = write(folder / "b.csv", hospital(20, 8, "age,bmi,sick\n"));
  CHECK_FAILURE(loaded(a + "," + other), "b.csv", "'chol'", "age, chol, sick");
  CHECK_FAILURE(loaded(a + "," + (folder / "none.csv")), "none.csv", "does not exist");
  CHECK_FAILURE(loaded(a + "," + std::string(write(folder / "sub/a.csv", hospital(20, 8)))), "sub/a.csv", "client 'a'");
  CHECK_FAILURE(loaded(a + "," + std::string(write(folder / "wide.csv", hospital(20, 2, "age,chol,sick,more\n")))), "wide.csv");
  CHECK_FAILURE(loaded(a + "," + std::string(write(folder / "empty.csv", ""))), "empty.csv");
  CHECK_FAILURE(loaded(a + "," + std::string(write(folder / "n.npz", npz_bytes({})))), "n.npz");
  const TemporaryFolder empty;
  ReadSettings read;
  read.client_column = "file";
  CHECK_FAILURE(loaded(empty.path().string(), read), "no files");
}

TEST_CASE("archives of other shapes, types or facts are refused, whatever their order") {
  const TemporaryFolder folder;
  const auto archive = [&](const std::string& name, const std::string& type, const std::string& shape, const std::string& bytes,
                           const std::string& y = npy_bytes("<i8", "(4,)", bytes_of(std::vector<std::int64_t>{0, 1, 0, 1}))) {
    return std::string(write(folder / (name + ".npz"), npz_bytes({{"x", npy_bytes(type, shape, bytes)}, {"y", y}})));
  };
  const std::vector<float> eight{1, 2, 3, 4.5F, 5, 6, 7, 8}, twelve{1, 2, 3, 4.5F, 5, 6, 7, 8, 9, 10, 11, 12};
  const std::string two = archive("two", "<f4", "(4, 2)", bytes_of(eight)),
                    three = archive("three", "<f4", "(4, 3)", bytes_of(twelve)),
                    bytes = archive("bytes", "|u1", "(4, 2)", std::string("\1\2\3\4\5\6\7\10", 8)),
                    values = archive("values", "<f4", "(4, 2)", bytes_of(eight),
                                     npy_bytes("<f4", "(4,)", bytes_of(std::vector<float>{1, 2.5F, 3, 4})));
  CHECK_FAILURE(loaded(two + "," + three), "'x'", "3", "2", "same shape");
  CHECK_FAILURE(loaded(three + "," + two), "'x'", "same shape");
  CHECK_FAILURE(loaded(two + "," + bytes), "'x'", "type");
  CHECK_FAILURE(loaded(bytes + "," + two), "'x'", "type");
  CHECK_FAILURE(loaded(two + "," + values), "'y'", "type");
  CHECK_FAILURE(loaded(values + "," + two), "'y'", "type");
}

TEST_CASE("a folder with parts in it is not a folder of clients") {
  const TemporaryFolder folder;
  for (const char* name : {"train.csv", "test.csv"}) write(folder / name, hospital(20, 6));
  write(folder / "rows.budget", "x");
  ReadSettings read;
  read.client_column = "file";
  CHECK_FAILURE(loaded(folder.path().string(), read), "test.csv", "folders called train and test");
}

TEST_CASE("labels under dp are their values, as public rows name them") {
  const TemporaryFolder folder;
  std::string text = "a,y\n";
  for (int i = 0; i < 12; ++i) text += std::to_string(i) + "," + std::to_string(2 + i % 3) + ".0\n";
  ReadSettings read;
  read.public_data = write(folder / "t.csv", text);
  read.rows_are_protected = true;
  read.header = Header::yes;
  const DataPair pair = loaded(read.public_data, read);
  CHECK(pair.train.class_names == std::vector<std::string>{"2", "3", "4"});
  CHECK(std::ranges::count(pair.train.labels, Label{1}) > 0);
  CHECK(std::ranges::count(pair.train.labels, Label{2}) > 0);
  ReadSettings commas;
  commas.public_data = write(folder / "c.csv", "a,y\n1,\"c,d\"\n2,e\n3,\"c,d\"\n");
  commas.rows_are_protected = true;
  CHECK_USAGE_ERROR(loaded(commas.public_data, commas), "'c,d'", "class-names");
}

TEST_CASE("the test rows may be in a file of their own") {
  const TemporaryFolder folder;
  const std::string train = write(folder / "a.csv", hospital(20, 8)), other = write(folder / "b.csv", hospital(70, 4));
  ReadSettings read;
  read.test = other;
  const DataPair pair = loaded(train, read);
  CHECK(pair.train.size() == 8);
  CHECK(pair.test.size() == 4);
  CHECK(pair.test.features[0] == 70);
  read.test = folder / "none.csv";
  CHECK_FAILURE(loaded(train, read), "none.csv", "does not exist");
  const Entries entries{{"x", npy_bytes("<f4", "(2, 1)", bytes_of(std::vector<float>{1, 2.5F}))},
                        {"y", npy_bytes("<i8", "(2,)", bytes_of(std::vector<std::int64_t>{0, 1}))}};
  Entries with_test = entries;
  for (const auto& [key, bytes] : entries) with_test.emplace_back(key + "_test", bytes);
  const std::string plain = write(folder / "n.npz", npz_bytes(entries)), full = write(folder / "t.npz", npz_bytes(with_test));
  read.test = plain;
  CHECK(loaded(plain, read).test.size() == 2);
  CHECK_USAGE_ERROR(loaded(full, read), "test-data", "n.npz", "its own test part");
  CHECK_USAGE_ERROR(loaded(train, read), "test-data", "n.npz", "npz", "csv");
}

TEST_CASE("users are named beside clients") {
  const TemporaryFolder folder;
  std::string text = "site,patient,age,sick\n";
  for (int i = 0; i < 24; ++i)
    text +=
        std::to_string(i / 12) + ",p" + std::to_string(i / 3) + "," + std::to_string(30 + i) + "," + std::to_string(i % 2) + "\n";
  const std::string path = write(folder / "t.csv", text);
  ReadSettings read;
  read.client_column = "site";
  read.user_column = "patient";
  const DataPair pair = loaded(path, read);
  CHECK(pair.train.client_names.size() == 2);
  CHECK(pair.columns.inputs == std::vector<std::string>{"age"});
  REQUIRE(pair.train.users.size() == pair.train.size());
  const Borrowable<float>& features = pair.train.features;
  for (Row row = 0; row < pair.train.size(); ++row)
    CHECK(pair.train.user_of_row()[row] == static_cast<std::uint32_t>(features[row] - 30) / 3);
  ReadSettings sites = read;
  sites.user_column = "";
  CHECK(loaded(path, sites).train.user_of_row().data() != nullptr);
  read.user_column = "nobody";
  CHECK_FAILURE(loaded(path, read), "'nobody'", "user-column");
}

TEST_CASE("the facts of public rows are settings under which protected rows are read") {
  const TemporaryFolder folder;
  std::string text = "age;city;weight;sick\n";
  for (int i = 0; i < 24; ++i)
    text += std::to_string(30 + i) + ";" + (i % 3 == 0 ? "Rome" : "Oslo") + ";" + std::to_string(60 + i) + ",5;" +
            (i % 2 == 0 ? "yes" : "no") + "\n";
  ReadSettings read;
  read.public_data = write(folder / "public.csv", text);
  const auto facts = facts_as_settings(public_rows_of(read).value());
  const std::vector<std::pair<std::string, std::string>> wanted{{"header", "yes"},
                                                                {"label", "sick"},
                                                                {"decimal-mark", "comma"},
                                                                {"categories", "city=Oslo,Rome"},
                                                                {"class-names", "no,yes"},
                                                                {"mean", "age=41.5,weight=72"},
                                                                {"deviation", "age=6.9221864,weight=6.9221864"}};
  CHECK(facts == wanted);
  ReadSettings named;
  named.rows_are_protected = true;
  named.header = Header::yes;
  named.decimal_mark = DecimalMark::comma;
  named.categories = "city=Oslo,Rome";
  named.class_names = "no,yes";
  named.mean = facts[5].second;
  named.deviation = facts[6].second;
  const DataPair pair = loaded(read.public_data, named);
  CHECK(pair.train.mean == std::vector<float>{41.5F, 72, 0, 0});
  CHECK(pair.train.deviation == std::vector<float>{6.9221864F, 6.9221864F, 1, 1});
}

}  // namespace fedstride::test::client_files_test
