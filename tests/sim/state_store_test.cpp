#include "sim/state_store.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>
#include <thread>
#include <vector>

#include "core/error.hpp"
#include "core/files.hpp"
#include "tests/support/folder.hpp"

namespace fedstride::test::state_store_test {
namespace {

namespace fs = std::filesystem;

std::string state(int client, int round, std::size_t size = 5000) {
  std::string text = std::to_string(client) + " in round " + std::to_string(round);
  text.resize(size, static_cast<char>('a' + client % 26));
  return text;
}

template <class Function>
std::string message_of(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was refused";
}

std::string opening(const fs::path& file, const std::string& run, std::uint32_t round) {
  return message_of([&] { StateStore(file, run, round); });
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
    if (round > 0) {  // read as it was at the checkpoint, and left alone
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

TEST_CASE("a round that is given up leaves the round before it, or the checkpoint where it was too large to be forgotten") {
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

TEST_CASE("a file that is not this run's is refused in a line") {
  const TemporaryFolder folder;
  const fs::path file = folder / "s";
  {
    StateStore store(file, "run", 0);
    for (ClientId client = 0; client < 50; ++client) store.write(client, state(static_cast<int>(client), 1));
    store.end_round(1);
    store.checkpointed(1);
    CHECK(opening(file, "run", 1).ends_with("are in use by another process"));
  }
  CHECK(opening(file, "another", 1).ends_with("are of another run"));
  CHECK(opening(file, "run", 2).ends_with("are of round 1, the checkpoint is of round 2"));
  CHECK(opening(folder / "none", "run", 1).ends_with("are not there; the run, which is in round 1, cannot go on without them"));

  const std::string whole = read_file(file);
  for (const std::size_t left :
       {std::size_t{0}, std::size_t{1}, std::size_t{4096}, std::size_t{8192}, whole.size() / 2, whole.size() - 1}) {
    CAPTURE(left);
    std::ofstream(folder / "cut", std::ios::binary) << whole.substr(0, left);
    const std::string message = opening(folder / "cut", "run", 1);
    CHECK((message.find("were cut: the file has") != std::string::npos ||
           message.find("not a file of clients' states") != std::string::npos ||
           message.find("are not there") != std::string::npos));
    CHECK(message.find('\n') == std::string::npos);
  }
  std::ofstream(folder / "foreign", std::ios::binary) << std::string(100000, 'x');
  CHECK(opening(folder / "foreign", "run", 1).ends_with("it is damaged or not a file of clients' states"));

  // A state whose bytes have changed is never handed out.
  std::string changed = whole;
  const std::size_t at = changed.find(state(7, 1));
  REQUIRE(at != std::string::npos);
  for (std::size_t i = 0; i < changed.size(); ++i)
    if (changed.compare(i, 20, state(7, 1), 0, 20) == 0) changed[i + 100] = '?';
  std::ofstream(folder / "changed", std::ios::binary) << changed;
  StateStore store(folder / "changed", "run", 1);
  CHECK(store.read(6) == state(6, 1));
  CHECK(message_of([&] { store.read(7); }).find("the state of client 7 in") == 0);
}

TEST_CASE("where the disk is full a round fails in a line, and the one before remains") {
  const TemporaryFolder folder;
  const fs::path file = folder / "s";
  const pid_t child = ::fork();
  if (child == 0) {
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
      const std::string message = message_of([&] {
        store.write(1, state(1, 2, 3 << 20));
        store.end_round(2);
      });
      const std::string later = message_of([&] { store.write(1, "more"); });
      if (message.find("cannot write the clients' states in") == 0 && later.ends_with("cannot be changed after an error"))
        code = 0;
    } catch (...) {
    }
    ::_exit(code);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  CHECK(StateStore(file, "run", 1).read(1) == state(1, 1));
}

}  // namespace fedstride::test::state_store_test
