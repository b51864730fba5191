import { z } from 'zod';
import { defineSandboxTool, type ToolTarget, text, user } from './define-tool.js';
import { imageTypeOf } from './image-type.js';
import { readBytes, readText, textOf } from './read-text.js';
import { shorten } from './shorten.js';
import type { SandboxTool, ToolAnswer } from './tool.js';

/** Characters that one call returns. */
const MOST_TOLD = 64 * 1024;
const MOST_LISTED = 1_000;

const path = z.string().min(1).describe('Absolute, or relative to the home.');

/** Tools for files. */
export function fileTools(target: ToolTarget): SandboxTool[] {
  const readFile = defineSandboxTool(target, {
    name: 'read_file',
    title: 'Read a file',
    description:
      'Returns lines of a text file in a sandbox, or an image (PNG, JPEG, GIF, WebP) as an image. At most 64 KiB of text a call: read on with first_line.',
    input: {
      path,
      first_line: z.number().int().min(1).default(1),
      lines: z.number().int().min(1).default(2_000).describe('Most lines to return.'),
      user,
    },
    effects: { readOnly: true },
    async run({ path, first_line, lines, ...options }, { sandbox, signal }) {
      const bytes = await readBytes(sandbox, path, { ...options, signal });
      const mimeType = imageTypeOf(path);
      if (mimeType !== undefined)
        return { content: [{ type: 'image', data: bytes.toString('base64'), mimeType }] };
      return linesOf(path, bytes, first_line, lines);
    },
  });

  const writeFile = defineSandboxTool(target, {
    name: 'write_file',
    title: 'Write a file',
    description: 'Writes a text file in a sandbox, folders above it included. Its earlier content is lost.',
    input: { path, content: z.string(), user },
    effects: { idempotent: true },
    async run({ path, content, user }, { sandbox, signal }) {
      const written = await sandbox.files.write(path, content, { user, signal });
      return text(`Wrote ${Buffer.byteLength(content)} bytes to ${written.path}.`);
    },
  });

  const editFile = defineSandboxTool(target, {
    name: 'edit_file',
    title: 'Edit a file',
    description:
      'Replaces a piece of a text file in a sandbox. The piece must be in the file exactly once: give lines around it until it is, or set replace_all.',
    input: {
      path,
      old_text: z.string().min(1).describe('The piece, exactly as it is in the file, spaces included.'),
      new_text: z.string().describe('What is to be there instead.'),
      replace_all: z.boolean().default(false).describe('Whether to replace it wherever it is.'),
      user,
    },
    async run({ path, old_text, new_text, replace_all, ...options }, { sandbox, signal }) {
      const call = { ...options, signal };
      const before = await readText(sandbox, path, { ...call, exact: true });
      const { after, count } = editText(path, before, old_text, new_text, replace_all);
      await sandbox.files.write(path, after, call);
      return text(`Replaced ${count === 1 ? 'one place' : `${count} places`} in ${path}.`);
    },
  });

  const listFiles = defineSandboxTool(target, {
    name: 'list_files',
    title: 'List a folder',
    description: 'Lists a folder in a sandbox: one line each, with size; folders end with "/".',
    input: {
      path: path.default('.'),
      depth: z.number().int().min(1).max(8).default(1).describe('Levels to go down.'),
      user,
    },
    effects: { readOnly: true },
    async run({ path, depth, user }, { sandbox, signal }) {
      const entries = await sandbox.files.list(path, { depth, user, signal });
      const told = entries
        .slice(0, MOST_LISTED)
        .map((entry) =>
          entry.type === 'directory' ? `${entry.path}/` : `${entry.path}  ${entry.sizeBytes}`,
        );
      if (entries.length > MOST_LISTED) told.push(`[... and ${entries.length - MOST_LISTED} more]`);
      return text(told.length === 0 ? 'The folder is empty.' : shorten(told.join('\n'), MOST_TOLD, 1_000));
    },
  });
  return [readFile, writeFile, editFile, listFiles];
}

/** A part of a text, as many whole lines of it as fit, and where to read on. */
function linesOf(path: string, bytes: Uint8Array, first: number, most: number): ToolAnswer {
  const all = textOf(path, bytes).split('\n');
  if (all.at(-1) === '') all.pop();
  if (first > Math.max(1, all.length)) throw new Error(`${path} has ${all.length} lines.`);
  const taken: string[] = [];
  let size = 0;
  for (const line of all.slice(first - 1, first - 1 + most)) {
    size += line.length + 1;
    if (size > MOST_TOLD && taken.length > 0) break;
    taken.push(
      line.length > MOST_TOLD ? `${line.slice(0, MOST_TOLD)} [... ${line.length} characters]` : line,
    );
  }
  const next = first + taken.length;
  const rest = next <= all.length ? [`[${all.length} lines: read on with first_line ${next}]`] : [];
  return text(taken.join('\n'), ...rest);
}

/**
 * Replaces a piece of a text, literally. Pure.
 * @throws when the piece is not there, or several times without `everywhere`: with what to do then
 */
function editText(
  path: string,
  before: string,
  piece: string,
  replacement: string,
  everywhere: boolean,
): { after: string; count: number } {
  const parts = before.split(piece);
  const count = parts.length - 1;
  if (count === 0)
    throw new Error(
      `${path} does not have this old_text. Read the file, and give it exactly as it is there.`,
    );
  if (count > 1 && !everywhere)
    throw new Error(
      `${path} has this old_text ${count} times. Give more lines around the place that you mean, or set replace_all.`,
    );
  return { after: parts.join(replacement), count };
}
