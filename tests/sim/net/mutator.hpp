#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>

#include "tests/sim/net/golden_frames.hpp"

namespace fedstride::test {

/// Damages frames, repeatably.
class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  std::size_t below(std::size_t end) { return static_cast<std::size_t>(random_() % end); }

  /// One of the golden frames, or `likely`.
  std::string some_frame(const std::string& likely) {
    if (!likely.empty() && below(2) == 0) return likely;
    return test::golden_frame(static_cast<FrameKind>(1 + below(kLastFrameKind)));
  }

  /// Random damage; a third of the cases have a correct digest.
  std::string mutated(std::string frame) {
    switch (below(9)) {
      case 0:
        return noise(below(300));
      case 1:
        flip(frame, 0);
        return frame;
      case 2:
        frame.resize(below(frame.size()));
        return frame;
      case 3: {  // another length
        const std::uint64_t length = random_() >> below(64);
        for (std::size_t i = 0; i < 8; ++i) frame[8 + i] = static_cast<char>(length >> (8 * i));
        return frame;
      }
      case 4: {  // any kind in front of any body
        const auto kind = static_cast<FrameKind>(1 + below(kLastFrameKind));
        return *make_frame(kind, frame);
      }
      case 5:
        frame.insert(kHeaderBytes + below(frame.size() - kHeaderBytes + 1), noise(1 + below(64)));
        return remade(frame);
      case 6:
        frame.erase(kHeaderBytes + below(frame.size() - kHeaderBytes), 1 + below(64));
        return remade(frame);
      case 7:
        flip(frame, kHeaderBytes);
        return remade(frame);
      default:
        return frame + frame;
    }
  }

 private:
  std::string noise(std::size_t size) {
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random_());
    return bytes;
  }
  void flip(std::string& frame, std::size_t from) {
    for (std::size_t flips = 1 + below(8); flips > 0; --flips) {
      // Half of them in the first bytes, where a large frame has its fields.
      const std::size_t end = below(2) == 0 ? std::min<std::size_t>(frame.size(), from + 128) : frame.size();
      char& byte = frame[from + below(end - from)];
      byte = static_cast<char>(byte ^ (1 << below(8)));
    }
  }
  static std::string remade(const std::string& frame) {
    return *make_frame(static_cast<FrameKind>(static_cast<unsigned char>(frame[6])), frame);
  }

  std::mt19937_64 random_;
};

}  // namespace fedstride::test
