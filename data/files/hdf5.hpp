#pragma once

#include <filesystem>

#include "data/files/apart.hpp"
#include "data/files/assembly.hpp"
#include "data/files/read_settings.hpp"

namespace fedstride {

/// Reads an HDF5 file of plain arrays (x, y and others, as in a NumPy archive; readers.hpp), or in the layout of TensorFlow
/// Federated's data sets: examples/CLIENT/KEY, with a group per client and an array per key, whose first dimension counts the
/// client's examples. The keys determine what the arrays hold:
///   x and y, or pixels and label, or image and label   numbers or images (EMNIST, CIFAR-100); --inputs, --label specify others
///   snippets                        text (Shakespeare): sequences of 80 characters; each position's label is the next character
///   tokens                          sentences (StackOverflow): sequences of 20 words, of which the 10,000 most frequent in the
///                                   training part have their own tokens; each position's label is the next word
/// Throws Error (failure) naming the client and the key. Links to other files, references and arrays without bytes are refused;
/// only the library's own filters are used. libhdf5 runs in separate processes (read_apart), so a damaged file that crashes it
/// causes an Error, too. `processes` is their number, which does not affect the result; 0: one for a small file, otherwise one
/// per processor, up to eight.
void read_hdf5(const std::filesystem::path& path, const ReadSettings& settings, Assembly& into, bool as_test, int processes = 0);

/// The kinds of records that tell_hdf5 sends. Text records consist of the key of the answers, the number of strings, and each
/// string; array records of key, kind, bytes per element, number of dimensions, each dimension, bytes.
inline constexpr std::uint8_t kHdf5Examples = 0;    ///< a client's examples, as an array
inline constexpr std::uint8_t kHdf5Answers = 1;     ///< its answers, as an array
inline constexpr std::uint8_t kHdf5Words = 2;       ///< its answers, as strings
inline constexpr std::uint8_t kHdf5Snippets = 3;    ///< its examples, as strings
inline constexpr std::uint8_t kHdf5Sentences = 4;   ///< its examples, as strings
inline constexpr std::uint8_t kHdf5Client = 5;      ///< its name: the client owns the preceding records
inline constexpr std::uint8_t kHdf5Counted = 6;     ///< sentences sent before all others, for counting words
inline constexpr std::uint8_t kHdf5AllCounted = 7;  ///< all sentences were counted
inline constexpr std::uint8_t kHdf5Plain = 8;       ///< an array that belongs to no client
inline constexpr std::uint8_t kHdf5PlainTexts = 9;  ///< an array of strings that belongs to no client
inline constexpr std::uint8_t kHdf5Other = 10;      ///< the name of an unread array

/// The part of read_hdf5 that runs in the separate processes, each of which sends its share of the clients.
void tell_hdf5(const std::filesystem::path& path, const ReadSettings& settings, bool as_test, RecordWriter& out);

/// The maximum total size, in bytes, that the arrays of a file may have. Throws Error (failure) if the file does not exist.
std::uint64_t most_bytes_of_hdf5(const std::filesystem::path& path);

}  // namespace fedstride
