#define H5_USE_110_API  // in this API, a link's information includes its object's address
#include "data/files/hdf5.hpp"

#include <hdf5.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <exception>

#include "core/files.hpp"
#include "core/text.hpp"
#include "data/files/array.hpp"
#include "data/files/readers.hpp"
#include "data/input_file.hpp"

namespace fedstride {
namespace {

constexpr int kMaxRank = 4;
constexpr std::size_t kClientsATurn = 64;

/// An open object of the library, closed on destruction.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  operator hid_t() const { return id_; }  // NOLINT: a Handle stands for its id
  bool good() const { return id_ >= 0; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

/// Limits and facts that apply to one file.
struct Budget {
  std::uint64_t left = 0;     ///< bytes that may still be requested
  bool offsets_tell = false;  ///< an array that has an offset is known to be stored in this file
};

void* allocate_text(std::size_t size, void* info) {
  auto& budget = *static_cast<Budget*>(info);
  if (size > budget.left) return nullptr;
  budget.left -= size;
  return std::malloc(size);
}
void free_text(void* memory, void*) { std::free(memory); }

hid_t open_file(const std::filesystem::path& path) {
  H5Eset_auto(H5E_DEFAULT, nullptr, nullptr);
  H5PLset_loading_state(0);  // loads no plugin that a file requests
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_file_locking(access, false, true);
  H5Pset_sieve_buf_size(access, 1);  // the library allocates and clears such a buffer for every array
  // A client's data are never read twice, so a cache that grows with the file only slows reading (by a factor of 1.2).
  H5AC_cache_config_t cache;
  cache.version = H5AC__CURR_CACHE_CONFIG_VERSION;
  if (H5Pget_mdc_config(access, &cache) >= 0) {
    cache.set_initial_size = true;
    cache.initial_size = cache.min_size = cache.max_size = std::size_t{1} << 20;
    cache.incr_mode = H5C_incr__off;
    cache.decr_mode = H5C_decr__off;
    cache.flash_incr_mode = H5C_flash_incr__off;
    H5Pset_mdc_config(access, &cache);
  }
  return H5Fopen(path.c_str(), H5F_ACC_RDONLY, access);
}

/// Opens the target of a hard link in `of` without another name lookup; -1 unless it is of this type.
hid_t open_link(hid_t of, const H5L_info_t& info, H5I_type_t type) {
  const hid_t object = H5Oopen_by_addr(of, info.u.address);
  if (object < 0 || H5Iget_type(object) == type) return object;
  H5Oclose(object);
  return -1;
}

/// One array in the file: a key of a client, or a plain array.
class Hdf5Array {
 public:
  Hdf5Array(hid_t group, const std::string& key, const std::string& client, Budget& budget)
      : client_(client), key_(key), data_(opened(group, key), H5Oclose), type_(H5Dget_type(data_), H5Tclose), budget_(budget) {
    const Handle space(H5Dget_space(data_), H5Sclose);
    if (!data_.good() || !type_.good() || !space.good()) throw wrong("it cannot be read");
    if (!budget.offsets_tell || H5Dget_offset(data_) == HADDR_UNDEF) must_be_here();
    std::array<hsize_t, kMaxRank> sizes{};
    const int rank = H5Sget_simple_extent_ndims(space);
    if (rank < 0 || rank > kMaxRank)
      throw wrong("it has " + std::to_string(rank) + " dimensions; valid: up to " + std::to_string(kMaxRank) +
                  ", the first of which counts the examples");
    H5Sget_simple_extent_dims(space, sizes.data(), nullptr);
    if (rank == 0) sizes[0] = 1;  // a single number counts as a list of one
    shape_.assign(sizes.begin(), sizes.begin() + std::max(rank, 1));
    std::uint64_t bytes = std::max<std::size_t>(1, H5Tget_size(type_));
    for (const std::size_t size : shape_)
      if (__builtin_mul_overflow(bytes, size, &bytes)) bytes = budget_.left + 1;
    if (bytes > budget_.left)
      throw wrong("it claims more than the " + std::to_string(budget_.left) + " bytes a file of this size may hold");
    if (bytes > 0 && H5Dget_storage_size(data_) == 0) throw wrong("it claims " + std::to_string(bytes) + " bytes but has none");
    budget_.left -= bytes;
  }

  std::size_t rows() const { return shape_.front(); }
  bool is_text() const { return H5Tget_class(type_) == H5T_STRING; }

  void read_numbers(Array& array) const {
    array.key = key_;
    array.shape = shape_;
    const std::size_t size = H5Tget_size(type_);
    hid_t memory = -1;
    switch (H5Tget_class(type_)) {
      case H5T_FLOAT:
        array.kind = 'f';
        array.item = size <= sizeof(float) ? sizeof(float) : sizeof(double);
        memory = array.item == sizeof(float) ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
        break;
      case H5T_INTEGER:
        array.kind = H5Tget_sign(type_) == H5T_SGN_NONE ? 'u' : 'i';
        array.item = std::min<std::size_t>(8, std::bit_ceil(size));
        memory = whole_type(array.kind == 'u', array.item);
        break;
      case H5T_ENUM:  // h5py's booleans
        if (size == 1) {
          array.kind = 'b';
          array.item = 1;
          memory = type_;
        }
        break;
      default:
        break;
    }
    if (memory < 0)
      throw wrong(is_text() ? "its elements are strings; valid: integers, floating-point numbers and booleans"
                            : "its elements are neither numbers nor strings; valid: integers, floating-point numbers, "
                              "booleans, and strings for answers");
    array.bytes.resize(array.rows() * array.row_size() * array.item);
    if (!array.bytes.empty() && H5Dread(data_, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, array.bytes.data()) < 0)
      throw wrong("its numbers cannot be read: the file is damaged or uses an unsupported compression");
  }

  std::vector<std::string> texts() const {
    if (!is_text() || shape_.size() != 1) throw wrong("it must be a list of strings");
    std::vector<std::string> texts(rows());
    if (texts.empty()) return texts;
    if (H5Tis_variable_str(type_) > 0) {
      const Handle transfer(H5Pcreate(H5P_DATASET_XFER), H5Pclose);
      H5Pset_vlen_mem_manager(transfer, allocate_text, &budget_, free_text, nullptr);
      std::vector<char*> pointers(texts.size(), nullptr);
      const bool good = H5Dread(data_, type_, H5S_ALL, H5S_ALL, transfer, pointers.data()) >= 0;
      for (std::size_t i = 0; i < texts.size(); ++i) {
        if (good && pointers[i] != nullptr) texts[i] = pointers[i];
        std::free(pointers[i]);
      }
      if (!good)
        throw wrong("its strings cannot be read: the file is damaged, or they are longer than a file of this size may hold");
      return texts;
    }
    const std::size_t size = H5Tget_size(type_);
    std::vector<char> bytes(size * texts.size());
    if (H5Dread(data_, type_, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()) < 0)
      throw wrong("its strings cannot be read: the file is damaged");
    for (std::size_t i = 0; i < texts.size(); ++i) {
      texts[i].assign(bytes.data() + i * size, size);
      texts[i] = texts[i].substr(0, texts[i].find('\0'));
    }
    return texts;
  }

 private:
  Error wrong(const std::string& what) const { return failure(client_ + ", key '" + key_ + "': " + what); }

  /// If the file has this machine's byte order, native types need no conversion, for which the library clears a megabyte per
  /// array.
  static hid_t whole_type(bool is_unsigned, std::size_t item) {
    switch (item) {
      case 1:
        return is_unsigned ? H5T_NATIVE_UINT8 : H5T_NATIVE_INT8;
      case 2:
        return is_unsigned ? H5T_NATIVE_UINT16 : H5T_NATIVE_INT16;
      case 4:
        return is_unsigned ? H5T_NATIVE_UINT32 : H5T_NATIVE_INT32;
      default:
        return is_unsigned ? H5T_NATIVE_UINT64 : H5T_NATIVE_INT64;
    }
  }

  /// Refuses an array whose numbers are in another file. This is slow, since it creates the array's property list.
  void must_be_here() const {
    const Handle made(H5Dget_create_plist(data_), H5Pclose);
    if (!made.good()) throw wrong("it cannot be read");
    if (H5Pget_layout(made) == H5D_VIRTUAL || H5Pget_external_count(made) != 0)
      throw wrong("its numbers are in another file; they must be in this one");
  }

  hid_t opened(hid_t group, const std::string& key) const {
    H5L_info_t info;
    const bool known = H5Lget_info(group, key.c_str(), &info, H5P_DEFAULT) >= 0;
    if (!known && H5Lexists(group, key.c_str(), H5P_DEFAULT) <= 0) throw failure(client_ + " has no key '" + key + "'");
    if (!known || info.type != H5L_TYPE_HARD) throw wrong("it is a link; arrays must be in the file itself");
    return open_link(group, info, H5I_DATASET);
  }

  const std::string& client_;
  const std::string& key_;
  Handle data_;
  Handle type_;
  Budget& budget_;
  std::vector<std::size_t> shape_;
};

/// The keys read from a client's group.
struct Keys {
  std::string examples;
  std::string answers;  ///< empty if the labels are the examples' next tokens
};

class Hdf5Reader {
 public:
  Hdf5Reader(const std::filesystem::path& path, const ReadSettings& settings, bool as_test, RecordWriter& out)
      : name_("'" + path.string() + "'"),
        settings_(settings),
        as_test_(as_test),
        out_(out),
        file_(open_file(path), H5Fclose),
        most_(most_bytes_of_hdf5(path)) {
    if (!file_.good()) throw failure(name_ + " cannot be read as an HDF5 file: it is damaged or truncated");
    const Handle made(H5Fget_create_plist(file_), H5Pclose);
    hsize_t before_the_file = 0;
    budget_.offsets_tell = made.good() && H5Pget_userblock(made, &before_the_file) >= 0 && before_the_file == 0;
    budget_.left = most_;
  }

  void read() {
    if (H5Lexists(file_, "examples", H5P_DEFAULT) <= 0) return read_plain();
    const Handle examples(H5Gopen(file_, "examples", H5P_DEFAULT), H5Gclose);
    if (!examples.good())
      throw failure(name_ + ": 'examples' is not a group; valid: the TensorFlow Federated layout examples/CLIENT/KEY");
    for_each_client(examples, &Hdf5Reader::count_or_add);
    if (keys_.examples.empty()) throw failure(name_ + ": 'examples' has no clients");
    if (!counts_words()) return;
    if (out_.process() == 0) out_.begin(kHdf5AllCounted);
    budget_.left = most_;
    for_each_client(examples, &Hdf5Reader::add_client);
  }

 private:
  /// Reads arrays that belong to no client, with the names they would have in a NumPy archive. One process sends them all.
  void read_plain() {
    if (mine() != 0) return;
    const std::vector<std::string> wanted = npz_keys(settings_);
    bool any = false;
    std::string names;
    for (const std::string& key : names_of_arrays()) {
      names += (names.empty() ? "" : ", ") + one_line(key);
      if (std::ranges::find(wanted, key) == wanted.end()) {
        out_.begin(kHdf5Other);
        out_.text(key);
        continue;
      }
      any = true;
      const Hdf5Array array(file_, key, name_, budget_);
      if (array.is_text()) {
        send(kHdf5PlainTexts, key, array.texts());
        continue;
      }
      array.read_numbers(numbers_);
      send(kHdf5Plain, numbers_);
    }
    if (!any)
      throw failure(
          name_ + " has no group 'examples' and no array 'x'" + (names.empty() ? "" : ", but " + names) +
          "; valid: arrays as in a NumPy archive, such as x and y, or the names that --inputs and --label specify; or the "
          "TensorFlow Federated layout examples/CLIENT/KEY");
  }

  std::vector<std::string> names_of_arrays() {
    constexpr std::size_t kMaxArrays = 1000;
    std::vector<std::string> names;
    H5Literate(
        file_, H5_INDEX_NAME, H5_ITER_INC, nullptr,
        [](hid_t, const char* name, const H5L_info_t*, void* data) -> herr_t {
          auto& all = *static_cast<std::vector<std::string>*>(data);
          all.emplace_back(name);
          return all.size() < kMaxArrays ? 0 : 1;
        },
        &names);
    return names;
  }

  using Use = void (Hdf5Reader::*)(hid_t group, const std::string& client);

  // Exceptions must not pass through the library, so they are kept in `failed`.
  struct Visit {
    Hdf5Reader* reader;
    Use use;
    std::size_t seen = 0;
    std::exception_ptr failed = nullptr;
  };

  /// Deals the clients to the processes in groups of kClientsATurn; all processes pass on equally often.
  void for_each_client(hid_t examples, Use use) {
    Visit visit{this, use};
    const herr_t result = H5Literate(
        examples, H5_INDEX_NAME, H5_ITER_INC, nullptr,
        [](hid_t group, const char* name, const H5L_info_t* info, void* data) -> herr_t {
          auto& at = *static_cast<Visit*>(data);
          try {
            at.reader->visit(group, name, *info, at.use, at.seen++);
            return 0;
          } catch (...) {
            at.failed = std::current_exception();
            return -1;
          }
        },
        &visit);
    if (visit.failed) std::rethrow_exception(visit.failed);
    if (result < 0) throw failure(name_ + ": its list of clients cannot be read: it is damaged or truncated");
    const std::size_t last_round = visit.seen % (kClientsATurn * static_cast<std::size_t>(out_.processes()));
    if (last_round != 0 && last_round < kClientsATurn * (mine() + 1)) out_.pass_on();
  }

  std::size_t mine() const { return static_cast<std::size_t>(out_.process()); }

  void visit(hid_t examples, const char* name, const H5L_info_t& info, Use use, std::size_t index) {
    const bool is_mine = index / kClientsATurn % static_cast<std::size_t>(out_.processes()) == mine();
    if (!is_mine && index != 0) return;
    client_ = name_ + ", client '" + one_line(std::string(name).substr(0, 60)) + "'";
    client_name_ = name;
    if (info.type != H5L_TYPE_HARD) throw failure(client_ + " is a link; clients must be groups in the file itself");
    const Handle group(open_link(examples, info, H5I_GROUP), H5Oclose);
    if (!group.good()) throw failure(client_ + " is not a readable group; valid: examples/CLIENT/KEY");
    if (keys_.examples.empty()) keys_ = keys_of(group, client_);
    if (is_mine) (this->*use)(group, client_);
    if (is_mine && index % kClientsATurn == kClientsATurn - 1) out_.pass_on();
  }

  bool counts_words() const { return keys_.examples == "tokens" && !as_test_; }

  Keys keys_of(hid_t group, const std::string& client) const {
    const auto has = [&](const char* key) { return H5Lexists(group, key, H5P_DEFAULT) > 0; };
    for (const char* own : {"snippets", "tokens"})
      if (has(own) && settings_.label.empty()) return {own, ""};
    for (const char* key : {settings_.inputs.c_str(), "x", "pixels", "image"}) {
      if (*key == '\0' || !has(key) || (!settings_.inputs.empty() && key != settings_.inputs)) continue;
      if (!settings_.label.empty()) return {key, settings_.label};
      for (const char* answer : {"y", "label"})
        if (has(answer)) return {key, answer};
      throw failure(client + " has '" + key + "' but no answers; valid: y, label or the key named by --label");
    }
    throw failure(client + " has no " + (settings_.inputs.empty() ? "known key" : "key '" + settings_.inputs + "'") +
                  "; valid: x, pixels or image with y or label, or those named by --inputs and --label; snippets; or tokens");
  }

  void count_or_add(hid_t group, const std::string& client) {
    if (counts_words())
      send(kHdf5Counted, keys_.answers, Hdf5Array(group, keys_.examples, client, budget_).texts());
    else
      add_client(group, client);
  }

  void add_client(hid_t group, const std::string& client) {
    const Hdf5Array x(group, keys_.examples, client, budget_);
    if (x.rows() == 0) {
      if (!as_test_) throw failure(client + ", key '" + keys_.examples + "': no rows; each client needs at least one");
      return;
    }
    if (keys_.answers.empty()) {
      send(keys_.examples == "tokens" ? kHdf5Sentences : kHdf5Snippets, keys_.answers, x.texts());
    } else {
      const Hdf5Array y(group, keys_.answers, client, budget_);
      if (y.rows() != x.rows())
        throw failure(client + " has " + std::to_string(x.rows()) + " rows of '" + keys_.examples + "' and " +
                      std::to_string(y.rows()) + " of '" + keys_.answers + "'; each example needs one");
      x.read_numbers(numbers_);
      send(kHdf5Examples, numbers_);
      if (y.is_text()) {
        send(kHdf5Words, keys_.answers, y.texts());
      } else {
        y.read_numbers(numbers_);
        send(kHdf5Answers, numbers_);
      }
    }
    out_.begin(kHdf5Client);
    out_.text(client_name_);
  }

  void send(std::uint8_t kind, const std::string& key, const std::vector<std::string>& texts) {
    out_.begin(kind);
    out_.text(key);
    out_.number(texts.size());
    for (const std::string& text : texts) out_.text(text);
  }

  void send(std::uint8_t kind, const Array& array) {
    out_.begin(kind);
    out_.text(array.key);
    out_.number(static_cast<std::uint64_t>(array.kind));
    out_.number(array.item);
    out_.number(array.shape.size());
    for (const std::size_t size : array.shape) out_.number(size);
    out_.bytes(array.bytes);
  }

  std::string name_;
  const ReadSettings& settings_;
  bool as_test_;
  RecordWriter& out_;
  Handle file_;
  std::uint64_t most_;
  Budget budget_;
  Keys keys_;
  std::string client_;
  std::string client_name_;
  Array numbers_;
};

}  // namespace

std::uint64_t most_bytes_of_hdf5(const std::filesystem::path& path) { return most_unpacked(size_of_file(path)); }

void tell_hdf5(const std::filesystem::path& path, const ReadSettings& settings, bool as_test, RecordWriter& out) {
  Hdf5Reader(path, settings, as_test, out).read();
}

}  // namespace fedstride
