#pragma once

// The real file system, passed through, for tests that interfere with some of its operations.

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "costate/storage/file_system.hpp"

namespace costate::test {

class PassingFile : public File {
 public:
  explicit PassingFile(std::unique_ptr<File> inner)
      : File(inner->path()), inner_(std::move(inner)) {}
  void read(std::span<std::byte> out, Bytes offset) override { inner_->read(out, offset); }
  void write(std::span<const std::byte> in, Bytes offset) override { inner_->write(in, offset); }
  void sync() override { inner_->sync(); }
  void reserve(Bytes bytes) override { inner_->reserve(bytes); }
  bool has_name() override { return inner_->has_name(); }
  bool release(Bytes offset, Bytes bytes) override { return inner_->release(offset, bytes); }
  Bytes size() override { return inner_->size(); }

 private:
  std::unique_ptr<File> inner_;
};

class PassingFiles : public FileSystem {
 public:
  void rename(const std::string& from, const std::string& to) override { real().rename(from, to); }
  void remove(const std::string& path) override { real().remove(path); }
  void sync_directory(const std::string& path) override { real().sync_directory(path); }
};

}  // namespace costate::test
