// Amounts, percentages and dates in tables (csv_fields.hpp).
#include <doctest/doctest.h>

#include "data/files/csv_fields.hpp"
#include "tests/data/files.hpp"

namespace fedstride::test::number_forms_test {
namespace {

constexpr NumberForms kAll{.currency = true, .percent = true, .dates = true};

std::optional<double> number(std::string_view field, DecimalMark mark = DecimalMark::automatic, NumberForms forms = kAll) {
  return number_of_form(field, forms, mark);
}

}  // namespace

TEST_CASE("amounts have a sign or a code at either end, and thousands separators") {
  for (const std::string_view field : {"$1,234.50", "1234.50 USD", "USD 1,234.50",
                                       "\xE2\x82\xAC"
                                       "1,234.5",
                                       "1,234.50\xC2\xA3"})
    CHECK_MESSAGE(number(field) == 1234.5, field);
  CHECK(number("-$12.30") == -12.3);
  CHECK(number("$-12.30") == -12.3);
  CHECK(number("1.234.567,5 EUR", DecimalMark::comma) == 1234567.5);
  CHECK(number("12,30 EUR", DecimalMark::comma) == 12.3);
  for (const std::string_view field :
       {"$", "$x", "USD", "$1,23.5", "12.30", "$1,2345", "EUR12EUR", "", "A12", "$$5", "12 kg", "1.234,50 EUR"})
    CHECK_MESSAGE(!number(field), field);
  CHECK_FALSE(number("$1,234.50", DecimalMark::comma));
  CHECK_FALSE(number("$5", DecimalMark::point, {.percent = true}));
}

TEST_CASE("percentages are their number") {
  CHECK(number("12.3 %") == 12.3);
  CHECK(number("-4%") == -4);
  CHECK(number("12,3 %", DecimalMark::comma) == 12.3);
  for (const std::string_view field : {"%", "12 % off", "%12", "12"}) CHECK_MESSAGE(!number(field), field);
  CHECK_FALSE(number("5 %", DecimalMark::point, {.currency = true}));
}

TEST_CASE("dates are days since 1970 in UTC") {
  CHECK(number("1970-01-01") == 0);
  CHECK(number("1969-12-31") == -1);
  CHECK(number("2024-02-29") == 19782);
  CHECK(number("2024-02-29T12:00") == 19782.5);
  CHECK(number("2024-02-29 18:00:00") == 19782.75);
  CHECK(number("2024-02-29T06:00:00.000Z") == 19782.25);
  CHECK(number("2024-02-29T01:00:00+01:00") == 19782);
  CHECK(number("2024-02-28T23:00-0100") == 19782);
  for (const std::string_view field :
       {"2023-02-29", "2024-13-01", "2024-1-1", "24-01-01", "2024-02-29T", "2024-02-29T25:00", "2024-02-29x", "2024-02-29T12",
        "2024-02-29T12:00+", "2024-02-29T12:00:99", "2024", "-", "20240229"})
    CHECK_MESSAGE(!number(field), field);
  CHECK_FALSE(number("2024-02-29", DecimalMark::point, {.currency = true}));
}

TEST_CASE("a table with such columns is refused with the flag that reads each, and read with the flags") {
  const TemporaryFolder folder;
  std::string text = "price,share,when,y\n";
  for (int i = 0; i < 40; ++i)
    text += "\"$1," + std::to_string(100 + i) + ".50\"," + std::to_string(i) + " %,2024-01-" + (i % 31 < 9 ? "0" : "") +
            std::to_string(1 + i % 31) + "," + std::to_string(i % 2) + "\n";
  std::string path = write(folder / "t.csv", text);
  const auto load = [&](ReadSettings read) { return load_dataset(kOwnFile, {.data = path, .read = std::move(read)}); };
  CHECK_FAILURE(load({}), "'price'", "--numbers currency", "'share'", "--numbers percent", "'when'", "--dates", "--drop-columns");
  ReadSettings read;
  read.numbers = "currency, percent";
  read.dates = true;
  read.offsets = "when=19723";
  const DataPair pair = load(read);
  CHECK(pair.columns.inputs == std::vector<std::string>{"price", "share", "when"});
  CHECK(pair.columns.categories.empty());
  const Borrowable<float>& features = pair.train.features;
  CHECK(features[0] == 1100.5F);
  CHECK(features[1] == 0);
  CHECK(features[2] == 0);
  const Schema schema = schema_of(pair);
  CHECK(schema.numbers == "currency, percent,dates");
  // Through the schema alone.
  ReadSettings through;
  through.schema = std::make_shared<const Schema>(read_schema(schema_text(schema), "the model"));
  CHECK(load(through).train.features == features);
  read.numbers = "euro";
  CHECK_USAGE_ERROR(load(read), "numbers", "'euro'", "currency", "percent");
}

}  // namespace fedstride::test::number_forms_test
