#pragma once

#include "data/datasets.hpp"

// Your own data set: a name and a function that makes it, registered by add_dataset({...}).
