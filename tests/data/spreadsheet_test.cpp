// Tables as spreadsheets, pandas and R write them.
#include <doctest/doctest.h>

#include <algorithm>

#include "data/datasets.hpp"
#include "data/named_facts.hpp"
#include "tests/data/files.hpp"

namespace fedstride::test::spreadsheet_test {
namespace {

DataPair loaded(const std::string& text, const ReadSettings& read = {}) {
  const TemporaryFolder folder;
  return load_dataset("file", own(write(folder / "t.csv", text), read));
}

/// All rows of the file, as they lie there.
Dataset rows_of(const std::string& text, const ReadSettings& read = {}) {
  const TemporaryFolder folder;
  return load_own_rows("file", own(write(folder / "t.csv", text), read)).train;
}

bool says(const DataPair& pair, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(pair.notes, [&](const std::string& note) { return names(note, words); });
}

ReadSettings with_header(Header header) { return {.header = header}; }
ReadSettings with_mark(DecimalMark mark) { return {.decimal_mark = mark}; }
ReadSettings protected_rows() {
  ReadSettings read;
  read.rows_are_protected = true;
  read.classes = 2;
  read.range = "0,10";
  return read;
}

/// `rows` records of `columns` numbers and a label of two classes.
std::string numbers(int rows, int columns, char separator = ',') {
  std::string text;
  for (int row = 0; row < rows; ++row) {
    for (int i = 0; i < columns; ++i) text += std::to_string((row * 7 + i * 3) % 11) + ".5" + separator;
    text += std::to_string(row % 2) + "\n";
  }
  return text;
}

const std::string kComma = "a;b;label\n1,5;2,25;0\n-3;4,125e1;1\n+0,5;1;0\n";

}  // namespace

TEST_CASE("decimal commas are read where the table's numbers have them, and it is said") {
  const std::vector<float> features{1.5F, 2.25F, -3, 41.25F, 0.5F, 1};
  CHECK(rows_of(kComma).features == features);
  std::string tabs = kComma;
  std::ranges::replace(tabs, ';', '\t');
  CHECK(rows_of(tabs).features == features);
  CHECK(rows_of(tabs.substr(tabs.find('\n') + 1)).features == features);
  CHECK(rows_of("\"1,5\",\"2\",0\n\"3,25\",\"4\",1\n").features == std::vector<float>{1.5F, 2, 3.25F, 4});
  CHECK(says(loaded(kComma), {"decimal-mark auto", "'1,5' in line 2", "--decimal-mark point"}));
  const DataPair values = loaded("a;price\n1;2,5\n2;3,5\n3;4\n");
  CHECK(values.train.targets == Targets::values);
  CHECK(rows_of("1;2\n3;4,5\n5;6\n").values == std::vector<float>{2, 4.5F, 6});
}

TEST_CASE("a comma that may separate thousands, and two marks in one table, are refused with the flag") {
  for (const std::string table : {"a;b\n1,234;0\n12,500;1\n", "\"1,234\",0\n\"-5,000\",1\n"}) {
    CHECK_FAILURE(loaded(table), "'1,234'", "thousands", "--decimal-mark comma");
    CHECK(rows_of(table, with_mark(DecimalMark::comma)).features[0] == 1.234F);
  }
  CHECK(rows_of("a;b\n1,234;0\n1,5;1\n").features == std::vector<float>{1.234F, 1.5F});
  CHECK(rows_of("a;b\n0,123;0\n0,456;1\n").features == std::vector<float>{0.123F, 0.456F});
  for (const std::string field : {"1,234.5", "1.234,5", "1,234,567"}) {
    CHECK_FAILURE(loaded("a;b\n" + field + ";0\n1;1\n"), "line 2", field, "thousands");
    CHECK_FAILURE(loaded("a;b\n1;0\n" + field + ";1\n"), "line 3", field, "thousands");
  }
  CHECK_FAILURE(loaded("a;b;c\n1,5;2;0\n1;2.5;1\n"), "line 3", "'2.5'", "'1,5' in line 2", "--decimal-mark");
  CHECK_FAILURE(loaded("a;b;c\n1.5;2;0\n1;2,5;1\n"), "line 3", "'2,5'", "'1.5' in line 2", "--decimal-mark");
}

TEST_CASE("a mark that is named is taken, and what has the other one is a word") {
  CHECK(rows_of(kComma, with_mark(DecimalMark::comma)).features.size() == 6);
  CHECK(categories_text(loaded("a;b\n1,5;0\n2,5;1\n1,5;0\n", with_mark(DecimalMark::point)).columns.categories)
            .empty());  // a comma cannot be named there
  CHECK(says(loaded("a;b\n1,5;0\n2,5;1\n1,5;0\n", with_mark(DecimalMark::point)), {"categories auto", "'a' (2)"}));
  CHECK_FAILURE(loaded("a;b\n1,5;0\n2.5;1\n", with_mark(DecimalMark::comma)), "line 3", "'2.5'", "not a number");
  // Words stay words.
  CHECK(says(loaded("c,x,label\n\"b,1\",1.5,0\na,2,1\n\"b,1\",3,0\n"), {"categories auto", "'c' (2)"}));
}

TEST_CASE("where rows are protected the decimal mark is named") {
  ReadSettings read = protected_rows();
  read.header = Header::yes;
  CHECK(loaded(kComma, read).train.features[0] != 1.5F);  // a field that is no number is missing, and refuses no row
  read.decimal_mark = DecimalMark::comma;
  CHECK(loaded(kComma, read).train.shape.channels == 2);
  read.decimal_mark = DecimalMark::automatic;
  CHECK(loaded("a;b\n1;0,5\n2;1\n3;0\n", read).train.size() > 0);
}

TEST_CASE("a first line that counts the columns is a header, and it is said") {
  for (const std::string header : {"0,1,2,3", "1,2,3,4", "\"0\",\"1\",\"2\",\"3\"", "0,1,2,label", "V,0,1,2"}) {
    CAPTURE(header);
    const DataPair pair = loaded(header + "\n" + numbers(12, 3));
    CHECK(pair.train.size() + pair.test.size() == 12);
    CHECK(pair.train.classes == 2);
    CHECK(says(pair, {"header", "counts", "--header no"}));
  }
  CHECK(rows_of("0,1,2,3\n" + numbers(12, 3), with_header(Header::no)).size() == 13);
  CHECK(rows_of("1,2,4,8\n" + numbers(12, 3)).size() == 13);
  CHECK(rows_of("0,1\n1,0\n2,1\n").size() == 3);
  // Its names come before numbers of columns.
  ReadSettings read;
  read.drop_columns = "1";
  CHECK(rows_of("0,1,2,3\n5,6,7,0\n8,9,10,1\n", read).features == std::vector<float>{5, 7, 8, 10});
}

TEST_CASE("a short line that counts, and whose label is like no other, is refused with the flag") {
  for (const std::string header : {"0,1,2", "1,2,3"}) {
    CHECK_FAILURE(loaded(header + "\n" + numbers(12, 2)), "line 1", "--header yes or no");
    CHECK(loaded(header + "\n" + numbers(12, 2), with_header(Header::yes)).train.classes == 2);
  }
  CHECK_FAILURE(loaded("0,1\n0.5,1.5\n1.5,2.5\n2.5,0.5\n1.5,1.25\n"), "line 1", "--header yes or no");
  CHECK(rows_of("0,1\n" + numbers(12, 1)).size() == 13);  // there are others of class 1
}

TEST_CASE("a header that is named is one, whatever is in it") {
  CHECK(rows_of("5,6\n1,0\n2,1\n", with_header(Header::yes)).size() == 2);
  const DataPair words = loaded("x,s,p\nb,s,e\nx,y,e\n", with_header(Header::no));
  CHECK(words.train.size() + words.test.size() == 3);
  ReadSettings read = with_header(Header::no);
  read.label = "p";
  CHECK_FAILURE(loaded("x,s,p\nb,s,e\nx,y,e\n", read), "'p'", "1 to 3");
}

TEST_CASE("where rows are protected a header is named, by its flag or a column") {
  const std::string rows = "1,2,0\n3,4,1\n5,6,0\n";
  CHECK_USAGE_ERROR(loaded("a,b,c\n" + rows, protected_rows()), "line 1", "dp", "--header yes", "--header no");
  CHECK_USAGE_ERROR(loaded("0,1,2,3\n1" + rows, protected_rows()), "line 1", "dp", "--header yes", "--header no");
  ReadSettings words = protected_rows();
  words.categories = "1=red,blue";
  CHECK_USAGE_ERROR(loaded("red,0\nblue,1\nred,1\n", {.label = "1", .header = Header::automatic, .rows_are_protected = true}),
                    "t.csv");
  CHECK_USAGE_ERROR(loaded("red,a\nblue,1\nred,0\n", words), "line 1", "dp", "--header yes");
  words.header = Header::yes;
  CHECK(loaded("red,a\nblue,1\nred,0\n", words).train.shape.channels == 2);
}

TEST_CASE("a column without a name is not read, and it is said; by its number it can be") {
  for (const std::string name : {"", "\"\"", "Unnamed: 0", "\"Unnamed: 0.1\""}) {
    const DataPair pair = loaded(name + ",x,label\n0,1.5,0\n1,2.5,1\n2,3.5,0\n");
    CHECK(pair.train.shape.channels == 1);
    CHECK(says(pair, {"column 1", "no name", "--inputs"}));
  }
  const DataPair shuffled = loaded(",0,1\n17,0.5,0\n3,1.5,1\n8,2.5,0\n");
  CHECK(shuffled.train.shape.channels == 1);
  CHECK(rows_of("x,label,\n1,0,\n2,1,\n").labels == std::vector<Label>{0, 1});  // a separator at the end of each line
  ReadSettings read;
  read.inputs = "1,x";
  CHECK(loaded(",x,label\n0,1.5,0\n1,2.5,1\n", read).train.shape.channels == 2);
  CHECK_USAGE_ERROR(loaded(",x,label\n0,1.5,0\n1,2.5,1\n", protected_rows()), "column 1", "no name", "dp", "--drop-columns 1");
  read = protected_rows();
  read.drop_columns = "1";
  read.header = Header::yes;
  CHECK(loaded(",x,label\n0,1.5,0\n1,2.5,1\n", read).train.shape.channels == 1);
}

TEST_CASE("an input that counts the rows is pointed out") {
  std::string text = "id,x,label\n";
  for (int i = 0; i < 12; ++i) text += std::to_string(100 + i) + "," + std::to_string(i * i) + "," + std::to_string(i % 2) + "\n";
  CHECK(says(loaded(text), {"'id'", "counts the rows", "--drop-columns id"}));
  CHECK(says(loaded(text.substr(text.find('\n') + 1)), {"column 1", "counts the rows", "--drop-columns 1"}));
  CHECK_FALSE(says(loaded(text), {"'x'", "counts the rows"}));
}

TEST_CASE("the label is the column that is called so, else the last; of two the flag says which") {
  for (const std::string name : {"label", "target", "y", "class", "Label", "CLASS"}) {
    const DataPair pair = loaded(name + ",a,b\n0,1.5,2\n1,2.5,3\n0,3.5,4\n");
    CHECK(pair.train.classes == 2);
    CHECK(says(pair, {"label: '" + name + "'", "--label"}));
  }
  CHECK(rows_of("a,label,z\n1,0,5\n2,1,7\n", reading("z")).labels == std::vector<Label>{5, 7});
  CHECK_FAILURE(loaded("label,a,class\n0,1,2\n1,2,3\n"), "'label'", "'class'", "--label");
  CHECK_FAILURE(loaded("y,a,y\n0,1,2\n1,2,3\n"), "'y'", "--label");
  ReadSettings read;
  read.drop_columns = "label";
  CHECK(rows_of("label,a,class\n0,1,2\n1,2,3\n", read).labels == std::vector<Label>{2, 3});
  CHECK(rows_of("label,a,y\n0,1,2\n1,2,3\n", reading("", "label")).labels == std::vector<Label>{2, 3});
  CHECK_USAGE_ERROR(loaded("label,a,b\n0,1,2\n1,2,0\n", protected_rows()), "'label'", "dp", "--label label");
}

TEST_CASE("a missing label is refused, or its row left out; a class can be called so by name") {
  for (const std::string field : {"", "NA", "nan", "?", "None"}) {
    const std::string table = "a,b\n1,x\n2," + field + "\n3,y\n4,x\n";
    CHECK_FAILURE(loaded(table), "line 3", "field 2", "label", "'" + field + "'", "missing", "--missing drop");
    ReadSettings read;
    read.missing = Missing::mean;
    CHECK_FAILURE(loaded(table, read), "line 3", "--missing drop");
    read.missing = Missing::drop;
    const DataPair pair = loaded(table, read);
    CHECK(pair.train.class_names == std::vector<std::string>{"x", "y"});
    CHECK(pair.train.size() + pair.test.size() == 3);
    CHECK(says(pair, {"1 row", "label", "left out"}));
  }
  ReadSettings read;
  read.class_names = "NA,x,y";
  CHECK(rows_of("a,b\n1,x\n2,NA\n3,y\n", read).labels == std::vector<Label>{1, 0, 2});
  CHECK_FAILURE(loaded("a,c,b\n1,NA,x\n2,p,y\n", reading("", "c")), "line 2", "field 2", "client", "missing");
  CHECK_FAILURE(loaded("a,b,c\n1,0,NA\n2,1,0\n", reading("b,c")), "line 2", "field 3", "label", "missing");
}

TEST_CASE("two columns of one name are refused where the name is given, and have numbers") {
  const std::string table = "a,b,a,label\n1,2,3,0\n4,5,6,1\n";
  CHECK(rows_of(table).features.size() == 6);
  ReadSettings read;
  for (std::string ReadSettings::*setting :
       {&ReadSettings::drop_columns, &ReadSettings::inputs, &ReadSettings::label, &ReadSettings::client_column}) {
    read = {};
    read.*setting = "a";
    CHECK_FAILURE(loaded(table, read), "'a'", "two columns", "1 and 3");
  }
  read = {};
  read.drop_columns = "3";
  CHECK(rows_of(table, read).features == std::vector<float>{1, 2, 4, 5});
}

TEST_CASE("a number beyond single precision is too large, and one below it 0") {
  for (const std::string field : {"1e300", "-1e39", "1e400", "-1e999"}) {
    CHECK_FAILURE(loaded("1,2,0\n1," + field + ",1\n"), "line 2", "field 2", "'" + field + "'", "too large", "3.4e38");
    CHECK_FAILURE(loaded("1,2,0.5\n1,2," + field + "\n"), "line 2", "field 3", "label", "too large");
  }
  CHECK_FAILURE(loaded("1,2,0\n1,inf,1\n"), "line 2", "field 2", "not finite");
  CHECK(rows_of("1e-400,2,0\n1,1e-60,1\n").features == std::vector<float>{0, 2, 1, 0});
}

TEST_CASE("a column whose numbers lie close together far from 0 is stored by differences, and it is said") {
  std::string far = "t,x,label\n", near = far;
  for (int i = 0; i < 24; ++i) {
    const std::string end = "," + std::to_string(i * i % 7) + ".5," + std::to_string(i % 2) + "\n";
    far += std::to_string(1700000000 + i * 5 % 24) + end;
    near += std::to_string(i * 5 % 24) + end;
  }
  const DataPair pair = loaded(far), same = loaded(near);
  const double shift = same.train.features[0] - pair.train.features[0];
  for (std::size_t i = 0; i < pair.train.features.size(); ++i)
    CHECK(pair.train.features[i] == same.train.features[i] - (i % 2 == 0 ? static_cast<float>(shift) : 0.0F));
  CHECK(pair.train.mean[0] == doctest::Approx(same.train.mean[0] - shift));
  CHECK(pair.train.deviation == same.train.deviation);
  CHECK(pair.offsets == "t=1700000012");
  CHECK(same.offsets.empty());
  CHECK(says(pair, {"offsets auto", "t=1700000012", "--offsets"}));
  // Named, the constants are those; elsewhere nothing is subtracted.
  ReadSettings read;
  read.offsets = "t=1700000000";
  CHECK(loaded(far, read).train.features == same.train.features);
  CHECK(rows_of(far).features[0] == 1700000000.0F);
  read.offsets = "u=1";
  CHECK_FAILURE(loaded(far, read), "'u'", "offsets");
  for (const std::string wrong : {"t", "t=", "=1", "t=x", "t=1;t=2", "t=inf"}) {
    read.offsets = wrong;
    CHECK_USAGE_ERROR(loaded(far, read), "offsets", "time=1700000000");
  }
}

TEST_CASE("values to predict around 1e9 keep their digits") {
  std::string text = "x,price\n";
  for (int i = 0; i < 12; ++i) text += std::to_string(i) + "," + std::to_string(1000000000 + i) + ".5\n";
  const DataPair pair = loaded(text);
  CHECK(pair.train.targets == Targets::values);
  CHECK(says(pair, {"offsets auto", "price="}));
  for (std::size_t i = 1; i < pair.train.values.size(); ++i)
    CHECK(pair.train.values[i] - pair.train.values[0] == pair.train.features[i] - pair.train.features[0]);
}

TEST_CASE("a first line that counts the columns above labels that are words is a header or a record") {
  const std::string table = "0,1,2\n0.5,1,ill\n0.25,2,well\n1.5,2,ill\n";
  CHECK_FAILURE(loaded(table), "line 1", "--header yes");
  CHECK(loaded(table, with_header(Header::yes)).train.classes == 2);
}

TEST_CASE("numbers beyond a double are too large or 0, however they are written") {
  for (const char* field : {"10.5e400", "0.95e3300", "-1e999", "1000000000e300"})
    CHECK_FAILURE(loaded(std::string("a,label\n") + field + ",0\n1,1\n"), "line 2", "too large");
  for (const char* field : {"10.5e-400", "0.95e-3300", "-1e-999"})
    CHECK(rows_of(std::string("a,label\n") + field + ",0\n1,1\n").features[0] == 0);
}

TEST_CASE("a first line sep= names the separator and is no record") {
  const std::string table = "a,b,label\n1,2,0\n3,4,1\n";
  CHECK(rows_of("sep=,\n" + table).features == rows_of(table).features);
  CHECK(rows_of("sep=|\r\na|b|label\r\n1|2|0\r\n3|4|1\r\n").features == rows_of(table).features);
  CHECK(rows_of("sep=,label\n1,0\n3,1\n").features == std::vector<float>{1, 3});  // a column of this name
}

TEST_CASE("text is UTF-8, or refused by line with the encoding it may have; named encodings are decoded") {
  const std::string latin =
      "gr\xf6\xdf"
      "e,label\n1,k\xfchl\n2,hei\xdf\n3,k\xfchl\n";
  CHECK_FAILURE(loaded(latin), "line 1", "UTF-8", "--encoding windows-1252");
  CHECK_FAILURE(loaded("a,label\n1,k\xfchl\n2,b\n"), "line 2", "UTF-8");
  for (const Encoding encoding : {Encoding::windows_1252, Encoding::latin1}) {
    const DataPair pair = loaded(latin, {.encoding = encoding});
    CHECK(pair.columns.inputs == std::vector<std::string>{"gr\u00f6\u00dfe"});
    CHECK(pair.train.class_names == std::vector<std::string>{"hei\u00df", "k\u00fchl"});
  }
  CHECK(loaded("a,label\n1,\x80\n2,b\n3,b\n", {.encoding = Encoding::windows_1252}).train.class_names[1] == "\u20ac");
  CHECK_FAILURE(loaded("a,label\n1,\x81\n2,b\n", {.encoding = Encoding::windows_1252}), "line 2", "field 2", "windows-1252");
  // No protected row is refused for its bytes.
  ReadSettings read = protected_rows();
  read.class_names = "b,c";
  read.header = Header::yes;
  CHECK(loaded("a,label\n1,k\xfchl\n2,b\n3,c\n4,c\n5,b\n", read).train.size() > 0);
}

TEST_CASE("words that differ from row to row are refused in all columns at once, with what they look like") {
  std::string table = "price,when,id,city,label\n";
  for (int row = 0; row < 40; ++row)
    table += "$" + std::to_string(row) + ".5,2024-01-" + std::to_string(10 + row) + ",k" + std::to_string(row) + "x," +
             (row % 3 == 0 ? "Rome" : "Oslo") + "," + std::to_string(row % 2) + "\n";
  CHECK_FAILURE(loaded(table), "'price'", "40", "currency", "'when'", "date", "'id'", "--drop-columns", "price,when,id");
  CHECK(loaded(table, {.drop_columns = "price,when,id"}).train.shape.channels == 2);
}

}  // namespace fedstride::test::spreadsheet_test
