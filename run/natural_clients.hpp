#pragma once

#include <vector>

#include "run/setup.hpp"

namespace fedstride {

/// Settles the number of clients of a partition by natural clients: all that the data name, or the first so many; the rows of
/// others are nobody's, which a note says. `rows` are those to deal out, which the input points to. Throws Error (usage).
void choose_natural_clients(Setup& setup, PartitionInput& input, std::vector<Row>& rows);

/// Gives each client the rows of the test part whose natural clients it has (Setup::client_test), if the test part names any.
void find_client_test(Setup& setup);

}  // namespace fedstride
