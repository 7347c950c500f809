#include "h5.hpp"

#include "costate/core/error.hpp"

namespace costate::detail {
namespace {

std::mutex& one_lock() {
  static std::mutex lock;
  return lock;
}

// The innermost entry of HDF5's error stack is the cause.
herr_t take_innermost(unsigned /*n*/, const H5E_error2_t* entry, void* out) {
  if (entry->desc != nullptr && *entry->desc != '\0') {
    static_cast<std::string*>(out)->assign(entry->desc);
  }
  return 0;
}

}  // namespace

H5Session::H5Session() : lock_(one_lock()) {
  H5Eget_auto2(H5E_DEFAULT, &print_, &print_data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

H5Session::~H5Session() {
  H5Eset_auto2(H5E_DEFAULT, print_, print_data_);
}

void h5_fail(const std::string& what, const std::string& path) {
  std::string cause;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, take_innermost, &cause);
  H5Eclear2(H5E_DEFAULT);
  throw StorageError("cannot " + what + " '" + path + "': HDF5 says: " + cause, path);
}

}  // namespace costate::detail
