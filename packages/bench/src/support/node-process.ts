import { spawn } from 'node:child_process';

export interface ProcessRun {
  ms: number;
  stdout: string;
}

/** Runs Node on a piece of ECMAScript and times the whole process. @throws when it fails */
export function runNode(
  code: string,
  options: { cwd: string; env?: Record<string, string>; args?: string[] },
): Promise<ProcessRun> {
  const start = performance.now();
  const child = spawn(process.execPath, [...(options.args ?? []), '--input-type=module', '-e', code], {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (data) => {
    stdout += data;
  });
  child.stderr.on('data', (data) => {
    stderr += data;
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (exitCode) => {
      if (exitCode === 0) resolve({ ms: performance.now() - start, stdout });
      else reject(new Error(`the measured program failed (${exitCode}): ${stderr.slice(0, 2000)}`));
    });
  });
}
