// The promises of a partition (tests/kits/conformance.hpp), asked of every one in the registry and of broken ones.
#include "tests/kits/conformance.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <stdexcept>

#include "core/files.hpp"
#include "partitions/iid.hpp"
#include "tests/partitions/dealers.hpp"
#include "tests/partitions/examples.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::conformance_test {
namespace {

struct HonestSettings {
  double share = 1;
  static constexpr auto kFields = fields(Field{"share", &HonestSettings::share, "means nothing", kPositive});
};

/// Deals row i to client i modulo clients; each of the broken ones below does one thing wrong.
template <class Self>
struct Dealer : PartBase<PartitionPart, Self, HonestSettings> {
  static constexpr std::string_view kName = "honest", kSummary = "deals the rows out in turn";
  Dealing dealing() const override { return Dealing::counts; }
  ClientRows assign(const PartitionInput& input) const override { return honest(input); }
  static Assignment honest(const PartitionInput& input) {
    check_input(input);
    Assignment lists(static_cast<std::size_t>(input.clients));
    for (std::size_t i = 0; i < input.rows.size(); ++i) lists[i % lists.size()].push_back(input.rows[i]);
    return lists;
  }
};

struct Honest final : Dealer<Honest> {};
struct InvalidSetting final : Dealer<InvalidSetting> {
  InvalidSetting() { share = 0; }
};
struct RefusesAll final : Dealer<RefusesAll> {
  ClientRows assign(const PartitionInput&) const override { throw usage_error("not today"); }
};
struct ListTooMany final : Dealer<ListTooMany> {
  ClientRows assign(const PartitionInput& input) const override {
    Assignment lists = honest(input);
    if (lists[0].size() == 1) return lists;
    lists.push_back({lists[0].back()});
    lists[0].pop_back();
    return lists;
  }
};
struct LosesARow final : Dealer<LosesARow> {
  ClientRows assign(const PartitionInput& input) const override {
    Assignment lists = honest(input);
    if (lists[0].size() > 1) lists[0].pop_back();
    return lists;
  }
};
struct RowTwice final : Dealer<RowTwice> {
  ClientRows assign(const PartitionInput& input) const override {
    Assignment lists = honest(input);
    lists[0].push_back(lists[0].back());
    return lists;
  }
};
struct Descending final : Dealer<Descending> {
  ClientRows assign(const PartitionInput& input) const override {
    Assignment lists = honest(input);
    std::reverse(lists[0].begin(), lists[0].end());
    return lists;
  }
};
struct EmptyHanded final : Dealer<EmptyHanded> {
  ClientRows assign(const PartitionInput& input) const override {
    Assignment lists = honest(input);
    if (lists.size() < 2) return lists;
    lists[0].insert(lists[0].end(), lists[1].begin(), lists[1].end());
    std::sort(lists[0].begin(), lists[0].end());
    lists[1].clear();
    return lists;
  }
};
struct Capricious final : Dealer<Capricious> {
  mutable std::size_t turn = 0;
  ClientRows assign(const PartitionInput& input) const override {
    Assignment lists = honest(input);
    std::rotate(lists.begin(), lists.begin() + static_cast<std::ptrdiff_t>(++turn % lists.size()), lists.end());
    return lists;
  }
};
struct TakesAnyCount final : Dealer<TakesAnyCount> {
  ClientRows assign(const PartitionInput& input) const override { return input.clients < 1 ? Assignment{} : honest(input); }
};
struct FailsOtherwise final : Dealer<FailsOtherwise> {
  ClientRows assign(const PartitionInput&) const override { throw std::out_of_range("vector::at"); }
};

/// The only complaint about a part, without what is the same in all of them.
std::string complaint(const Partitioner& partitioner) {
  const std::string prefix = "partition 'honest' does not keep: ";
  const auto lines = complaints(partitioner);
  REQUIRE_MESSAGE(lines.size() == 1, joined(lines, "; "));
  REQUIRE(lines[0].starts_with(prefix));
  return lines[0].substr(prefix.size());
}

}  // namespace

TEST_CASE("every partition that deals rows out keeps what all promise") {
  for (const Partitioner& dealer : dealers()) CHECK_MESSAGE(complaints(dealer).empty(), joined(complaints(dealer), "; "));
  CHECK(complaints(Partitioner(Honest{})).empty());
}

TEST_CASE("a partition read from a file keeps it for the rows of that file") {
  const TemporaryFolder folder;
  const std::string path = folder / "partition.json";
  write_file(path, "{\"clients\": [[0, 3], [4, 1], [2]]}");
  Example example({0, 1, 0, 1, 0}, 2, 3);
  CHECK(FromFile({path}).assign(example.input) == Assignment{{0, 3}, {1, 4}, {2}});
  for (const int clients : {-1, 0, 21}) {
    Example other({0, 1, 0, 1, 0}, 2, clients);
    CHECK_USAGE_ERROR(FromFile({path}).assign(other.input), "clients", std::to_string(clients), "1 to 5");
  }
}

TEST_CASE("what is broken is complained of, each by its own check") {
  CHECK(complaint(InvalidSetting{}).starts_with("its settings are valid, each with a name of its own (share is 0;"));
  CHECK(complaint(RefusesAll{}) == "some of the inputs it is tried on are dealt out");
  CHECK(complaint(ListTooMany{}) == "there is a list for each client");
  CHECK(complaint(LosesARow{}) == "every row is in exactly one list");
  CHECK(complaint(RowTwice{}) == "every row is in exactly one list");
  CHECK(complaint(Descending{}) == "every list ascends");
  CHECK(complaint(EmptyHanded{}) == "no list is empty");
  CHECK(complaint(Capricious{}) == "the same input gives the same lists");
  CHECK(complaint(TakesAnyCount{}) == "no clients, and more clients than rows, are refused");
  CHECK(complaints(Partitioner(FailsOtherwise{})).size() == 7);  // all but the settings
}

}  // namespace fedstride::test::conformance_test
