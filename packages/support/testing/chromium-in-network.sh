#!/bin/sh
# The browser, in the network that a test has made for it.
exec nsenter --net="$SVC_TEST_NETWORK" "$SVC_TEST_CHROMIUM" "$@"
