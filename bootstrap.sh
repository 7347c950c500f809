#!/usr/bin/env bash
# From a fresh Debian bookworm machine to a running demonstration or a green test run.
#
#   ./bootstrap.sh demo      install what is missing, build, run the three demonstrations
#   ./bootstrap.sh test      install what is missing, build, run all tests
#   ./bootstrap.sh build     install what is missing, build
#   ./bootstrap.sh deps      install what is missing
#
#   --all             also what the optional components need: SUNDIALS, MPI, SuiteSparse (about 1 GB)
#   --user            neither root nor sudo: unpack the missing packages into .deps/ of this tree
#   --preset NAME     what to build (default: bootstrap, an optimised build); see CMakePresets.json
#   --build-dir DIR   where to build (default: build/NAME)
#   --jobs N          how many jobs at once (default: the number of processors)
#
# Everything may be run again at any time; what is done already is not done twice.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
root=$PWD

# What is needed to build and test everything: package, and for --user whether it must be there
# already. Compilers are not unpacked into a folder: their packages only work where they belong.
toolchain=(g++ cmake ninja-build)
libraries=(libeigen3-dev libhdf5-dev libxxhash-dev libzstd-dev libcli11-dev catch2 libnlopt-dev libnlopt-cxx-dev libpng-dev)
components=(libsundials-dev libopenmpi-dev openmpi-bin libsuitesparse-dev) # with --all only
optional=(ccache) # makes a second build fast; not fetched by --user

say() { printf '\n==> %s\n' "$*"; }
fail() { printf 'bootstrap.sh: %s\n' "$*" >&2; exit 1; }
usage() { sed -n '2,16s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }

command=
all=no
user=no
preset=bootstrap
build=
jobs=$(nproc 2>/dev/null || echo 2)
while (($#)); do
  case $1 in
    demo | test | build | deps)
      [[ -z $command ]] || fail "one of demo, test, build, deps, not two"
      command=$1 ;;
    --all) all=yes ;;
    --user) user=yes ;;
    --preset) preset=${2:?--preset needs a name}; shift ;;
    --build-dir) build=${2:?--build-dir needs a folder}; shift ;;
    --jobs) jobs=${2:?--jobs needs a number}; shift ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; printf "bootstrap.sh: unknown argument '%s'\n" "$1" >&2; exit 2 ;;
  esac
  shift
done
[[ -n $command ]] || { usage >&2; exit 2; }
[[ $all == no || $user == no ]] || fail "--all needs root, or sudo: these packages do not work from a folder"
[[ $all == no ]] || libraries+=("${components[@]}")
[[ $jobs =~ ^[1-9][0-9]*$ ]] || fail "--jobs needs a positive number, not '$jobs'"
build=${build:-build/$preset}

# ----- 1. Packages ---------------------------------------------------------------------------------
installed() { [[ $(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }
missing_of() { local p; for p in "$@"; do installed "$p" || echo "$p"; done; }
cmake_arguments=()

install_as_root() { # the rest: packages
  local apt=("$@") sudo=()
  ((EUID == 0)) || sudo=(sudo)
  local options=(-o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
  export DEBIAN_FRONTEND=noninteractive
  "${sudo[@]}" apt-get "${options[@]}" update
  "${sudo[@]}" apt-get "${options[@]}" install -y --no-install-recommends "${apt[@]}"
}

# Unpacks the packages, and those they need that are not installed, into .deps. apt's lists and
# archives are kept there too, so that no rights are needed at all.
unpack_for_user() {
  local deps=$root/.deps
  mkdir -p "$deps/apt/lists/partial" "$deps/apt/cache/archives/partial"
  local options=(-o "Dir::State::Lists=$deps/apt/lists" -o "Dir::Cache=$deps/apt/cache"
    -o Debug::NoLocking=1 -o Acquire::Retries=3 -o APT::Sandbox::User=)
  apt-get "${options[@]}" update
  local closure
  closure=$(apt-get "${options[@]}" -s install --no-install-recommends "$@" | sed -n 's/^Inst \([^ ]*\) .*/\1/p')
  (cd "$deps/apt/cache/archives" && apt-get "${options[@]}" download $closure)
  local deb
  for deb in "$deps"/apt/cache/archives/*.deb; do dpkg-deb -x "$deb" "$deps"; done
  # Links between packages that are absolute point out of the folder: turn them inwards.
  local link target
  find "$deps" -type l | while read -r link; do
    target=$(readlink "$link")
    if [[ $target == /* && $target != "$deps"* && -e $deps$target ]]; then ln -sfn "$deps$target" "$link"; fi
  done
  printf '%s\n' "$@" >"$deps/unpacked"
}

command -v dpkg-query >/dev/null || fail "this script knows Debian bookworm's packages only. Install a C++20 compiler, CMake >= 3.25, Ninja,
  Eigen 3.4, HDF5 >= 1.10, xxHash, zstd, CLI11, Catch2 (2.13 or 3) and NLopt, then:
    cmake --preset $preset && cmake --build $build && ctest --test-dir $build"

mapfile -t missing < <(missing_of "${toolchain[@]}" "${libraries[@]}")
if ((${#missing[@]} == 0)); then
  say "Packages: all there"
elif [[ $user == yes ]]; then
  mapfile -t tools < <(missing_of g++)
  ((${#tools[@]} == 0)) || command -v g++ >/dev/null || fail "--user needs a C++ compiler on the machine; missing: g++"
  mapfile -t missing < <(for p in "${missing[@]}"; do
    case $p in
      g++) ;;
      cmake) command -v cmake >/dev/null || echo cmake ;;
      ninja-build) command -v ninja >/dev/null || echo ninja-build ;;
      *) echo "$p" ;;
    esac
  done)
  if [[ -f .deps/unpacked ]] && [[ -z $(comm -23 <(printf '%s\n' "${missing[@]}" | sort) <(sort .deps/unpacked)) ]]; then
    say "Packages: unpacked in .deps before"
  else
    say "Unpacking into .deps: ${missing[*]}"
    unpack_for_user "${missing[@]}"
  fi
  triplet=$(dpkg-architecture -qDEB_HOST_MULTIARCH 2>/dev/null || gcc -print-multiarch)
  export PATH=$root/.deps/usr/bin:$PATH
  libs=$root/.deps/usr/lib/$triplet:$root/.deps/lib/$triplet
  export LD_LIBRARY_PATH=$libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  # DT_RPATH, not DT_RUNPATH: libraries that libraries need must be found as well.
  cmake_arguments+=("-DCMAKE_PREFIX_PATH=$root/.deps/usr"
    "-DCMAKE_BUILD_RPATH=${libs//:/;}"
    "-DCMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags -Wl,-rpath-link,$libs")
elif ((EUID == 0)) || { command -v sudo >/dev/null && sudo -n true 2>/dev/null || { [[ -t 0 ]] && command -v sudo >/dev/null; }; }; then
  mapfile -t -O "${#missing[@]}" missing < <(missing_of "${optional[@]}")
  say "Installing: ${missing[*]}"
  install_as_root "${missing[@]}"
else
  fail "these packages are missing: ${missing[*]}
  As root:     apt-get install --no-install-recommends ${missing[*]}
  Without:     ./bootstrap.sh $command --user      (unpacks them into .deps/ of this tree)"
fi
[[ $command != deps ]] || exit 0

# ----- 2. Configure and build ----------------------------------------------------------------------
run() { printf '    %s\n' "$*"; "$@"; }
say "Configuring and building in $build (preset $preset, $jobs jobs)"
run cmake --preset "$preset" -B "$build" "${cmake_arguments[@]}" >"${TMPDIR:-/tmp}/costate-configure.$$" 2>&1 || {
  cat "${TMPDIR:-/tmp}/costate-configure.$$"; rm -f "${TMPDIR:-/tmp}/costate-configure.$$"; fail "configuring failed"; }
rm -f "${TMPDIR:-/tmp}/costate-configure.$$"
run cmake --build "$build" -j "$jobs"

# ----- 3. Run --------------------------------------------------------------------------------------
case $command in
  demo)
    mkdir -p "$build/demo"
    say "1 of 3: fitting Lotka-Volterra to the pelts of the Hudson's Bay Company, 1900-1920"
    run "$build/examples/lynx_hare" --data examples/lynx_hare/lynx_hare.csv --output "$build/demo"
    say "2 of 3: Gray-Scott, 256 x 256, the gradient with respect to two fields and two rates"
    run "$build/examples/gray_scott" --output "$build/demo"
    say "3 of 3: one's own time loop: the source of an acoustic wave"
    run "$build/examples/own_stepper" --output "$build/demo"
    say "The pictures are in $build/demo:"
    ls "$build/demo" ;;
  test)
    say "Testing"
    run ctest --test-dir "$build" --output-on-failure -j "$jobs" ;;
esac
