// A signing key is a client's own if its certificate's key says so, and one's own authorities the certificate.
#include "sim/net/key_proof.hpp"

#include <doctest/doctest.h>

#include "tests/support/folder.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::key_proof_test {

TEST_CASE("keys of another client, under another authority, or without a whole proof are named") {
  const TemporaryFolder folder;
  const auto certs = folder.path() / "certs", others = folder.path() / "others";
  make_certificates(certs, {.clients = 2});
  make_certificates(others, {.clients = 2});
  const TlsFiles files = client_files(certs, 1);
  const KeyChecker checker(client_files(certs, 0));
  secagg::Bytes32 key{};
  key[5] = 7;
  const std::string proof = key_proof(files, 1, key);
  CHECK(checker.objection(1, key, proof).empty());
  CHECK(proof.size() < 4096);

  secagg::Bytes32 other = key;
  other[0] ^= 1;
  CHECK(names(checker.objection(1, other, proof), {"client 1", "not signed by its certificate"}));
  CHECK(names(checker.objection(0, key, proof), {"client 0", "'client-1'"}));
  CHECK(names(checker.objection(0, key, key_proof(files, 0, key)), {"client 0", "'client-1'"}));
  CHECK(names(checker.objection(1, key, key_proof(coordinator_files(certs), 1, key)), {"client 1", "'coordinator'"}));
  CHECK(names(checker.objection(1, key, key_proof(client_files(others, 1), 1, key)), {"client 1", "not accepted"}));
  CHECK(names(checker.objection(1, key, ""), {"client 1", "without a certificate"}));
  for (std::size_t size = 0; size < proof.size(); size += 1 + size / 7)
    CHECK_FALSE(checker.objection(1, key, proof.substr(0, size)).empty());
  std::string damaged = proof;
  damaged[4] ^= 1;
  CHECK(names(checker.objection(1, key, damaged), {"client 1"}));
  damaged = proof;
  damaged.back() = static_cast<char>(damaged.back() ^ 1);
  CHECK(names(checker.objection(1, key, damaged), {"client 1", "not signed"}));
}

}  // namespace fedstride::test::key_proof_test
