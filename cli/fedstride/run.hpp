#pragma once

#include "sim/run/run.hpp"

// A federation from code: run(settings, observer) carries it out, and resume(folder, ...) resumes it. Both throw Error.
