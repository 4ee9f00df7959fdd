#pragma once

#include "sim/run/run.hpp"

// Runs federations from code: run(settings, observer) carries one out, and resume(folder, ...) resumes it. Both throw Error.
