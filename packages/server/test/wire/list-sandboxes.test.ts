import { encodeMetadataFilter } from '@svc/platform';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSandbox } from '../support/sandboxes.js';
import { startTestServer, type TestServer } from '../support/server.js';

let test: TestServer;
beforeAll(async () => {
  test = await startTestServer();
});
afterAll(() => test[Symbol.asyncDispose]());

const ids = (answer: { body: { sandboxID: string }[] }) => answer.body.map((item) => item.sandboxID);

describe('listSandboxesV2', () => {
  it('pages through both orders without gaps or repeats', async () => {
    const made: string[] = [];
    for (let index = 0; index < 5; index += 1) made.push((await createSandbox(test)).id);
    await test.api('POST', `/sandboxes/${made[1]}/pause`);
    for (const order of ['asc', 'desc']) {
      const seen: string[] = [];
      let token = '';
      do {
        const page = await test.api(
          'GET',
          `/v2/sandboxes?limit=2&order=${order}&nextToken=${encodeURIComponent(token)}`,
        );
        expect(page.status).toBe(200);
        expect(page.headers.get('X-Total-Running')).toBe('4');
        seen.push(...ids(page));
        token = page.headers.get('X-Next-Token') ?? '';
      } while (token !== '');
      expect(order === 'asc' ? seen : seen.reverse()).toEqual(made);
    }
    const running = await test.api('GET', '/v2/sandboxes?state=running');
    expect(ids(running)).not.toContain(made[1]);
    const paused = await test.api('GET', '/v2/sandboxes?state=paused');
    expect(ids(paused)).toEqual([made[1]]);
    expect(paused.headers.get('X-Total-Running')).toBeNull();
    expect((await test.api('GET', '/sandboxes')).body).toHaveLength(4);
    const first = await test.api('GET', '/v2/sandboxes?limit=1');
    const token = first.headers.get('X-Next-Token');
    expect((await test.api('GET', `/v2/sandboxes?order=asc&nextToken=${token}`)).status).toBe(400);
  });

  it('filters by metadata of any characters, template and start', async () => {
    const metadata = { 'a=b&c': '100% + more', plain: 'x' };
    const { id } = await createSandbox(test, { metadata });
    await createSandbox(test, { metadata: { plain: 'x' } });
    const filter = encodeURIComponent(encodeMetadataFilter(metadata) ?? '');
    expect(ids(await test.api('GET', `/v2/sandboxes?metadata=${filter}`))).toEqual([id]);
    expect(ids(await test.api('GET', '/v2/sandboxes?metadata=plain%3Dx'))).toHaveLength(2);
    expect(ids(await test.api('GET', '/v2/sandboxes?template=base&metadata=plain%3Dx'))).toHaveLength(2);
    expect((await test.api('GET', '/v2/sandboxes?template=nothing')).body).toEqual([]);
    const read = await test.api('GET', `/sandboxes/${id}`);
    const later = new Date(Date.parse(read.body.startedAt) + 60_000).toISOString();
    expect((await test.api('GET', `/v2/sandboxes?startedAfter=${later}`)).body).toEqual([]);
    expect(ids(await test.api('GET', `/v2/sandboxes?startedAfter=${read.body.startedAt}`))).toContain(id);
    // A microsecond later.
    const next = read.body.startedAt.replace(/(\.\d{3})\d*Z$/, '$1001Z');
    expect(ids(await test.api('GET', `/v2/sandboxes?startedAfter=${next}`))).not.toContain(id);
  });

  it.each([
    'limit=0',
    'limit=101',
    'order=up',
    'state=gone',
    'nextToken=%21',
    'template=base%3Av1',
    'startedAfter=yesterday',
    'metadata=',
    'metadata=a',
    'metadata=a%3Db%3Dc',
    'metadata=a%3D%25zz',
  ])('answers 400 to %s', async (query) => {
    const answer = await test.api('GET', `/v2/sandboxes?${query}`);
    expect(answer.status).toBe(400);
    if (query.startsWith('metadata')) expect(answer.body.message).toMatch(/^Error parsing metadata/);
  });
});
