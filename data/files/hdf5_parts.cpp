#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "core/text.hpp"
#include "data/files/hdf5.hpp"
#include "data/files/readers.hpp"
#include "data/files/texts.hpp"

namespace fedstride {
namespace {

/// Builds a part of a data set from the records of tell_hdf5. A corrupt file may have affected the sending process, so sizes are
/// checked against each other.
class Hdf5Records {
 public:
  Hdf5Records(const std::filesystem::path& path, std::uint64_t most, const ReadSettings& settings, Assembly& into, bool as_test)
      : path_(path),
        most_(most),
        left_(most),
        settings_(settings),
        into_(into),
        as_test_(as_test),
        part_(as_test ? into.test : into.train),
        shared_(into.shared) {}

  void take(RecordReader& from) {
    std::size_t before = part_.examples();
    while (const auto kind = from.next()) {
      switch (*kind) {
        case kHdf5Examples:
          read_array(from);
          part_.add_examples(array_);
          break;
        case kHdf5Answers:
          read_array(from);
          part_.add_answers(array_);
          break;
        case kHdf5Words:
          read_texts(from);
          part_.add_words(texts_key_, texts_);
          break;
        case kHdf5Snippets:
          read_texts(from);
          add_snippets(texts_, part_);
          break;
        case kHdf5Sentences:
          read_texts(from);
          if (!sentences_) sentences_.emplace(shared_.words);
          sentences_->add(texts_, part_);
          break;
        case kHdf5Client:
          if (!settings_.client_column.empty())
            throw usage_error("client-column (or user-column) is '" + settings_.client_column + "'; '" + path_.string() +
                              "' has a group for each client, named after it: leave the setting out");
          part_.add_client(from.text(), part_.examples() - before);
          before = part_.examples();
          break;
        case kHdf5Counted:
          read_texts(from);
          for (const std::string& text : texts_) counts_.add(text);
          break;
        case kHdf5AllCounted:
          if (shared_.words.empty()) shared_.words = chosen_words();
          left_ = most_;
          break;
        case kHdf5Plain: {
          read_array(from);
          Array& plain = plain_[array_.key];
          plain = std::exchange(array_, {});
          break;
        }
        case kHdf5PlainTexts:
          read_texts(from);
          plain_.insert_or_assign(texts_key_, array_of_texts());
          break;
        case kHdf5Other:
          others_.push_back(one_line(from.text()));
          break;
        default:
          throw RecordReader::Broken{};
      }
    }
    if (!plain_.empty())
      take_arrays(std::move(plain_), "'" + path_.string() + "'", settings_, into_, as_test_, std::move(others_));
  }

 private:
  void read_array(RecordReader& from) {
    array_.key = from.text();
    array_.kind = static_cast<char>(from.number());
    array_.item = from.number();
    const bool known = array_.kind == 'f' ? array_.item == 4 || array_.item == 8
                       : array_.kind == 'b'
                           ? array_.item == 1
                           : (array_.kind == 'i' || array_.kind == 'u') && array_.item <= 8 && std::has_single_bit(array_.item);
    const std::uint64_t rank = from.number();
    if (!known || rank < 1 || rank > kMaxDimensions) throw RecordReader::Broken{};
    array_.shape.resize(rank);
    std::uint64_t bytes = array_.item;
    for (std::size_t& size : array_.shape) {
      size = from.number();
      if (__builtin_mul_overflow(bytes, size, &bytes)) throw RecordReader::Broken{};
    }
    spend(bytes);
    from.bytes(array_.bytes.edit());
    if (array_.bytes.size() != bytes) throw RecordReader::Broken{};
  }

  void read_texts(RecordReader& from) {
    texts_key_ = from.text();
    texts_.clear();
    for (std::uint64_t left = from.number(); left > 0; --left) {
      texts_.push_back(from.text());
      spend(texts_.back().size());
    }
  }

  Array array_of_texts() const {
    std::size_t longest = 1;
    for (const std::string& text : texts_) longest = std::max(longest, text.size());
    Array array{.key = texts_key_, .kind = 'S', .item = longest, .shape = {texts_.size()}, .bytes = {}};
    std::vector<std::uint8_t>& bytes = array.bytes.edit();
    bytes.resize(longest * texts_.size());
    for (std::size_t i = 0; i < texts_.size(); ++i)
      std::ranges::copy(texts_[i], bytes.begin() + static_cast<std::ptrdiff_t>(i * longest));
    return array;
  }

  /// Each process limits its own share; this limits their total.
  void spend(std::uint64_t bytes) {
    if (bytes > left_)
      throw failure("'" + path_.string() + "': all arrays together have more than the " + std::to_string(most_) +
                    " bytes a file of this size may hold");
    left_ -= bytes;
  }

  std::vector<std::string> chosen_words() const {
    if (shared_.rows_are_protected)
      throw failure("'" + path_.string() +
                    "': under dp the vocabulary must not be chosen from the rows; give its words with --words FILE");
    return counts_.most_frequent(kMaxFrequentWords);
  }

  static constexpr std::uint64_t kMaxDimensions = 4;

  const std::filesystem::path& path_;
  std::uint64_t most_;
  std::uint64_t left_;
  const ReadSettings& settings_;
  Assembly& into_;
  bool as_test_;
  PartBuilder& part_;
  SharedNames& shared_;
  Array array_;
  std::string texts_key_;
  std::vector<std::string> texts_;
  std::map<std::string, Array> plain_;
  std::vector<std::string> others_;
  WordCounts counts_;
  std::optional<Sentences> sentences_;
};

}  // namespace

void read_hdf5(const std::filesystem::path& path, const ReadSettings& settings, Assembly& into, bool as_test, int processes) {
  // In the worst case (the smallest possible clients), reading takes about 0.05 s per megabyte; the limit allows 40 times that.
  constexpr std::uint64_t kLeastSeconds = 10;
  constexpr std::uint64_t kSecondsAMegabyte = 2;
  constexpr std::uint64_t kSmall = std::uint64_t{4} << 20;
  constexpr unsigned kMostProcesses = 8;
  const std::uint64_t most = most_bytes_of_hdf5(path);
  const std::uint64_t size = std::filesystem::file_size(path);
  if (processes == 0)
    processes = size < kSmall ? 1 : static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, kMostProcesses));
  const ApartLimits limits{.most = most, .seconds = kLeastSeconds + kSecondsAMegabyte * (size >> 20), .processes = processes};
  read_apart(
      "'" + path.string() + "'", limits, [&](RecordWriter& out) { tell_hdf5(path, settings, as_test, out); },
      [&](RecordReader& from) { Hdf5Records(path, most, settings, into, as_test).take(from); });
}

}  // namespace fedstride
