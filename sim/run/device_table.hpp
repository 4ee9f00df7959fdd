#pragma once

#include <string>

#include "sim/time/work.hpp"

namespace fedstride {

/// How fast the clients of a run are, over at most 100,000 of them spread over all: percentiles of the seconds of an example, of a
/// round's work and transfers, and their distribution as bars of text.
std::string devices_text(const TimeTerms& terms);
/// The same percentiles, and the bytes of a client's transfers, as JSON.
std::string devices_json(const TimeTerms& terms);

}  // namespace fedstride
