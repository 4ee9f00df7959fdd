#pragma once

#include <filesystem>

#include "data/files/apart.hpp"
#include "data/files/assembly.hpp"
#include "data/files/read_settings.hpp"

namespace fedstride {

/// Reads an HDF5 file of plain arrays, x, y and others as in a NumPy archive (readers.hpp), or in the layout of TensorFlow
/// Federated's data sets: examples/CLIENT/KEY, a group per client, an array per key, whose first dimension counts the client's
/// examples. The keys decide what they are:
///   x and y, or pixels and label, or image and label    numbers or pictures (EMNIST, CIFAR-100); --inputs and --label name others
///   snippets                        texts (Shakespeare): sequences of 80 characters, each position's label is the next one
///   tokens                          sentences (StackOverflow): 20 words of the 10,000 most frequent ones of the training part, next word
/// Throws Error (failure) naming client and key. Links to other files, references and arrays without bytes are refused; only the
/// library's own filters are used. libhdf5 runs in separate processes (read_apart): a damaged file that crashes it is an error,
/// too. `processes`: how many, without effect on the bits; 0: one for a small file, otherwise as many as there are processors, up
/// to eight.
void read_hdf5(const std::filesystem::path& path, const ReadSettings& settings, Assembly& into, bool as_test, int processes = 0);

/// The kinds of records that tell_hdf5 sends. Texts: the key of the answers, their number, each text; arrays: key, kind, bytes
/// per element, number of dimensions, each dimension, bytes.
inline constexpr std::uint8_t kHdf5Examples = 0;    ///< a client's, as an array
inline constexpr std::uint8_t kHdf5Answers = 1;     ///< the same
inline constexpr std::uint8_t kHdf5Words = 2;       ///< its answers, as texts
inline constexpr std::uint8_t kHdf5Snippets = 3;    ///< its examples, as texts
inline constexpr std::uint8_t kHdf5Sentences = 4;   ///< the same
inline constexpr std::uint8_t kHdf5Client = 5;      ///< its name, a text: it owns the preceding records
inline constexpr std::uint8_t kHdf5Counted = 6;     ///< sentences, before all others, for counting words
inline constexpr std::uint8_t kHdf5AllCounted = 7;  ///< all sentences were counted
inline constexpr std::uint8_t kHdf5Plain = 8;       ///< an array that belongs to no client
inline constexpr std::uint8_t kHdf5PlainTexts = 9;  ///< the same, of texts
inline constexpr std::uint8_t kHdf5Other = 10;      ///< the name of an unread array, a text

/// The half of read_hdf5 in the separate processes: each of `out.processes()` sends its share of the clients.
void tell_hdf5(const std::filesystem::path& path, const ReadSettings& settings, bool as_test, RecordWriter& out);

/// All arrays of a file together may hold this many bytes. Throws Error (failure) if there is no file.
std::uint64_t most_bytes_of_hdf5(const std::filesystem::path& path);

}  // namespace fedstride
