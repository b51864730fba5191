import { fileURLToPath } from 'node:url';
import { Template } from '@svc/sdk';

/** Name under which `sandbox.runCode` and its errors expect the template. */
export const codeInterpreterName = 'code-interpreter';

/** Name under which clients of the widely used interpreter server ask for it. */
export const codeInterpreterAlias = 'code-interpreter-v1';

const port = 49_999;
const assets = fileURLToPath(new URL('../assets/', import.meta.url));

/** Where the programs of the interpreter lie in the template. */
const directory = '/opt/code-interpreter';

/**
 * The template of the code interpreter: `base` with pandas, numpy and matplotlib of Debian, and a server on port 49999 with
 * warm kernels for Python, JavaScript and Bash. Building it takes packages from the mirror that `base` names, 110 MB.
 * @param options `from`: what it stands on, a template with Debian's apt, Python and Node 24. Default `base`.
 * @example
 * const build = await client.templates.build(codeInterpreter(), { name: codeInterpreterName });
 * await build.wait();
 */
export function codeInterpreter(options: { from?: string | undefined } = {}): Template {
  return Template.from(options.from ?? 'base', { contextDir: assets, ignore: ['__pycache__/'] })
    .copy('install.sh', `${directory}/`, { user: 'root' })
    .run(`sh ${directory}/install.sh`, { user: 'root' })
    .copy('.', `${directory}/`, { user: 'root' })
    .start(
      `until python3 ${directory}; do sleep 1; done`,
      `curl -sf -o /dev/null http://127.0.0.1:${port}/health`,
    );
}
