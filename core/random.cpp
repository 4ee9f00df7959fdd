#include "core/random.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string_view>

#include "core/elementary.hpp"
#include "core/error.hpp"
#include "core/kernels/words.hpp"

namespace fedstride {
namespace {

// Stafford's variant 13 of MurmurHash3's 64-bit finalizer: a bijection with good avalanche.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t product1 = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(product0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

std::array<std::uint32_t, 16> chacha20_block(const std::array<std::uint32_t, 8>& key,
                                             const std::array<std::uint32_t, 4>& counter) {
  std::array<std::uint32_t, 16> start{0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
  for (std::size_t i = 0; i < 8; ++i) start[4 + i] = key[i];
  for (std::size_t i = 0; i < 4; ++i) start[12 + i] = counter[i];
  auto words = start;
  const auto quarter_round = [&](int a, int b, int c, int d) {
    words[d] = std::rotl(words[d] ^ (words[a] += words[b]), 16);
    words[b] = std::rotl(words[b] ^ (words[c] += words[d]), 12);
    words[d] = std::rotl(words[d] ^ (words[a] += words[b]), 8);
    words[b] = std::rotl(words[b] ^ (words[c] += words[d]), 7);
  };
  for (int round = 0; round < 20; round += 2) {
    for (int i = 0; i < 4; ++i) quarter_round(i, 4 + i, 8 + i, 12 + i);
    for (int i = 0; i < 4; ++i) quarter_round(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4);
  }
  for (std::size_t i = 0; i < words.size(); ++i) words[i] += start[i];
  return words;
}

RandomStream::RandomStream(std::uint64_t seed, Address address)
    : counter_{0, address.row, address.step, address.client}, used_(4), secret_(false) {
  const std::uint64_t place = static_cast<std::uint64_t>(address.purpose) << 32 | address.round;
  const std::uint64_t key = mix(mix(seed + 0x9e3779b97f4a7c15ULL) ^ place);
  key_[0] = static_cast<std::uint32_t>(key);
  key_[1] = static_cast<std::uint32_t>(key >> 32);
}

RandomStream::RandomStream(const std::array<std::uint32_t, 8>& secret_key, const Address& address)
    : key_(secret_key), counter_{0, address.row, address.step, address.client}, used_(16), secret_(true) {}

void RandomStream::refill() {
  if (secret_) {
    block_ = chacha20_block(key_, counter_);
  } else {
    const auto words = philox4x32(counter_, key());
    for (std::size_t i = 0; i < words.size(); ++i) block_[i] = words[i];
  }
  ++counter_[0];
  used_ = 0;
}

namespace {

/// Fills `words` with batches of blocks, in order: word k of block i is at kWords i + k.
template <std::size_t kWords>
void fill_batches(void (*make)(const BlockKey&, const std::uint32_t*, std::size_t, std::uint32_t*), const std::uint32_t* key,
                  std::array<std::uint32_t, 4>& counter, std::span<std::uint32_t> words) {
  std::array<std::uint32_t, kBlocksAtOnce> numbers;
  std::array<std::uint32_t, kBlocksAtOnce * kWords> rows;
  for (std::size_t done = 0; done < words.size(); done += rows.size()) {
    std::iota(numbers.begin(), numbers.end(), counter[0]);
    counter[0] += kBlocksAtOnce;
    make({key, counter.data() + 1}, numbers.data(), 1, rows.data());
    for (std::size_t i = 0; i < kBlocksAtOnce; ++i)
      for (std::size_t k = 0; k < kWords; ++k) words[done + kWords * i + k] = rows[kBlocksAtOnce * k + i];
  }
}

}  // namespace

void RandomStream::fill(std::span<std::uint32_t> words) {
  std::size_t done = 0;
  for (; done < words.size() && used_ < words_per_block(); ++done) words[done] = block_[used_++];
  const std::size_t at_once = kBlocksAtOnce * words_per_block();
  const auto batches = words.subspan(done, (words.size() - done) / at_once * at_once);
  if (secret_)
    fill_batches<16>(chacha_words, key_.data(), counter_, batches);
  else
    fill_batches<4>(philox_words, key_.data(), counter_, batches);
  for (done += batches.size(); done < words.size(); ++done) words[done] = (*this)();
}

RandomSource::RandomSource(const SecretKey& key) : secret_(true) {
  const SecretKey digest = derived_key(key, "fedstride: draws");
  for (std::size_t i = 0; i < digest.size(); ++i) root_[i / 4] |= std::uint32_t{digest[i]} << (8 * (i % 4));
}

static_assert(std::endian::native == std::endian::little, "numbers are saved in their memory representation");

std::string RandomSource::save() const {
  std::string bytes(1, secret_ ? 1 : 0);
  bytes.append(reinterpret_cast<const char*>(&seed_), sizeof seed_);
  return bytes.append(reinterpret_cast<const char*>(root_.data()), sizeof root_);
}

RandomSource RandomSource::load(std::string_view bytes) {
  RandomSource source(std::uint64_t{0});
  if (bytes.size() != 1 + sizeof source.seed_ + sizeof source.root_ || (bytes[0] != 0 && bytes[0] != 1))
    throw failure("the state of a random source is damaged");
  source.secret_ = bytes[0] == 1;
  std::memcpy(&source.seed_, bytes.data() + 1, sizeof source.seed_);
  std::memcpy(source.root_.data(), bytes.data() + 1 + sizeof source.seed_, sizeof source.root_);
  return source;
}

RandomStream RandomSource::at(const Address& address) const {
  if (!secret_) return {seed_, address};
  // The root keys nothing else: half a block of output is the key for one (purpose, round).
  const auto words = chacha20_block(root_, {0, static_cast<std::uint32_t>(address.purpose), address.round, 0});
  std::array<std::uint32_t, 8> key;
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = words[i];
  return {key, address};
}

std::uint64_t RandomStream::below(std::uint64_t bound) {
  // Lemire's multiplication with rejection.
  unsigned __int128 product = static_cast<unsigned __int128>(bits64()) * bound;
  if (static_cast<std::uint64_t>(product) < bound) {
    const std::uint64_t threshold = (0 - bound) % bound;
    while (static_cast<std::uint64_t>(product) < threshold) product = static_cast<unsigned __int128>(bits64()) * bound;
  }
  return static_cast<std::uint64_t>(product >> 64);
}

double RandomStream::normal() {
  if (has_spare_normal_) {
    has_spare_normal_ = false;
    return spare_normal_;
  }
  const double radius = std::sqrt(-2 * portable::log(1 - uniform()));
  const portable::Direction direction = portable::direction(uniform());
  spare_normal_ = radius * direction.sine;
  has_spare_normal_ = true;
  return radius * direction.cosine;
}

double RandomStream::gamma(double shape) {
  if (shape < 1) return std::fmax(portable::exp(log_of_gamma(shape)), 1e-300);
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = normal();
    const double v = (1 + c * x) * (1 + c * x) * (1 + c * x);
    if (v <= 0) continue;
    if (portable::log(1 - uniform()) < 0.5 * x * x + d - d * v + d * portable::log(v)) return d * v;
  }
}

double RandomStream::log_of_gamma(double shape) {
  if (shape >= 1) return portable::log(gamma(shape));
  // gamma(a) = gamma(a + 1) U^(1/a), computed in logarithms because the power may underflow.
  const double boosted = portable::log(gamma(shape + 1));
  return boosted + portable::log(1 - uniform()) / shape;
}

}  // namespace fedstride
