import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Fixture } from '@svc/support/testing/on-server';

/** The end of a program of its own that uses the SDK. */
export interface ScriptRun {
  exitCode: number | null;
  stdout: string;
  /** From its last output to its end, ms. */
  lingeredMs: number;
}

/** Runs a module body, which finds `Sandbox` in scope, in a Node of its own against the server of the fixture. */
export async function runScript(fixture: Fixture, body: string, limitMs = 60_000): Promise<ScriptRun> {
  const directory = await mkdtemp(join(tmpdir(), 'svc-exit-'));
  try {
    const script = join(directory, 'script.ts');
    const sdk = JSON.stringify(new URL('../../src/index.ts', import.meta.url).pathname);
    await writeFile(script, `import { Sandbox } from ${sdk};\n${body}\n`);
    const { apiUrl, sandboxUrl, apiKey } = fixture.server;
    const env = {
      PATH: process.env.PATH,
      HOME: directory,
      SVC_API_URL: apiUrl,
      SVC_SANDBOX_URL: sandboxUrl,
      SVC_API_KEY: apiKey,
    };
    const bundle = join(directory, 'script.mjs');
    const { build } = await import('esbuild');
    await build({
      entryPoints: [script],
      outfile: bundle,
      bundle: true,
      platform: 'node',
      format: 'esm',
      conditions: ['@svc/source', 'node', 'import'],
      banner: {
        js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
      },
      absWorkingDir: new URL('../..', import.meta.url).pathname,
      nodePaths: [new URL('../../../../node_modules', import.meta.url).pathname],
    });
    const child = spawn(process.execPath, [bundle], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    const tooLong = setTimeout(() => child.kill('SIGKILL'), limitMs);
    let stdout = '';
    let printedAt = performance.now();
    child.stdout.on('data', (data) => {
      stdout += data;
      printedAt = performance.now();
    });
    const exitCode = await new Promise<number | null>((resolve) => child.once('close', resolve));
    clearTimeout(tooLong);
    return { exitCode, stdout, lingeredMs: performance.now() - printedAt };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
