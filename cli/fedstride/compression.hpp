#pragma once

#include "client/compression/compressor.hpp"

// To add a compression, define struct MyCode final : PartBase<Way, MyCode<Way>>, a template for both directions, and register it
// with add_part<UpCompression>(MyCode<UpCompressor>{}) and add_part<DownCompression>(MyCode<DownCompressor>{}).
