#include "dp/ledger/ledger_file.hpp"

#include <doctest/doctest.h>

#include <filesystem>

#include "core/files.hpp"
#include "dp/ledger/ledger.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::ledger_start_test {

namespace fs = std::filesystem;

namespace {

const LedgerHeader kHeader{.clients = 2, .statements = {{.level = Level::example, .accountant = "rdp", .delta = 1e-5}}};

}  // namespace

TEST_CASE("a ledger without a reservation makes way for a new one; one with a reservation is never removed") {
  const test::TemporaryFolder folder;
  const fs::path path = folder / "ledger.jsonl";
  CHECK_FALSE(holds_reservation(path));
  remove_unused_ledger(path);
  write_file(path, "");
  CHECK_FALSE(holds_reservation(path));
  remove_unused_ledger(path);
  for (const std::string key : {"", "some key"}) {
    CAPTURE(key);
    {
      Ledger ledger = Ledger::create(path, kHeader, key);
      CHECK_FALSE(holds_reservation(path));
      write_file(path, read_file(path) + "{\"kind\":\"reserve\",\"rou");  // torn
      CHECK_FALSE(holds_reservation(path));
    }
    remove_unused_ledger(path);
    CHECK_FALSE(fs::exists(path));
    {
      Ledger ledger = Ledger::create(path, kHeader, key);
      ledger.reserve(1, "inputs", {{.each = {.rate = 0.1}, .first = 0, .runs = {{1.1, 1, 3}}}});
    }
    CHECK(holds_reservation(path));  // told without the key
    const std::string before = read_file(path);
    CHECK_FAILURE(remove_unused_ledger(path), "'" + path.string() + "'");
    CHECK(read_file(path) == before);
    fs::remove(path);
  }
}

}  // namespace fedstride::test::ledger_start_test
