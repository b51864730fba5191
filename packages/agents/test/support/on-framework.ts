import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { installFramework } from '../../frameworks/install.mjs';

/** Which adapters stand on which framework that is not installed with the workspace. */
const ADAPTERS = { openai: ['openai'], langchain: ['langchain', 'deepagents'], mastra: ['mastra'] };

const own = fileURLToPath(new URL('../..', import.meta.url));

/** Runs the tests of `test/frameworks/NAME.ts` on a framework that is fetched for them, and checks types against its own. */
export async function onFramework(name: string, load: () => Promise<unknown>): Promise<void> {
  let directory: string;
  try {
    directory = await installFramework(name);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    console.warn(`tests of @svc/agents/${name}: skipped, ${reason}`);
    it.skip(`the adapter works on ${name}`, () => {});
    return;
  }
  await load();
  it(`the adapter and its tests have the types of ${name} itself`, () => {
    expect(typeErrors(directory, name)).toBe('');
  });
}

/** Compiles the sources of the adapter where the framework is installed. */
function typeErrors(directory: string, name: string): string {
  const project = mkdtempSync(join(directory, 'types-'));
  try {
    for (const path of ['src', 'test/support', `test/frameworks/${name}.ts`])
      cpSync(join(own, path), join(project, path), { recursive: true });
    for (const [framework, adapters] of Object.entries(ADAPTERS))
      for (const adapter of adapters)
        if (framework !== name) rmSync(join(project, 'src', adapter), { recursive: true, force: true });
    cpSync(join(own, 'frameworks'), join(project, 'frameworks'), { recursive: true });
    // What is not of the framework is that of the workspace.
    mkdirSync(join(project, 'node_modules/@svc'), { recursive: true });
    for (const sibling of ['sdk', 'server', 'support'])
      symlinkSync(join(own, '..', sibling), join(project, 'node_modules/@svc', sibling));
    for (const dependency of ['ai', 'zod', 'vitest', '@types'])
      symlinkSync(join(own, '../../node_modules', dependency), join(project, 'node_modules', dependency));
    const settings = {
      extends: join(own, '../../tsconfig.base.json'),
      files: [`test/frameworks/${name}.ts`],
      include: ['src'],
    };
    writeFileSync(join(project, 'package.json'), '{ "type": "module" }');
    writeFileSync(join(project, 'tsconfig.json'), JSON.stringify(settings));
    const compiler = join(own, '../../node_modules/typescript-7/bin/tsc');
    execFileSync(process.execPath, [compiler, '-p', project], { encoding: 'utf8' });
    return '';
  } catch (error) {
    return (error as { stdout?: string }).stdout || String(error);
  } finally {
    rmSync(project, { recursive: true, force: true });
  }
}
