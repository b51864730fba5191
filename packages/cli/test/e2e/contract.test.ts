import { platformDocument } from '@svc/platform/openapi';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type RecordingService, startRecordingService } from '../support/recording-service.js';
import { runCli } from '../support/run-cli.js';

let service: RecordingService;
beforeAll(async () => {
  service = await startRecordingService();
});
afterAll(() => service?.[Symbol.asyncDispose]());

const svc = async (...args: string[]) => {
  const run = await runCli(args, { env: service.env });
  expect(run, run.stderr).toMatchObject({ code: 0 });
  return run;
};

interface Schema {
  $ref?: string;
  allOf?: Schema[];
  properties?: Record<string, Schema>;
}

/** Where a schema has values: names of members, joined by dots. */
function placesOf(schema: Schema): string[] {
  if (schema.$ref !== undefined) {
    const { schemas } = platformDocument.components as unknown as { schemas: Record<string, Schema> };
    return placesOf(schemas[schema.$ref.split('/').at(-1)!]!);
  }
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, inner]) => {
    const below = placesOf(inner);
    return below.length === 0 ? [name] : below.map((place) => `${name}.${place}`);
  });
  return [...own, ...(schema.allOf ?? []).flatMap(placesOf)];
}

const has = (body: unknown, place: string) =>
  place.split('.').reduce((at, name) => (at as Record<string, unknown> | undefined)?.[name], body) !==
  undefined;

/** The service takes any value and ignores it. */
const IGNORED = ['secure'];

it('create has a flag for everything that the contract has', async () => {
  const common = ['sandbox', 'create', '-q'];
  const certificate = new URL(import.meta.url).pathname;
  await svc(
    ...common,
    ...['base', '-t', '10m', '-e', 'A=b', '-m', 'c=d', '-v', 'data:/mnt', '--no-internet'],
    ...['--allow-out', 'a.example', '--deny-out', '0.0.0.0/0', '--rule', 'a.example:X-A=b'],
    ...['--egress-proxy', 'socks5://u:p@proxy.example:1080', '--egress-proxy-tls'],
    ...['--egress-proxy-server-name', 'proxy.example', '--egress-proxy-ca', certificate],
    ...['--private-ports', '--https-port', '8443', '--mask-host', 'localhost:${PORT}'],
    ...['--iam-token', 'aws=sts.example', '--mcp', '{"a":1}'],
    ...['--on-timeout', 'pause', '--auto-resume'],
  );
  await svc(...common, '--on-timeout', 'pause', '--pause-files-only');
  const bodies = service.bodies('POST', '/v2/sandboxes');
  expect(bodies).toHaveLength(2);
  const { post } = platformDocument.paths['/v2/sandboxes'] as unknown as {
    post: { requestBody: { content: { 'application/json': { schema: Schema } } } };
  };
  const places = placesOf(post.requestBody.content['application/json'].schema);
  expect(places.length).toBeGreaterThan(15);
  const unreached = places.filter((place) => !bodies.some((body) => has(body, place)));
  expect(unreached).toEqual(IGNORED);
});

it('presets nothing that the service decides: create, fork, resume', async () => {
  const id = 'i0000000000000000000a';
  const before = service.bodies('POST', '/v2/sandboxes').length;
  await svc('sandbox', 'create', '-q');
  expect(service.bodies('POST', '/v2/sandboxes').slice(before)).toEqual([{ templateID: 'base' }]);
  await svc('sandbox', 'fork', id, '-n', '2');
  expect(service.bodies('POST', `/sandboxes/${id}/fork`)).toEqual([{ count: 2 }]);
  await svc('sandbox', 'fork', id, '-n', '2', '-t', '90s');
  expect(service.bodies('POST', `/sandboxes/${id}/fork`).at(-1)).toEqual({ count: 2, timeout: 90 });
  await svc('sandbox', 'resume', id);
  expect(service.bodies('POST', `/v2/sandboxes/${id}/connect`)).toEqual([undefined]);
});
