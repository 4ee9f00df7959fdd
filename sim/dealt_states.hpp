#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/function_ref.hpp"
#include "core/task.hpp"

namespace fedstride {

/// The stores of a run's folder, one for each of the processes that its clients are spread over: states/1-of-1 and so on.
std::filesystem::path state_store_path(const std::filesystem::path& run_folder, std::size_t process, std::size_t processes);

/// The same for all stores of a run whose last checkpoint is of `round`, one after the other; they are not changed. Throws Error
/// (failure).
void for_each_state(const std::filesystem::path& run_folder, const std::string& run, std::uint32_t round,
                    function_ref<bool(ClientId)> wants, function_ref<void(ClientId, std::string_view)> use);

/// Deals the states of a run, whose last checkpoint is of `round`, out to so many processes, home[client] each client's, if the
/// run was carried out by another number of them before; and makes the folder of the stores for round 0. Only one process may do so,
/// while none of the stores is open. If it is killed, the stores are as before or as after. Throws Error (failure).
void deal_out_states(const std::filesystem::path& run_folder, const std::string& run, std::uint32_t round,
                     const std::vector<std::size_t>& home, std::size_t processes);

}  // namespace fedstride
