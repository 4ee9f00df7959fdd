#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/function_ref.hpp"
#include "core/task.hpp"

namespace fedstride {

/// The path of a process's store in a run's folder, one for each process over which the clients are spread: states/1-of-1 and so on.
std::filesystem::path state_store_path(const std::filesystem::path& run_folder, std::size_t process, std::size_t processes);

/// Calls use(client, state) for every wanted state in all stores of a run whose last checkpoint is of `round`, store by store, without
/// changing them. Throws Error (failure).
void for_each_state(const std::filesystem::path& run_folder, const std::string& run, std::uint32_t round,
                    function_ref<bool(ClientId)> wants, function_ref<void(ClientId, std::string_view)> use);

/// Redistributes the states of a run, whose last checkpoint is of `round`, over this many processes (home[client] is the
/// process of each client) if the run used another number before; for round 0, creates the folder of the stores. Only one
/// process may call this, while no store is open. If it is killed, the stores are in either the old or the new state. Throws
/// Error (failure).
void deal_out_states(const std::filesystem::path& run_folder, const std::string& run, std::uint32_t round,
                     const std::vector<std::size_t>& home, std::size_t processes);

}  // namespace fedstride
