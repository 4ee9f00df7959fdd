#include "sim/fleet/dealt_states.hpp"

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "sim/fleet/state_store.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::dealt_states_test {
namespace {

namespace fs = std::filesystem;

std::string state_of(int client) { return std::string(5000, static_cast<char>('a' + client)); }

}  // namespace

TEST_CASE("states are redistributed over another number of processes, and a kill leaves the old or the new ones") {
  const TemporaryFolder folder;
  const auto home = [](std::size_t processes) {
    std::vector<std::size_t> homes;
    for (std::size_t client = 0; client < 20; ++client) homes.push_back(client * 7 % processes);
    return homes;
  };
  deal_out_states(folder.path(), "run", 0, home(1), 1);
  {
    StateStore store(state_store_path(folder.path(), 0, 1), "run", 0);
    for (int client = 0; client < 20; client += 3) store.write(static_cast<ClientId>(client), state_of(client));
    store.end_round(1);
    store.checkpointed(1);
    store.write(0, "not in a checkpoint");
    store.end_round(2);
  }
  for (const std::size_t processes : {3, 5, 2, 1}) {
    if (processes == 5) {  // killed between the two renamings
      fs::rename(folder / "states", folder / "states.old");
      fs::create_directory(folder / "states.new");
    }
    deal_out_states(folder.path(), "run", 1, home(processes), processes);
    CHECK_FALSE(fs::exists(folder / "states.old"));
    for (int client = 0; client < 20; ++client) {
      CAPTURE(client);
      StateStore store(state_store_path(folder.path(), home(processes)[static_cast<std::size_t>(client)], processes), "run", 1);
      CHECK(store.read(static_cast<ClientId>(client)) == (client % 3 == 0 ? state_of(client) : ""));
    }
  }
  fs::remove(state_store_path(folder.path(), 0, 1));
  CHECK_FAILURE(deal_out_states(folder.path(), "run", 1, home(2), 2), folder / "states", "round 1");
}

}  // namespace fedstride::test::dealt_states_test
