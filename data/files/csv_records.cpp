#include "data/files/csv_records.hpp"

#include <iconv.h>

#include <algorithm>
#include <cctype>
#include <cstring>

#include "core/files.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// The separator of a table that begins with this text.
char separator_of(std::string_view text) {
  bool quoted = false, at_start = true, has_comma = false, has_tab = false, only_decimal_commas = true;
  text.remove_prefix(std::min(text.find_first_not_of(" \r\n"), text.size()));
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '"' && text.substr(i + 1).starts_with('"')) {
      ++i;
      continue;
    }
    if (c == '"' && (quoted || at_start)) quoted = !quoted;  // elsewhere it is a character, as in 3"
    if (quoted) continue;
    if (c == ';') return c;
    at_start = c == ',' || c == '\t' || (at_start && c == ' ');
    if (c == '\n' || c == '\r') break;
    has_tab = has_tab || c == '\t';
    if (c != ',') continue;
    has_comma = true;
    only_decimal_commas = only_decimal_commas && i > 0 && i + 1 < text.size() && is_digit(text[i - 1]) && is_digit(text[i + 1]);
  }
  return has_tab && (!has_comma || only_decimal_commas) ? '\t' : ',';
}

}  // namespace

CsvRecords::CsvRecords(const std::filesystem::path& path, Encoding encoding, bool refuses, std::string name)
    : file_(path), encoding_(encoding), refuses_(refuses), name_(std::move(name)), bytes_(std::size_t{1} << 18) {
  fill();
  const std::string_view all(reinterpret_cast<const char*>(bytes_.data()), filled_);
  const std::string_view text = without_byte_order_mark(all, this->name());
  at_ = all.size() - text.size();
  separator_ = separator_of(text);
  // The line "sep=;", which Excel reads and writes, names the separator.
  constexpr std::string_view kNamed = "sep=";
  if (!text.starts_with(kNamed) || text.size() < kNamed.size() + 2) return;
  const std::size_t end = kNamed.size() + 1;
  if (text[end] != '\n' && text[end] != '\r') return;
  separator_ = text[end - 1];
  at_ += end;
  end_line();
  if (!name_.empty()) next_line_ = 1;  // a table of a program, whose lines are counted from its header
}

bool CsvRecords::next(std::vector<std::string_view>& fields) {
  do {
    if (read_in_place(fields)) continue;
    if (!read_record()) return false;
    fields.clear();
    std::size_t begin = 0;
    for (const std::size_t end : ends_) {
      fields.push_back(trimmed(std::string_view(text_).substr(begin, end - begin)));
      begin = end;
    }
  } while (fields.size() == 1 && fields.front().empty());
  return true;
}

Error CsvRecords::wrong(const std::string& what) const {
  return failure(name() + ", line " + std::to_string(line_) + ": " + what);
}

bool CsvRecords::fill() {
  at_ = 0;
  filled_ = file_.read(bytes_);
  return filled_ > 0;
}

std::string_view CsvRecords::ahead(std::size_t bytes) {
  std::copy(bytes_.begin() + static_cast<std::ptrdiff_t>(at_), bytes_.begin() + static_cast<std::ptrdiff_t>(filled_),
            bytes_.begin());
  filled_ -= std::exchange(at_, 0);
  bytes_.resize(std::max(bytes, bytes_.size()));
  filled_ += file_.read(std::span(bytes_).subspan(filled_));
  const std::string_view all(reinterpret_cast<const char*>(bytes_.data()), filled_);
  return all.substr(0, all.rfind('\n') + 1);  // nothing if no line ends here
}

/// Appends the next `count` available bytes to the field.
void CsvRecords::add(std::size_t count) {
  text_.append(reinterpret_cast<const char*>(bytes_.data()) + at_, count);
  at_ += count;
  if (text_.size() > kMaxRecordBytes)
    throw wrong("more than " + std::to_string(kMaxRecordBytes) +
                " bytes, so it is not a table of numbers (or a quote is not closed)");
}

/// Skips a line ending; false if there is none here.
bool CsvRecords::end_line() {
  const int c = peek();
  if (c != '\n' && c != '\r') return false;
  ++at_;
  if (c == '\r' && peek() == '\n') ++at_;
  ++next_line_;
  return true;
}

void CsvRecords::read_quoted() {
  for (++at_;;) {
    const int c = peek();
    if (c == kEnd) throw wrong("field " + std::to_string(ends_.size() + 1) + " has a quote that is not closed");
    if (end_line()) {
      text_ += ' ';
    } else if (c == '"') {
      ++at_;
      if (peek() != '"') return;
      add(1);
    } else if (c == '\0') {
      throw failure(name() + " has a NUL byte, so it is not text");
    } else {
      add(1);
    }
  }
}

/// Reads the rest of a field, up to a separator or the end of the line.
void CsvRecords::read_plain() {
  while (peek() != kEnd) {
    const std::span<const std::uint8_t> left(bytes_.data() + at_, filled_ - at_);
    const auto end =
        std::ranges::find_if(left, [this](std::uint8_t c) { return c == separator_ || c == '\n' || c == '\r' || c == '\0'; });
    add(static_cast<std::size_t>(end - left.begin()));
    if (end == left.end()) continue;
    if (*end == '\0') throw failure(name() + " has a NUL byte, so it is not text");
    return;
  }
}

bool split_plain_line(std::string_view line, char separator, std::vector<std::string_view>& fields) {
  fields.clear();
  if (line.size() > CsvRecords::kMaxRecordBytes) return false;
  if (line.ends_with('\r')) line.remove_suffix(1);
  const char* field = line.data();
  const char* const last = field + line.size();
  for (const char* at = field;; ++at) {
    if (at == last || *at == separator) {
      const bool is_bare = at > field && !is_blank(*field) && !is_blank(at[-1]);
      fields.push_back(is_bare ? std::string_view(field, at) : trimmed(std::string_view(field, at)));
      if (at == last) break;
      field = at + 1;
    } else if (const auto byte = static_cast<unsigned char>(*at); byte >= 0x80 || byte == '"' || byte == '\r' || byte == '\0') {
      return false;
    }
  }
  return true;
}

/// Reads a record that lies in the buffer as it is. Returns false, and reads nothing, for others.
bool CsvRecords::read_in_place(std::vector<std::string_view>& fields) {
  const char* const begin = reinterpret_cast<const char*>(bytes_.data()) + at_;
  const auto* const end = static_cast<const char*>(std::memchr(begin, '\n', filled_ - at_));
  if (end == nullptr || !split_plain_line({begin, end}, separator_, fields)) return false;
  is_decoded_ = true;
  line_ = next_line_++;
  at_ = static_cast<std::size_t>(end - reinterpret_cast<const char*>(bytes_.data())) + 1;
  return true;
}

bool CsvRecords::read_record() {
  text_.clear();
  ends_.clear();
  is_decoded_ = true;
  line_ = next_line_;
  if (peek() == kEnd) return false;
  for (;;) {
    while (peek() == ' ') ++at_;
    const bool is_quoted = peek() == '"';
    if (is_quoted) read_quoted();
    const std::size_t closed = text_.size();
    read_plain();
    if (is_quoted && !trimmed(std::string_view(text_).substr(closed)).empty())
      throw wrong("field " + std::to_string(ends_.size() + 1) +
                  " has text after its closing quote; a quote within quotes must be doubled");
    ends_.push_back(text_.size());
    if (peek() == kEnd || end_line()) break;
    ++at_;
  }
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (!std::ranges::all_of(text_, is_ascii)) decode();
  return true;
}

// Converts the record to UTF-8, or checks that it is UTF-8 already.
void CsvRecords::decode() {
  if (encoding_ == Encoding::utf_8) {
    for (std::size_t at = 0; at < text_.size();) {
      const bool is_ascii = static_cast<unsigned char>(text_[at]) < 0x80;
      const std::size_t bytes = is_ascii ? 1 : character_bytes(std::string_view(text_).substr(at));
      is_decoded_ = is_decoded_ && bytes > 0;
      if (bytes == 0 && refuses_)
        throw wrong(
            "its text is not UTF-8 but probably Windows-1252, as of a spreadsheet; use --encoding windows-1252 or latin1, "
            "or save the table as UTF-8");
      at += std::max<std::size_t>(1, bytes);
    }
    return;
  }
  const iconv_t converter = ::iconv_open("UTF-8", encoding_ == Encoding::latin1 ? "ISO-8859-1" : "WINDOWS-1252");
  if (converter == reinterpret_cast<iconv_t>(-1)) throw failure("the C library does not know this encoding");
  std::string text;
  std::size_t begin = 0;
  for (std::size_t& end : ends_) {
    std::string field(3 * (end - begin), '\0');  // a byte becomes at most 3
    char* from = text_.data() + begin;
    char* to = field.data();
    std::size_t left = end - begin, room = field.size();
    const bool is_bad = ::iconv(converter, &from, &left, &to, &room) == static_cast<std::size_t>(-1);
    text.append(field.data(), field.size() - room);
    begin = std::exchange(end, text.size());
    is_decoded_ = is_decoded_ && !is_bad;
    if (!is_bad || !refuses_) continue;
    ::iconv_close(converter);
    throw wrong("field " + std::to_string(&end - ends_.data() + 1) + " has a byte that " + std::string(choice_name(encoding_)) +
                " does not have");
  }
  ::iconv_close(converter);
  text_ = std::move(text);
}

}  // namespace fedstride
