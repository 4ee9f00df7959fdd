#pragma once

#include "data/datasets.hpp"

// A data set of one's own: a name and a function that makes it, made known by add_dataset({...}).
