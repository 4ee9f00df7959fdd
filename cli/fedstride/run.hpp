#pragma once

#include "sim/run/run.hpp"

// A federation from code: run(settings, observer) carries it out, resume(folder, ...) resumes it. They throw Error.
