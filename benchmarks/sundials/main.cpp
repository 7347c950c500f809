// sundials [end of the Brusselator's time]

#include <cstdio>
#include <cstdlib>
#include <initializer_list>

#include "sundials/benchmarks.hpp"

int main(int argc, char** argv) {
  const double end = argc > 1 ? std::atof(argv[1]) : 20;
  robertson_table();
  vector_operations_table();
  bool good = true;
  for (const int side : {128, 256}) good = brusselator_table(side, end) && good;
  return good ? 0 : 1;
}
