#include "sim/fleet/state_store.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/process.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::state_store_test {
namespace {

namespace fs = std::filesystem;

std::string state(int client, int round, std::size_t size = 5000) {
  std::string text = std::to_string(client) + " in round " + std::to_string(round);
  text.resize(size, static_cast<char>('a' + client % 26));
  return text;
}

}  // namespace

TEST_CASE("states last from round to round, and a store opens at its checkpoint") {
  const TemporaryFolder folder;
  {
    StateStore store(folder / "s", "run", 0);
    CHECK(store.read(3).empty());
    store.write(3, state(3, 1));
    store.write(70000, "");
    CHECK(store.read(3) == state(3, 1));
    store.end_round(1);
    store.checkpointed(1);
    store.write(3, state(3, 2, 9));
    store.end_round(2);
    store.checkpointed(2);
  }
  StateStore store(folder / "s", "run", 2);
  CHECK(store.read(3) == state(3, 2, 9));
  CHECK(store.read(70000).empty());
  std::vector<ClientId> seen;
  store.for_each([](ClientId) { return true; }, [&](ClientId client, std::string_view) { seen.push_back(client); });
  CHECK(seen == std::vector<ClientId>{3, 70000});
}

TEST_CASE("wherever a run is killed, its store goes back to the checkpoint") {
  // Rounds 1 to 6 change three of five clients each, checkpoints come after rounds 2 and 5. A copy of the file is what a kill leaves.
  const TemporaryFolder folder;
  std::map<std::uint32_t, std::map<int, std::string>> after{{0, {}}};
  std::vector<std::pair<fs::path, std::uint32_t>> copies;
  std::uint32_t checkpoint = 0;
  const auto killed_here = [&] {
    const fs::path copy = folder / ("copy" + std::to_string(copies.size()));
    fs::copy_file(folder / "s", copy);
    copies.emplace_back(copy, checkpoint);
  };
  {
    StateStore store(folder / "s", "run", 0);
    for (std::uint32_t round = 1; round <= 6; ++round) {
      store.checkpointed(checkpoint);  // again: the ranks of an MPI job are told before each round
      after[round] = after[round - 1];
      for (int i = 0; i < 3; ++i) {
        const int client = (static_cast<int>(round) * 2 + i) % 5;
        store.write(static_cast<ClientId>(client), after[round][client] = state(client, static_cast<int>(round)));
        killed_here();
      }
      store.end_round(round);
      killed_here();
      if (round != 2 && round != 5) continue;
      killed_here();
      store.checkpointed(checkpoint = round);
      killed_here();
    }
  }
  for (const auto& [copy, round] : copies) {
    CAPTURE(copy.filename().string());
    if (round > 0) {  // read as of the checkpoint, without changing the file
      const std::string before = read_file(copy);
      const StateStore reading = StateStore::for_reading(copy, "run", round);
      for (int client = 0; client < 5; ++client)
        CHECK(reading.read(static_cast<ClientId>(client)) == (after[round].contains(client) ? after[round][client] : ""));
      CHECK(read_file(copy) == before);
    }
    StateStore store(copy, "run", round);
    for (int client = 0; client < 5; ++client) {
      const auto found = after[round].find(client);
      CHECK(store.read(static_cast<ClientId>(client)) == (found == after[round].end() ? "" : found->second));
    }
    // Round 3 again, and the way back from there.
    store.write(1, "again");
    store.end_round(round + 1);
    if (round == 0) continue;
    store = StateStore::temporary();
    StateStore back(copy, "run", round);
    CHECK(back.read(1) == (after[round].contains(1) ? after[round][1] : ""));
  }
}

TEST_CASE("an abandoned round leaves the round before it, or the checkpoint if it was too large to discard") {
  const TemporaryFolder folder;
  constexpr std::size_t kLarge = std::size_t{9} << 20;
  StateStore store(folder / "s", "run", 0);
  for (int client = 0; client < 3; ++client) store.write(static_cast<ClientId>(client), state(client, 1, kLarge));
  store.end_round(1);
  store.checkpointed(1);
  store.write(0, state(0, 2));
  store.end_round(2);
  store.write(0, state(0, 3));
  CHECK(store.abandon_round() == 2);
  CHECK(store.read(0) == state(0, 2));
  for (int client = 0; client < 10; ++client) store.write(static_cast<ClientId>(client), state(client, 3, kLarge));
  CHECK(store.abandon_round() == 1);
  for (int client = 0; client < 10; ++client)
    CHECK((store.read(static_cast<ClientId>(client)) == (client < 3 ? state(client, 1, kLarge) : "")));
  // Nothing is lost by a second time.
  store.write(1, "two");
  store.end_round(2);
  store.write(2, "three");
  CHECK(store.abandon_round() == 2);
  CHECK(store.read(1) == "two");
}

TEST_CASE("threads read and write at once") {
  StateStore store = StateStore::temporary();
  for (std::uint32_t round = 1; round <= 3; ++round) {
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread)
      threads.emplace_back([&store, thread, round] {
        for (int client = thread; client < 200; client += 4) {
          if (store.read(static_cast<ClientId>(client)) != (round == 1 ? "" : state(client, static_cast<int>(round) - 1))) return;
          store.write(static_cast<ClientId>(client), state(client, static_cast<int>(round)));
        }
      });
    for (std::thread& thread : threads) thread.join();
    store.end_round(round);
    store.checkpointed(round);
  }
  for (int client = 0; client < 200; ++client) CHECK(store.read(static_cast<ClientId>(client)) == state(client, 3));
}

TEST_CASE("a file that is not this run's is refused in one line") {
  const TemporaryFolder folder;
  const fs::path file = folder / "s";
  {
    StateStore store(file, "run", 0);
    for (ClientId client = 0; client < 50; ++client) store.write(client, state(static_cast<int>(client), 1));
    store.end_round(1);
    store.checkpointed(1);
    CHECK_FAILURE(StateStore(file, "run", 1), file.string());
  }
  CHECK_FAILURE(StateStore(file, "another", 1), file.string());
  CHECK_FAILURE(StateStore(file, "run", 2), file.string(), "round 1", "round 2");
  CHECK_FAILURE(StateStore(folder / "none", "run", 1), folder / "none", "round 1");

  const std::string whole = read_file(file);
  for (const std::size_t left :
       {std::size_t{0}, std::size_t{1}, std::size_t{4096}, std::size_t{8192}, whole.size() / 2, whole.size() - 1}) {
    CAPTURE(left);
    std::ofstream(folder / "cut", std::ios::binary) << whole.substr(0, left);
    CHECK_FAILURE(StateStore(folder / "cut", "run", 1), folder / "cut");
  }
  std::ofstream(folder / "foreign", std::ios::binary) << std::string(100000, 'x');
  CHECK_FAILURE(StateStore(folder / "foreign", "run", 1), folder / "foreign");

  // A state whose bytes have changed is never handed out.
  std::string changed = whole;
  const std::size_t at = changed.find(state(7, 1));
  REQUIRE(at != std::string::npos);
  for (std::size_t i = 0; i < changed.size(); ++i)
    if (changed.compare(i, 20, state(7, 1), 0, 20) == 0) changed[i + 100] = '?';
  std::ofstream(folder / "changed", std::ios::binary) << changed;
  StateStore store(folder / "changed", "run", 1);
  CHECK(store.read(6) == state(6, 1));
  CHECK_FAILURE(store.read(7), "client 7", folder / "changed");
}

namespace {

constexpr int kClients = 36;
std::string mixed_state(int client, int round) { return state(client, round, client % 12 == 0 ? 9000 : 150); }

/// A store of round 3, whose checkpoint is of round 2, with pages of every kind: branches, large values, free ones.
std::string store_ahead_of_its_checkpoint(const fs::path& file) {
  {
    StateStore store(file, "run", 0);
    for (std::uint32_t round = 1; round <= 3; ++round) {
      for (int client = 0; client < kClients; ++client)
        if (round < 3 || client % 2 == 0)
          store.write(static_cast<ClientId>(client), mixed_state(client, static_cast<int>(round)));
      store.end_round(round);
      if (round < 3) store.checkpointed(round);
    }
  }
  return read_file(file);
}

enum Outcome : int { right, refused, wrong };

/// Resumes from the checkpoint's states, for a round, and for another one after opening the store again.
Outcome outcome_of_resuming(const fs::path& file) {
  try {
    for (std::uint32_t round = 2; round <= 3; ++round) {
      StateStore store(file, "run", round);
      for (int client = 0; client < kClients; ++client)
        if (store.read(static_cast<ClientId>(client)) != mixed_state(client, static_cast<int>(round))) return wrong;
      for (int client = 0; client < kClients; ++client)
        store.write(static_cast<ClientId>(client), mixed_state(client, static_cast<int>(round) + 1));
      store.end_round(round + 1);
      for (int client = 0; client < kClients; ++client)
        if (store.read(static_cast<ClientId>(client)) != mixed_state(client, static_cast<int>(round) + 1)) return wrong;
    }
  } catch (const Error& error) {
    return std::string(error.what()).find('\n') == std::string::npos ? refused : wrong;
  }
  return right;
}

/// The outcome of resuming with these bytes in a separate process; -1 after a signal.
int outcome_with(const fs::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
  const auto act = [&] {
    for (const int fault : {SIGSEGV, SIGBUS, SIGABRT}) std::signal(fault, SIG_DFL);
    return static_cast<int>(outcome_of_resuming(file));
  };
  return std::max(forked(act).wait(), -1);
}

}  // namespace

TEST_CASE("a store that is damaged anywhere continues with the right states or is refused in one line") {
  const TemporaryFolder folder;
  const std::string whole = store_ahead_of_its_checkpoint(folder / "s");
  const fs::path file = folder / "damaged";
  REQUIRE(outcome_with(file, whole) == right);

  constexpr std::size_t kPage = 4096;
  constexpr std::size_t kHead = 16;
  // FEDSTRIDE_TEST_DAMAGES=N: N times as many.
  const char* const asked = std::getenv("FEDSTRIDE_TEST_DAMAGES");
  const int times = asked == nullptr ? 1 : std::atoi(asked);
  std::mt19937 random(1);
  std::vector<std::pair<std::size_t, char>> damages;
  const auto damage = [&](std::size_t at) { damages.emplace_back(at, static_cast<char>(1 << random() % 8)); };
  for (int i = 0; i < 20 * times; ++i) damage(random() % whole.size());
  for (std::size_t page = 0; page < whole.size(); page += kPage)
    for (int i = 0; i < times; ++i) {
      damage(page + random() % kHead);
      // In a page of a tree these are a pointer and, at its end, an entry.
      damage(page + kHead + random() % 120);
      damage(page + kPage - 1 - random() % 200);
    }

  // The last client's entry, nine bytes with a key of four, becomes that of an unknown client.
  const std::string last{9, 0, 0, 0, 0, 0, 4, 0, static_cast<char>(kClients - 1), 0, 0, 0};
  for (std::size_t at = whole.find(last); at != whole.npos; at = whole.find(last, at + 1)) damages.emplace_back(at + 8, '\x40');

  std::map<int, int> counts;
  for (const auto& [at, change] : damages) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ change);
    const int outcome = outcome_with(file, bytes);
    ++counts[outcome];
    CAPTURE(at);
    CAPTURE(static_cast<int>(change));
    CHECK((outcome == right || outcome == refused));
  }
  CHECK(counts[refused] > 20);
  CHECK(counts[right] > 20);
  if (asked != nullptr) MESSAGE(damages.size() << " damages: " << counts[right] << " right, " << counts[refused] << " refused");
}

TEST_CASE("if the disk is full, a round fails in one line, and the previous one remains") {
  const TemporaryFolder folder;
  const fs::path file = folder / "s";
  const auto act = [&] {
    // A limit of the file's size is what a full disk is to the program.
    std::signal(SIGXFSZ, SIG_IGN);
    int code = 1;
    try {
      StateStore store(file, "run", 0);
      store.write(1, state(1, 1));
      store.end_round(1);
      store.checkpointed(1);
      const rlimit limit{1 << 20, 1 << 20};
      ::setrlimit(RLIMIT_FSIZE, &limit);
      const std::string message = error_of_kind(Error::Kind::failure, [&] {
        store.write(1, state(1, 2, 3 << 20));
        store.end_round(2);
      });
      const std::string later = error_of_kind(Error::Kind::failure, [&] { store.write(1, "more"); });
      if (names(message, {file.string()}) && names(later, {file.string()}) && message != later) code = 0;
    } catch (...) {
    }
    return code;
  };
  CHECK(forked(act).wait() == 0);
  CHECK(StateStore(file, "run", 1).read(1) == state(1, 1));
}

}  // namespace fedstride::test::state_store_test
