#!/usr/bin/env bash
# Speed, side by side with fio, as tables: `benches/run.sh [engine|replay|capture|agreement|fleet|twin|review|page] [--quick]`.
# Without a name it runs every benchmark. Exit code 4 when a bar is missed.
set -euo pipefail
cd "$(dirname "$0")/.."

names=()
options=()
for argument in "$@"; do
  case "$argument" in
    -*) options+=("$argument") ;;
    *) names+=("$argument") ;;
  esac
done
[ ${#names[@]} -gt 0 ] || names=(engine replay capture agreement fleet twin review page)

echo "building the measuring programs (release)" >&2
cargo build --release --quiet --package engine --package twin --examples
export FATHOM_BENCH_BIN="${CARGO_TARGET_DIR:-target}/release/examples"

status=0
for name in "${names[@]}"; do
  "${PYTHON:-python3}" "benches/$name.py" ${options[@]+"${options[@]}"} || status=$?
done
exit "$status"
