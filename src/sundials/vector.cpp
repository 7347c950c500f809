#include "costate/sundials/vector.hpp"

#include <cmath>

#include <nvector/nvector_serial.h>

namespace costate::sundials {

namespace {

using Index = sunindextype;
using Real = sunrealtype;

Real* data(N_Vector v) {
  return static_cast<N_VectorContent_Serial>(v->content)->data;
}
Index length(N_Vector v) {
  return static_cast<N_VectorContent_Serial>(v->content)->length;
}

// z = function(x …) entry by entry; arguments may be the same vector, so nothing is `restrict`.
template <class Function>
void each(N_Vector z, const Function& function) {
  Real* out = data(z);
  const Index n = length(z);
  for (Index i = 0; i < n; ++i) out[i] = function(i);
}

// A sum in four strands: as fast as the memory, and the same bits in every call.
template <class Term>
Real sum(Index n, const Term& term) {
  Real s0 = 0;
  Real s1 = 0;
  Real s2 = 0;
  Real s3 = 0;
  Index i = 0;
  for (; i + 4 <= n; i += 4) {
    s0 += term(i);
    s1 += term(i + 1);
    s2 += term(i + 2);
    s3 += term(i + 3);
  }
  for (; i < n; ++i) s0 += term(i);
  return (s0 + s1) + (s2 + s3);
}

void linear_sum(Real a, N_Vector x, Real b, N_Vector y, N_Vector z) {
  const Real* u = data(x);
  const Real* v = data(y);
  each(z, [=](Index i) { return a * u[i] + b * v[i]; });
}
void set_constant(Real c, N_Vector z) {
  each(z, [=](Index) { return c; });
}
void product(N_Vector x, N_Vector y, N_Vector z) {
  const Real* u = data(x);
  const Real* v = data(y);
  each(z, [=](Index i) { return u[i] * v[i]; });
}
void quotient(N_Vector x, N_Vector y, N_Vector z) {
  const Real* u = data(x);
  const Real* v = data(y);
  each(z, [=](Index i) { return u[i] / v[i]; });
}
void scale(Real c, N_Vector x, N_Vector z) {
  const Real* u = data(x);
  each(z, [=](Index i) { return c * u[i]; });
}
void absolute(N_Vector x, N_Vector z) {
  const Real* u = data(x);
  each(z, [=](Index i) { return std::abs(u[i]); });
}
void inverse(N_Vector x, N_Vector z) {
  const Real* u = data(x);
  each(z, [=](Index i) { return 1 / u[i]; });
}
void add_constant(N_Vector x, Real b, N_Vector z) {
  const Real* u = data(x);
  each(z, [=](Index i) { return u[i] + b; });
}
Real dot(N_Vector x, N_Vector y) {
  const Real* u = data(x);
  const Real* v = data(y);
  return sum(length(x), [=](Index i) { return u[i] * v[i]; });
}
Real max_norm(N_Vector x) {
  const Real* u = data(x);
  const Index n = length(x);
  Real most = 0;
  for (Index i = 0; i < n; ++i) {
    if (std::abs(u[i]) <= most) continue;
    most = std::abs(u[i]);
    if (std::isnan(most)) break;  // no number is larger
  }
  return most;
}
Real weighted_square_sum(N_Vector x, N_Vector w) {
  const Real* u = data(x);
  const Real* v = data(w);
  return sum(length(x), [=](Index i) { return (u[i] * v[i]) * (u[i] * v[i]); });
}
Real weighted_rms(N_Vector x, N_Vector w) {
  return std::sqrt(weighted_square_sum(x, w) / static_cast<Real>(length(x)));
}
Real weighted_l2(N_Vector x, N_Vector w) {
  return std::sqrt(weighted_square_sum(x, w));
}
Real l1(N_Vector x) {
  const Real* u = data(x);
  return sum(length(x), [=](Index i) { return std::abs(u[i]); });
}

// z = sum over k of c_k x_k, two vectors a pass. z may be x_0 and no other.
int linear_combination(int count, Real* c, N_Vector* x, N_Vector z) {
  if (count == 1) {
    scale(c[0], x[0], z);
    return 0;
  }
  linear_sum(c[0], x[0], c[1], x[1], z);
  Real* out = data(z);
  const Index n = length(z);
  int k = 2;
  for (; k + 2 <= count; k += 2) {
    const Real a = c[k];
    const Real b = c[k + 1];
    const Real* u = data(x[k]);
    const Real* v = data(x[k + 1]);
    for (Index i = 0; i < n; ++i) out[i] = (out[i] + a * u[i]) + b * v[i];
  }
  if (k < count) {
    const Real a = c[k];
    const Real* u = data(x[k]);
    for (Index i = 0; i < n; ++i) out[i] += a * u[i];
  }
  return 0;
}

// z_k = a_k x + y_k
int scale_add_multi(int count, Real* a, N_Vector x, N_Vector* y, N_Vector* z) {
  for (int k = 0; k < count; ++k) linear_sum(a[k], x, 1, y[k], z[k]);
  return 0;
}

int dot_multi(int count, N_Vector x, N_Vector* y, Real* out) {
  for (int k = 0; k < count; ++k) out[k] = dot(x, y[k]);
  return 0;
}

}  // namespace

void use_fast_operations(N_Vector v) noexcept {
  auto* ops = v->ops;
  ops->nvlinearsum = linear_sum;
  ops->nvconst = set_constant;
  ops->nvprod = product;
  ops->nvdiv = quotient;
  ops->nvscale = scale;
  ops->nvabs = absolute;
  ops->nvinv = inverse;
  ops->nvaddconst = add_constant;
  ops->nvdotprod = dot;
  ops->nvmaxnorm = max_norm;
  ops->nvwrmsnorm = weighted_rms;
  ops->nvwl2norm = weighted_l2;
  ops->nvl1norm = l1;
  ops->nvlinearcombination = linear_combination;
  ops->nvscaleaddmulti = scale_add_multi;
  ops->nvdotprodmulti = dot_multi;
  ops->nvdotprodlocal = dot;
  ops->nvmaxnormlocal = max_norm;
  ops->nvl1normlocal = l1;
  ops->nvwsqrsumlocal = weighted_square_sum;
}

Vector wrap(std::span<double> values, SUNContext context) {
  Vector v(checked(N_VMake_Serial(static_cast<Index>(values.size()), values.data(), context),
                   "N_VMake_Serial"));
  use_fast_operations(v.get());
  return v;
}

Vector make_vector(std::size_t size, SUNContext context) {
  Vector v(checked(N_VNew_Serial(static_cast<Index>(size), context), "N_VNew_Serial"));
  use_fast_operations(v.get());
  N_VConst(0, v.get());
  return v;
}

std::span<double> entries(N_Vector v) {
  const bool parts = v != nullptr &&
                     (v->ops->nvgetcommunicator != nullptr || v->ops->nvgetarraypointer == nullptr);
  double* first = v == nullptr || parts ? nullptr : N_VGetArrayPointer(v);
  if (first == nullptr) {
    throw InvalidArgument("the entries of this kind of vector do not lie in one array");
  }
  return {first, static_cast<std::size_t>(N_VGetLength(v))};
}

std::size_t packed_bytes(N_Vector v) {
  if (v == nullptr || v->ops->nvbufsize == nullptr || v->ops->nvbufpack == nullptr ||
      v->ops->nvbufunpack == nullptr) {
    throw InvalidArgument("this kind of vector cannot be packed: it has no N_VBufPack");
  }
  Index size = 0;
  check(N_VBufSize(v, &size), "N_VBufSize");
  return static_cast<std::size_t>(size);
}

void pack(N_Vector v, std::span<std::byte> out) {
  check(N_VBufPack(v, out.data()), "N_VBufPack");
}

void unpack(N_Vector v, std::span<const std::byte> in) {
  // SUNDIALS takes a pointer to what it only reads.
  check(N_VBufUnpack(v, const_cast<std::byte*>(in.data())), "N_VBufUnpack");
}

}  // namespace costate::sundials
