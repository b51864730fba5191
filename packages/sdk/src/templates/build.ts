import { runtime } from '#runtime';
import type { ClientCore } from '../calls/client-core.js';
import { throwUnlessOk } from '../calls/read-answer.js';
import type { RequestOptions } from '../core/call-context.js';
import { defined } from '../core/wire-values.js';
import { type CopyFiles, collectCopy } from './copy-files.js';
import type { Template } from './template.js';
import { TemplateBuild } from './template-build.js';
import type { BuildLogEntry } from './template-info.js';
import { toBuildStart } from './wire.js';

/** Options for building a template. */
export interface BuildOptions extends RequestOptions {
  /** `[namespace/]name[:tag]`. A name that the team has gets a new build. */
  name: string;
  /** Further tags for the build. Default: `default` when none is given at all. */
  tags?: readonly string[] | undefined;
  /** 1 or an even number. Default: the service's, 2. */
  cpuCount?: number | undefined;
  /** MiB, even, at least 128. Default: the service's, 1024. */
  memoryMiB?: number | undefined;
  /** Free disk space that sandboxes shall have, MiB. Default: the service's, 10240. */
  minFreeDiskMiB?: number | undefined;
  /** Build everything again, despite the cache. Default false. */
  force?: boolean | undefined;
}

const operation = 'templates.build';
const resource = 'template' as const;

/** Longest upload of the files of one step, ms, unless the call says otherwise. */
const uploadLimitMs = 3_600_000;

export async function buildTemplate(
  core: ClientCore,
  template: Template,
  options: BuildOptions,
  onLog: ((entry: BuildLogEntry) => void) | undefined,
): Promise<TemplateBuild> {
  const { definition } = template;
  const { name, tags, cpuCount, memoryMiB, minFreeDiskMiB, force, ...rest } = options;
  // Mistakes that can be seen here are found before the service hears of a build.
  const copies: (CopyFiles | undefined)[] = [];
  for (const { copy } of definition.steps) copies.push(copy && (await collectCopy(definition, copy)));
  const body = defined({
    name,
    tags: tags && [...tags],
    cpuCount,
    memoryMB: memoryMiB,
    minFreeDiskMb: minFreeDiskMiB,
  });
  const created = await core.platform.call({ operation, resource, options: rest }, (platform, fetch) =>
    platform.POST('/v3/templates', { body, fetch }),
  );
  const { templateID, buildID } = created;
  await uploadMissing(core, templateID, copies, rest);
  const hashes = copies.map((copy) => copy?.hash);
  await core.platform.call({ operation, resource, options: rest }, (platform, fetch) =>
    platform.POST('/v2/templates/{templateID}/builds/{buildID}', {
      params: { path: { templateID, buildID } },
      body: toBuildStart(definition, hashes, force),
      fetch,
    }),
  );
  const build = new TemplateBuild(core, {
    templateId: templateID,
    buildId: buildID,
    name,
    steps: definition.steps,
    warnings: definition.warnings,
  });
  if (onLog) void tell(core, build, onLog, rest);
  return build;
}

/** Uploads the files of each COPY that the service does not have yet, each set once. */
async function uploadMissing(
  core: ClientCore,
  templateID: string,
  copies: readonly (CopyFiles | undefined)[],
  options: RequestOptions,
): Promise<void> {
  const byHash = new Map(copies.flatMap((copy) => (copy ? [[copy.hash, copy] as const] : [])));
  for (const [hash, copy] of byHash) {
    const link = await core.platform.call({ operation, resource, options }, (platform, fetch) =>
      platform.GET('/templates/{templateID}/files/{hash}', { params: { path: { templateID, hash } }, fetch }),
    );
    if (!link.present && link.url !== undefined) await upload(core, copy, link.url, options);
  }
}

async function upload(
  core: ClientCore,
  copy: CopyFiles,
  url: string,
  options: RequestOptions,
): Promise<void> {
  const context = { operation, service: 'platform' } as const;
  const files = await runtime.localFiles();
  const archive = await files.gzip(files.pack(copy.root, copy.entries));
  // The archive is kept in a file: sending it again would need a copy in memory.
  const limits = { ...options, maxRetries: 0, requestTimeoutMs: options.requestTimeoutMs ?? uploadLimitMs };
  try {
    await core.http.call({ ...context, options: limits }, async (fetch) => {
      const rules = { redirect: 'error', window: null } as const;
      const headers = { 'Content-Type': 'application/gzip' };
      const response = await fetch(
        new Request(url, { method: 'PUT', body: archive.blob, headers, ...rules }),
        rules,
      );
      await throwUnlessOk(response, context);
      await response.body?.cancel();
    });
  } finally {
    await archive.dispose();
  }
}

/** Passes the build's log to a callback. Its failures are those of `wait`, and only logged here. */
async function tell(
  core: ClientCore,
  build: TemplateBuild,
  onLog: (entry: BuildLogEntry) => void,
  options: RequestOptions,
): Promise<void> {
  try {
    for await (const entry of build.logs(options)) onLog(entry);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    core.logger.warn('templates.build: the log of the build could not be followed further', {
      error: message,
    });
  }
}
