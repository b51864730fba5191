import { type ApplyPatchResult, applyDiff, type Editor } from '@openai/agents';
import type { Sandbox } from '@svc/sdk';
import { defaultSandbox } from '../default-sandbox.js';
import type { ToolSandboxes } from '../tool-sandboxes.js';
import { readText } from '../tools/read-text.js';
import { shorten } from '../tools/shorten.js';

/**
 * An editor for the SDK's own patch tool, which models of OpenAI are trained on: `applyPatchTool({ editor })`. A patch that does not fit
 * fails with the reason, and leaves the file as it was.
 * @param source one sandbox, or the sandboxes of one agent, of which the default one is used
 * @example
 * const agent = new Agent({ name: 'Coder', tools: [applyPatchTool({ editor: sandboxEditor(sandbox) })] });
 */
export function sandboxEditor(source: Sandbox | ToolSandboxes): Editor {
  const attempt = async (act: (sandbox: Sandbox) => Promise<string>): Promise<ApplyPatchResult> => {
    try {
      return { status: 'completed', output: await act(await defaultSandbox(source)) };
    } catch (error) {
      return { status: 'failed', output: shorten(error instanceof Error ? error.message : String(error)) };
    }
  };
  return {
    createFile: ({ path, diff }) =>
      attempt(async ({ files }) => {
        if (await files.exists(path)) throw new Error(`${path} exists already: update it instead.`);
        await files.write(path, applyDiff('', diff, 'create'));
        return `Created ${path}.`;
      }),
    updateFile: ({ path, diff, moveTo }) =>
      attempt(async (sandbox) => {
        const after = applyDiff(await readText(sandbox, path, { exact: true }), diff);
        await sandbox.files.write(path, after);
        if (moveTo !== undefined) await sandbox.files.move(path, moveTo);
        return moveTo === undefined ? `Updated ${path}.` : `Updated ${path}, which is now ${moveTo}.`;
      }),
    deleteFile: ({ path }) =>
      attempt(async ({ files }) => {
        const { type, symlinkTarget } = await files.stat(path);
        if (type === 'directory' && symlinkTarget === undefined) throw new Error(`${path} is a folder.`);
        await files.remove(path);
        return `Deleted ${path}.`;
      }),
  };
}
