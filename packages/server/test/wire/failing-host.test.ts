import { volumesDocument } from '@svc/platform/openapi';
import { VolumeError } from '@svc/runtime/contract';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { DatabaseLostError, DatabaseUnreachableError } from '../../src/storage/database-errors.js';
import { startTestServer, type TestServer } from '../support/server.js';

let test: TestServer;
let volume: { volumeID: string; token: string };
let context: { db: TestServer['server']['context']['db'] };
let db: TestServer['server']['context']['db'];
beforeAll(async () => {
  test = await startTestServer();
  volume = (await test.api('POST', '/volumes', { name: 'v' })).body;
  context = test.server.context;
  db = context.db;
});
afterAll(() => test[Symbol.asyncDispose]());

/** Operation, method, last part of the path. */
type Call = [operationId: string, method: string, target: 'path' | 'dir' | 'file'];

const OPERATIONS: Call[] = [
  ['getVolumePath', 'GET', 'path'],
  ['updateVolumePath', 'PATCH', 'path'],
  ['deleteVolumePath', 'DELETE', 'path'],
  ['listVolumeDir', 'GET', 'dir'],
  ['createVolumeDir', 'POST', 'dir'],
  ['readVolumeFile', 'GET', 'file'],
  ['writeVolumeFile', 'PUT', 'file'],
];

/** Calls an operation of the volume content API. The document must list the status of the answer. */
async function content([operationId, method, target]: Call, body = '{"mode":420}') {
  const sends = method === 'PATCH' || method === 'PUT';
  const answer = await fetch(`${test.server.apiUrl}/volumecontent/${volume.volumeID}/${target}?path=/f`, {
    method,
    headers: {
      Authorization: `Bearer ${volume.token}`,
      ...(sends ? { 'Content-Type': 'application/json' } : {}),
    },
    ...(sends ? { body } : {}),
  });
  const operations = Object.values(volumesDocument.paths).flatMap((item) => Object.values(item ?? {}));
  const operation = operations.find((one) => (one as { operationId?: string }).operationId === operationId);
  expect(Object.keys((operation as { responses: object }).responses)).toContain(String(answer.status));
  return {
    status: answer.status,
    retryAfter: answer.headers.get('retry-after'),
    ...((await answer.json()) as { code: string; message: string }),
  };
}

describe('a host whose disk', () => {
  let failWith: Error;
  beforeEach(() => {
    const { volumes } = test.server.context;
    const ordinary = volumes.content;
    volumes.content = async () => {
      throw failWith;
    };
    return () => {
      volumes.content = ordinary;
    };
  });

  it.each(OPERATIONS)('fails gives 500 without details: %s', async (...call) => {
    failWith = new Error('EIO: a secret detail');
    expect(await content(call)).toMatchObject({ status: 500, code: 'internal_error' });
    expect((await content(call)).message).toBe('internal server error');
  });
  it.each(OPERATIONS)('does not let the server do it gives 501: %s', async (...call) => {
    failWith = new VolumeError('not_supported', 'the service may not change this on its host');
    expect(await content(call)).toMatchObject({ status: 501, code: 'not_supported' });
  });
  it.each(OPERATIONS.filter(([, method]) => !['GET', 'DELETE'].includes(method)))(
    'is full gives 507: %s',
    async (...call) => {
      failWith = new VolumeError('no_space', 'no space is left for the volume');
      expect(await content(call)).toMatchObject({ status: 507, code: 'no_space' });
    },
  );
});

describe('a body of JSON that is too large', () => {
  it('gives 413, not an internal error: updateVolumePath', async () => {
    const answer = await content(
      ['updateVolumePath', 'PATCH', 'path'],
      JSON.stringify({ mode: 420, padding: 'x'.repeat(1 << 20) }),
    );
    expect(answer).toMatchObject({ status: 413, code: 'invalid_request' });
  });
});

describe('a database that is away', () => {
  const away = (error: Error) => {
    context.db = new Proxy(db, {
      get: () => {
        throw error;
      },
    });
  };
  afterEach(() => {
    context.db = db;
  });

  it.each(OPERATIONS)('gives 503 and says when to come back: %s', async (...call) => {
    away(new DatabaseUnreachableError(new Error('connect ECONNREFUSED a secret address')));
    const answer = await content(call);
    expect(answer).toMatchObject({ status: 503, code: 'unavailable', retryAfter: '1' });
    expect(answer.message).not.toContain('secret');
  });
  it('gives 503 in the platform API, which the document lists: listVolumes', async () => {
    away(new DatabaseUnreachableError(new Error('connect ECONNREFUSED')));
    expect(await test.api('GET', '/volumes')).toMatchObject({ status: 503, body: { code: 503 } });
    away(new DatabaseLostError(new Error('Connection terminated')));
    expect((await test.api('GET', '/volumes')).body.message).toContain('lost its database');
  });
});

describe('a defect', () => {
  it('gives 500 without details: getHealth', async () => {
    const doubled = test.server.context as { draining: () => boolean };
    const { draining } = doubled;
    doubled.draining = () => {
      throw new TypeError('a detail of the code');
    };
    try {
      expect(await test.api('GET', '/health')).toMatchObject({
        status: 500,
        body: { code: 500, message: 'internal server error' },
      });
    } finally {
      doubled.draining = draining;
    }
  });

  it.each([
    ['getOpenidConfiguration', '/.well-known/openid-configuration', 'config'],
    ['getJwks', '/.well-known/jwks.json', 'identity'],
  ] as const)('gives 500 without details: %s', async (_operation, path, part) => {
    const real = test.server.context[part];
    const broken = new Proxy(real, {
      get(target, name) {
        if (name === 'issuer' || name === 'published') throw new TypeError('a detail of the code');
        return Reflect.get(target, name, target) as unknown;
      },
    });
    Object.assign(test.server.context, { [part]: broken });
    try {
      expect(await test.api('GET', path)).toMatchObject({
        status: 500,
        body: { code: 500, message: 'internal server error' },
      });
    } finally {
      Object.assign(test.server.context, { [part]: real });
    }
  });
});

describe('a store that fails', () => {
  it('gives 500 to who uploads files with a good link: uploadTemplateFiles', async () => {
    const made = await test.api('POST', '/v3/templates', { name: 'upload' });
    const link = await test.api('GET', `/templates/${made.body.templateID}/files/${'a'.repeat(64)}`);
    await db.schema.alterTable('templates').renameTo('lost_templates').execute();
    try {
      const answer = await fetch(link.body.url, { method: 'PUT', body: 'x' });
      expect([answer.status, await answer.json()]).toEqual([
        500,
        { code: 500, message: 'internal server error' },
      ]);
    } finally {
      await db.schema.alterTable('lost_templates').renameTo('templates').execute();
    }
  });
});
