"""The interpreter server inside a sandbox: cells go in over HTTP, what comes of them goes out as lines of JSON."""
