#pragma once

#include "data/datasets.hpp"

// Your own data set: a name and a function that creates it, registered by add_dataset({...}).
