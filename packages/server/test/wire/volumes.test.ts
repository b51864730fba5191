import { DriverError } from '@svc/runtime/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { resumeForRequest } from '../../src/sandboxes/change/routing.js';
import { fromJson, toJson } from '../../src/storage/json.js';
import { createSandbox } from '../support/sandboxes.js';
import { startTestServer, type TestServer } from '../support/server.js';

let test: TestServer;
beforeAll(async () => {
  test = await startTestServer();
});
afterAll(() => test[Symbol.asyncDispose]());

interface Volume {
  volumeID: string;
  name: string;
  token: string;
}

async function makeVolume(name: string): Promise<Volume> {
  const answer = await test.api('POST', '/volumes', { name });
  expect(answer.status).toBe(201);
  return answer.body as Volume;
}

/** Sends a request to the content API of a volume. */
function content(volume: Volume, method: string, target: string, body?: string, type?: string) {
  return fetch(`${test.server.apiUrl}/volumecontent/${volume.volumeID}/${target}`, {
    method,
    headers: {
      Authorization: `Bearer ${volume.token}`,
      ...(type === undefined ? {} : { 'Content-Type': type }),
    },
    ...(body === undefined ? {} : { body }),
  });
}

describe('writeVolumeFile', () => {
  it.each(['application/json', 'application/octet-stream', 'text/plain', 'multipart/form-data', ''])(
    'stores the bytes of a body of type %j as they came',
    async (type) => {
      const volume = await makeVolume(`raw-${type.replaceAll(/\W/g, '-')}`);
      for (const body of ['{"a": 1}\n', 'no JSON {', '']) {
        const put = await content(
          volume,
          'PUT',
          'file?path=/f&force=true',
          body,
          type === '' ? undefined : type,
        );
        expect(put.status).toBe(201);
        expect(await put.json()).toMatchObject({ size: body.length });
        expect(await (await content(volume, 'GET', 'file?path=/f')).text()).toBe(body);
      }
    },
  );
});

describe('uploadTemplateFiles', () => {
  it('takes the archive raw with any type: JSON is no archive rather than a validation error', async () => {
    const made = await test.api('POST', '/v3/templates', { name: 'raw-upload' });
    const link = await test.api('GET', `/templates/${made.body.templateID}/files/${'a'.repeat(64)}`);
    const answer = await fetch(link.body.url, {
      method: 'PUT',
      headers: { 'Content-Type': 'application/json' },
      body: '{"a": 1}',
    });
    expect(answer.status).toBe(400);
    expect((await answer.json()).message).toMatch(/^the archive is refused: /);
  });
});

describe('a sandbox whose volume was deleted while it was paused', () => {
  it('does not start again with an empty directory: connect, resume and waking say which volume was deleted', async () => {
    const volume = await makeVolume('doomed');
    const { id } = await createSandbox(test);
    expect((await test.api('POST', `/sandboxes/${id}/pause`)).status).toBe(204);
    // As if the driver could mount: the process driver refuses before.
    const row = await test.server.context.db
      .selectFrom('sandboxes')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    const mounts = [{ name: 'doomed', path: '/data', volumeId: volume.volumeID }];
    await test.server.context.db
      .updateTable('sandboxes')
      .set({ config: toJson({ ...fromJson(row.config), mounts }) })
      .where('id', '=', id)
      .execute();
    await test.restart();
    expect((await test.api('DELETE', `/volumes/${volume.volumeID}`)).status).toBe(204);
    for (const call of [`/v2/sandboxes/${id}/connect`, `/sandboxes/${id}/resume`]) {
      const answer = await test.api('POST', call, {});
      expect(answer.status).toBe(400);
      expect(answer.body.message).toContain("[0] volume 'doomed' at /data");
    }
    expect(await resumeForRequest(test.server.context, id, async () => false)).toEqual({
      kind: 'refused',
      message: expect.stringContaining("volume 'doomed'"),
    });
    expect((await test.api('GET', `/sandboxes/${id}`)).body.state).toBe('paused');
    expect((await test.api('DELETE', `/sandboxes/${id}`)).status).toBe(204);
    await test.server.context.volumes.emptyTrash();
    expect(await test.server.driver.volumes.list()).not.toContain(volume.volumeID);
  });
});

describe('a volume whose machine is away', () => {
  it.each(['unreachable', 'no_capacity'] as const)('answers 503 for %s, and says why', async (code) => {
    const volume = await makeVolume(`away-${code.replace('_', '-')}`);
    const { volumes } = test.server.context;
    const contentOf = volumes.content;
    volumes.content = () => Promise.reject(new DriverError(code, 'The machine is away.'));
    try {
      const answer = await content(volume, 'GET', 'path?path=/');
      expect([answer.status, await answer.json()]).toEqual([
        503,
        { code: 'unavailable', message: 'The machine is away.' },
      ]);
    } finally {
      volumes.content = contentOf;
    }
  });
});
