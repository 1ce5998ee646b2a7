#!/usr/bin/env bash
# Build the native module where it is imported from, on a machine that has CMake and nanobind and no scikit-build.
#
#     benchmarks/gpu_setup.sh && PYTHONPATH=src python3 -m benchmarks.gpu
set -euo pipefail
cd "$(dirname "$0")/.."
python=$(command -v "${PYTHON:-python3}")
cmake -S . -B build/in_place -DCMAKE_BUILD_TYPE=Release \
    -Dnanobind_DIR="$("$python" -m nanobind --cmake_dir)" -DPython_EXECUTABLE="$python"
cmake --build build/in_place --target _native --parallel "${JOBS:-$(nproc)}"
cp build/in_place/_native*.so src/mercer/
PYTHONPATH=src "$python" -c "import mercer.threads, mercer.kernels; print('mercer is ready.')"
