#include "sim/mpi/ranks.hpp"

#include <doctest/doctest.h>

#include <stdexcept>
#include <thread>

#include "core/exact_sum.hpp"
#include "core/random.hpp"
#include "sim/mpi/messages.hpp"
#include "tests/sim/mpi/mpirun.hpp"
#include "tests/support/reports.hpp"

namespace fedstride::test::ranks_test {

TEST_CASE("messages between ranks arrive") {
  FEDSTRIDE_NEEDS_MPIRUN();
  for (const int ranks : {1, 3}) {
    const Outcome outcome = inside(ranks, "inside: ranks");
    CHECK_MESSAGE(outcome.code == 0, outcome.out << outcome.err);
  }
}

TEST_CASE("inside: ranks" * doctest::skip()) {
  const auto all = Ranks::join();
  const auto rank = static_cast<std::uint64_t>(all->rank());
  CHECK(all->name(all->rank()).starts_with("rank " + std::to_string(rank) + " ("));

  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{3'000'000}}) {
    std::string expected(size, 'x');
    for (std::size_t i = 0; i < size; ++i) expected[i] = static_cast<char>('a' + i % 23);
    std::string bytes = rank == 0 ? expected : "something else";
    all->broadcast(bytes, size);
    CHECK(bytes == expected);
    const auto answers = all->gather(expected + std::string(rank, '!'), size + 10);
    CHECK(answers.size() == (rank == 0 ? static_cast<std::size_t>(all->size()) : 0));
    for (std::size_t r = 0; r < answers.size(); ++r) CHECK(answers[r] == expected + std::string(r, '!'));
  }

  std::vector<float> numbers(1000, rank == 0 ? 2.5F : 0.0F);
  all->broadcast(std::span(numbers));
  CHECK(numbers == std::vector<float>(1000, 2.5F));

  // Integers that do not fit in 64 bits, like those of an exact sum.
  const auto integer = [](std::uint64_t of, std::size_t i) {
    RandomStream random(
        4, {.purpose = Purpose::test, .client = static_cast<std::uint32_t>(of), .row = static_cast<std::uint32_t>(i)});
    return static_cast<__int128>(static_cast<std::int64_t>(random.bits64())) << 40;
  };
  constexpr std::size_t kIntegers = 2000;
  std::vector<__int128> sums(kIntegers);
  for (std::size_t i = 0; i < kIntegers; ++i) sums[i] = integer(rank, i);
  all->sum(sums);
  for (std::size_t i = 0; i < kIntegers; ++i) {
    __int128 expected = 0;
    for (std::uint64_t r = rank; r < (rank == 0 ? static_cast<std::uint64_t>(all->size()) : rank + 1); ++r)
      expected += integer(r, i);
    CHECK((sums[i] == expected));
  }

  if (rank != 0) all->send(0, {7, rank});
  all->gather("", 0);
  std::uint64_t noted = 0;
  while (const auto note = all->next_note()) {
    CHECK(note->second.subject == 7);
    CHECK(note->second.value == static_cast<std::uint64_t>(note->first));
    noted += note->second.value;
  }
  const auto size = static_cast<std::uint64_t>(all->size());
  CHECK(noted == (rank == 0 ? size * (size - 1) / 2 : 0));

  const auto group = all->split(rank == 0 ? 0 : 1);
  CHECK(group->size() == (rank == 0 ? 1 : all->size() - 1));
  CHECK(group->name(group->rank()) == all->name(all->rank()));
}

TEST_CASE("work runs on another thread than the one that waits for it, and its exception is rethrown") {
  int looks = 0;
  const auto caller = std::this_thread::get_id();
  bool elsewhere = false;
  Ranks::compute(
      [&] {
        elsewhere = std::this_thread::get_id() != caller;
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
      },
      [&] {
        CHECK(std::this_thread::get_id() == caller);
        ++looks;
      });
  CHECK(elsewhere);
  CHECK(looks > 0);
  CHECK_THROWS_AS(Ranks::compute([] { throw std::runtime_error("no"); }, [] {}), std::runtime_error);
}

TEST_CASE("messages between ranks are decoded whole, and damaged ones are refused") {
  TrainAnswer answer{.interrupted = true, .error = "none", .weight = 12};
  answer.reports.push_back(full_report());
  answer.updates.push_back({3, 4, Vector(5, 1.5F)});
  const std::string bytes = encode_message(answer);
  const auto back = decode_message<TrainAnswer>(bytes);
  CHECK(encode_message(back) == bytes);
  CHECK(differences(back.reports.at(0), answer.reports[0]) == "");
  CHECK(back.updates[0].change == answer.updates[0].change);
  for (const std::size_t cut : {std::size_t{0}, bytes.size() / 2, bytes.size() - 1})
    CHECK_THROWS_AS(decode_message<TrainAnswer>(bytes.substr(0, cut)), Error);
}

}  // namespace fedstride::test::ranks_test
