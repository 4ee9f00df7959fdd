#pragma once

#include "data/datasets.hpp"

// To add a data set, register a name and a function that creates it with add_dataset({...}).
