#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/secret_key.hpp"

namespace fedstride {

/// The purpose of a draw. The numbers affect every result: add new ones, never renumber.
enum class Purpose : std::uint32_t {
  initial_weights = 1,
  partition = 2,
  validation_split = 3,
  data_order = 4,
  dropout = 5,
  augmentation = 6,
  synthetic_data = 7,
  limit_per_client = 8,
  noise = 9,              ///< on clipped sums of example gradients
  private_sampling = 10,  ///< which examples are in a lot
  cohort = 11,            ///< which clients are in a round
  client_noise = 12,      ///< on sums of client updates
  component_noise = 13,   ///< on the matrix of private PCA
  evaluation_rows = 14,   ///< which test rows a round is evaluated on
  client_reports = 15,    ///< which clients' reports are recorded, if not all
  attackers = 16,         ///< which clients attack
  attack_noise = 17,      ///< sent by attackers
  poisoned_rows = 18,     ///< which of an attacker's examples are poisoned
  client_test = 19,       ///< which of a client's rows are test rows
  personal_order = 20,    ///< of a client's rows, in the epochs of its personal model
  outside_training = 21,  ///< by user code, whose seed is drawn here
  moment_noise = 22,      ///< on the moments of the inputs (normalize private)
  evaluation_noise = 23,  ///< on a round's accuracy and loss (evaluate private)
  devices = 24,           ///< a client's device
  device_jitter = 25,     ///< on the time of a task
  availability = 26,      ///< when a client is available
  compression = 27,       ///< in codes of updates and models (client/compression/)
  feature_noise = 30,     ///< on the inputs of a client's examples (row), the same in every round
  secure_rounding = 28,   ///< of an update to the secure grid (step 0), and when a simulated client drops out (step 1)
  asynchrony = 31,        ///< which client starts next
  separation = 38,        ///< which rounds a client may take part in, under a minimum separation
  canaries = 40,          ///< directions and coin flips of canaries (privacy measure)
  run_count = 41,         ///< how many runs an accounted sweep makes, and of which cells
  clip_count = 45,        ///< noise on the counts of examples whose gradient is within the bound
  test = 1000,
};

/// The address of a draw. Different addresses give independent draws; the same address always gives the same draws. No generator
/// is shared, so an extra row shifts no other row's draws.
struct Address {
  Purpose purpose;
  std::uint32_t round = 0;
  std::uint32_t client = 0;
  std::uint32_t step = 0;
  std::uint32_t row = 0;
};

/// Philox4x32-10 (Salmon et al., SC 2011): a bijection of 128-bit counters under a 64-bit key.
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

/// The block function of ChaCha20 (RFC 8439, 2.3): 16 words from `key`, with counter[0] as the block counter and counter[1..3] as
/// the nonce.
std::array<std::uint32_t, 16> chacha20_block(const std::array<std::uint32_t, 8>& key,
                                             const std::array<std::uint32_t, 4>& counter);

/// The draws at one address. The counter is (block, row, step, client), and the key is a function of (purpose, round) and the
/// source, so no two addresses share a block. A seeded source has Philox blocks of 4 words, a secret one ChaCha20 blocks of 16;
/// there are 2^32 blocks per address. Cheap to construct: construct one where it is needed.
class RandomStream {
 public:
  using result_type = std::uint32_t;

  /// Seeded: the key is a bijection of (purpose, round) chosen by the seed.
  RandomStream(std::uint64_t seed, Address address);

  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }

  /// 32 random bits.
  std::uint32_t operator()() {
    if (used_ == words_per_block()) refill();
    return block_[used_++];
  }
  /// The next words of operator(), computed many blocks at a time.
  void fill(std::span<std::uint32_t> words);
  /// 64 random bits.
  std::uint64_t bits64() {
    const std::uint64_t low = (*this)();
    return low | static_cast<std::uint64_t>((*this)()) << 32;
  }
  /// Uniform in [0, 1), 53 bits.
  double uniform() { return static_cast<double>(bits64() >> 11) * 0x1.0p-53; }
  /// Uniform in [0, 1), 24 bits.
  float uniform_float() { return static_cast<float>((*this)() >> 8) * 0x1.0p-24F; }
  /// Uniform in {0, ..., bound - 1}, without bias. Requires bound > 0.
  std::uint64_t below(std::uint64_t bound);
  /// Standard normal (Box-Muller, both values used).
  double normal();
  /// Gamma distributed with the given shape > 0 and scale 1 (Marsaglia & Tsang 2000). Never 0.
  double gamma(double shape);
  /// The logarithm of a gamma draw, which stays in range even for a tiny shape. For a Dirichlet draw, subtract the largest of its
  /// logarithms, then apply exp() and normalize.
  double log_of_gamma(double shape);

  /// Access for kernels that compute many blocks at a time. Block b of a fresh stream is philox4x32({b, counter[1..3]}, key) if
  /// the stream is seeded, and chacha20_block(secret_key, {b, counter[1..3]}) if it is secret.
  bool is_secret() const { return secret_; }
  std::size_t words_per_block() const { return secret_ ? 16 : 4; }
  std::array<std::uint32_t, 2> key() const { return {key_[0], key_[1]}; }
  const std::array<std::uint32_t, 8>& secret_key() const { return key_; }
  std::array<std::uint32_t, 4> counter() const { return counter_; }

 private:
  friend class RandomSource;
  RandomStream(const std::array<std::uint32_t, 8>& secret_key, const Address& address);
  void refill();

  std::array<std::uint32_t, 8> key_{};  ///< a seeded stream uses two words of it
  std::array<std::uint32_t, 4> counter_;
  std::array<std::uint32_t, 16> block_{};
  std::size_t used_;
  double spare_normal_ = 0;
  bool has_spare_normal_ = false;
  bool secret_;
};

/// A source of draws, seeded or secret. Both kinds use the same addressing, and a restarted process repeats its draws. A seeded
/// source (Philox) is for experiments: anyone who knows the seed can repeat every draw. The draws of a secret source (ChaCha20 in
/// counter mode) are indistinguishable from random without the key.
class RandomSource {
 public:
  explicit RandomSource(std::uint64_t seed) : seed_(seed) {}
  explicit RandomSource(const SecretKey& key);

  bool is_secret() const { return secret_; }
  RandomStream at(const Address& address) const;

  /// Converts the source to bytes and back, for processes that share a source; anyone who has the bytes can repeat every draw.
  /// load throws Error (failure) if the bytes do not encode a source.
  std::string save() const;
  static RandomSource load(std::string_view bytes);

 private:
  std::uint64_t seed_ = 0;
  std::array<std::uint32_t, 8> root_{};  ///< HMAC-SHA256 of the key: other uses of the key reveal nothing about this value
  bool secret_ = false;
};

/// Shuffles the values uniformly (Fisher-Yates), in the same way with every standard library.
template <class T>
void shuffle(std::span<T> values, RandomStream& random) {
  for (std::size_t i = values.size(); i > 1; --i) {
    const auto j = static_cast<std::size_t>(random.below(i));
    std::swap(values[i - 1], values[j]);
  }
}

}  // namespace fedstride
