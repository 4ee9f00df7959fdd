#pragma once

#include "client/compression/compressor.hpp"

// Your own compression: struct MyCode final : PartBase<Way, MyCode<Way>>, a template for both directions, registered by
// add_part<UpCompression>(MyCode<UpCompressor>{}) and add_part<DownCompression>(MyCode<DownCompressor>{}).
