#!/bin/sh
# bootstrap counts what CTest says: a tree with one entry of every kind, run by the real ctest, has to come out
# as 2 passed, 5 failed, 2 skipped, and as a failure. test_bootstrap.sh BOOTSTRAP FOLDER
set -u
bootstrap=$1
work=$2
rm -rf "$work"
mkdir -p "$work"
cat >"$work/CTestTestfile.cmake" <<'LIST'
add_test(good sh -c "exit 0")
add_test([=[good ***Failed by name only]=] sh -c "exit 0")
add_test(bad sh -c "exit 1")
add_test(crash sh -c "kill -SEGV $$")
add_test(slow sh -c "sleep 5")
set_tests_properties(slow PROPERTIES TIMEOUT 1)
add_test(missing /nowhere/program)
add_test(wanted sh -c "echo something else")
set_tests_properties(wanted PROPERTIES PASS_REGULAR_EXPRESSION "the right words")
add_test(skip sh -c "echo skipped: no reason; exit 77")
set_tests_properties(skip PROPERTIES SKIP_RETURN_CODE 77)
add_test(off sh -c "exit 0")
set_tests_properties(off PROPERTIES DISABLED TRUE)
LIST
status=0
expect() {
    if [ "$1" != "$2" ]; then
        echo "expected '$2', got '$1'"
        status=1
    fi
}
ctest --test-dir "$work" >"$work/log" 2>&1
expect "$("$bootstrap" count "$work/log"; echo "status $?")" "2 passed, 5 failed, 2 skipped
status 1"
grep -v ' good\| off\| skip' "$work/log" >"$work/failures"
expect "$("$bootstrap" count "$work/failures"; echo "status $?")" "0 passed, 5 failed, 0 skipped
status 1"
ctest --test-dir "$work" -R '^(good|skip)$' >"$work/log" 2>&1
expect "$("$bootstrap" count "$work/log"; echo "status $?")" "1 passed, 0 failed, 1 skipped
status 0"
ctest --test-dir "$work" -R nothing >"$work/log" 2>&1
expect "$("$bootstrap" count "$work/log"; echo "status $?")" "0 passed, 0 failed, 0 skipped
status 1"
"$bootstrap" test --unknown >"$work/log" 2>&1
expect $? 1
"$bootstrap" need sh >"$work/log" 2>&1
expect $? 0
[ $status = 0 ] || cat "$work/log"
exit $status
