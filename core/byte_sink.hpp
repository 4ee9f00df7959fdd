#pragma once

#include <array>
#include <ostream>
#include <streambuf>
#include <string_view>

#include "core/function_ref.hpp"

namespace fedstride {

/// A stream that passes its bytes to a callback; used by in_pieces.
class ByteSink : private std::streambuf, public std::ostream {
 public:
  explicit ByteSink(function_ref<void(std::string_view)> take) : std::ostream(this), take_(take) {
    setp(buffer_.data(), buffer_.data() + buffer_.size());
  }

 private:
  using Buffer = std::streambuf;
  Buffer::int_type overflow(Buffer::int_type letter) override {
    sync();
    if (letter != Buffer::traits_type::eof()) sputc(Buffer::traits_type::to_char_type(letter));
    return Buffer::traits_type::not_eof(letter);
  }
  std::streamsize xsputn(const char* bytes, std::streamsize size) override {
    if (size <= epptr() - pptr()) return Buffer::xsputn(bytes, size);
    sync();
    take_({bytes, static_cast<std::size_t>(size)});
    return size;
  }
  int sync() override {
    if (pptr() > pbase()) take_({pbase(), static_cast<std::size_t>(pptr() - pbase())});
    setp(buffer_.data(), buffer_.data() + buffer_.size());
    return 0;
  }

  function_ref<void(std::string_view)> take_;
  std::array<char, 4096> buffer_;
};

/// Calls `take` with each piece of what `write` writes, so model-sized data can be hashed, counted or written to a file without a
/// second copy in memory. A piece is valid until `take` returns.
inline void in_pieces(function_ref<void(std::ostream&)> write, function_ref<void(std::string_view piece)> take) {
  ByteSink sink(take);
  write(sink);
  sink.flush();
}

}  // namespace fedstride
