#!/usr/bin/env bash
# Runs the commands that the variables GATE, DRIFT and COMPARE list, one a line, until one cannot do its work. The
# results are appended to $GITHUB_STEP_SUMMARY as Markdown, and the outcome of all is written to $GITHUB_OUTPUT.
# Exit code: 0 passed, 1 failed, 3 inconclusive, else that of the command that could not do its work.
set -uo pipefail

[ -z "${STORE:-}" ] || export RUBRICLAB_STORE="$STORE"
[ -z "${MAX_COST:-}" ] || export RUBRICLAB_MAX_COST="$MAX_COST"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
rows="" details="" failed=0 inconclusive=0 error=0 number=0

give_up() {
  echo "::error::$1"
  error=$2
}

# Runs a command with the arguments of one line, and keeps its result.
run() {
  local command=$1 line=$2 code argument outcome resume
  local -a arguments=()
  if ! xargs -n 1 printf '%s\n' <<< "$line" > "$folder/arguments"; then
    give_up "rubriclab $command $line: the quotation marks do not match" 2
    return
  fi
  while IFS= read -r argument; do arguments+=("$argument"); done < "$folder/arguments"
  if [ -n "${JUDGE:-}" ] && [ "$command" != gate ]; then arguments+=(--judge "$JUDGE"); fi
  number=$((number + 1))
  echo "::group::rubriclab $command $line"
  # What is printed quotes texts, which must not be taken for commands to the runner.
  resume=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
  echo "::stop-commands::$resume"
  rubriclab "$command" "${arguments[@]}" --markdown "$folder/$number.md"
  code=$?
  printf '\n::%s::\n' "$resume"
  echo "::endgroup::"
  case $code in
    0) outcome="passed" ;;
    1) outcome="**failed**" failed=1 ;;
    3) outcome="inconclusive" inconclusive=1 ;;
    *) outcome="error" && give_up "rubriclab $command $line: exit code $code" "$code" ;;
  esac
  rows+="| \`rubriclab $command ${line//|/\\|}\` | $outcome |"$'\n'
  [ ! -f "$folder/$number.md" ] || details+=$'\n'"$(cat "$folder/$number.md")"$'\n'
}

run_all() {
  local command=$1 line
  while IFS= read -r line; do
    if [ "$error" = 0 ] && [ -n "${line//[[:space:]]/}" ]; then run "$command" "$line" < /dev/null; fi
  done <<< "$2"
}

case "${INCONCLUSIVE:-fail}" in
  fail | pass) ;;
  *) give_up "inconclusive: expected fail or pass, got $INCONCLUSIVE" 2 ;;
esac
run_all gate "${GATE:-}"
run_all drift "${DRIFT:-}"
run_all compare "${COMPARE:-}"
if [ "$number" = 0 ] && [ "$error" = 0 ]; then give_up "nothing to check: name versions or commands" 2; fi

outcome=passed code=0
if [ "$error" != 0 ]; then
  outcome=error code=$error
elif [ "$failed" = 1 ]; then
  outcome=failed code=1
elif [ "$inconclusive" = 1 ]; then
  outcome=inconclusive
  [ "${INCONCLUSIVE:-fail}" = pass ] || code=3
fi
printf '| check | outcome |\n| --- | --- |\n%s%s\n' "$rows" "$details" >> "$GITHUB_STEP_SUMMARY"
echo "outcome=$outcome" >> "$GITHUB_OUTPUT"
exit "$code"
