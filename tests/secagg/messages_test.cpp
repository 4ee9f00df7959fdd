// Every message comes back as it was; cut off, lengthened or with large counts it is refused, and no memory is asked for.
#include "secagg/messages.hpp"

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "tests/secagg/federation.hpp"

namespace fedstride::test::messages_test {
namespace {

using namespace secagg;

template <class Message>
void check(const Message& message) {
  const std::string bytes = encoded(message);
  CHECK(encoded(decode<Message>(bytes)) == bytes);
  for (std::size_t size = 0; size < bytes.size(); size += 1 + bytes.size() / 97)
    CHECK_THROWS_AS(decode<Message>(std::string_view(bytes).substr(0, size)), Error);
  CHECK_THROWS_AS(decode<Message>(bytes + '\0'), Error);
  // Any four bytes as a count or length: refused, or another message as long.
  for (std::size_t at = 0; at + 4 <= bytes.size(); at += 1 + bytes.size() / 97) {
    std::string changed = bytes;
    changed.replace(at, 4, 4, '\xff');
    try {
      const Message other = decode<Message>(changed);
      CHECK(encoded(other).size() == bytes.size());
    } catch (const Error&) {
    }
  }
}

}  // namespace

TEST_CASE("messages of a round, of five clients") {
  Attempt attempt(session_of(5, choose_plan({5, 2, 0})));
  attempt.agree({0, 1, 2, 3});
  check(attempt.roster);
  Invitation invitation{.planned = 6};
  for (const Member& member : attempt.session.cohort) invitation.members.push_back({member, "proof"});
  check(invitation);
  check(attempt.roster.adverts[2]);
  check(attempt.coordinator.delivery(1));
  check(Shares{.client = 1, .boxes = attempt.coordinator.delivery(1).boxes});
  check(attempt.masked[3]);
  check(attempt.survivors);
  check(attempt.survivors.clients[0]);
  check(attempt.agreements);
  const auto opening = attempt.clients[0].open(attempt.agreements, std::nullopt);
  CHECK(opening.shares.shares.size() == 5);
  check(opening.shares);
}

}  // namespace fedstride::test::messages_test
