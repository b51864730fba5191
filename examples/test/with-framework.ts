import { installFramework } from '../../packages/agents/frameworks/install.mjs';

/**
 * The environment in which a program finds a framework that is not installed with the workspace; it is fetched unless it is there.
 * @param skip what to do when it cannot be
 */
export async function withFramework(
  name: string,
  skip: (reason: string) => never,
): Promise<Record<string, string>> {
  try {
    await installFramework(name);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    console.warn(reason);
    return skip(reason);
  }
  const hooks = new URL('../../packages/agents/frameworks/register.mjs', import.meta.url);
  return { NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import=${hooks.href}` };
}
