#include "sim/fleet/dealt_states.hpp"

#include <cstdlib>
#include <system_error>

#include "core/error.hpp"
#include "sim/fleet/state_store.hpp"

namespace fedstride {

namespace fs = std::filesystem;

fs::path state_store_path(const fs::path& run_folder, std::size_t process, std::size_t processes) {
  return run_folder / "states" / (std::to_string(process + 1) + "-of-" + std::to_string(processes));
}

namespace {

// Returns the number of stores in a folder, according to their names; 0 if there are none.
std::size_t stores_in(const fs::path& folder) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("1-of-")) return std::strtoull(name.c_str() + 5, nullptr, 10);
  }
  return 0;
}

}  // namespace

void for_each_state(const fs::path& run_folder, const std::string& run, std::uint32_t round, function_ref<bool(ClientId)> wants,
                    function_ref<void(ClientId, std::string_view)> use) {
  if (round == 0) return;
  const fs::path folder = run_folder / "states";
  const std::size_t count = stores_in(folder);
  if (count == 0)
    throw failure("the clients' states '" + folder.string() + "' are missing; the run, which is in round " +
                  std::to_string(round) + ", cannot continue without them");
  for (std::size_t i = 0; i < count; ++i)
    StateStore::for_reading(state_store_path(run_folder, i, count), run, round).for_each(wants, use);
}

void deal_out_states(const fs::path& run_folder, const std::string& run, std::uint32_t round,
                     const std::vector<std::size_t>& home, std::size_t processes) {
  const fs::path folder = run_folder / "states";
  const fs::path fresh = run_folder / "states.new";
  const fs::path old = run_folder / "states.old";
  const auto fail = [&](const std::error_code& error) {
    if (error) throw failure("cannot redistribute the clients' states in '" + folder.string() + "': " + error.message());
  };
  std::error_code error;
  if (round == 0) fs::remove_all(folder, error);
  // A process may have been killed between the two renames below.
  if (!fs::exists(folder, error) && fs::exists(old, error) && round > 0) fs::rename(old, folder, error);
  fs::remove_all(fresh, error);
  fs::remove_all(old, error);
  if (round == 0) {
    fs::create_directory(folder, error);
    return fail(error);
  }
  if (stores_in(folder) == processes) return;
  fs::create_directory(fresh, error);
  fail(error);
  // Opens one store at a time, since each takes address space, descriptors and memory.
  for (std::size_t i = 0; i < processes; ++i) {
    StateStore store(fresh / state_store_path(run_folder, i, processes).filename(), run, 0);
    const auto is_home = [&](ClientId client) {
      if (client >= home.size()) throw failure("the clients' states in '" + folder.string() + "' have more clients than the run");
      return home[client] == i;
    };
    for_each_state(run_folder, run, round, is_home, [&](ClientId client, std::string_view state) { store.write(client, state); });
    store.end_round(round);
  }
  fs::rename(folder, old, error);
  fail(error);
  fs::rename(fresh, folder, error);
  fail(error);
  fs::remove_all(old, error);
}

}  // namespace fedstride
