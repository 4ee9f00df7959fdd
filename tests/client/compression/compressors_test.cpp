#include "tests/client/compression/compressors.hpp"

#include <doctest/doctest.h>

#include <Eigen/SVD>
#include <limits>
#include <random>

#include "client/compression/bfloat16.hpp"
#include "client/compression/draws.hpp"
#include "client/compression/drive.hpp"
#include "client/compression/float16.hpp"
#include "client/compression/power_sgd.hpp"
#include "client/compression/qsgd.hpp"
#include "client/compression/random_k.hpp"
#include "client/compression/rounding.hpp"
#include "client/compression/scaled_sign.hpp"
#include "client/compression/sparse_ternary.hpp"
#include "client/compression/terngrad.hpp"
#include "client/compression/top_k.hpp"
#include "tests/support/vectors.hpp"

namespace fedstride::test::compressors_test {
namespace {

constexpr std::size_t kSizes[] = {1, 2, 7, 8, 31, 32, 33, 511, 512, 513, 1000, 8192, 20000};

/// Calls each(compression) for every part, with several settings.
void for_each_compression(const std::function<void(const UpCompression&)>& each) {
  for (const std::string& name : UpCompression::registry().names()) {
    UpCompression how;
    how.choose(name);
    each(how);
    for (const auto& [key, value] :
         std::initializer_list<std::pair<std::string_view, SettingValue>>{{"up-keep", 0.4},
                                                                          {"up-keep", 1.0},
                                                                          {"up-keep", 1e9},
                                                                          {"up-keep", 0.999},
                                                                          {"up-levels", std::int64_t{1}},
                                                                          {"up-levels", std::int64_t{1} << 20},
                                                                          {"up-bucket", std::int64_t{16}},
                                                                          {"up-step", 1e-9},
                                                                          {"up-step", 10.0}})
      if (const SettingInfo* info = how.part().find(key)) {
        UpCompression other = how;
        other.part().set(*info, value);
        each(other);
      }
  }
}

struct Moments {
  std::vector<double> mean, square;  ///< of each number
  double error = 0;                  ///< mean of |C(x) - x|^2
  double variation = 0;              ///< of that mean: its standard deviation
};
Moments moments(const UpCompression& how, const Vector& x, int times) {
  Moments all{.mean = std::vector<double>(x.size()), .square = std::vector<double>(x.size())};
  double squares = 0;
  for (int round = 1; round <= times; ++round) {
    const Vector there = sent(how, x, static_cast<std::uint32_t>(round));
    for (std::size_t i = 0; i < x.size(); ++i) {
      all.mean[i] += there[i] / static_cast<double>(times);
      all.square[i] += static_cast<double>(there[i]) * there[i] / times;
    }
    const double error = squared_error(x, there);
    all.error += error / times;
    squares += error * error / times;
  }
  all.variation = std::sqrt(std::max(0.0, squares - all.error * all.error) / times);
  return all;
}
/// The sum over numbers of g^2 f (1 - f), for a grid of that distance.
double rounding_error(const Vector& x, double grid) {
  double sum = 0;
  for (const float number : x) {
    const double f = std::fabs(number) / grid - std::floor(std::fabs(number) / grid);
    sum += grid * grid * f * (1 - f);
  }
  return sum;
}
double bits_a_number(const UpCompression& how, std::size_t d) {
  return 8.0 * static_cast<double>(code_of(how, some_numbers(d)).size()) / static_cast<double>(d);
}

}  // namespace

TEST_CASE("codes decode to as many finite numbers, within the promised bytes, and nothing else is a code") {
  std::mt19937_64 random(7);
  for_each_compression([&](const UpCompression& how) {
    CAPTURE(how.name());
    for (const std::size_t d : kSizes) {
      CAPTURE(d);
      for (const Vector& x : {some_numbers(d), Vector(d), Vector(d, 0x1.fffffep21F), Vector(d, -1e-30F)}) {
        const std::string code = code_of(how, x);
        CHECK(code.size() <= how->most_bytes(d));
        CHECK(how->most_bytes(d) <= 4 * d + 64);
        bool good = false;
        const Vector there = decoded(how, code, d, good);
        REQUIRE(good);
        CHECK(code_of(how, x) == code);
        for (const float number : there) REQUIRE(std::isfinite(number));
        decoded(how, code.substr(0, code.size() - 1), d, good);
        CHECK_FALSE(good);
        decoded(how, code + '\0', d, good);
        CHECK_FALSE(good);
        decoded(how, "", d, good);
        CHECK_FALSE(good);
        for (int mutation = 0; mutation < 8; ++mutation) {  // read or refused, and never infinite
          std::string other = code;
          other[random() % other.size()] = static_cast<char>(random());
          const Vector read = decoded(how, other, d, good);
          if (good)
            for (const float number : read) REQUIRE(std::isfinite(number));
        }
      }
    }
  });
}

TEST_CASE("at full width nothing changes, bit for bit") {
  const Vector x = some_numbers(1000);
  for (const std::string_view name : {"top-k", "random-k"}) {
    const Vector there = sent(compression(name, {{"up-keep", 1000.0}}), x);
    CHECK(std::memcmp(there.data(), x.data(), 4000) == 0);
    CHECK(code_of(compression(name, {{"up-keep", 1000.0}}), x).size() == 4000);
  }
}

TEST_CASE("half precision is the nearest number: 2^-11 and 2^-8, zero below 3e-8, and 65504 at most") {
  const auto to_half = [](float x) { return sent(compression("float16"), vector_of({x}))[0]; };
  const auto to_bfloat = [](float x) { return sent(compression("bfloat16"), vector_of({x}))[0]; };
  CHECK(to_half(1 + 0x1p-11F) == 1);  // ties to even
  CHECK(to_half(1 + 0x3p-11F) == 1 + 0x1p-9F);
  CHECK(to_half(1 + 0x1.1p-11F) == 1 + 0x1p-10F);
  CHECK(to_half(65503) == 65504);
  CHECK(to_half(-70000) == -65504);
  CHECK(to_half(2.9e-8F) == 0);
  CHECK(to_half(3.1e-8F) == 0x1p-24F);
  CHECK(to_half(6.1e-5F) == doctest::Approx(6.1e-5).epsilon(1e-3));
  CHECK(to_bfloat(1 + 0x1p-8F) == 1);
  CHECK(to_bfloat(1 + 0x3p-8F) == 1 + 0x1p-6F);
  CHECK(to_bfloat(3e6F) == 2998272);
  for (const float x : some_numbers(5000)) {
    if (std::fabs(x) > 6.2e-5F) CHECK(std::fabs(to_half(x) - x) <= 0x1p-11F * std::fabs(x));
    CHECK(std::fabs(to_bfloat(x) - x) <= 0x1p-8F * std::fabs(x));
  }
}

TEST_CASE("unbiased compressors have the mean and the squared error of their papers") {
  const Vector x = some_numbers(64);
  const double square = squared(x);
  double norm_largest = 0, sum_tern = 0;
  for (const float number : x) norm_largest = std::max(norm_largest, static_cast<double>(std::fabs(number)));
  for (const float number : x) sum_tern += std::fabs(number) * (norm_largest - std::fabs(number));
  const struct {
    UpCompression how;
    double error;
  } cases[] = {
      {compression("random-k", {{"up-keep", 16.0}}), (64.0 / 16 - 1) * square},
      {compression("qsgd", {{"up-levels", std::int64_t{5}}}), rounding_error(x, std::sqrt(square) / 5)},
      {compression("qsgd", {{"up-levels", std::int64_t{127}}}), rounding_error(x, std::sqrt(square) / 127)},
      {compression("terngrad"), sum_tern},
      {compression("rounding", {{"up-step", 0.03}}), rounding_error(x, static_cast<float>(0.03))},
  };
  for (const auto& one : cases) {
    CAPTURE(one.how.name());
    const int times = 20000;
    const Moments found = moments(one.how, x, times);
    CHECK(std::fabs(found.error - one.error) < 4 * found.variation + 1e-9);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double variance = std::max(0.0, found.square[i] - found.mean[i] * found.mean[i]) / times;
      CHECK(std::fabs(found.mean[i] - x[i]) <= 4.5 * std::sqrt(variance) + 1e-5);
    }
  }
}

TEST_CASE("QSGD's error is within its bound, in each bucket") {
  const Vector x = some_numbers(4096);
  for (const int levels : {1, 4, 127}) {
    const auto how = compression("qsgd", {{"up-levels", std::int64_t{levels}}});
    const double bound = std::min(512.0 / (levels * levels), std::sqrt(512.0) / levels) * squared(x);
    CHECK(moments(how, x, 50).error <= bound);
    CHECK(how->suits_feedback() == (levels == 127));
  }
}

TEST_CASE("biased compressors have exactly the error of their formulas") {
  const Vector x = some_numbers(512);
  std::vector<float> sizes;
  double sum = 0;
  for (const float number : x) sizes.push_back(std::fabs(number)), sum += std::fabs(number);
  std::ranges::sort(sizes, std::greater<>());
  double dropped = 0, mean = 0, spread = 0;
  for (std::size_t i = 50; i < 512; ++i) dropped += static_cast<double>(sizes[i]) * sizes[i];
  for (std::size_t i = 0; i < 50; ++i) mean += static_cast<double>(sizes[i]) / 50;
  for (std::size_t i = 0; i < 50; ++i) spread += (sizes[i] - mean) * (sizes[i] - mean);
  const auto error = [&](std::string_view name) {
    UpCompression how = compression(name);
    if (const SettingInfo* keep = how.part().find("up-keep")) how.part().set(*keep, 50.0);
    return squared_error(x, sent(how, x));
  };
  CHECK(error("top-k") == doctest::Approx(dropped).epsilon(1e-9));
  CHECK(dropped <= (1 - 50.0 / 512) * squared(x));
  CHECK(error("stc") == doctest::Approx(dropped + spread).epsilon(1e-5));
  CHECK(error("sign") == doctest::Approx(squared(x) - sum * sum / 512).epsilon(1e-5));
}

TEST_CASE("DRIVE's error is what its rotation gives, near pi / 2 - 1, and it is unbiased") {
  const Vector x = some_numbers(8192);
  const Moments found = moments(compression("drive"), x, 40);
  CHECK(found.error / squared(x) == doctest::Approx(std::acos(-1.0) / 2 - 1).epsilon(0.01));
  const int times = 3000;
  const Vector short_one = some_numbers(64);
  const Moments many = moments(compression("drive"), short_one, times);
  double along = 0;
  for (std::size_t i = 0; i < 64; ++i) along += many.mean[i] * short_one[i];
  CHECK(along == doctest::Approx(squared(short_one)).epsilon(0.01));
}

TEST_CASE("votes are signs of one magnitude, a bit each, and not kept back") {
  const auto votes = compression("sign", {{"up-magnitude", 0.25}});
  const Vector there = sent(votes, vector_of({3, -1e-9F, 0.5, 0, -7, 2, 1, -4, 6}));
  const std::vector<float> expected{0.25, -0.25, 0.25, 0.25, -0.25, 0.25, 0.25, -0.25, 0.25};
  CHECK(std::vector<float>(there.begin(), there.end()) == expected);
  CHECK(code_of(votes, some_numbers(1000)).size() == 125);
  CHECK_FALSE(votes->suits_feedback());
}

TEST_CASE("PowerSGD sends a tensor by a matrix of low rank, whose error is what its range leaves, and the rest as it is") {
  constexpr std::size_t kRows = 40, kColumns = 30, kD = 5 + kRows * kColumns + 3;
  const CodedMatrix matrices[] = {{5, kRows, kColumns}};
  const auto send = [&](const Vector& x, std::int64_t rank, std::size_t bytes) {
    const UpCompression how = compression("power-sgd", {{"up-rank", rank}});
    std::string code;
    how->encode(view(x), {1, 1, 3, 0, matrices}, code);
    CHECK(code.size() == bytes);
    CHECK(how->most_bytes_with(matrices, kD) == bytes);
    Vector there(kD, 77);
    REQUIRE(how->decode(code, {1, 1, 3, 0, matrices}, view(there)));
    CHECK_FALSE(how->decode(code.substr(4), {1, 1, 3, 0, matrices}, view(there)));
    std::string wild = code;
    const float infinity = std::numeric_limits<float>::infinity();
    std::memcpy(wild.data() + 24, &infinity, sizeof infinity);
    Vector other(kD);
    CHECK_FALSE(how->decode(wild, {1, 1, 3, 0, matrices}, view(other)));
    for (const std::size_t i : {std::size_t{0}, std::size_t{4}, kD - 3, kD - 1}) CHECK(there[i] == x[i]);
    return there;
  };
  // Two outer products are of rank 2, and arrive whole; with their lengths of 3 and 1 apart, rank 1 leaves the second.
  Vector x = some_numbers(kD);
  const Vector left = some_numbers(kRows, 1), right = some_numbers(kColumns, 2);
  for (std::size_t i = 0; i < kRows; ++i)
    for (std::size_t j = 0; j < kColumns; ++j)
      x[5 + i * kColumns + j] =
          (i % 2 == 0 ? 3 * left[i] * right[j] : 0) + (i % 2 == 1 ? left[i] * (j % 2 == 0 ? right[j] : -right[j]) : 0);
  CHECK(squared_error(x, send(x, 2, 4 * (8 + 2 * 70))) < 1e-10 * squared(x));
  // Any matrix: |M|^2 - |M'|^2, as the rest is at right angles to what is sent; near the best of its rank (Eigen's singular values).
  for (const std::uint64_t seed : {3, 4, 5}) {
    x = some_numbers(kD, seed);
    const Vector there = send(x, 4, 4 * (8 + 4 * 70));
    CHECK(squared_error(x, there) == doctest::Approx(squared(x) - squared(there)).epsilon(1e-4));
    Eigen::MatrixXd matrix(kRows, kColumns);
    for (std::size_t i = 0; i < kRows * kColumns; ++i)
      matrix(static_cast<Eigen::Index>(i / kColumns), static_cast<Eigen::Index>(i % kColumns)) = static_cast<double>(x[5 + i]);
    const Eigen::VectorXd values = matrix.bdcSvd().singularValues();
    const double best = values.tail(26).squaredNorm();
    CHECK(squared_error(x, there) >= best * (1 - 1e-5));
    CHECK(squared_error(x, there) <= 1.2 * best);
  }
  CHECK(squared_error(Vector(kD), send(Vector(kD), 4, 4 * (8 + 4 * 70))) == 0);
  send(Vector(kD, 0x1.fffffep21F), 4, 4 * (8 + 4 * 70));
  send(Vector(kD, -1e-30F), 4, 4 * (8 + 4 * 70));
  CHECK(squared_error(x, send(x, 18, 4 * kD)) == 0);  // factors as long as the matrix
}

TEST_CASE("bits a number are those of the table") {
  constexpr std::size_t kD = 1 << 20;
  const auto near_to = [](double bits) { return doctest::Approx(bits).epsilon(0.005); };
  CHECK(bits_a_number(compression("float16"), kD) == 16);
  CHECK(bits_a_number(compression("bfloat16"), kD) == 16);
  CHECK(bits_a_number(compression("qsgd"), kD) == 1 + 7 + 32.0 / 512);
  CHECK(bits_a_number(compression("terngrad"), kD) == near_to(1.6 + 32.0 / 512));
  CHECK(bits_a_number(compression("sign"), kD) == 1 + 32.0 / 512);
  CHECK(bits_a_number(compression("drive"), kD) == 1 + 32.0 / 8192);
  CHECK(bits_a_number(compression("random-k"), kD) == near_to(0.32));
  const struct { double share, places; } table[] = {{0.1, 4.7558}, {0.01, 8.1079}, {0.001, 11.4947}};
  for (const auto& [share, places] : table) {
    CAPTURE(share);
    CHECK(bits_a_number(compression("stc", {{"up-keep", share}}), kD) / share == doctest::Approx(1 + places).epsilon(0.02));
    CHECK(bits_a_number(compression("top-k", {{"up-keep", share}}), kD) / share == doctest::Approx(32 + places).epsilon(0.01));
  }
}

TEST_CASE("linear codes commute with sums") {
  for (const std::string_view name : {"none", "random-k"}) {
    const UpCompression how = compression(name);
    Vector x = some_numbers(1000, 1);
    const Vector y = some_numbers(1000, 2);
    const Vector one = sent(how, x), other = sent(how, y);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
    const Vector both = sent(how, x);
    for (std::size_t i = 0; i < x.size(); ++i) CHECK(both[i] == doctest::Approx(one[i] + other[i]).epsilon(1e-5));
  }
}

TEST_CASE("draws are those of an address: another client or round has others, a common mask the same") {
  const Vector x = some_numbers(2000);
  const auto code = [&](std::string_view name, std::uint32_t round, ClientId client) {
    const UpCompression how = compression(name);
    std::string bytes;
    how->encode(view(x), {1, round, client, 0}, bytes);
    return bytes;
  };
  for (const std::string_view name : {"rounding", "qsgd", "terngrad", "drive"}) {
    CHECK(code(name, 1, 3) != code(name, 1, 4));
    CHECK(code(name, 1, 3) != code(name, 2, 3));
  }
  CHECK(code("random-k", 1, 3) == code("random-k", 1, 4));
  CHECK(code("random-k", 1, 3) != code("random-k", 2, 3));
}

TEST_CASE("draws are uniform words") {
  Draws draws(RandomStream(1, {Purpose::test}));
  double sum = 0, square = 0;
  for (int i = 0; i < 200; ++i)
    for (const std::uint32_t word : draws.next()) sum += uniform_of(word), square += uniform_of(word) * uniform_of(word);
  const double n = 200.0 * Draws::kAtOnce;
  CHECK(sum / n == doctest::Approx(0.5).epsilon(0.005));
  CHECK(square / n == doctest::Approx(1.0 / 3).epsilon(0.005));
}

}  // namespace fedstride::test::compressors_test
