import { fstatSync } from 'node:fs';
import { Interrupted } from '../errors/cli-error.js';
import { type Io, isPiped, type StdinFacts } from '../output/io.js';

/** The streams of this process. */
export function processIo(): Io {
  return {
    env: process.env,
    // Getters: reading `process.stdin` opens it, which a command that needs none must not do.
    get stdin() {
      return process.stdin;
    },
    get stdinIsPiped() {
      return isPiped(stdinFacts());
    },
    stdout: process.stdout,
    stderr: process.stderr,
    listen: listenForInterrupts,
  };
}

function stdinFacts(): StdinFacts {
  try {
    const stat = fstatSync(0);
    const kind = stat.isFIFO() ? 'pipe' : stat.isFile() ? 'file' : stat.isSocket() ? 'socket' : 'other';
    return { isTerminal: process.stdin.isTTY === true, kind };
  } catch {
    return { isTerminal: false, kind: 'other' };
  }
}

/**
 * Turns Ctrl+C, SIGTERM and SIGHUP into an aborted signal, so that commands tidy up. A second one ends the process at
 * once.
 */
function listenForInterrupts(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      const reason = new Interrupted(name);
      if (controller.signal.aborted) process.exit(reason.exitCode);
      controller.abort(reason);
    });
  }
  return controller.signal;
}
