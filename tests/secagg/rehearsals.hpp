// A round with all its roles, in which clients drop out.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "core/error.hpp"
#include "secagg/rehearsal.hpp"
#include "tests/secagg/federation.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::rehearsals {

using namespace secagg;

inline std::vector<Secret> keys(unsigned clients) {
  std::vector<Secret> all;
  for (ClientId client = 0; client < clients; ++client) all.push_back(signing_key(client));
  return all;
}

// Returns whether the round completes; checks the sum, and the line if it does not.
inline bool carry_out(const Session& session, const std::vector<Leaves>& leaves, ForEachPiece for_each_piece = serially) {
  const auto clients = static_cast<ClientId>(leaves.size());
  const auto stay = [&](Leaves stage) {
    return static_cast<unsigned>(std::ranges::count_if(leaves, [&](Leaves one) { return one > stage; }));
  };
  // Fewer than the minimum at any stage end the round: those who give shares must be enough for each owner, too.
  const bool completes = stay(Leaves::before_signature) >= session.plan.minimum;
  std::vector<ClientId> expected;
  try {
    Rehearsal rehearsal(session, keys(clients), leaves, secret_of("attempt"), for_each_piece);
    for (ClientId client = 0; client < clients; ++client) {
      if (leaves[client] <= Leaves::before_input) continue;
      expected.push_back(client);
      rehearsal.add(client, input_of(session, client));
    }
    const Ring sum = rehearsal.sum(for_each_piece);
    CHECK(sum == central_sum(session, expected));
    CHECK(rehearsal.included() == expected);
    return true;
  } catch (const Error& error) {
    const bool gives = completes && stay(Leaves::before_unmasking) >= session.plan.threshold;
    CHECK_MESSAGE(!gives, error.what());
    const bool says_why = names(error.what(), {"round 7", "needed"}) || names(error.what(), {"round 7", "nothing is revealed"});
    CHECK_MESSAGE(says_why, error.what());
    return false;
  }
}

}  // namespace fedstride::test::rehearsals
