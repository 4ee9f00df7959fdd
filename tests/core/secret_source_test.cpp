#include <doctest/doctest.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/random.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::secret_source_test {
namespace {

using Key = std::array<std::uint32_t, 8>;
using Counter = std::array<std::uint32_t, 4>;

/// 0, 1, 2, ..., 31.
SecretKey counted_key() {
  SecretKey key{};
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::uint8_t>(i);
  return key;
}

std::vector<std::uint32_t> words(RandomStream stream, std::size_t count) {
  std::vector<std::uint32_t> result(count);
  for (auto& word : result) word = stream();
  return result;
}

void write(const std::string& path, std::string_view bytes, mode_t mode) {
  std::ofstream(path, std::ios::binary) << bytes;
  REQUIRE(chmod(path.c_str(), mode) == 0);
}

TEST_CASE("ChaCha20's block function gives the known answer of RFC 8439, 2.3.2") {
  Key key;
  const SecretKey bytes = counted_key();
  std::memcpy(key.data(), bytes.data(), bytes.size());
  CHECK(chacha20_block(key, {1, 0x09000000, 0x4a000000, 0}) ==
        std::array<std::uint32_t, 16>{0xe4e7f110, 0x15593bd1, 0x1fdd0f50, 0xc47120a3, 0xc7f4d1c7, 0x0368c033, 0x9aaa2204,
                                      0x4e6cd4c3, 0x466482d2, 0x09aa9f07, 0x05d7c214, 0xa2028bd9, 0xd19c12b5, 0xb94e16de,
                                      0xe883d0cb, 0x4e3c50a2});
}

TEST_CASE("ChaCha20's blocks are OpenSSL's, for any key, counter and nonce") {
  RandomStream random(1, {.purpose = Purpose::test});
  for (int trial = 0; trial < 300; ++trial) {
    Key key;
    Counter counter;
    for (auto& word : key) word = random();
    for (auto& word : counter) word = random() >> (trial % 32);
    unsigned char bytes[64] = {};
    int size = 0;
    EVP_CIPHER_CTX* context = EVP_CIPHER_CTX_new();
    REQUIRE(EVP_EncryptInit_ex(context, EVP_chacha20(), nullptr, reinterpret_cast<const unsigned char*>(key.data()),
                               reinterpret_cast<const unsigned char*>(counter.data())) == 1);
    REQUIRE(EVP_EncryptUpdate(context, bytes, &size, bytes, sizeof bytes) == 1);
    EVP_CIPHER_CTX_free(context);
    const auto block = chacha20_block(key, counter);
    REQUIRE(std::memcmp(bytes, block.data(), sizeof bytes) == 0);
  }
}

// Worked out by a second implementation, in Python: half a block under HMAC-SHA256(key) is the key of (purpose, round).
TEST_CASE("the words of a secret source never change from version to version") {
  const RandomSource source(counted_key());
  const auto drawn = words(source.at({Purpose::noise, 3, 4, 5, 6}), 18);
  CHECK(drawn[0] == 0xa9745398);
  CHECK(drawn[1] == 0xb59b1834);
  CHECK(drawn[2] == 0x7139fbc5);
  CHECK(drawn[3] == 0xb747f66b);
  CHECK(drawn[16] == 0x4eff318e);
  CHECK(drawn[17] == 0x46546dda);
}

TEST_CASE("a seeded source gives the words of the seeded stream, a secret one says that it is secret") {
  const Address address{Purpose::noise, 1, 2, 3, 4};
  const RandomSource seeded(std::uint64_t{7});
  CHECK(words(seeded.at(address), 9) == words(RandomStream(7, address), 9));
  CHECK_FALSE(seeded.is_secret());
  CHECK_FALSE(seeded.at(address).is_secret());
  const RandomSource secret(counted_key());
  CHECK(secret.is_secret());
  CHECK(secret.at(address).is_secret());
}

TEST_CASE("every field of an address, and every bit of the key, changes every word of a secret source") {
  const Address base{Purpose::test, 1, 1, 1, 1};
  std::vector<std::vector<std::uint32_t>> all{words(RandomSource(counted_key()).at(base), 16)};
  for (int field = 0; field < 5; ++field) {
    Address address = base;
    if (field == 0) address.purpose = Purpose::noise;
    if (field == 1) address.round = 2;
    if (field == 2) address.client = 2;
    if (field == 3) address.step = 2;
    if (field == 4) address.row = 2;
    all.push_back(words(RandomSource(counted_key()).at(address), 16));
  }
  for (std::size_t bit = 0; bit < 256; ++bit) {
    SecretKey key = counted_key();
    key[bit / 8] = static_cast<std::uint8_t>(key[bit / 8] ^ (1U << (bit % 8)));
    all.push_back(words(RandomSource(key).at(base), 16));
  }
  double differing_bits = 0;
  for (std::size_t i = 1; i < all.size(); ++i)
    for (std::size_t k = 0; k < 16; ++k) {
      CHECK(all[i][k] != all[0][k]);
      differing_bits += std::popcount(all[i][k] ^ all[0][k]);
    }
  // Binomial(32, 1/2) a pair of words.
  const double pairs = 16.0 * static_cast<double>(all.size() - 1);
  CHECK(std::abs(differing_bits / pairs - 16) < 4 * std::sqrt(8.0 / pairs));
}

TEST_CASE("the distributions work on secret words: a secret stream's uniforms are uniform, its normals normal") {
  RandomStream random = RandomSource(counted_key()).at({.purpose = Purpose::test});
  const int draws = 40000;
  std::vector<double> counts(20);
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < draws; ++i) {
    ++counts[static_cast<std::size_t>(random.uniform() * 20)];
    const double value = random.normal();
    sum += value;
    squares += value * value;
  }
  double chi_square = 0;
  for (const double count : counts) chi_square += (count - draws / 20.0) * (count - draws / 20.0) / (draws / 20.0);
  CHECK(chi_square < 19 + 5 * std::sqrt(2 * 19.0));
  CHECK(std::abs(sum / draws) < 4 / std::sqrt(draws));
  CHECK(std::abs(squares / draws - 1) < 4 * std::sqrt(2.0 / draws));
}

TEST_CASE("new keys differ, in about half of their bits") {
  const SecretKey first = new_secret_key();
  const SecretKey second = new_secret_key();
  int differing = 0;
  for (std::size_t i = 0; i < first.size(); ++i) differing += std::popcount(static_cast<unsigned>(first[i] ^ second[i]));
  CHECK(std::abs(differing - 128) < 6 * 8);  // Binomial(256, 1/2)
}

TEST_CASE("a key that is not there is made, readable by its owner alone, and the same the next time") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "noise.key";
  const mode_t before = umask(0);
  const SecretKey made = load_or_create_key(path);
  umask(before);
  struct stat status {};
  REQUIRE(stat(path.c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0600);
  CHECK(status.st_size == 32);
  CHECK(load_or_create_key(path) == made);
  CHECK(load_or_create_key(folder / "other.key") != made);
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) names.insert(entry.path().filename());
  CHECK(names == std::set<std::string>{"noise.key", "other.key"});
}

TEST_CASE("a key that others may read or write, of another size, or that is no file is refused") {
  const test::TemporaryFolder folder;
  const std::string key(32, 'k');
  for (const mode_t mode : {0640, 0604, 0620, 0660, 0777}) {
    const std::string path = folder / ("open-" + std::to_string(mode));
    write(path, key, mode);
    CHECK_FAILURE(load_or_create_key(path), "'" + path + "'", "0600");
  }
  write(folder / "short", key.substr(1), 0600);
  CHECK_FAILURE(load_or_create_key(folder / "short"), folder / "short", "31", "32");
  write(folder / "long", key + "\n", 0600);
  CHECK_FAILURE(load_or_create_key(folder / "long"), folder / "long", "33");
  write(folder / "empty", "", 0600);
  CHECK_FAILURE(load_or_create_key(folder / "empty"), folder / "empty", "0");
  CHECK_FAILURE(load_or_create_key(folder.path()), folder.path().string(), "file");
  CHECK_FAILURE(load_or_create_key(folder / "absent/noise.key"), folder / "absent/noise.key", "No such file or directory");
  if (::geteuid() == 0) {
    write(folder / "foreign", key, 0600);
    REQUIRE(::chown((folder / "foreign").c_str(), 1, 1) == 0);
    CHECK_FAILURE(load_or_create_key(folder / "foreign"), folder / "foreign", "user");
  }
  write(folder / "good", key, 0400);
  CHECK(load_or_create_key(folder / "good")[31] == 'k');
}

}  // namespace
}  // namespace fedstride::test::secret_source_test
