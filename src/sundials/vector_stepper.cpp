#include "costate/sundials/vector_stepper.hpp"

#include <cstring>
#include <utility>

#include "costate/core/error.hpp"
#include "costate/sundials/vector.hpp"

namespace costate::sundials {

namespace {

// Vectors on a device have the array as well, but not here; those of several ranks only a part.
bool has_one_array(N_Vector v) {
  switch (N_VGetVectorID(v)) {
    case SUNDIALS_NVEC_SERIAL:
    case SUNDIALS_NVEC_OPENMP:
    case SUNDIALS_NVEC_PTHREADS:
      return true;
    default:
      return false;
  }
}

}  // namespace

VectorStepper::VectorStepper(N_Vector x, VectorModel model)
    : x_(x), model_(std::move(model)), bytes_(packed_bytes(x)), steps_(model_.steps) {
  if (!model_.step || !model_.turn || !model_.reverse) {
    throw InvalidArgument("a vector's simulation needs step, turn and reverse");
  }
  in_one_array_ = has_one_array(x);
  if (in_one_array_) bytes_ = entries(x).size_bytes();
  x_bar_ = Vector(checked(N_VClone(x), "N_VClone"));
  N_VConst(0, x_bar_.get());
}

Step VectorStepper::advance(Step from, Step to, Pass pass) {
  for (Step k = from; k < to; ++k) {
    if (k == steps_) return k;
    if (!model_.step(k, x_, pass)) {
      if (pass == Pass::first && steps_ == unknown) steps_ = k;
      return k;
    }
  }
  return to;
}

void VectorStepper::turn(Step n) {
  N_VConst(0, x_bar_.get());
  model_.turn(n, x_, x_bar_.get());
}

double VectorStepper::time(Step k) const {
  return model_.time ? model_.time(k) : Stepper::time(k);
}

std::vector<StateField> VectorStepper::fields() const {
  if (!in_one_array_) return {};
  return {{.name = "x", .type = StateField::Type::float64, .shape = {entries(x_).size()}}};
}

void VectorStepper::copy_out(N_Vector v, std::span<std::byte> out) const {
  if (!in_one_array_) return pack(v, out);
  std::memcpy(out.data(), entries(v).data(), bytes_);
}

void VectorStepper::copy_in(N_Vector v, std::span<const std::byte> in) const {
  if (!in_one_array_) return unpack(v, in);
  std::memcpy(entries(v).data(), in.data(), bytes_);
}

// The number of steps, the sums, x̄.
std::size_t VectorStepper::progress_bytes() const {
  return sizeof steps_ + model_.sums.size_bytes() + bytes_;
}

void VectorStepper::save_progress(std::span<std::byte> out) const {
  const std::size_t sums = model_.sums.size_bytes();
  std::memcpy(out.data(), &steps_, sizeof steps_);
  if (sums > 0) std::memcpy(out.data() + sizeof steps_, model_.sums.data(), sums);
  copy_out(x_bar_.get(), out.subspan(sizeof steps_ + sums));
}

void VectorStepper::load_progress(std::span<const std::byte> in) {
  const std::size_t sums = model_.sums.size_bytes();
  std::memcpy(&steps_, in.data(), sizeof steps_);
  if (sums > 0) std::memcpy(model_.sums.data(), in.data() + sizeof steps_, sums);
  copy_in(x_bar_.get(), in.subspan(sizeof steps_ + sums));
}

}  // namespace costate::sundials
