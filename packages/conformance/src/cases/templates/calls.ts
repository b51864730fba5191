import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { eventually } from '@svc/support/eventually';
import { unique } from '../../requests/samples.js';
import { type Api, callOk } from '../../wire/call.js';

export interface Created {
  templateID: string;
  buildID: string;
  names: string[];
  aliases: string[];
  tags: string[];
  public: boolean;
}

export interface Status {
  status: string;
  logs: unknown[];
  logEntries: { message: string; level: string; step?: string }[];
  reason?: { message: string; step?: string; logEntries?: unknown[] };
}

/** The length of a build is said nowhere. Machines of a cluster copy and unpack whole images for each. */
const LONGEST_BUILD_MS = 600_000;

/** Hash under which archives are uploaded. */
export const HASH = 'c0ffee'.padEnd(64, '0');

/** A gzip-compressed tar archive of one file. */
export function archiveOf(name: string, content: string): Buffer {
  const directory = mkdtempSync(path.join(tmpdir(), 'svc-archive-'));
  try {
    writeFileSync(path.join(directory, name), content);
    execFileSync('tar', ['-czf', path.join(directory, 'out.tgz'), '-C', directory, name]);
    return readFileSync(path.join(directory, 'out.tgz'));
  } finally {
    rmSync(directory, { recursive: true });
  }
}

export const create = async (api: Api, body: Record<string, unknown> = {}) =>
  await callOk<Created>(api, 'createTemplate', 202, { body: { name: unique('template'), ...body } });

export const idsOf = ({ templateID, buildID }: Created) => ({ path: { templateID, buildID } });

/** Waits until a build is ready or has failed. */
export async function finish(api: Api, made: Created): Promise<Status> {
  return eventually(
    'the end of the build',
    async () => {
      const status = await callOk<Status>(api, 'getTemplateBuildStatus', 200, idsOf(made));
      assert.deepEqual(status.logs, [], 'logs is always empty');
      return status.status === 'ready' || status.status === 'error' ? status : undefined;
    },
    LONGEST_BUILD_MS,
  );
}

/** A template whose build is ready. */
export async function ready(
  api: Api,
  template: string,
  body: Record<string, unknown> = {},
): Promise<Created> {
  const made = await create(api, body);
  await callOk(api, 'startTemplateBuild', 202, { ...idsOf(made), body: { fromTemplate: template } });
  const status = await finish(api, made);
  assert.equal(status.status, 'ready', JSON.stringify(status));
  return made;
}

/** Asks for an upload link, and whether the files are there already. */
export async function upload(
  api: Api,
  templateID: string,
  hash = HASH,
): Promise<{ present: boolean; token: string }> {
  const link = await callOk<{ present: boolean; url?: string }>(api, 'getTemplateFilesLink', 201, {
    path: { templateID, hash },
  });
  return { present: link.present, token: decodeURIComponent(link.url?.split('/').at(-1) ?? '') };
}

export const needs = ['templates'] as const;
export const own = ['templates', 'teams'] as const;
