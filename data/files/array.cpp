#include "data/files/array.hpp"

#include <algorithm>
#include <bit>
#include <boost/locale/utf.hpp>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>

#include "core/error.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are read as they lie in the file");

constexpr std::size_t kMaxDimensions = 8;
constexpr std::size_t kMaxHeaderBytes = 1 << 16;
constexpr std::size_t kMaxTextBytes = 4096;  // of one string in an array of strings

/// The value of a key in the header's dictionary: up to the comma or brace that ends it; of a tuple, the text in parentheses.
std::optional<std::string_view> header_value(std::string_view header, std::string_view key) {
  const std::string quoted = "'" + std::string(key) + "'";
  const std::size_t at = header.find(quoted);
  if (at == header.npos) return std::nullopt;
  std::string_view rest = trimmed(header.substr(at + quoted.size()));
  if (!rest.starts_with(':')) return std::nullopt;
  rest = trimmed(rest.substr(1));
  if (rest.starts_with('(')) {
    const std::size_t end = rest.find(')');
    if (end == rest.npos) return std::nullopt;
    return rest.substr(1, end - 1);
  }
  return trimmed(rest.substr(0, rest.find_first_of(",}")));
}

class HeaderParser {
 public:
  HeaderParser(std::string_view header, const std::string& where) : header_(header), where_(where) {}

  NpyHeader parse() {
    NpyHeader result;
    type(result);
    const auto order = header_value(header_, "fortran_order");
    if (order != "True" && order != "False") throw wrong("its header lacks fortran_order");
    result.fortran = order == "True";
    const auto shape = header_value(header_, "shape");
    if (!shape) throw wrong("its header has no shape");
    for (std::string_view part : split(*shape, ',')) {
      part = trimmed(part);
      if (part.empty()) continue;
      std::uint64_t size = 0;
      if (!parse_number(part, size)) throw wrong("its header's shape is (" + one_line(std::string(shape->substr(0, 60))) + ")");
      result.array.shape.push_back(size);
    }
    if (result.array.shape.size() > kMaxDimensions)
      throw wrong("it has " + std::to_string(result.array.shape.size()) + " dimensions; at most " +
                  std::to_string(kMaxDimensions) + " are read");
    return result;
  }

 private:
  Error wrong(const std::string& what) const {
    return failure(where_ + ": " + what + "; valid: an array of numbers or strings as numpy.savez writes it");
  }

  void type(NpyHeader& result) const {
    const auto descr = header_value(header_, "descr");
    if (!descr || descr->size() < 4 || descr->front() != '\'' || descr->back() != '\'')
      throw wrong("its header has no simple type (is it an array of records?)");
    const std::string_view text = descr->substr(1, descr->size() - 2);
    const char kind = text[1];
    if (kind == 'O' || text.front() == 'O')
      throw wrong("its elements are Python objects, whose pickles can run code and are not read");
    std::uint64_t item = 0;
    const bool known = parse_number(text.substr(2), item) && std::string_view("<>|=").find(text.front()) != text.npos;
    const auto is_one_of = [&](std::initializer_list<std::uint64_t> sizes) {
      return std::ranges::find(sizes, item) != sizes.end();
    };
    const bool good = known && ((kind == 'b' && item == 1) || ((kind == 'i' || kind == 'u') && is_one_of({1, 2, 4, 8})) ||
                                (kind == 'f' && is_one_of({2, 4, 8})) ||
                                ((kind == 'U' || kind == 'S') && item <= kMaxTextBytes / (kind == 'U' ? 4 : 1)));
    if (!good)
      throw wrong("its type is '" + one_line(std::string(text.substr(0, 40))) +
                  "'; supported: booleans, integers, float16 to float64 and short strings");
    result.array.kind = kind;
    result.array.item = kind == 'U' ? 4 * item : item;
    result.big_endian = text.front() == '>';
  }

  std::string_view header_;
  const std::string& where_;
};

void swap_bytes(Array& array) {
  const std::size_t width = array.kind == 'U' ? 4 : array.kind == 'S' ? 1 : array.item;
  for (std::size_t at = 0; at + width <= array.bytes.size(); at += width)
    std::reverse(array.bytes.begin() + static_cast<std::ptrdiff_t>(at),
                 array.bytes.begin() + static_cast<std::ptrdiff_t>(at + width));
}

void last_index_fastest(Array& array) {
  const std::size_t dimensions = array.shape.size();
  if (dimensions < 2 || array.item == 0) return;
  std::vector<std::size_t> stride(dimensions, array.item);  // in bytes and in the file's order
  for (std::size_t d = 1; d < dimensions; ++d) stride[d] = stride[d - 1] * array.shape[d - 1];
  std::vector<std::uint8_t> out(array.bytes.size());
  std::vector<std::size_t> index(dimensions, 0);
  std::size_t from = 0;
  for (std::size_t to = 0; to < out.size(); to += array.item) {
    std::copy_n(array.bytes.data() + from, array.item, out.data() + to);
    for (std::size_t d = dimensions; d-- > 0;) {
      from += stride[d];
      if (++index[d] < array.shape[d]) break;
      from -= stride[d] * array.shape[d];
      index[d] = 0;
    }
  }
  array.bytes = std::move(out);
}

}  // namespace

std::size_t Array::row_size() const {
  std::size_t size = 1;
  for (std::size_t d = 1; d < shape.size(); ++d) size *= shape[d];
  return size;
}

double Array::number(std::size_t index) const {
  double result = 0;
  for_each_number(*this, index, index + 1, [&result](auto value) { result = static_cast<double>(value); });
  return result;
}

std::int64_t Array::whole(std::size_t index) const {
  std::int64_t result = 0;
  for_each_number(*this, index, index + 1, [&result](auto value) {
    using Value = decltype(value);
    if constexpr (std::is_same_v<Value, std::uint64_t>)
      result = static_cast<std::int64_t>(std::min<std::uint64_t>(value, std::numeric_limits<std::int64_t>::max()));
    else
      result = static_cast<std::int64_t>(value);  // NOLINT(bugprone-signed-char-misuse): a signed byte is a number here
  });
  return result;
}

std::string Array::text(std::size_t index) const {
  std::string result;
  const std::uint8_t* from = bytes.data() + index * item;
  if (kind == 'S') {
    result.assign(reinterpret_cast<const char*>(from), item);
  } else {
    for (std::size_t at = 0; at + 4 <= item; at += 4) {
      const auto code = detail::loaded<std::uint32_t>(from + at);
      if (code == 0) break;
      using Utf8 = boost::locale::utf::utf_traits<char>;
      Utf8::encode(code > 0x10ffff ? 0xfffd : code, std::back_inserter(result));
    }
  }
  return result.substr(0, result.find('\0'));
}

std::string Array::type_text() const {
  std::string type = kind == 'f' ? "float" : kind == 'i' ? "int" : kind == 'u' ? "uint" : kind == 'b' ? "bool" : "text";
  if (kind == 'f' || kind == 'i' || kind == 'u') type += std::to_string(8 * item);
  type += " of shape (";
  for (std::size_t d = 0; d < shape.size(); ++d) type += (d == 0 ? "" : ", ") + std::to_string(shape[d]);
  return type + ")";
}

NpyHeader read_npy_header(std::string_view beginning, const std::string& where, std::size_t& size) {
  const auto byte = [&](std::size_t at) { return static_cast<std::size_t>(static_cast<unsigned char>(beginning[at])); };
  size = 12;
  if (beginning.size() < size) return {};
  if (!beginning.starts_with("\x93NUMPY") || byte(6) < 1 || byte(6) > 3)
    throw failure(where + " is not a NumPy array (.npy of version 1 to 3)");
  const bool is_short = byte(6) == 1;
  const std::size_t before = is_short ? 10 : 12;
  const std::size_t length = byte(8) | byte(9) << 8 | (is_short ? 0 : byte(10) << 16 | byte(11) << 24);
  if (length > kMaxHeaderBytes)
    throw failure(where + " has a header of " + std::to_string(length) + " bytes; NumPy headers have at most " +
                  std::to_string(kMaxHeaderBytes));
  size = std::max<std::size_t>(12, before + length);
  if (beginning.size() < size) return {};
  NpyHeader header = HeaderParser(beginning.substr(before, length), where).parse();
  header.begin = before + length;
  return header;
}

void to_native(Array& array, bool big_endian, bool fortran) {
  if (big_endian) swap_bytes(array);
  if (fortran) last_index_fastest(array);
}

}  // namespace fedstride
