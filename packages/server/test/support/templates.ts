import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { type Header, pack } from 'tar-stream';
import { eventually } from '#support/eventually';
import type { ApiAnswer, TestServer } from './server.js';

export interface TarFile extends Partial<Header> {
  name: string;
  content?: string | Buffer;
}

/** A tar archive of the entries, plain. */
export async function tarOf(entries: TarFile[]): Promise<Buffer> {
  const packed = pack();
  for (const { content, ...header } of entries) packed.entry({ type: 'file', ...header }, content ?? '');
  packed.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of packed as unknown as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

export async function tarGzOf(entries: TarFile[]): Promise<Buffer> {
  return gzipSync(await tarOf(entries));
}

export function sha256(data: string | Buffer): string {
  return createHash('sha256').update(data).digest('hex');
}

/** Uploads files for a COPY step and gives their hash. */
export async function upload(test: TestServer, templateId: string, entries: TarFile[]): Promise<string> {
  const archive = await tarGzOf(entries);
  const hash = sha256(archive);
  const link = await test.api('GET', `/templates/${templateId}/files/${hash}`);
  if (link.status !== 201) throw new Error(`no link: ${JSON.stringify(link.body)}`);
  if (link.body.present === true) return hash;
  const response = await fetch(link.body.url, { method: 'PUT', body: new Uint8Array(archive) });
  if (response.status !== 204) throw new Error(`the upload was refused: ${await response.text()}`);
  return hash;
}

export interface Created {
  templateID: string;
  buildID: string;
}

export async function createTemplate(test: TestServer, fields: Record<string, unknown>): Promise<Created> {
  const answer = await test.api('POST', '/v3/templates', fields);
  if (answer.status !== 202) throw new Error(`not created: ${JSON.stringify(answer.body)}`);
  return answer.body as Created;
}

export function start(test: TestServer, created: Created, body: unknown): Promise<ApiAnswer> {
  return test.api('POST', `/v2/templates/${created.templateID}/builds/${created.buildID}`, body);
}

export function status(test: TestServer, created: Created, query = ''): Promise<ApiAnswer> {
  return test.api('GET', `/templates/${created.templateID}/builds/${created.buildID}/status${query}`);
}

/** Waits for the end of a build and gives its last status. */
export async function ended(
  test: TestServer,
  created: Created,
  deadlineMs = 120_000,
): Promise<ApiAnswer['body']> {
  return await eventually(
    'the end of the build',
    async () => {
      const { body } = await status(test, created);
      return body.status === 'ready' || body.status === 'error' ? body : undefined;
    },
    deadlineMs,
  );
}

/** Creates a template, builds it and expects it to become ready. */
export async function build(
  test: TestServer,
  name: string,
  body: Record<string, unknown>,
  fields: Record<string, unknown> = {},
): Promise<Created & { log: string[] }> {
  const created = await createTemplate(test, { name, ...fields });
  const started = await start(test, created, { fromTemplate: 'base', ...body });
  if (started.status !== 202) throw new Error(`not started: ${JSON.stringify(started.body)}`);
  const end = await ended(test, created);
  if (end.status !== 'ready') throw new Error(`the build failed: ${JSON.stringify(end, null, 1)}`);
  return { ...created, log: end.logEntries.map((entry: { message: string }) => entry.message) };
}

/** Runs a script in a new sandbox of a template and gives what it printed; the sandbox is killed. */
export async function runIn(
  test: TestServer,
  template: string,
  script: string,
  user?: string,
): Promise<string> {
  const sandbox = await test.api('POST', '/v2/sandboxes', { templateID: template });
  if (sandbox.status !== 201) throw new Error(`no sandbox: ${JSON.stringify(sandbox.body)}`);
  const { createDaemonClient, basicAuthorization } = await import('@svc/daemon');
  const client = createDaemonClient({
    baseUrl: test.server.sandboxUrl,
    sandboxId: sandbox.body.sandboxID,
    accessToken: sandbox.body.envdAccessToken,
  });
  let out = '';
  const headers = user === undefined ? {} : { headers: { Authorization: basicAuthorization(user) } };
  for await (const { event } of client.process.start(
    { process: { cmd: '/bin/sh', args: ['-c', `{ ${script}\n} 2>&1`] }, stdin: false },
    headers,
  )) {
    if (event?.event.case === 'data' && event.event.value.output.case === 'stdout')
      out += Buffer.from(event.event.value.output.value).toString();
  }
  await test.api('DELETE', `/sandboxes/${sandbox.body.sandboxID}`);
  return out.trim();
}
