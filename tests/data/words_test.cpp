// Columns of words in a table, and columns that are left out.
#include <doctest/doctest.h>

#include <algorithm>

#include "data/datasets.hpp"
#include "data/named_facts.hpp"
#include "tests/data/files.hpp"

namespace fedstride::test::words_test {
namespace {

const std::string kTable =
    "age,city,income,color,label\n1,Rome,10,red,0\n2,Oslo,20,red,1\n3,Bern,30,blue,0\n4,Rome,40,red,1\n5,Oslo,50,blue,0\n";

DataPair loaded(const std::string& text, const ReadSettings& read = {}) {
  const TemporaryFolder folder;
  return load_dataset("file", own(write(folder / "t.csv", text), read));
}

ReadSettings named(const std::string& categories, bool rows_are_protected = false) {
  ReadSettings read;
  read.categories = categories;
  read.rows_are_protected = rows_are_protected;
  if (rows_are_protected) {
    read.header = Header::yes;
    read.classes = 2;
    read.range = "0,50";
  }
  return read;
}

std::vector<float> row_of(const DataPair& pair, Row wanted) {
  const std::size_t size = pair.train.shape.size();
  for (const Dataset* part : {&pair.train, &pair.test})
    for (std::size_t i = 0; i < part->size(); ++i)
      if (part->file_rows[i] == wanted)
        return {part->features.begin() + static_cast<std::ptrdiff_t>(i * size),
                part->features.begin() + static_cast<std::ptrdiff_t>((i + 1) * size)};
  return {};
}

bool says(const DataPair& pair, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(pair.notes, [&](const std::string& note) { return names(note, words); });
}

}  // namespace

TEST_CASE("a column of words becomes a column of 0 and 1 a word, in their order, behind the numbers; it is said") {
  const DataPair pair = loaded(kTable);
  CHECK(pair.train.form().text() == "1x1x7, 2 classes");
  CHECK(pair.train.binary_columns == 5);
  CHECK(row_of(pair, 0) == std::vector<float>{1, 10, 0, 0, 1, 0, 1});  // Bern, Oslo, Rome; blue, red
  CHECK(row_of(pair, 2) == std::vector<float>{3, 30, 1, 0, 0, 1, 0});
  CHECK(says(pair, {"categories auto", "'city' (3)", "'color' (2)", "--categories", "--drop-columns"}));
  CHECK(categories_text(pair.columns.categories) == "city=Bern,Oslo,Rome;color=blue,red");
  for (std::size_t c = 2; c < 7; ++c) {
    CHECK(pair.train.mean[c] == 0);
    CHECK(pair.train.deviation[c] == 1);
  }
  // Rows in another order are the same columns.
  CHECK(loaded("c,x,label\nb,1,0\na,2,1\na,3,0\n").columns.categories ==
        loaded("c,x,label\na,2,1\nb,1,0\na,3,0\n").columns.categories);
}

TEST_CASE("words that are named have their order; one that is none is an error") {
  const DataPair pair = loaded(kTable, named("city=Rome,Oslo,Bern,Lund;color=red,blue"));
  CHECK(pair.train.shape.channels == 8);
  CHECK(row_of(pair, 0) == std::vector<float>{1, 10, 1, 0, 0, 0, 1, 0});
  CHECK_FAILURE(loaded(kTable, named("city=Rome,Oslo;color=red,blue")), "line 4", "'city'", "'Bern'", "Rome, Oslo");
  CHECK_FAILURE(loaded(kTable, named("town=Rome")), "'town'", "categories");
  CHECK(row_of(loaded(kTable, named("city=Rome,Oslo,Bern")), 2) == std::vector<float>{3, 30, 0, 0, 1, 1, 0});  // blue, red
  CHECK_FAILURE(loaded(kTable, named("label=0,1;city=Rome,Oslo,Bern;color=red,blue")), "column 5", "categories");
  for (const std::string wrong : {"city", "=a", "city=", "city=a,,b", "city=a,a", "city=a;city=b", "city=a;"})
    CHECK_USAGE_ERROR(named_categories(wrong), "categories", "city=Rome,Oslo");
  // Numbers may be words by name.
  CHECK(loaded("zip,x,label\n12,1,0\n7,2,1\n12,3,0\n", named("zip=7,12")).train.shape.channels == 3);
}

TEST_CASE("a column that has both numbers and words is an error that names both, and how to go on") {
  CHECK_FAILURE(loaded("a,b,label\n1,x,0\n2,3,1\n"), "line 3", "'b'", "'3'", "'x'", "line 2", "--categories", "--drop-columns b");
  CHECK_FAILURE(loaded("a,b,label\n1,3,0\n2,x,1\n"), "line 3", "'b'", "'x'", "'3'", "line 2");
}

TEST_CASE("columns are left out by name or number, or all but those that are named") {
  ReadSettings read;
  read.drop_columns = "city, color";
  CHECK(row_of(loaded(kTable, read), 1) == std::vector<float>{2, 20});
  read.drop_columns = "2,4";
  CHECK(row_of(loaded(kTable, read), 1) == std::vector<float>{2, 20});
  read.drop_columns = "";
  read.inputs = "income,age";  // in the file's order
  CHECK(row_of(loaded(kTable, read), 1) == std::vector<float>{2, 20});
  read.inputs = "income,label";
  CHECK_FAILURE(loaded(kTable, read), "column 5", "inputs");
  read.inputs = "age";
  read.drop_columns = "age";
  CHECK_FAILURE(loaded(kTable, read), "no columns");
  read.inputs = "wage";
  CHECK_FAILURE(loaded(kTable, read), "'wage'", "inputs", "age, city");
}

TEST_CASE("the first record of a table of words alone is not lost as a header") {
  const std::string mushrooms = "x,s,p\nb,s,e\nx,y,e\nf,s,p\n";
  CHECK_FAILURE(loaded(mushrooms), "line 1", "'x'", "header");
  CHECK(loaded("cap,surface,kind\n" + mushrooms).train.shape.channels == 5);
}

TEST_CASE("missing words are zeros, or their row is dropped; unknown ones of a test part are zeros, and counted") {
  const std::string gap = "a,b,label\n1,x,0\n2,,1\n3,y,0\n4,x,1\n";
  CHECK_FAILURE(loaded(gap), "line 3", "'b'", "missing");
  ReadSettings read;
  read.missing = Missing::zero;
  CHECK(row_of(loaded(gap, read), 1) == std::vector<float>{2, 0, 0});
  read.missing = Missing::drop;
  const DataPair dropped = loaded(gap, read);
  CHECK(dropped.train.size() + dropped.test.size() == 3);
  const TemporaryFolder folder;
  write(folder / "train.csv", "a,b,label\n1,x,0\n3,y,1\n");
  write(folder / "test.csv", "a,b,label\n1,z,0\n2,y,1\n");
  const DataPair pair = load_dataset("file", own(folder.path()));
  CHECK(std::vector<float>(pair.test.features.begin(), pair.test.features.end()) == std::vector<float>{1, 0, 0, 2, 0, 1});
  CHECK(says(pair, {"1 word", "test part"}));
}

TEST_CASE("a column of more than a thousand words is refused with the flag that leaves it out") {
  std::string text = "id,x,label\n";
  for (int i = 0; i < 1001; ++i) text += "n" + std::to_string(i) + "x," + std::to_string(i) + "," + std::to_string(i % 2) + "\n";
  CHECK_FAILURE(loaded(text), "line 1002", "'id'", "1000", "--drop-columns id");
}

TEST_CASE("where rows are protected words are named by a setting or public rows, and a word that is none is zeros") {
  ReadSettings unnamed = named("", true);
  CHECK(loaded(kTable, unnamed).columns.categories.empty());
  for (const std::string& note : loaded(kTable, unnamed).notes) CHECK_MESSAGE(note.find("no numbers") == note.npos, note);
  unnamed.tells_owner = true;
  CHECK(says(loaded(kTable, unnamed), {"'city'", "are no numbers", "line 2", "--categories"}));
  const DataPair pair = loaded(kTable, named("city=Rome,Oslo;color=red,blue", true));
  CHECK(row_of(pair, 0) == std::vector<float>{1, 10, 1, 0, 1, 0});
  CHECK(row_of(pair, 2) == std::vector<float>{3, 30, 0, 0, 0, 1});
  CHECK(std::ranges::find(pair.facts, "categories of 'city': Rome, Oslo (named)") != pair.facts.end());
  const TemporaryFolder folder;
  ReadSettings read = named("", true);
  read.public_data = write(folder / "public.csv", "age,city,income,color,label\n0,Oslo,1,red,0\n9,Rome,9,blue,1\n").string();
  CHECK(categories_text(loaded(kTable, read).columns.categories) == "city=Oslo,Rome;color=blue,red");
}

TEST_CASE("rows that clients bring have the experiment's words") {
  const TemporaryFolder folder;
  const auto path = write(folder / "t.csv", kTable);
  CHECK_FAILURE(load_own_rows("file", own(path)), "'city'", "--categories");
  CHECK(load_own_rows("file", own(path, named("city=Rome,Oslo,Bern;color=red,blue"))).train.shape.channels == 7);
}

}  // namespace fedstride::test::words_test
