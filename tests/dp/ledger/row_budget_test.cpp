// The record of what rows were spent on.
#include "dp/ledger/row_budget.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "core/files.hpp"
#include "dp/accountants/calibrate.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::row_budget_test {
namespace {

RowSpending lots(double noise, std::uint64_t count) {
  return {.examples = {{.sampling = Sampling::poisson, .rate = 0.1, .noise_multiplier = noise, .count = count}}};
}

}  // namespace

TEST_CASE("what other runs spent on the same rows is added up; of a run the last line counts") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "rows.csv.budget";
  RowBudget first(file, "rows", "one"), second(file, "rows", "two"), elsewhere(file, "other rows", "three");
  CHECK(first.others().examples.empty());
  first.record(1, lots(1.5, 10));
  CHECK(first.others().examples.empty());  // its own are none of others
  first.record(2, lots(1.5, 20));
  const RowSpending known = second.others();
  second.record(1, lots(2, 5));
  CHECK(known.examples == lots(1.5, 20).examples);
  CHECK(elsewhere.others().examples.empty());
  elsewhere.release();
  const RowBudget::Entries entries = RowBudget::read(file);
  CHECK(entries.size() == 2);
  CHECK(entries.at({"rows", "two"}).examples == lots(2, 5).examples);
  // The total is what the accountant says of both together.
  const auto tight = make_part<Accountant>("accountant", "tight");
  Spending both = lots(1.5, 20).examples;
  merge(both, lots(2, 5).examples);
  const std::string text = budget_text(entries, 1e-5);
  CHECK(text.find("2 runs") != text.npos);
  CHECK(text.find("epsilon " + rounded_up(epsilon_by(tight, both, 1e-5).value)) != text.npos);
  CHECK(budget_json(entries, 1e-5).find("\"runs\": 2") != std::string::npos);
}

TEST_CASE("a correlated release keeps what its cost follows from") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "budget";
  Releases one{.sampling = Sampling::full, .noise_multiplier = 2, .count = 1, .rounds = 7, .most = 3};
  one.correlation.separation = 2;
  one.correlation.horizon = 10;
  RowBudget writer(file, "rows", "one"), reader(file, "rows", "two");
  writer.others();
  writer.record(1, {.updates = {one}});
  CHECK(reader.others().updates == Spending{one});
}

TEST_CASE("a line left incomplete is none, and is replaced; a damaged one is refused by its number") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "budget";
  RowBudget budget(file, "rows", "one");
  budget.others();
  budget.record(1, lots(1, 3));
  const std::string whole = read_file(file, 1 << 20);
  write_file(file, whole + whole.substr(0, 30));
  CHECK(RowBudget::read(file).size() == 1);
  budget.others();
  budget.record(2, lots(1, 6));
  CHECK(RowBudget::read(file).at({"rows", "one"}).examples == lots(1, 6).examples);
  for (const std::string bad :
       {"{}", "[1]", "x", R"({"rows":"a","run":"b","round":1,"examples":[{"noise_multiplier":0,"count":1}]})",
        R"({"rows":"a","run":"b","round":1,"examples":[{"each":{"rate":2},"noise_multiplier":1,"count":1}]})"}) {
    CAPTURE(bad);
    write_file(file, whole + bad + "\n");
    CHECK_FAILURE(RowBudget::read(file), "line 2", "damaged");
    RowBudget other(file, "rows", "two");
    CHECK_FAILURE(other.others(), "line 2");
  }
}

TEST_CASE("the record is beside the rows") {
  const TemporaryFolder folder;
  CHECK(budget_beside(folder / "mine.csv") == folder.path() / "mine.csv.budget");
  CHECK(budget_beside(folder.path()) == folder.path() / "rows.budget");
}

}  // namespace fedstride::test::row_budget_test
