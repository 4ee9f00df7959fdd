#pragma once

#include "data/skew/feature_skew.hpp"

// Your own feature skew: struct MySkew final : PartBase<FeatureSkewPart, MySkew> (data/skew/feature_skew.hpp), registered by
// add_part<FeatureSkew>(MySkew{}).
