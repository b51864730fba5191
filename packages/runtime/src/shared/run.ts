import { spawn } from 'node:child_process';

export interface RunOptions {
  /** Longest the command may take, ms; then its whole process group is killed. */
  timeoutMs: number;
  env?: Record<string, string>;
}

export interface RunResult {
  /** Exit code; 128 + n after a signal; undefined after the timeout. */
  code: number | undefined;
  stdout: string;
  stderr: string;
  timedOut: boolean;
}

/** Characters of output kept, each stream. */
export const OUTPUT_LIMIT = 256 * 1024;

/** Host tools live in sbin as often as in bin, and a service's PATH may lack it. */
export const TOOL_PATH = '/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin';

/** What scripts of the driver find in their environment. */
export const SCRIPT_ENVIRONMENT = {
  PATH: TOOL_PATH,
  LANG: 'C',
  LC_ALL: 'C',
  // The newer mount interface caps the length of overlay options far lower.
  LIBMOUNT_FORCE_MOUNT2: 'always',
};

/** Runs a command to its end. Never rejects for a failing command: the caller reads `code`. */
export function run(argv: readonly string[], options: RunOptions): Promise<RunResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(argv[0]!, argv.slice(1), {
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: TOOL_PATH, LANG: 'C', LC_ALL: 'C', ...options.env },
    });
    let stdout = '';
    let stderr = '';
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      killGroup(child.pid);
    }, options.timeoutMs);
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      if (stdout.length < OUTPUT_LIMIT) stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      if (stderr.length < OUTPUT_LIMIT) stderr += text;
    });
    child.once('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      resolve({
        code: timedOut ? undefined : (code ?? (signal === null ? 1 : 137)),
        stdout,
        stderr,
        timedOut,
      });
    });
  });
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // Already gone.
  }
}
