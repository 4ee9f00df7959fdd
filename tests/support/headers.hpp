// What most units of tests include, read once (tools/cmake/Folder.cmake).
#include <doctest/doctest.h>

#include "sim/settings/configuration.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/vectors.hpp"
#include "tools/cmake/headers.hpp"
