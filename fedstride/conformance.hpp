#pragma once

#include "optim/conformance.hpp"
#include "partitions/conformance.hpp"
#include "server/conformance.hpp"

// Tests of parts of one's own: complaints(part) is empty if the part keeps what its family promises.
