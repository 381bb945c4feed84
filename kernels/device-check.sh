#!/usr/bin/env bash
# The check on a real card, in under five minutes: every kernel against the processor, then the full figures.
#   kernels/device-check.sh DWELLCTL OUT_FOLDER
set -euo pipefail
dwellctl=$1
out=$2
mkdir -p "$out"
nvidia-smi || true
"$dwellctl" bench cards
"$dwellctl" bench check
"$dwellctl" bench --full --out "$out/record.json" | tee "$out/record.txt"
