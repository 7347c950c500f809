// A project outside the tree uses the component.
#include <cstdio>

#include <costate/mpi/sweep.hpp>
#include <costate/sweep/make_stepper.hpp>

struct Doubling {
  double x = 1;
  double x_bar = 0;
  costate::Step steps() const { return 10; }
  auto state() { return std::span(&x, 1); }
  void step(costate::Step) { x *= 2; }
  void turn(costate::Step) { x_bar = 1; }
  void reverse(costate::Step) { x_bar *= 2; }
};

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  bool right = false;
  {
    costate::mpi::Ranks ranks(MPI_COMM_WORLD);
    Doubling model;
    auto stepper = costate::make_stepper(model);
    costate::mpi::sweep(stepper, {}, ranks);
    right = model.x_bar == 1024;
  }
  MPI_Finalize();
  return right ? 0 : 1;
}
