#pragma once

#include "data/skew/feature_skew.hpp"

// To add a feature skew, define struct MySkew final : PartBase<FeatureSkewPart, MySkew> (data/skew/feature_skew.hpp) and register
// it with add_part<FeatureSkew>(MySkew{}).
