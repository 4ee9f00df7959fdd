#include "core/kernels/words.hpp"

#include "core/kernels/blocks.hpp"

namespace fedstride {
namespace {

// Words below this are refined: their resolution is too coarse for the tail.
constexpr std::uint32_t kCoarse = std::uint32_t{1} << 18;
// Blocks with this number or a higher one supply only the lower 32 bits of refined words.
constexpr std::uint32_t kRefinement = std::uint32_t{1} << 31;

FEDSTRIDE_INLINE Lanes square_root(Lanes x) {
#if defined(__AVX512F__)
  return reinterpret_cast<Lanes>(_mm512_maskz_sqrt_ps(0xffff, reinterpret_cast<__m512>(x)));
#else
  for (int i = 0; i < kLanes; ++i) x[i] = __builtin_sqrtf(x[i]);
  return x;
#endif
}

FEDSTRIDE_INLINE Lanes as_floats(WordLanes x) { return __builtin_convertvector(x, Lanes); }
FEDSTRIDE_INLINE Lanes as_floats(IntLanes x) { return __builtin_convertvector(x, Lanes); }

FEDSTRIDE_INLINE bool any(IntLanes condition) {
#if defined(__AVX512F__)
  return _mm512_movepi32_mask(reinterpret_cast<__m512i>(condition)) != 0;
#else
  std::int32_t all = 0;
  for (int i = 0; i < kLanes; ++i) all |= condition[i];
  return all != 0;
#endif
}

/// sqrt(-2 ln u), u = scaled x 2^-32 in (0, 1]; 1 - u = complement x 2^-32, which is more accurate near u = 1.
FEDSTRIDE_INLINE Lanes radius(Lanes scaled, Lanes complement) {
  // scaled = 2^exponent m with m in [sqrt(1/2), sqrt(2)).
  constexpr std::int32_t kSqrtHalf = 0x3f3504f3;
  const IntLanes bits = reinterpret_cast<IntLanes>(scaled) - (kSqrtHalf + (32 << 23));
  const Lanes exponent = as_floats(bits >> 23);  // the exponent minus 32
  const Lanes m = reinterpret_cast<Lanes>((bits & 0x007fffff) + kSqrtHalf);
  const Lanes f = exponent == Lanes{} ? complement * -0x1p-32F : m - 1.0F;
  // -2 ln(1 + f) / f, relative error 2^-25.2 (minimax, Remez).
  Lanes p = broadcast(-0x1.65448ap-3F);
  p = fma(p, f, 0x1.263ba2p-2F);
  p = fma(p, f, -0x1.3238f0p-2F);
  p = fma(p, f, 0x1.5332a4p-2F);
  p = fma(p, f, -0x1.98b748p-2F);
  p = fma(p, f, 0x1.000570p-1F);
  p = fma(p, f, -0x1.555792p-1F);
  p = fma(p, f, 0x1.fffff8p-1F);
  p = fma(p, f, -2.0F);
  return square_root(fma(p, f, exponent * -0x1.62e430p+0F));  // -2 ln 2
}

/// (cos, sin) of a uniform angle: two bits of the word select the quarter of the circle, and 30 bits the position in it.
FEDSTRIDE_INLINE void direction(WordLanes word, Lanes& cosine, Lanes& sine) {
  const Lanes t = fma(as_floats(reinterpret_cast<IntLanes>(word << 2)), 0x1p-32F, 0x1p-33F);  // quarter turns, |t| <= 1/2
  const Lanes square = t * t;
  Lanes s = broadcast(-0x1.2d9302p-8F);  // sin(pi t / 2) / t, relative error 2^-28.2
  s = fma(s, square, 0x1.465e92p-4F);
  s = fma(s, square, -0x1.4abbbap-1F);
  s = fma(s, square, 0x1.921fb6p+0F);
  s = s * t;
  Lanes c = broadcast(0x1.d99f54p-11F);  // cos(pi t / 2), relative error 2^-34
  c = fma(c, square, -0x1.55c4eap-6F);
  c = fma(c, square, 0x1.03c1dap-2F);
  c = fma(c, square, -0x1.3bd3ccp+0F);
  c = fma(c, square, 1.0F);
  c = reinterpret_cast<Lanes>(reinterpret_cast<WordLanes>(c) ^ (word & 0x80000000U));
  const auto swapped = reinterpret_cast<IntLanes>((word & 0x40000000U) != WordLanes{});
  cosine = swapped ? s : c;
  sine = swapped ? c : s;
}

/// Extends the words below kCoarse by 32 bits.
template <class Generator>
[[gnu::noinline, gnu::cold]] void refine(const BlockKey& from, const std::uint32_t* numbers, int row, const std::uint32_t* coarse,
                                         float* scaled) {
  const WordLanes upper = *reinterpret_cast<const UnalignedWordLanes*>(numbers) | kRefinement;
  WordLanes more[Generator::kWords];
  Generator::blocks(from, upper, more);
  for (int i = 0; i < kLanes; ++i) {
    if (coarse[i] >= kCoarse) continue;
    const std::uint64_t word = std::uint64_t{coarse[i]} << 32 | more[row][i];
    scaled[i] = (static_cast<float>(word) + 0.5F) * 0x1p-32F;
  }
}

template <class Generator>
FEDSTRIDE_INLINE void add_group(const BlockKey& from, WordLanes numbers, Lanes scale, float* values) {
  WordLanes words[Generator::kWords];
  Generator::blocks(from, numbers, words);
  unrolled<Generator::kWords / 2>([&](auto pair) FEDSTRIDE_INLINE_LAMBDA {
    constexpr int kRow = 2 * decltype(pair)::value;
    const WordLanes word = words[kRow];
    Lanes scaled = as_floats(word) + 0.5F;
    if (any(reinterpret_cast<IntLanes>(word < kCoarse))) [[unlikely]]
      refine<Generator>(from, reinterpret_cast<const std::uint32_t*>(&numbers), kRow,
                        reinterpret_cast<const std::uint32_t*>(&word), reinterpret_cast<float*>(&scaled));
    const Lanes length = radius(scaled, as_floats(~word) + 0.5F) * scale;
    Lanes cosine, sine;
    direction(words[kRow + 1], cosine, sine);
    float* to = values + kRow * kBlocksAtOnce;
    store(to, fma(length, cosine, load(to)));
    store(to + kBlocksAtOnce, fma(length, sine, load(to + kBlocksAtOnce)));
  });
}

template <class Generator>
void add_groups(const BlockKey& from, std::uint32_t first_group, float scale, float* values, std::size_t groups) {
  constexpr std::size_t kNormals = std::size_t{Generator::kWords} * kBlocksAtOnce;
  const auto lanes = reinterpret_cast<WordLanes>(lane_numbers());
  for (std::size_t group = 0; group < groups; ++group)
    for (int lane = 0; lane < kBlocksAtOnce; lane += kLanes) {
      const std::uint32_t first =
          (first_group + static_cast<std::uint32_t>(group)) * kBlocksAtOnce + static_cast<std::uint32_t>(lane);
      add_group<Generator>(from, lanes + first, broadcast(scale), values + group * kNormals + lane);
    }
}

}  // namespace

void add_philox_normals(const BlockKey& from, std::uint32_t first_group, float scale, float* values, std::size_t groups) {
  static_assert(kPhiloxNormals == std::size_t{Philox::kWords} * kBlocksAtOnce);
  add_groups<Philox>(from, first_group, scale, values, groups);
}

void add_chacha_normals(const BlockKey& from, std::uint32_t first_group, float scale, float* values, std::size_t groups) {
  static_assert(kChachaNormals == std::size_t{ChaCha::kWords} * kBlocksAtOnce);
  add_groups<ChaCha>(from, first_group, scale, values, groups);
}

}  // namespace fedstride
