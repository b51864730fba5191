#!/usr/bin/env bash
# Writes package-lock.json anew from the manifests alone, and proves that `npm ci` takes it.
# Beside an installed node_modules npm leaves other platforms' packages out of the lock file, and `npm ci` refuses that.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp --parents package.json .npmrc packages/*/package.json examples/package.json "$work"
(cd "$work" && npm install --package-lock-only --loglevel=error && npm ci --ignore-scripts --dry-run --loglevel=error >/dev/null)
cp "$work/package-lock.json" package-lock.json
