import { describe, expect, it } from 'vitest';
import { ApiError } from '../../src/api/errors/api-error.js';
import { forkCallUrl, readError, readForkAnswer, readForkCall } from '../../src/cluster/fleet/fork-call.js';

const checkpointId = 'fork-00000000-0000-4000-8000-000000000000';
const id = (letter: string) => `i${letter.repeat(20)}`;
const call = {
  checkpointId,
  sandboxIds: [id('a'), id('b')],
  timeoutSeconds: 60,
  logsFrom: 7,
  withinMs: 50_000,
};

describe('the call between nodes that asks for forks', () => {
  it('says the same at both ends', () => {
    const url = new URL(forkCallUrl(call), 'http://node');
    expect(url.pathname).toBe(`/node/forks/${checkpointId}`);
    expect(readForkCall(checkpointId, Object.fromEntries(url.searchParams))).toEqual(call);
  });

  const query = { ids: call.sandboxIds.join('.'), timeoutSeconds: '60', logsFrom: '7', withinMs: '1' };
  it.each([
    ['no ids', { ...query, ids: undefined }],
    ['empty ids', { ...query, ids: '' }],
    ['ids twice', { ...query, ids: `${id('a')}.${id('a')}` }],
    ['ids that are paths', { ...query, ids: '../../etc' }],
    ['more ids than anybody asks for', { ...query, ids: Array(101).fill(id('a')).join('.') }],
    ['ids as a list', { ...query, ids: [id('a')] }],
    ['no timeout', { ...query, timeoutSeconds: undefined }],
    ['a timeout below 0', { ...query, timeoutSeconds: '-1' }],
    ['a place in the log that is no number', { ...query, logsFrom: 'Infinity' }],
    ['an endless time', { ...query, withinMs: '1e99' }],
  ])('is refused with %s', (_, wrong) => {
    expect(() => readForkCall(checkpointId, wrong)).toThrow(ApiError);
  });

  it('is about checkpoints of forks alone', () => {
    for (const other of ['snapshot-00000000-0000-4000-8000-000000000000', 'fork-..', 'end'])
      expect(() => readForkCall(other, query)).toThrow(ApiError);
  });
});

describe('the answer of a node that was asked for forks', () => {
  const ids = call.sandboxIds;
  it('reports each of them', () => {
    const [made, failed] = readForkAnswer(
      JSON.stringify([{ sandboxID: ids[0] }, { error: { code: 429, message: 'limit' } }]),
      ids,
    );
    expect(made).toBe(true);
    expect(failed).toMatchObject({ status: 429, message: 'limit', errorCode: undefined });
  });

  it.each([
    ['', SyntaxError],
    ['null', TypeError],
    ['[]', TypeError],
    [`[{"sandboxID":"${ids[0]}"}]`, TypeError],
    [`[{"sandboxID":"${ids[1]}"},{"sandboxID":"${ids[0]}"}]`, TypeError],
    [`[{"sandboxID":"${ids[0]}"},{}]`, TypeError],
    ['[null,null]', TypeError],
    ['[1,"x"]', TypeError],
  ])('is refused as %j', (text, failure) => {
    expect(() => readForkAnswer(text, ids)).toThrow(failure);
  });

  it.each([
    null,
    'no',
    { code: 201, message: 'made' },
    { code: '503', message: 'full' },
    { code: 503 },
    { code: 503, message: 'x'.repeat(1_001) },
  ])('has a plain failure for an error such as %j', (value) => {
    expect(readError(value)).toMatchObject({ status: 500, message: 'internal server error' });
  });

  it('has codes of errors that look like such alone', () => {
    expect(readError({ code: 503, message: 'm', error_code: 'a_b' }).errorCode).toBe('a_b');
    for (const error_code of ['A', '', 'x'.repeat(65), 1])
      expect(readError({ code: 503, message: 'm', error_code }).errorCode).toBeUndefined();
  });
});
