#pragma once

#include "run/run.hpp"

// A federation from code: resolve(settings) makes a Configuration, run(configuration, settings, observer) carries it out,
// resume(folder, ...) goes on with it. They throw Error.
