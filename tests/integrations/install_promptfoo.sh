#!/bin/sh
# Installs promptfoo in a folder, for its tests. Where it cannot be installed, the tests are skipped and say so.
set -eu
folder=${1:?usage: install_promptfoo.sh FOLDER}
version=0.120.27  # the last release for Node.js 20
if ! command -v npm >/dev/null; then
    echo "promptfoo is not tested: npm is not installed" >&2
elif ! npm install --silent --no-audit --no-fund --prefix "$folder" "promptfoo@$version"; then
    echo "promptfoo is not tested: npm could not install promptfoo $version" >&2
fi
