#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/function_ref.hpp"
#include "core/task.hpp"

namespace fedstride {

/// Returns the path of a process's store in a run's folder, such as states/1-of-1. Each process that trains clients has one
/// store.
std::filesystem::path state_store_path(const std::filesystem::path& run_folder, std::size_t process, std::size_t processes);

/// Calls use(client, state) for every client that has a state and for which wants(client) is true, store by store, without
/// changing the stores. `round` is the round of the run's last checkpoint; for round 0, does nothing. Throws Error (failure).
void for_each_state(const std::filesystem::path& run_folder, const std::string& run, std::uint32_t round,
                    function_ref<bool(ClientId)> wants, function_ref<void(ClientId, std::string_view)> use);

/// Redistributes a run's states over `processes` processes if the run used a different number before; client k's state goes to
/// process home[k]. `round` is the round of the run's last checkpoint; for round 0, creates an empty folder of stores instead.
/// Only one process may call this, and no store may be open. If that process is killed, the stores are left in either the old or
/// the new layout. Throws Error (failure).
void deal_out_states(const std::filesystem::path& run_folder, const std::string& run, std::uint32_t round,
                     const std::vector<std::size_t>& home, std::size_t processes);

}  // namespace fedstride
