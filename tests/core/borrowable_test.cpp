#include "core/borrowable.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <utility>
#include <vector>

namespace fedstride::test::borrowable_test {
namespace {

TEST_CASE("a list of its own is a vector") {
  Borrowable<int> list = std::vector<int>{1, 2};
  list.push_back(3);
  const int more[] = {4, 5};
  list.append(more, more + 2);
  CHECK(list == std::vector<int>{1, 2, 3, 4, 5});
  CHECK_FALSE(list.is_lent());
  list[0] = 7;
  const Borrowable<int> copy = list;
  list.resize(1);
  CHECK(std::as_const(list)[0] == 7);
  CHECK(copy.size() == 5);
  CHECK(Borrowable<int>().empty());
  list = {8, 9};
  CHECK(list.size() == 2);
  list.assign(3, 1);
  CHECK(list == std::vector<int>{1, 1, 1});
  list = {};
  CHECK(list.empty());
}

TEST_CASE("lent memory is read where it lies and is kept") {
  auto owner = std::make_shared<const std::vector<int>>(std::vector<int>{1, 2, 3});
  const std::weak_ptr<const std::vector<int>> watched = owner;
  const int* where = owner->data();
  {
    const Borrowable<int> list(*owner, owner);
    const Borrowable<int> copy = list;
    owner.reset();
    CHECK(list.data() == where);
    CHECK(copy.data() == where);
    CHECK(copy.size() == 3);
    CHECK(copy.end() - copy.begin() == 3);
    CHECK_FALSE(watched.expired());
  }
  CHECK(watched.expired());
}

TEST_CASE("a change copies, and lets the owner go") {
  auto owner = std::make_shared<const std::vector<int>>(std::vector<int>{1, 2, 3});
  Borrowable<int> list(*owner, owner);
  Borrowable<int> other = list;
  list[1] = 9;
  CHECK_FALSE(list.is_lent());
  CHECK(list == std::vector<int>{1, 9, 3});
  CHECK((*owner)[1] == 2);
  CHECK(owner.use_count() == 2);
  other.edit().clear();
  CHECK(other.empty());
  CHECK(owner.use_count() == 1);
  Borrowable<int> moved(*owner, owner);
  const Borrowable<int> to = std::move(moved);
  CHECK(to.is_lent());
}

}  // namespace
}  // namespace fedstride::test::borrowable_test
