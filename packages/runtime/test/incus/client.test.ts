import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { formatEndpoint, parseEndpoints } from '../../src/incus/endpoint.js';
import { IncusClient } from '../../src/incus/incus-client.js';
import { IncusError } from '../../src/incus/incus-error.js';
import { readAnswer, readOperation } from '../../src/incus/read-answer.js';
import { readEvent } from '../../src/incus/watch-events.js';
import { FrameReader, pongFrame } from '../../src/incus/web-socket-frames.js';
import { done, FakeIncus, failed, OPERATION, started } from '../support/fake-incus.js';

describe('addresses of Incus', () => {
  it.each([
    ['/var/lib/incus/unix.socket', ['/var/lib/incus/unix.socket']],
    ['unix:/a, unix:///b', ['/a', '/b']],
    ['https://10.0.0.1,https://[fd00::2]:9443', ['https://10.0.0.1:8443', 'https://[fd00::2]:9443']],
  ])('%s', (text, expected) => {
    expect(parseEndpoints(text).map(formatEndpoint)).toEqual(expected);
  });

  it.each(['', ' , ', 'http://10.0.0.1', 'incus', 'https://user@host', 'https://host/path'])(
    'refuses %j with what to give instead',
    (text) => {
      expect(() => parseEndpoints(text)).toThrow(/empty|give the path of its socket/);
    },
  );

  it('asks for the certificate that https needs', () => {
    expect(() => new IncusClient({ address: 'https://10.0.0.1' })).toThrow('client certificate');
  });
});

describe('answers of Incus', () => {
  it.each([
    [200, '<html>', 'What answers is not Incus (status 200).', 200],
    [200, '{"type":"odd"}', 'What answers is not Incus (status 200).', 200],
    [404, '{"type":"error","error_code":404,"error":"Instance not found"}', 'Instance not found', 404],
    [500, '{"type":"error","error":""}', 'Incus answered 500.', 500],
    [202, '{"type":"async","operation":"/1.0/elsewhere"}', 'Incus started an operation without a name.', 202],
  ])('%i %s', (status, body, message, code) => {
    const error = catchOf(() => readAnswer(status, body));
    expect(error).toMatchObject({ message, status: code });
  });

  it.each([
    [{ status_code: 103 }, undefined],
    [{ status_code: 200, metadata: { a: 1 } }, { metadata: { a: 1 } }],
  ])('an operation %j', (state, expected) => {
    expect(readOperation(state)).toEqual(expected);
  });

  it.each([
    [{ status_code: 400, err: 'Image not found' }, 404],
    [{ status_code: 400, err: 'Instance "x" already exists' }, 409],
    [{ status_code: 400, err: 'broken' }, 500],
    [{ status_code: 401 }, 499],
    [null, 500],
  ])('a failed operation %j', (state, status) => {
    expect(catchOf(() => readOperation(state))).toMatchObject({ status });
  });
});

describe('calls of Incus', () => {
  it('wait for the operation, however often a wait is too short', async () => {
    let waits = 0;
    await using incus = await FakeIncus.start(({ method, path }) => {
      if (method === 'POST') return started();
      if (path === `${OPERATION}/wait`) {
        waits += 1;
        return waits < 3
          ? failed(500, 'context deadline exceeded')
          : done({ status_code: 200, metadata: { fingerprint: 'f' } });
      }
      return done({ status_code: 103 });
    });
    const client = new IncusClient({ address: incus.socketPath, project: 'mine' });
    expect(await client.call({ method: 'POST', path: '/images', body: { a: 1 } })).toEqual({
      fingerprint: 'f',
    });
    expect(incus.requests[0]!.query.get('project')).toBe('mine');
    expect(JSON.parse(incus.requests[0]!.body.toString())).toEqual({ a: 1 });
    client.close();
  });

  it('go to the next member where nobody listens, and stay with it', async () => {
    await using incus = await FakeIncus.start(() => done('here'));
    const address = `${join(incus.socketPath, '../missing')},${incus.socketPath}`;
    const client = new IncusClient({ address });
    expect(await client.call({ method: 'PUT', path: '/x', body: {} })).toBe('here');
    expect(await client.call({ path: '/x' })).toBe('here');
    client.close();
  });

  it('are not sent twice when a change may have been made', async () => {
    await using broken = await FakeIncus.start(() => ({ destroy: true }));
    await using whole = await FakeIncus.start(() => done('here'));
    const client = new IncusClient({ address: `${broken.socketPath},${whole.socketPath}` });
    await expect(client.call({ method: 'POST', path: '/x', body: {} })).rejects.toMatchObject({ status: 0 });
    expect(whole.requests).toEqual([]);
    expect(await client.call({ path: '/x' })).toBe('here');
    client.close();
  });

  it('go to others first once a member has not answered in time', async () => {
    await using stuck = await FakeIncus.start(() => ({ silent: true }));
    await using whole = await FakeIncus.start(() => done('here'));
    const client = new IncusClient({ address: `${stuck.socketPath},${whole.socketPath}` });
    const late = client.call({ method: 'PUT', path: '/x', body: {}, timeoutMs: 100 });
    await expect(late).rejects.toMatchObject({ status: 0, message: 'Incus did not answer in time.' });
    expect(await client.call({ method: 'PUT', path: '/x', body: {} })).toBe('here');
    expect(stuck.requests).toHaveLength(1);
    client.close();
  });

  it('find nothing where Incus says so, and reject with the reason of an abort', async () => {
    await using incus = await FakeIncus.start(() => failed(404, 'Not Found'));
    const client = new IncusClient({ address: incus.socketPath });
    expect(await client.find({ path: '/instances/x' })).toBeUndefined();
    const reason = new Error('enough');
    await expect(client.call({ path: '/x', signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    client.close();
  });
});

describe('events of Incus', () => {
  const frame = (first: number, payload: string) =>
    Buffer.concat([Buffer.from([first, payload.length]), Buffer.from(payload)]);

  it('are put together from pieces of any size', () => {
    const bytes = Buffer.concat([
      frame(0x01, '{"a"'),
      frame(0x89, 'hi'),
      frame(0x80, ':1}'),
      frame(0x88, ''),
    ]);
    const expected = [
      { kind: 'ping', payload: Buffer.from('hi') },
      { kind: 'text', text: '{"a":1}' },
      { kind: 'close' },
    ];
    expect(new FrameReader().push(bytes)).toEqual(expected);
    const reader = new FrameReader();
    expect([...bytes].flatMap((byte) => reader.push(Buffer.from([byte])))).toEqual(expected);
    const long = Buffer.concat([Buffer.from([0x81, 126, 1, 0]), Buffer.alloc(256, 'x')]);
    expect(new FrameReader().push(long)).toEqual([{ kind: 'text', text: 'x'.repeat(256) }]);
  });

  it('refuse what no server sends', () => {
    expect(() => new FrameReader().push(Buffer.from([0x81, 0x81, 0, 0, 0, 0]))).toThrow('mask');
    expect(() => new FrameReader().push(Buffer.from([0x81, 127, 0, 0, 0, 0, 255, 0, 0, 0]))).toThrow(
      'too large',
    );
  });

  it('are answered when they are a ping', () => {
    expect(pongFrame(Buffer.from('hi'))).toEqual(Buffer.from([0x8a, 0x82, 0, 0, 0, 0, 0x68, 0x69]));
  });

  it.each([
    [
      '{"type":"lifecycle","metadata":{"action":"instance-stopped","source":"/1.0/instances/s1?project=svc"}}',
      { action: 'instance-stopped', instance: 's1' },
    ],
    [
      '{"type":"lifecycle","metadata":{"action":"image-created","source":"/1.0/images/x"}}',
      { action: 'image-created', instance: undefined },
    ],
    ['{"type":"logging"}', undefined],
    ['no json', undefined],
  ])('%s', (text, expected) => {
    expect(readEvent(text)).toEqual(expected);
  });
});

function catchOf(task: () => unknown): unknown {
  try {
    task();
  } catch (error) {
    expect(error).toBeInstanceOf(IncusError);
    return error;
  }
  throw new Error('It did not fail.');
}
