#include "dp/noise/grid_noise.hpp"

#include <algorithm>
#include <array>
#include <boost/math/constants/constants.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <cstring>
#include <numbers>
#include <optional>

#include "core/elementary.hpp"
#include "core/error.hpp"
#include "core/kernels/words.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

constexpr double kCellsOfDeviation = NoiseGrid::kStepsOfDeviation / (1 << GridLaw::kCellBits);
constexpr double kSlotsOfDensity = (1 << GridLaw::kSlotBits) / kCellsOfDeviation;  // slots of a cell where the density is 1
// Rounding moves each of two sums by half a step at most, and their division by the step, in double, by less than another half (three
// roundings of numbers that on_grid() keeps below 2^50).
constexpr double kStepsMoved = 2;
// With less noise, a sum could exceed the numbers that on_grid() lets pass.
constexpr double kLeastMultiplier = 1e-6;
// Blocks of words: those from here on supply more bits of each number, and those from kRestBlock on the rejection's, one a number.
constexpr std::uint32_t kMoreBlock = std::uint32_t{1} << 30;
constexpr std::uint32_t kRestBlock = std::uint32_t{1} << 31;

double density(double t) { return portable::exp(-t * t / 2) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2); }

/// The words for the rejection of one number: those of its block, then those of a row of its own.
class RestWords {
 public:
  RestWords(const std::uint32_t* words, std::size_t count, const RandomSource& source, Address address, std::uint32_t number)
      : words_(words), left_(count), source_(source), address_(address) {
    address_.row = number + 1;
  }
  std::uint32_t operator()() {
    if (left_ > 0) {
      const std::uint32_t word = *words_;
      words_ += kBlocksAtOnce;
      --left_;
      return word;
    }
    if (!stream_) stream_ = source_.at(address_);
    return (*stream_)();
  }
  std::uint64_t bits64() {
    const std::uint64_t low = (*this)();
    return low | static_cast<std::uint64_t>((*this)()) << 32;
  }

 private:
  const std::uint32_t* words_;
  std::size_t left_;
  const RandomSource& source_;
  Address address_;
  std::optional<RandomStream> stream_ = {};
};

double draw_rest(const GridLaw& law, RestWords& words, unsigned bits) {
  constexpr int kKeepBits = 64 - GridLaw::kCellBits;
  for (;;) {
    const int cell = law.cell_at(words.bits64());
    if (cell == GridLaw::kCells) continue;
    const std::uint64_t place = words.bits64();
    const std::uint64_t keep = place & ((std::uint64_t{1} << kKeepBits) - 1);
    double number = cell * double{1 << GridLaw::kCellBits} + static_cast<double>(place >> kKeepBits);
    if (bits > 0) number = number * static_cast<double>(1U << bits) + static_cast<double>(words() >> (32 - bits));
    const auto [kept, error] =
        law.roughly_kept(cell, static_cast<double>(place >> kKeepBits) * (1.0 / (1 << GridLaw::kCellBits)));
    double difference = kept - static_cast<double>(keep) * 0x1p-46;
    if (std::abs(difference) <= error) {
      difference = law.kept(cell, number, bits) - static_cast<double>(keep) * 0x1p-46;
      if (std::abs(difference) <= 2 * GridLaw::kAccuracy)
        difference = law.keeps(cell, number, bits, keep, words.bits64()) ? 1 : -1;
    }
    if (difference > 0) return number;
  }
}

}  // namespace

NoiseGrid noise_grid(double sensitivity, double noise_multiplier, double numbers) {
  constexpr double kMostAdded = 0x1p-10;
  constexpr double kCoarsest = 0.5;
  // Rounding moves the sum by `moved` deviations, and so adds to its sensitivity.
  const double moved = kStepsMoved * std::sqrt(numbers) / NoiseGrid::kStepsOfDeviation;
  if (!(noise_multiplier >= kLeastMultiplier))
    throw usage_error("the noise multiplier is " + number_text(noise_multiplier) + "; it must be at least " +
                      number_text(kLeastMultiplier));
  NoiseGrid grid;
  const auto added = [&] { return noise_multiplier * moved / static_cast<double>(1U << grid.bits); };
  while (added() > kMostAdded && grid.bits < NoiseGrid::kMostBits) ++grid.bits;
  if (!(added() <= kCoarsest))
    throw usage_error("the noise multiplier is " + number_text(noise_multiplier) + "; for " + number_text(numbers) +
                      " numbers it must be at most " +
                      number_text(std::floor(kCoarsest / moved * static_cast<double>(1U << NoiseGrid::kMostBits))));
  constexpr double kRoundedUp = 1 + 0x1p-40;
  grid.deviation = noise_multiplier * sensitivity / (1 - added()) * kRoundedUp;
  return grid;
}

const GridLaw& GridLaw::get() {
  static const GridLaw law;
  return law;
}

GridLaw::GridLaw() {
  // The density is monotonic in a cell; it is taken at a cell's ends with a margin for the rounding of exp().
  constexpr double kMargin = 1e-9;
  std::array<double, 2 * kCells> most;
  double all = 0;
  int used = 0;
  for (int i = 0; i < 2 * kCells; ++i) {
    const int cell = i - kCells;
    const double near = density(std::min(std::abs(cell), std::abs(cell + 1)) / kCellsOfDeviation);
    const double far = density(std::max(std::abs(cell), std::abs(cell + 1)) / kCellsOfDeviation);
    counts_[i] = static_cast<int>(kSlotsOfDensity * far * (1 - kMargin));
    std::fill_n(slots_ + used, counts_[i], static_cast<std::int8_t>(cell));
    used += counts_[i];
    // At least a small share of the density, so that errors relative to the density are small relative to the weight.
    constexpr double kLeastShare = 0x1p-12;
    most[static_cast<std::size_t>(i)] = std::max(near * (1 + kMargin) - counts_[i] / kSlotsOfDensity, near * kLeastShare);
    all += most[static_cast<std::size_t>(i)];
  }
  std::fill(slots_ + used, slots_ + (1 << kSlotBits), kRest);
  scale_ = 0x1p64 * (1 - 0x1p-40) / all;
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < most.size(); ++i) ends_[i] = end += static_cast<std::uint64_t>(most[i] * scale_) + 1;
  for (std::uint64_t i = 0; i < std::size(guide_); ++i)
    guide_[i] = static_cast<std::int16_t>(std::upper_bound(ends_, ends_ + 2 * kCells, i << (64 - kGuideBits)) - ends_);
  for (int cell = -kCells; cell < kCells; ++cell) {
    // A chord of the density is off by at most the cell's width squared times 1/8 of its curvature, which is at most 0.4.
    constexpr double kMostOff = 1.01 * 0.4 / 8 / (kCellsOfDeviation * kCellsOfDeviation);
    const double first = kept(cell, cell * double{1 << kCellBits}, 0), last = kept(cell, (cell + 1) * double{1 << kCellBits}, 0);
    lines_[cell + kCells] = {first, last - first, kMostOff * scale_ / static_cast<double>(weight(cell)) + kAccuracy};
  }
}

int GridLaw::slots_of(int cell) const { return counts_[cell + kCells]; }

std::uint64_t GridLaw::weight(int cell) const {
  const int i = cell + kCells;
  return ends_[i] - (i == 0 ? 0 : ends_[i - 1]);
}

double GridLaw::kept(int cell, double number, unsigned bits) const {
  const double t = number / (NoiseGrid::kStepsOfDeviation * static_cast<double>(1U << bits));
  return (density(t) - counts_[cell + kCells] / kSlotsOfDensity) * scale_ / static_cast<double>(weight(cell));
}

bool GridLaw::keeps(int cell, double number, unsigned bits, std::uint64_t most, std::uint64_t least) const {
  // P(N = n) = phi(t) / s (1 + (t^2 - 1) / (24 s^2) + ...), the integral of the density over [n - 1/2, n + 1/2] in deviations s; the
  // terms left out are below 2^-75.
  using Quad = boost::multiprecision::cpp_bin_float_quad;
  const Quad s = Quad(NoiseGrid::kStepsOfDeviation) * Quad(1U << bits);
  const Quad t = Quad(number) / s;
  const Quad pi = boost::math::constants::pi<Quad>();
  const Quad probability = exp(-t * t / 2) / sqrt(2 * pi) * (1 + (t * t - 1) / (24 * s * s));
  const Quad kept = (probability - Quad(counts_[cell + kCells]) / Quad(kSlotsOfDensity)) * Quad(scale_) / Quad(weight(cell));
  return kept > (Quad(most) + Quad(least) * Quad(0x1p-64)) * Quad(0x1p-46);
}

void draw_grid_noise(const RandomSource& source, const Address& address, std::uint64_t first, unsigned bits,
                     std::span<double> out) {
  if (first > kMostNumbers || out.size() > kMostNumbers - first || address.row != 0 || bits > NoiseGrid::kMostBits)
    throw failure("a release has more than 2^31 numbers, or no address of its own");
  const GridLaw& law = GridLaw::get();
  const std::int8_t* const slots = law.slots();
  const RandomStream stream = source.at(address);
  const auto counter = stream.counter();
  const auto short_key = stream.key();
  const BlockKey from{stream.is_secret() ? stream.secret_key().data() : short_key.data(), counter.data() + 1};
  const auto words_of = stream.is_secret() ? chacha_words : philox_words;
  const std::size_t words_per_block = stream.words_per_block();
  const std::size_t at_once = kBlocksAtOnce * words_per_block;
  constexpr std::size_t kMost = std::size_t{kBlocksAtOnce} * 16;
  alignas(64) std::array<std::uint32_t, kMost> words, more;
  alignas(64) std::array<std::uint32_t, kBlocksAtOnce> blocks;

  std::array<std::uint32_t, kBlocksAtOnce> rest;  // indices into `out` of numbers that are still to be drawn
  std::size_t waiting = 0;
  const auto finish_rest = [&] {
    for (std::size_t i = 0; i < rest.size(); ++i)
      blocks[i] = kRestBlock + static_cast<std::uint32_t>(first) + rest[i < waiting ? i : 0];
    words_of(from, blocks.data(), 1, words.data());
    for (std::size_t i = 0; i < waiting; ++i) {
      RestWords own(words.data() + i, words_per_block, source, address, static_cast<std::uint32_t>(first) + rest[i]);
      out[rest[i]] = draw_rest(law, own, bits);
    }
    waiting = 0;
  };

  for (std::size_t done = 0; done < out.size();) {
    const std::uint64_t number = first + done;
    const auto block = static_cast<std::uint32_t>(number / at_once * kBlocksAtOnce);
    const auto skipped = static_cast<std::size_t>(number % at_once);
    const std::size_t count = std::min(at_once - skipped, out.size() - done);
    for (std::uint32_t i = 0; i < kBlocksAtOnce; ++i) blocks[i] = block + i;
    words_of(from, blocks.data(), 1, words.data());
    alignas(64) std::array<std::int8_t, kMost> cells;
    for (std::size_t i = 0; i < count; ++i) cells[i] = slots[words[skipped + i] >> GridLaw::kCellBits];
    double* const __restrict to = out.data() + done;
    for (std::size_t i = 0; i < count; ++i) {
      const auto place = static_cast<std::int32_t>(words[skipped + i] & ((1U << GridLaw::kCellBits) - 1));
      to[i] = std::int32_t{cells[i]} * (1 << GridLaw::kCellBits) + place;
    }
    if (bits > 0) {
      for (std::uint32_t& one : blocks) one += kMoreBlock;
      words_of(from, blocks.data(), 1, more.data());
      const double scale = 1U << bits;
      for (std::size_t i = 0; i < count; ++i) to[i] = to[i] * scale + static_cast<double>(more[skipped + i] >> (32 - bits));
    }
    const auto next_rest = [&](std::size_t begin) {
      const void* const at = std::memchr(cells.data() + begin, GridLaw::kRest, count - begin);
      return at == nullptr ? count : static_cast<std::size_t>(static_cast<const std::int8_t*>(at) - cells.data());
    };
    for (std::size_t i = next_rest(0); i < count; i = next_rest(i + 1)) {
      rest[waiting++] = static_cast<std::uint32_t>(done + i);
      if (waiting == rest.size()) finish_rest();
    }
    done += count;
  }
  if (waiting > 0) finish_rest();
}

namespace {

template <class To>
void release(const NoiseGrid& grid, const RandomSource& source, const Address& address, std::uint64_t first,
             std::span<const double> sums, double factor, std::span<To> released) {
  constexpr std::size_t kStretch = 2048;
  alignas(64) std::array<double, kStretch> noise;
  const double steps_per_unit = 1 / grid.step(), unit = grid.step() * factor;
  for (std::size_t done = 0; done < sums.size(); done += kStretch) {
    const std::size_t count = std::min(kStretch, sums.size() - done);
    draw_grid_noise(source, address, first + done, grid.bits, std::span(noise).first(count));
    const double* const from = sums.data() + done;
    To* const to = released.data() + done;  // may be `from`
    for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<To>((on_grid(from[i], steps_per_unit) + noise[i]) * unit);
  }
}

}  // namespace

void release_on_grid(const NoiseGrid& grid, const RandomSource& source, const Address& address, std::uint64_t first,
                     std::span<const double> sums, double factor, std::span<float> released) {
  release(grid, source, address, first, sums, factor, released);
}

void release_on_grid(const NoiseGrid& grid, const RandomSource& source, const Address& address, std::uint64_t first,
                     std::span<const double> sums, double factor, std::span<double> released) {
  release(grid, source, address, first, sums, factor, released);
}

}  // namespace fedstride
