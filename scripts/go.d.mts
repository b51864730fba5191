/** Environment in which `go` is one that can build the daemon. @throws {Error} that says what to install. */
export function goEnvironment(): NodeJS.ProcessEnv;
