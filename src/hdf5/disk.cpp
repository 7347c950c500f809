#include "costate/hdf5/disk.hpp"

#include <array>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <random>
#include <system_error>
#include <utility>

#include <unistd.h>

#include "costate/core/error.hpp"
#include "disk_tier.hpp"

namespace costate {
namespace {

// A name that no other run has: of this machine, process and moment.
std::string fresh_name(const std::string& directory) {
  static std::atomic<unsigned> count = 0;
  std::random_device random;
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "costate-%ld-%u-%08x.h5", static_cast<long>(getpid()),
                count.fetch_add(1), static_cast<unsigned>(random()));
  return directory + "/" + text.data();
}

class Factory final : public TierFactory {
 public:
  explicit Factory(Hdf5Options options) : options_(std::move(options)) {}

  [[nodiscard]] std::string name() const override { return "disk"; }
  [[nodiscard]] Slot slots(std::size_t row_bytes) const override {
    return tier_options(row_bytes, 0).slots_within();
  }
  [[nodiscard]] Bytes memory_bytes(std::size_t row_bytes, Slot slots) const override {
    return tier_options(row_bytes, slots).memory_bytes();
  }
  [[nodiscard]] std::unique_ptr<Tier> make(std::size_t row_bytes, Slot slots,
                                           const std::vector<StateField>& fields) const override {
    const std::string path = fresh_name(options_.directory);
    FileSystem& files = options_.files != nullptr ? *options_.files : FileSystem::real();
    std::error_code made;
    std::filesystem::create_directories(options_.directory, made);
    if (made) {
      throw StorageError(
          "cannot make the directory '" + options_.directory + "': " + made.message(),
          options_.directory);
    }
    detail::Container wanted;
    const detail::DiskTier::Options tier = tier_options(row_bytes, slots);
    wanted.rows = tier.rows();
    wanted.row_bytes = tier.stored_bytes();
    wanted.sparse = options_.compression.ratio > 1;
    if (!options_.compression.on()) wanted.fields = fields;
    const detail::Container container = detail::create_container(files, path, wanted);
    try {
      auto store = std::make_unique<detail::RowStore>(files, path, container, options_.durability,
                                                      options_.sync_seconds);
      if (container.sparse && !store->release(0)) {
        throw StorageError("the file system of '" + path +
                               "' cannot give space back, so a compression ratio above 1 is not "
                               "possible there; use a ratio of 1",
                           path);
      }
      // Without its name the file lives exactly as long as this process wants it.
      if (!options_.keep) files.remove(path);
      return std::make_unique<detail::DiskTier>(std::move(store), tier);
    } catch (...) {
      ::unlink(path.c_str());
      throw;
    }
  }

 private:
  [[nodiscard]] detail::DiskTier::Options tier_options(std::size_t row_bytes, Slot slots) const {
    return {.row_bytes = row_bytes,
            .slots = slots,
            .io_threads = options_.io_threads,
            .buffers = options_.buffers,
            .compression = options_.compression,
            .capacity = options_.capacity};
  }

  Hdf5Options options_;
};

}  // namespace

DiskSpec hdf5(const Hdf5Options& options) {
  if (options.io_threads < 0 || options.io_threads > 64) {
    throw InvalidArgument("hdf5: the number of I/O threads must be 0 to 64, not " +
                          std::to_string(options.io_threads));
  }
  if (const int least = options.io_threads > 0 ? 2 : 1; options.buffers < least) {
    throw InvalidArgument("hdf5: the number of buffers must be at least " + std::to_string(least) +
                          ", not " + std::to_string(options.buffers));
  }
  if (!(options.sync_seconds >= 0)) throw InvalidArgument("hdf5: sync_seconds is negative");
  const Compression& packing = options.compression;
  if (packing.level < -7 || packing.level > 19 || packing.element_bytes < 1 ||
      packing.element_bytes > 64) {
    throw InvalidArgument("hdf5: a compression level is -7 to 19, a number 1 to 64 bytes");
  }
  if (!(packing.ratio >= 1 && packing.ratio <= 1000) || (packing.ratio > 1 && !packing.on())) {
    throw InvalidArgument("hdf5: the ratio of a compression is at least 1, and 1 without one");
  }
  if (options.directory.empty()) throw InvalidArgument("hdf5: the directory is empty");
  return DiskSpec(std::make_shared<const Factory>(options));
}

}  // namespace costate
