import { expect, it } from 'vitest';
import type { EnvdContext } from '../../src/context.js';
import { createGate } from '../../src/gate.js';
import { applyInit, type InitState } from '../../src/init/init-state.js';
import { parseInit } from '../../src/init/wire.js';
import { createTokenStore } from '../../src/token/token-store.js';
import { createUsers } from '../../src/users/index.js';

// A daemon that waits in a pool is sent such requests before the real one.
it('an init without a word sets nothing, and the real one after it counts', async () => {
  const context: EnvdContext = {
    users: createUsers(),
    defaults: { user: 'user', workdir: undefined },
    token: createTokenStore(),
    gate: createGate(),
    envVars: { KEPT: '1' },
    trustVars: {},
    now: Date.now,
  };
  const state: InitState = { acceptedAt: undefined };
  const touched: string[] = [];
  const system = {
    setHostname: async () => void touched.push('hostname'),
    trustAuthority: async () => {
      touched.push('trust');
      return {};
    },
  };
  await applyInit(context, state, parseInit('{}'), system);
  expect({ state, touched, envVars: context.envVars, defaults: context.defaults }).toEqual({
    state: { acceptedAt: undefined },
    touched: [],
    envVars: { KEPT: '1' },
    defaults: { user: 'user', workdir: undefined },
  });
  expect(context.token.matches(undefined)).toBe(true);
  await applyInit(
    context,
    state,
    parseInit('{"accessToken":"t","timestamp":"2000-01-01T00:00:00Z"}'),
    system,
  );
  expect(context.token.matches('t')).toBe(true);
  expect(context.token.matches(undefined)).toBe(false);
});
