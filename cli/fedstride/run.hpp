#pragma once

#include "sim/run/run.hpp"

// A federation from code: resolve(settings) makes a Configuration, run(configuration, settings, observer) carries it out,
// resume(folder, ...) resumes it. They throw Error.
