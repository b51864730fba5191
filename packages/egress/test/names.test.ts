import { describe, expect, it } from 'vitest';
import { NoAnswerError, type Questions } from '../src/control/questions.js';
import { addressesOf, addressQuery } from '../src/dns/message.js';
import { Names } from '../src/dns/names.js';
import { addressesReply } from './support/dns.js';

/** A resolver that can be switched off, and the time. */
function start() {
  const state = { answered: true, addresses: ['1.2.3.4'] as string[] | undefined, failing: false, nowMs: 0 };
  const questions = {
    get answered() {
      return state.answered;
    },
    dns: async (_: unknown, query: Uint8Array) => {
      if (!state.answered || state.failing) throw new NoAnswerError();
      return addressesReply(query, state.addresses);
    },
  } as unknown as Questions;
  const names = new Names(questions, () => state.nowMs);
  const ask = async (name = 'a.example', id = 7, sandbox = 'one') =>
    names.ask({ id: sandbox, address: '10.0.0.2' }, addressQuery(id, name));
  return { state, ask };
}

describe('names', () => {
  it('are asked for each time while somebody answers', async () => {
    const { state, ask } = start();
    await ask();
    state.addresses = ['5.6.7.8'];
    expect(addressesOf(await ask()).addresses).toEqual(['5.6.7.8']);
  });

  it.each([{ answered: false }, { failing: true }])(
    'hold for an hour without an answer: %o',
    async (fault) => {
      const { state, ask } = start();
      await ask();
      Object.assign(state, fault);
      state.nowMs = 3_599_000;
      const reply = await ask('a.example', 99);
      expect(reply.readUInt16BE(0)).toBe(99);
      expect(addressesOf(reply)).toEqual({ addresses: ['1.2.3.4'], ttlSeconds: 30 });
      await expect(ask('b.example')).rejects.toThrow(NoAnswerError);
      await expect(ask('a.example', 7, 'two')).rejects.toThrow(NoAnswerError);
      state.nowMs = 3_601_000;
      await expect(ask()).rejects.toThrow(NoAnswerError);
    },
  );

  it('that do not exist are not remembered', async () => {
    const { state, ask } = start();
    state.addresses = undefined;
    await ask();
    state.answered = false;
    await expect(ask()).rejects.toThrow(NoAnswerError);
  });

  it('are remembered so many for each sandbox, the last ones', async () => {
    const { state, ask } = start();
    await ask('first.example');
    await ask('neighbours.example', 7, 'two');
    for (let count = 0; count < 32; count += 1) await ask(`n${count}.example`);
    state.answered = false;
    await expect(ask('first.example')).rejects.toThrow(NoAnswerError);
    for (const [name, sandbox] of [
      ['n0.example', 'one'],
      ['n31.example', 'one'],
      ['neighbours.example', 'two'],
    ])
      expect(addressesOf(await ask(name, 7, sandbox)).addresses).toEqual(['1.2.3.4']);
  });
});
