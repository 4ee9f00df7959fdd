#pragma once

#include "net/log.hpp"

namespace fedstride {

/// Lines about the network on standard error, each with the time of day and without control characters; at most a few
/// dozen a second, the rest counted: strangers can cause as many as they like. Quiet: none.
NetworkLog network_log(bool quiet);

}  // namespace fedstride
