#include <png.h>
#include <turbojpeg.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/text.hpp"
#include "data/files/readers.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxPictureFileBytes = std::uint64_t{64} << 20;
constexpr std::int64_t kMaxPixels = 1 << 24;
constexpr std::size_t kPixelsAtOnce = std::size_t{1} << 20;

/// 8-bit pixels, channels innermost: one channel (gray) or three (red, green and blue).
struct Picture {
  Shape shape = {};
  std::vector<std::uint8_t> pixels = {};
};

Error wrong(const fs::path& file, const std::string& what) { return failure("'" + file.string() + "' " + what); }

void take_shape(const fs::path& file, std::int64_t width, std::int64_t height, bool has_color, int channels, Picture& picture) {
  if (width < 1 || height < 1 || width * height > kMaxPixels)
    throw wrong(file, "has " + std::to_string(width) + "x" + std::to_string(height) + " pixels; at most " +
                          std::to_string(kMaxPixels) + " are read");
  picture.shape = {static_cast<int>(height), static_cast<int>(width), channels > 0 ? channels : has_color ? 3 : 1};
  picture.pixels.resize(picture.shape.size());
}

void read_png(const fs::path& file, const std::string& bytes, int channels, Picture& picture) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  const std::unique_ptr<png_image, void (*)(png_image*)> held(&image, png_image_free);
  if (png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()) == 0)
    throw wrong(file, "is not a complete PNG: " + std::string(image.message));
  take_shape(file, image.width, image.height, (image.format & PNG_FORMAT_FLAG_COLOR) != 0, channels, picture);
  image.format = picture.shape.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  const png_color black{};  // behind transparent pixels
  if (png_image_finish_read(&image, &black, picture.pixels.data(), 0, nullptr) == 0 || PNG_IMAGE_FAILED(image))
    throw wrong(file, "is not a complete PNG: " + std::string(image.message));
}

void read_jpeg(const fs::path& file, const std::string& bytes, int channels, Picture& picture) {
  const std::unique_ptr<void, int (*)(void*)> reader(tjInitDecompress(), tjDestroy);
  if (!reader) throw failure("libjpeg-turbo cannot be initialized");
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  int width = 0, height = 0, sampling = 0, colors = 0;
  if (tjDecompressHeader3(reader.get(), data, bytes.size(), &width, &height, &sampling, &colors) != 0)
    throw wrong(file, "is not a JPEG: " + std::string(tjGetErrorStr2(reader.get())));
  if (colors == TJCS_CMYK || colors == TJCS_YCCK) throw wrong(file, "is a JPEG in CMYK; valid: gray or RGB");
  take_shape(file, width, height, colors != TJCS_GRAY, channels, picture);
  // The exact transform gives the same bits with and without vector instructions.
  if (tjDecompress2(reader.get(), data, bytes.size(), picture.pixels.data(), width, 0, height,
                    picture.shape.channels == 1 ? TJPF_GRAY : TJPF_RGB, TJFLAG_ACCURATEDCT | TJFLAG_STOPONWARNING) != 0)
    throw wrong(file, "is not a complete JPEG: " + std::string(tjGetErrorStr2(reader.get())));
}

/// Reads an image file with this number of channels: 1 or 3, or 0 for the file's own.
Picture picture_of(const fs::path& file, int channels) {
  using namespace std::string_view_literals;
  const std::string bytes = read_file(file, kMaxPictureFileBytes);
  Picture picture;
  if (bytes.starts_with("\x89PNG\r\n\x1a\n"sv))
    read_png(file, bytes, channels, picture);
  else if (bytes.starts_with("\xFF\xD8\xFF"sv))
    read_jpeg(file, bytes, channels, picture);
  else
    throw wrong(file, "is neither a PNG nor a JPEG");
  return picture;
}

bool has_picture_name(const fs::path& file) {
  const std::string ending = lower_case(file.extension().string());
  return ending == ".png" || ending == ".jpg" || ending == ".jpeg";
}

/// The entries of a folder that are folders, or those that are not, sorted by name, without hidden ones.
std::vector<fs::path> sorted_entries(const fs::path& folder, bool folders) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (!entry.path().filename().string().starts_with('.') && entry.is_directory(error) == folders)
      entries.push_back(entry.path());
  if (error) throw failure("folder '" + folder.string() + "' cannot be read: " + error.message());
  std::ranges::sort(entries);
  return entries;
}

class PictureFolder {
 public:
  PictureFolder(const ReadSettings& settings, Assembly& into, PartBuilder& part)
      : settings_(settings), into_(into), part_(part) {}

  void read(const fs::path& folder) {
    const bool has_clients = !settings_.client_column.empty();
    if (has_clients && settings_.client_column != "folder")
      throw usage_error("client-column (or user-column) is '" + settings_.client_column +
                        "'; for folders of images it must be 'folder': one for each client, containing one for each class");
    if (part_.shared().rows_are_protected && !part_.shared().shape)
      throw failure("'" + folder.string() +
                    "': under dp the images' size must not be inferred from the rows; give --shape "
                    "HEIGHTxWIDTHx3 (or x1)");
    for (const fs::path& outer : sorted_entries(folder, true))
      for (const fs::path& of_class : has_clients ? sorted_entries(outer, true) : std::vector{outer})
        for (const fs::path& file : sorted_entries(of_class, false)) {
          if (!has_picture_name(file)) {
            ++others_;
            continue;
          }
          add(file, of_class.filename().string());
          if (has_clients) part_.add_client(outer.filename().string(), 1);
        }
    if (labels_.empty() && part_.empty())
      throw failure("'" + folder.string() + "' has no images (.png, .jpg, .jpeg) in " +
                    (has_clients ? "folders CLIENT/CLASS" : "a folder for each class"));
    flush();
    if (others_ > 0) into_.notes.push_back(counted(others_, "file") + " not named *.png, *.jpg or *.jpeg left out");
  }

 private:
  void add(const fs::path& file, const std::string& label) {
    SharedNames& shared = part_.shared();
    const int channels = shared.shape ? shared.shape->channels : 0;
    Picture picture;
    try {
      picture = picture_of(file, channels == 1 || channels == 3 ? channels : 0);
    } catch (const Error&) {
      if (!shared.rows_are_protected) throw;
    }
    if (!shape_) {
      shape_ = shared.shape.value_or(picture.shape);
      first_ = file;
    }
    if (picture.shape != *shape_ && !shared.rows_are_protected)
      throw wrong(file, "is " + picture.shape.text() + ", '" + first_.string() + "' " + (shared.shape ? "must be " : "is ") +
                            shape_->text() +
                            "; all must have the same size, and --shape HEIGHTxWIDTHx3 (or x1) reads all in color (or gray)");
    if (picture.shape != *shape_) {  // black, regardless of the file's contents
      picture.pixels.assign(shape_->size(), 0);
      ++shared.replaced;
    }
    pixels_.insert(pixels_.end(), picture.pixels.begin(), picture.pixels.end());
    labels_.push_back(label);
    if (pixels_.size() >= kPixelsAtOnce) flush();
  }

  void flush() {
    if (labels_.empty()) return;
    std::vector<std::size_t> dimensions{labels_.size(), static_cast<std::size_t>(shape_->height),
                                        static_cast<std::size_t>(shape_->width)};
    if (shape_->channels > 1) dimensions.push_back(static_cast<std::size_t>(shape_->channels));
    part_.add_examples(array_of<std::uint8_t>("pictures", pixels_, std::move(dimensions)));
    part_.add_words("folder", labels_);
    pixels_.clear();
    labels_.clear();
  }

  const ReadSettings& settings_;
  Assembly& into_;
  PartBuilder& part_;
  std::optional<Shape> shape_;
  fs::path first_;
  std::vector<std::uint8_t> pixels_;
  std::vector<std::string> labels_;
  std::uint64_t others_ = 0;
};

}  // namespace

bool has_folders_of_pictures(const fs::path& folder) {
  std::error_code error;
  std::size_t left = 10000;  // entries left to examine
  for (auto entry = fs::recursive_directory_iterator(folder, error); entry != fs::end(entry) && left-- > 0;
       entry.increment(error)) {
    if (error) return false;
    if (entry.depth() >= 3) entry.disable_recursion_pending();
    if (entry.depth() >= 1 && entry->is_regular_file(error) && has_picture_name(entry->path())) return true;
  }
  return false;
}

void read_pictures(const fs::path& folder, const ReadSettings& settings, Assembly& into, bool as_test) {
  PictureFolder(settings, into, as_test ? into.test : into.train).read(folder);
}

}  // namespace fedstride
