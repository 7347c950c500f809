#pragma once

#include <mutex>
#include <string>
#include <utility>

#include <hdf5.h>

namespace costate::detail {

/// One lock around all HDF5 calls of the process. HDF5 is not safe to call from two threads unless
/// built for it, and even such builds misbehave when objects of different files are closed at the
/// same time. While it is held, HDF5 prints nothing.
class H5Session {
 public:
  H5Session();
  ~H5Session();
  H5Session(const H5Session&) = delete;
  H5Session& operator=(const H5Session&) = delete;

 private:
  std::unique_lock<std::mutex> lock_;
  H5E_auto2_t print_ = nullptr;
  void* print_data_ = nullptr;
};

/// Throws a StorageError with HDF5's own words.
[[noreturn]] void h5_fail(const std::string& what, const std::string& path);

/// Owns one HDF5 identifier; to be closed while a session is held.
template <herr_t (*Close)(hid_t)>
class H5Handle {
 public:
  H5Handle(hid_t id, const char* what, const std::string& path) : id_(id) {
    if (id < 0) h5_fail(what, path);
  }
  ~H5Handle() {
    if (id_ >= 0) Close(id_);
  }
  H5Handle(H5Handle&& other) noexcept : id_(std::exchange(other.id_, hid_t{-1})) {}
  H5Handle& operator=(H5Handle&& other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  H5Handle(const H5Handle&) = delete;
  H5Handle& operator=(const H5Handle&) = delete;
  operator hid_t() const noexcept { return id_; }  // NOLINT: so that it goes where HDF5 wants it

 private:
  hid_t id_;
};

using H5File = H5Handle<H5Fclose>;
using H5Properties = H5Handle<H5Pclose>;
using H5Space = H5Handle<H5Sclose>;
using H5Dataset = H5Handle<H5Dclose>;
using H5Type = H5Handle<H5Tclose>;
using H5Attribute = H5Handle<H5Aclose>;

inline void h5_check(herr_t status, const char* what, const std::string& path) {
  if (status < 0) h5_fail(what, path);
}

}  // namespace costate::detail
